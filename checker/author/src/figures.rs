//! The runs that the book keeps: `book/figures/EXERCISE.PROGRAM.json.gz`, of a GPU
//! `EXERCISE.PROGRAM.GPU.json.gz`; and `times.txt`, which says what each takes on the simulated
//! device. What follows from a program is not kept, so a change of the device changes that file and
//! no other.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use trace::record::Kept;
use trace::{Metrics, Record, Timeline};

use checker::commands::run::{BASELINE, REFERENCE};
use checker::exercise::Exercise;
use checker::report::Role;
use checker::workspace::Workspace;

/// Where they are.
#[derive(Clone, Debug)]
pub(crate) struct Figures(PathBuf);

const TIMES: &str = "times.txt";

const TITLE: &str = "\
# What each recorded program takes on the simulated device: from start to end, and how long kernels and copies up and down
# keep it busy, in ns. `cargo run -- dev record` writes it; a change of the device shows here.
";

impl Figures {
    /// Those of a workspace; none where it has no book.
    pub(crate) fn of(workspace: &Workspace) -> Option<Self> {
        let book = workspace.root().join("book");
        book.is_dir().then(|| Self(book.join("figures")))
    }

    /// Those of a folder.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The file of a run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.json.gz"))
    }

    /// Reads the kept record of a run, if there is one.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Kept>> {
        let path = self.file(name);
        if !path.exists() {
            return Ok(None);
        }
        let context = || format!("cannot read `{}`", path.display());
        let mut text = Vec::new();
        let file = std::fs::File::open(&path).with_context(context)?;
        GzDecoder::new(file).read_to_end(&mut text).with_context(context)?;
        serde_json::from_slice(&text).map(Some).with_context(context)
    }

    /// Keeps a run; its file, where that was not so already.
    pub(crate) fn write(&self, name: &str, kept: &Kept) -> Result<Option<PathBuf>> {
        if self.read(name).is_ok_and(|old| old.as_ref() == Some(kept)) {
            return Ok(None);
        }
        let path = self.file(name);
        let text = serde_json::to_vec(kept)?;
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.0)?;
            // Neither name nor time: the same run gives the same bytes.
            let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
            packed.write_all(&text)?;
            std::fs::write(&path, packed.finish()?)
        };
        write().with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Some(path))
    }

    /// The file of what the runs take.
    pub(crate) fn times_file(&self) -> PathBuf {
        self.0.join(TIMES)
    }

    /// The times of the runs: their lines by name, as they were written.
    pub(crate) fn times(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(self.times_file()).unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let named = lines.filter_map(|line| {
            let name = line.split_whitespace().next()?;
            Some((name.to_owned(), line.to_owned()))
        });
        named.collect()
    }

    /// Writes them again; the file, where they were others.
    pub(crate) fn write_times(&self, times: &BTreeMap<String, String>) -> Result<Option<PathBuf>> {
        let path = self.times_file();
        let lines: String = times.values().map(|line| format!("{line}\n")).collect();
        let text = format!("{TITLE}{lines}");
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(None);
        }
        std::fs::create_dir_all(&self.0)
            .and_then(|()| std::fs::write(&path, text))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Some(path))
    }
}

/// The line of a run in `times.txt`.
pub(crate) fn line(name: &str, timeline: &Timeline) -> String {
    let Metrics { makespan_ns, kernel, host_to_device, device_to_host, .. } = Metrics::of(timeline);
    let [kernels, up, down] = [kernel, host_to_device, device_to_host].map(|it| it.busy_ns);
    format!("{name:<36}{makespan_ns:>12}{kernels:>12}{up:>12}{down:>12}")
}

/// The programs of an exercise of which something is kept, each with the name of its run: none for
/// a baseline that no page shows.
pub(crate) fn runs(exercise: &Exercise) -> Vec<(Role, Option<String>)> {
    let id = &exercise.place.id;
    let baseline = exercise.manifest.baseline.as_ref().map(|_| format!("{id}.baseline"));
    let mut runs =
        vec![(Role::Baseline, baseline), (Role::Solution, Some(format!("{id}.solution")))];
    let programs = exercise.manifest.programs.iter().map(|program| program.name.clone());
    runs.extend(programs.map(|name| {
        let run = format!("{id}.{name}");
        (Role::Puzzle(name), Some(run))
    }));
    runs
}

/// The file in the exercise's folder with the recorded program of a role.
pub(crate) fn recorded(role: &Role) -> Option<&'static str> {
    match role {
        Role::Baseline => Some(BASELINE),
        Role::Solution => Some(REFERENCE),
        Role::Student | Role::Puzzle(_) => None,
    }
}

/// A run as it is kept. The programs of baseline and solution lie with the exercise.
pub(crate) fn kept(role: &Role, record: Record) -> Kept {
    let kept = Kept::simulated(record);
    match role {
        Role::Baseline | Role::Solution => Kept { program: None, ..kept },
        Role::Student | Role::Puzzle(_) => kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_kept_without_its_timeline_and_written_only_when_it_changes() {
        let folder = sandbox::scratch::Scratch::new().expect("a folder");
        let figures = Figures::in_folder(folder.path());
        let kept = Kept {
            version: 1,
            program: Some(trace::Program::new(32)),
            timeline: None,
            trials: Vec::new(),
            notes: vec!["a note".to_owned()],
        };
        assert_eq!(figures.read("a.b").expect("nothing"), None);
        let path = figures.write("a.b", &kept).expect("a file").expect("it is new");
        let bytes = std::fs::read(&path).expect("a file");
        assert_eq!(figures.read("a.b").expect("a run"), Some(kept.clone()));
        assert_eq!(figures.write("a.b", &kept).expect("the same"), None);
        std::fs::remove_file(&path).expect("it goes");
        figures.write("a.b", &kept).expect("a file");
        assert_eq!(std::fs::read(&path).expect("a file"), bytes, "the same run, the same bytes");
    }

    #[test]
    fn times_are_read_as_they_were_written() {
        let folder = sandbox::scratch::Scratch::new().expect("a folder");
        let figures = Figures::in_folder(folder.path());
        let times =
            BTreeMap::from(["a.b", "a.c"].map(|it| (it.to_owned(), format!("{it}    1   2"))));
        assert!(figures.write_times(&times).expect("a file").is_some());
        assert_eq!(figures.times(), times);
        assert!(figures.write_times(&times).expect("the same").is_none());
    }
}
