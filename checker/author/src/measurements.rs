//! The kept file of a GPU, `book/measured/NAME.json`, and what lies beside it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use trace::fidelity::{self, Visit};
use trace::record::Kept;
use trace::{Fidelity, Record};

use crate::figures::Figures;
use checker::workspace::Workspace;

/// Where kept files lie, and where they go.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredFiles {
    measured: PathBuf,
    figures: PathBuf,
    chapters: PathBuf,
    output: Option<PathBuf>,
    name: String,
}

impl MeasuredFiles {
    /// That of a GPU of this name. With `output` everything is written there instead.
    pub(crate) fn of(workspace: &Workspace, name: String, output: Option<&Path>) -> Self {
        let book = workspace.root().join("book");
        let [measured, figures, chapters] =
            ["measured", "figures", "chapters"].map(|folder| book.join(folder));
        Self { measured, figures, chapters, output: output.map(Path::to_owned), name }
    }

    /// Reads the kept measurements; none where this GPU is new. A file at the place where one will
    /// be written is later than the workspace's own.
    pub(crate) fn read(&self) -> Result<Option<Fidelity>> {
        let later = self.output.iter().map(|folder| folder.join(format!("{}.json", self.name)));
        let own = self.measured.join(format!("{}.json", self.name));
        let Some(path) = later.chain([own]).find(|path| path.is_file()) else { return Ok(None) };
        let context = || format!("cannot read `{}`", path.display());
        let text = std::fs::read(&path).with_context(context)?;
        let kept: Fidelity = serde_json::from_slice(&text).with_context(context)?;
        if kept.version != fidelity::VERSION {
            bail!(
                "`{}` is of version {}, and this checker reads version {}",
                path.display(),
                kept.version,
                fidelity::VERSION
            );
        }
        Ok(Some(kept))
    }

    /// Writes what is kept, and the report about it; their paths.
    pub(crate) fn write(&self, kept: &Fidelity) -> Result<Vec<PathBuf>> {
        let folder = self.output.as_ref().unwrap_or(&self.measured);
        let mut paths = Vec::new();
        for (ending, text) in [("json", text(kept)?), ("md", kept.markdown())] {
            paths.push(put(folder, &format!("{}.{ending}", self.name), &text)?);
        }
        Ok(paths)
    }

    /// Whether a page shows how this program ran on this GPU, be it kept already or not.
    pub(crate) fn shows(&self, exercise: &str, program: &str) -> bool {
        let page = std::fs::read_to_string(self.chapters.join(format!("{exercise}.md")));
        page.is_ok_and(|page| page.contains(&format!("\"{}\"", self.record(exercise, program))))
    }

    /// Writes the record of a program that the book shows; its path.
    pub(crate) fn write_record(
        &self,
        exercise: &str,
        program: &str,
        record: &Record,
    ) -> Result<PathBuf> {
        let figures = Figures::in_folder(self.output.as_ref().unwrap_or(&self.figures));
        let name = self.record(exercise, program);
        let Record { version, program, timeline, trials, watched: _, notes } = record.clone();
        let (program, timeline) = (Some(program), Some(timeline));
        figures.write(&name, &Kept { version, program, timeline, trials, notes })?;
        Ok(figures.file(&name))
    }

    /// The name of a program's run on this GPU.
    fn record(&self, exercise: &str, program: &str) -> String {
        format!("{exercise}.{program}.{}", self.name)
    }
}

fn put(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, text))
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}

/// The name of a GPU's files: its own name, shortened to the part that tells it from others.
pub(crate) fn short_name(device: &str) -> String {
    let name = device.strip_prefix("NVIDIA ").unwrap_or(device).to_lowercase();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    name.chars().map(plain).collect()
}

/// JSON with a line for each program: what changed is a few lines of a diff.
fn text(kept: &Fidelity) -> Result<String> {
    let head = Fidelity { programs: vec![], visits: vec![], ..kept.clone() };
    let mut text = serde_json::to_string(&head)?;
    text = text.replacen("\"programs\":[]", &list("programs", &kept.programs)?, 1);
    let visits: Result<Vec<String>> = kept.visits.iter().map(visit).collect();
    let visits = visits?.join(",\n");
    text = text.replacen("\"visits\":[]", &format!("\n\"visits\":[\n{visits}]"), 1);
    Ok(text + "\n")
}

fn visit(visit: &Visit) -> Result<String> {
    let head = Visit { programs: vec![], ..visit.clone() };
    let programs = list("programs", &visit.programs)?;
    Ok(serde_json::to_string(&head)?.replacen("\"programs\":[]", &programs, 1))
}

fn list<T: serde::Serialize>(name: &str, items: &[T]) -> Result<String> {
    let mut text = format!("\n\"{name}\":[");
    for (index, item) in items.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma}\n{}", serde_json::to_string(item)?)?;
    }
    Ok(text + "]")
}

#[cfg(test)]
mod tests {
    use trace::fidelity::{Ends, Measured, Predicted};
    use trace::metrics::Bounds;

    use super::*;

    #[test]
    fn what_is_kept_reads_back_as_it_was() {
        let mut kept = Fidelity::new("NVIDIA H200".to_owned(), "h200".to_owned());
        let (exercise, program) = ("ex".to_owned(), "solution".to_owned());
        kept.programs.push(Predicted {
            exercise: exercise.clone(),
            program: program.clone(),
            makespan_ns: 3,
            bounds: Bounds { serial_ns: 5, floor_ns: 2, host_ns: 0, request_ns: 0 },
            ends: Ends::Task,
            misses: Some("a \"programs\":[] in it".to_owned()),
        });
        kept.visits.push(Visit {
            date: today(),
            driver: String::new(),
            cuda: 13_000,
            host: "a host".to_owned(),
            cores: 2,
            command: "checker".to_owned(),
            programs: vec![Measured { exercise, program, ..Measured::default() }],
            overhead: None,
        });
        kept.visits.push(kept.visits[0].clone());
        let text = text(&kept).expect("plain data");
        assert_eq!(serde_json::from_str::<Fidelity>(&text).expect("it is JSON"), kept);
        assert!(text.lines().count() >= 6, "{text}");
    }

    use checker::host_facts::today;

    #[test]
    fn a_figure_that_a_page_shows_is_recorded_though_it_never_was_before() {
        let scratch = sandbox::scratch::Scratch::new().expect("a folder");
        let page = "```figure\nrecords = [\"a.b\", \"a.b.h200\", \"a.c\"]\n```\n";
        put(scratch.path(), "a.md", page).expect("it is written");
        let chapters = scratch.path().to_owned();
        let (measured, figures) = (PathBuf::new(), PathBuf::new());
        let files =
            MeasuredFiles { measured, figures, chapters, output: None, name: "h200".to_owned() };
        assert!(files.shows("a", "b"));
        assert!(!files.shows("a", "c"));
        assert!(!files.shows("b", "b"));
    }

    #[test]
    fn files_are_called_after_what_tells_a_gpu_from_others() {
        assert_eq!(short_name("NVIDIA H200"), "h200");
        assert_eq!(short_name("NVIDIA A100-SXM4-80GB"), "a100-sxm4-80gb");
        assert_eq!(short_name("Tesla V100/PCIe"), "tesla-v100-pcie");
    }
}
