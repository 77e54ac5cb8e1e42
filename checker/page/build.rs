//! Puts the device profiles into the library as constants: no TOML has to be read in a page, and the
//! sources of the figures stay where they are.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use simulator::Profile;

/// The device that the book speaks of comes first; the others follow by name.
const FIRST: &str = "h200";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("../simulator/profiles");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut profiles: Vec<Profile> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let profile = read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            profiles.push(profile);
        }
    }
    profiles.sort_by_key(|profile| (profile.name != FIRST, profile.name.clone()));

    let mut source = String::from("&[");
    for mut profile in profiles {
        let (name, device) = (std::mem::take(&mut profile.name), std::mem::take(&mut profile.device));
        let rates: Vec<_> = std::mem::take(&mut profile.rates).into_iter().collect();
        // With no text in it, what `Debug` writes is Rust but for empty texts and maps.
        let constant = |value: String| value.replace("\"\"", "String::new()");
        write!(source, "Compact {{ name: {name:?}, device: {device:?}, rates: &[")?;
        for (rate, figures) in rates {
            write!(source, "({rate:?}, {}),", constant(format!("{figures:?}")))?;
        }
        let profile = constant(format!("{profile:?}")).replace("rates: {}", "rates: BTreeMap::new()");
        writeln!(source, "], profile: {profile} }},")?;
    }
    source.push(']');
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("profiles.rs"), source)?;
    Ok(())
}

/// A profile with every `source` left empty.
fn read(path: &Path) -> Result<Profile, Box<dyn Error>> {
    fn clear(value: &mut toml::Value) {
        let toml::Value::Table(table) = value else { return };
        for (key, value) in table {
            match value {
                toml::Value::String(source) if key == "source" => source.clear(),
                other => clear(other),
            }
        }
    }
    let mut value = toml::from_str(&std::fs::read_to_string(path)?)?;
    clear(&mut value);
    Ok(value.try_into()?)
}
