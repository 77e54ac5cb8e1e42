//! Problems, with file and line.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file, as it is shown.
    pub file: String,
    /// The line, from 1; none where the file as a whole is meant.
    pub line: Option<usize>,
    /// What, in lower case and without a full stop.
    pub message: String,
}

impl Problem {
    /// A problem in `file`, which is shown relative to the folder that the book's folder `root` is
    /// in.
    pub fn new(root: &Path, file: &Path, line: impl Into<Option<usize>>, message: String) -> Self {
        Self { file: shown(root, file), line: line.into(), message }
    }
}

impl Problem {
    /// Whether it is one of the chapter whose page is `NAME.md`: in its text, its quiz, its
    /// exercise or its records.
    pub fn concerns(&self, name: &str) -> bool {
        let own = Path::new(&self.file).file_stem().is_some_and(|stem| stem == name);
        own || self.file.contains(&format!("_{name}/"))
            || self.message.contains(&format!("`{name}."))
            || self.message.contains(&format!("`{name}`"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, message } = self;
        match line {
            Some(line) => write!(f, "{file}:{line}: {message}"),
            None => write!(f, "{file}: {message}"),
        }
    }
}

/// `file` as messages name it: relative to the folder that the book's folder is in, where it lies
/// under that.
fn shown(root: &Path, file: &Path) -> String {
    let (root, file) = (tidy(root), tidy(file));
    let above = root.parent().unwrap_or(&root);
    file.strip_prefix(above).unwrap_or(&file).display().to_string()
}

/// `path` without `.` and `..`, as far as its words go: links are not followed.
pub fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(tidy.components().next_back(), Some(Component::Normal(_))) =>
            {
                tidy.pop();
            }
            other => tidy.push(other),
        }
    }
    tidy
}

/// All of them, one to a line, as one error.
#[derive(Debug)]
pub struct Problems(pub Vec<Problem>, pub Reach);

/// How far a search for problems came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything was looked at.
    Whole,
    /// The problems kept the rest from being looked at.
    Part,
}

impl Problems {
    /// An error that holds them, if there are any.
    pub fn into_result(mut self) -> anyhow::Result<()> {
        self.0.sort();
        self.0.dedup();
        if self.0.is_empty() { Ok(()) } else { Err(self.into()) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The line of a byte, from 1.
pub fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes()[..byte.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
}
