//! Puts the figures of the device profiles into the library as plain numbers: less than one kB in all,
//! and no TOML to be read in a page. Their sources stay where they are.

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
            let profile = toml::from_str(&std::fs::read_to_string(&path)?);
            profiles.push(profile.map_err(|error| format!("{}: {error}", path.display()))?);
        }
    }
    profiles.sort_by_key(|profile| (profile.name != FIRST, profile.name.clone()));

    let mut source = String::from("&[");
    for profile in &mut profiles {
        let (name, device) = (&profile.name, &profile.device);
        let rates: Vec<&str> = profile.rates.keys().map(String::as_str).collect();
        write!(source, "Compact {{ name: {name:?}, device: {device:?}, rates: &{rates:?}, ")?;
        let mut figures = Vec::new();
        profile.each_figure(&mut |figure| figures.push(figure.value));
        writeln!(source, "figures: &{figures:?} }},")?;
    }
    source.push(']');
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("profiles.rs"), source)?;
    Ok(())
}
