//! The simulated runs that the book keeps, made whole again.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use simulator::{Profile, Schedule, replay};
use trace::Record;
use trace::record::Kept;

/// All of them by name, in order.
pub(crate) fn simulated() -> Vec<(String, Record)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let profile: Profile = toml::from_str(Profile::H200).expect("TOML");
    let mut all = Vec::new();
    for path in paths(&root.join("book/figures")) {
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".json.gz") else { continue };
        let packed = std::fs::File::open(&path).expect("a record");
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut text).expect("a record");
        let kept: Kept = serde_json::from_slice(&text).expect("a record");
        if kept.timeline.is_some() {
            continue; // of a GPU
        }
        let own = match name.split_once('.').expect("an exercise and a program") {
            (id, "baseline") => Some(recorded(&root, id, "baseline")),
            (id, "solution") => Some(recorded(&root, id, "reference")),
            _ => None,
        };
        let record = kept.whole(own, |program| replay(program, &profile, Schedule::Exact));
        all.push((name.to_owned(), record.expect("a program")));
    }
    all
}

/// What the baseline or the solution of an exercise asks for.
fn recorded(root: &Path, id: &str, end: &str) -> trace::Program {
    let folders = paths(&root.join("exercises"));
    let own = |path: &&PathBuf| path.to_string_lossy().ends_with(&format!("_{id}"));
    let folder = folders.iter().find(own).expect("an exercise");
    let text = std::fs::read(folder.join(format!("recorded/{end}.json"))).expect("a program");
    serde_json::from_slice(&text).expect("a program")
}

fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
