//! Puts the device profiles into the library as constants: no TOML has to be read in a page, and the
//! sources of the figures stay where they are.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use simulator::Profile;
use simulator::profile::BuiltIn;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let (mut named, mut differences) = (String::new(), String::new());
    let h200 = profile(BuiltIn::H200)?;
    // Pages show figures of the H200, and a second measured device would be two more kB to load.
    let shown = BuiltIn::ALL.into_iter().filter(|&it| it != BuiltIn::H100);
    for (index, built_in) in shown.enumerate() {
        let other = profile(built_in)?;
        write!(named, "Named {{ name: {:?}, device: {:?} }},", other.name, other.device)?;
        // The others are the H200's with a few figures invented.
        let mut figures = String::new();
        differ("p", &figures_of(&h200)?, &figures_of(&other)?, &mut figures)?;
        if !figures.is_empty() {
            writeln!(differences, "{index} => {{ {figures} }}")?;
        }
    }
    let Profile { rates, .. } = &h200;
    let plain = Profile {
        name: String::new(),
        device: String::new(),
        rates: std::collections::BTreeMap::new(),
        ..h200.clone()
    };
    // With no text in it, what `Debug` writes is Rust but for empty texts and maps. A constant is
    // copied as a whole, where `Clone` would go through it figure by figure.
    let constant = |value: String| {
        let value = value.replace("\"\"", "String::new()");
        let value = value.replace("rates: {}", "rates: BTreeMap::new()");
        // A page has one device.
        let peers = ", #[cfg(not(target_arch = \"wasm32\"))] peers: Peers {";
        format!("const {{ {} }}", value.replace(", peers: Peers {", peers))
    };
    let mut first = format!("let mut p = {};\n", constant(format!("{plain:?}")));
    for (rate, figures) in rates {
        let figures = constant(format!("{figures:?}"));
        writeln!(first, "p.rates.insert({rate:?}.to_owned(), {figures});")?;
    }
    let source = format!(
        "static NAMED: &[Named] = &[{named}];\n\
         fn without_texts(index: usize) -> Profile {{ {first} match index {{\n\
         {differences}_ => {{}} }} p }}\n"
    );
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("profiles.rs"), source)?;
    Ok(())
}

/// A profile with every `source` left empty.
fn profile(built_in: BuiltIn) -> Result<Profile, Box<dyn Error>> {
    without_sources(&built_in.profile(toml::from_str(built_in.measured())?))
}

fn figures_of(profile: &Profile) -> Result<toml::Value, Box<dyn Error>> {
    let mut value = toml::Value::try_from(profile)?;
    if let toml::Value::Table(table) = &mut value {
        table.retain(|_, value| value.is_table());
    }
    Ok(value)
}

/// Assignments that make the figures of `from` those of `to`.
fn differ(
    place: &str,
    from: &toml::Value,
    to: &toml::Value,
    out: &mut String,
) -> Result<(), Box<dyn Error>> {
    match (from, to) {
        (toml::Value::Table(from), toml::Value::Table(to)) => {
            for (key, to) in to {
                let from = from.get(key).ok_or("the profiles have the same figures")?;
                differ(&format!("{place}.{key}"), from, to, out)?;
            }
        }
        (from, to) if from != to => write!(out, "{place} = {to};")?,
        _ => {}
    }
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
