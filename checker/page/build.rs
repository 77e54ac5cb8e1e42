//! Puts the device profiles into the library as constants: no TOML has to be read in a page, and the
//! sources of the figures stay where they are.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use simulator::Profile;
use simulator::profile::BuiltIn;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let (mut named, mut profiles) = (String::new(), String::new());
    // Pages show figures of the H200, and a second measured device would be two more kB to load.
    let shown = BuiltIn::ALL.into_iter().filter(|&it| it != BuiltIn::H100);
    for (index, built_in) in shown.enumerate() {
        let measured = toml::from_str(built_in.measured())?;
        let mut profile = without_sources(&built_in.profile(measured))?;
        let (name, device) =
            (std::mem::take(&mut profile.name), std::mem::take(&mut profile.device));
        let rates = std::mem::take(&mut profile.rates);
        // With no text in it, what `Debug` writes is Rust but for empty texts and maps. A constant is
        // copied as a whole, where `Clone` would go through it figure by figure.
        let constant = |value: String| {
            let value = value.replace("\"\"", "String::new()");
            format!("const {{ {} }}", value.replace("rates: {}", "rates: BTreeMap::new()"))
        };
        write!(named, "Named {{ name: {name:?}, device: {device:?} }},")?;
        writeln!(profiles, "{index} => {{ let mut p = {};", constant(format!("{profile:?}")))?;
        for (rate, figures) in rates {
            let figures = constant(format!("{figures:?}"));
            writeln!(profiles, "p.rates.insert({rate:?}.to_owned(), {figures});")?;
        }
        profiles.push_str("p }\n");
    }
    let source = format!(
        "static NAMED: &[Named] = &[{named}];\n\
         fn without_texts(index: usize) -> Profile {{ match index {{\n\
         {profiles}_ => unreachable!(\"there is no such profile\") }} }}\n"
    );
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
