//! Problems, with file and line.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The file, from the workspace's folder.
    pub(crate) file: PathBuf,
    /// The line, from 1; none where the file as a whole is meant.
    pub(crate) line: Option<usize>,
    /// What, in lower case and without a full stop.
    pub(crate) message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, message } = self;
        match line {
            Some(line) => write!(f, "{}:{line}: {message}", file.display()),
            None => write!(f, "{}: {message}", file.display()),
        }
    }
}

/// Problems as they are found.
#[derive(Debug)]
pub(crate) struct Problems {
    root: PathBuf,
    found: Vec<Problem>,
}

impl Problems {
    /// None yet; files are named from `root`.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), found: Vec::new() }
    }

    /// Adds one.
    pub(crate) fn add(
        &mut self,
        file: &Path,
        line: impl Into<Option<usize>>,
        message: impl Into<String>,
    ) {
        let file = file.strip_prefix(&self.root).unwrap_or(file).to_owned();
        self.found.push(Problem { file, line: line.into(), message: message.into() });
    }

    /// Adds what another program found, as it said it: `FILE:LINE: MESSAGE`.
    pub(crate) fn add_said(&mut self, said: &str) {
        let (place, message) = said.split_once(": ").unwrap_or(("", said));
        let (file, line) = match place.rsplit_once(':') {
            Some((file, line)) => (file, line.parse::<usize>().ok()),
            None => (place, None),
        };
        self.add(Path::new(file), line, message);
    }

    /// How many there are so far.
    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// All of them, in the order in which an author works, and in the order of files and lines.
    pub(crate) fn sorted(mut self) -> Vec<Problem> {
        self.found.sort_by(|a, b| {
            let place = |it: &Problem| (step(&it.file), it.file.clone(), it.line);
            place(a).cmp(&place(b))
        });
        self.found.dedup();
        self.found
    }
}

/// Where a file stands in the list of `book/README.md`, which is the order in which they are best
/// written. What is copied of others comes last.
fn step(file: &Path) -> usize {
    let file = file.to_string_lossy();
    let is = |part: &str| file.contains(part);
    let steps = [
        is("kernels/src/task"),
        is("exercises/lab/"),
        is("exercises/") && is("/src/"),
        is("solutions/"),
        is("/baseline.rs"),
        is("/alternatives/"),
        is("/examples/"),
        is("/exercise.toml") && !is(".shipped"),
        is("book/chapters/") || is("book/quizzes/") || is("book/programs/"),
        is("book/pytorch/") || is("book/cuda/") || is("book/measured/"),
    ];
    steps.iter().position(|it| *it).unwrap_or(steps.len())
}

/// The line of a byte of `text`, from 1.
pub(crate) fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
}

/// The first line of `text` that begins with `start`, from 1.
pub(crate) fn line_of(text: &str, start: &str) -> Option<usize> {
    Some(text.lines().position(|line| line.trim_start().starts_with(start))? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_program_found_reads_as_it_did_there() {
        let mut problems = Problems::new(Path::new("/book"));
        for said in ["b.md:7: no anchor `a: b`", "a.md: it is empty"] {
            problems.add_said(said);
        }
        problems.add(Path::new("/book/b.md"), 2, "no quiz");
        let shown: Vec<_> = problems.sorted().iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a.md: it is empty", "b.md:2: no quiz", "b.md:7: no anchor `a: b`"]);
    }

    #[test]
    fn problems_come_in_the_order_in_which_an_author_works() {
        let order = [
            "exercises/lab/kernels/src/task.rs",
            "exercises/lab/src/river.rs",
            "exercises/90_river/src/lib.rs",
            "solutions/90_river/src/lib.rs",
            "exercises/90_river/baseline.rs",
            "checker/tests/alternatives/river",
            "exercises/90_river/examples/river_first.rs",
            "exercises/90_river/exercise.toml",
            "book/chapters/river.md",
            "book/pytorch/river.py",
            "exercises/90_river/recorded/baseline.json",
        ];
        let mut problems = Problems::new(Path::new("/"));
        order.iter().rev().for_each(|file| problems.add(Path::new(file), None, "wrong"));
        let sorted = problems.sorted();
        let files: Vec<_> = sorted.iter().map(|it| it.file.to_str().expect("a name")).collect();
        assert_eq!(files, order);
    }
}
