//! Puts the device profiles into the library as constants: no TOML has to be read in a page, and the
//! sources of the figures stay where they are.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use simulator::Profile;
use simulator::profile::BuiltIn;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut source = String::from("&[");
    let h200: Profile = toml::from_str(Profile::H200)?;
    for built_in in BuiltIn::ALL {
        let mut profile = without_sources(&built_in.profile(h200.clone()))?;
        let (name, device) =
            (std::mem::take(&mut profile.name), std::mem::take(&mut profile.device));
        let rates: Vec<_> = std::mem::take(&mut profile.rates).into_iter().collect();
        // With no text in it, what `Debug` writes is Rust but for empty texts and maps.
        let constant = |value: String| value.replace("\"\"", "String::new()");
        write!(source, "Compact {{ name: {name:?}, device: {device:?}, rates: &[")?;
        for (rate, figures) in rates {
            write!(source, "({rate:?}, {}),", constant(format!("{figures:?}")))?;
        }
        let profile =
            constant(format!("{profile:?}")).replace("rates: {}", "rates: BTreeMap::new()");
        writeln!(source, "], profile: {profile} }},")?;
    }
    source.push(']');
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("profiles.rs"), source)?;
    Ok(())
}

/// A profile with every `source` left empty.
fn without_sources(profile: &Profile) -> Result<Profile, Box<dyn Error>> {
    let mut value = toml::Value::try_from(profile)?;
    clear(&mut value);
    Ok(value.try_into()?)
}

fn clear(value: &mut toml::Value) {
    let toml::Value::Table(table) = value else { return };
    for (key, value) in table {
        match value {
            toml::Value::String(source) if key == "source" => source.clear(),
            other => clear(other),
        }
    }
}
