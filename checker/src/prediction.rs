//! Predictions of an exercise's puzzle, beside what happens.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use trace::metrics::places;

use crate::exercise::{Location, MANIFEST};
use crate::handout;
use crate::progress::{Fingerprint, Progress};
use crate::question::{Answer, Form, Question};

/// A prediction, beside what happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Beside {
    /// The place of the program that ran.
    Location {
        /// The one that was expected.
        predicted_place: u32,
        /// The one that it came to; none while other programs have yet to run.
        place: Option<usize>,
        /// Programs that there are.
        of: usize,
    },
    /// One of several.
    Choice {
        /// The one that was chosen.
        chosen: String,
        /// Whether it is what happens.
        right: bool,
    },
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Location { predicted_place, place: None, of } => {
                write!(f, "place {predicted_place} of {of}; the others have yet to run")
            }
            Self::Location { predicted_place, place: Some(place), of } => {
                let came = match *predicted_place as usize == *place {
                    true => "and so it is".to_owned(),
                    false => format!("and it is {place}"),
                };
                write!(f, "place {predicted_place} of {of}, {came}")
            }
            Self::Choice { chosen, right: true } => write!(f, "right: {chosen}"),
            Self::Choice { chosen, right: false } => write!(f, "not so: {chosen}"),
        }
    }
}

impl Question {
    /// The kept answer, if it still answers this question.
    pub fn kept(&self, progress: &Progress, exercise: &str) -> Option<Answer> {
        let answer = progress.predicted(exercise, &self.id)?;
        let count = self.items.len();
        let numbers = match self.form {
            Form::Ranking => count,
            Form::Choice => 1,
        };
        let fits = answer.len() == numbers && answer.iter().all(|n| (1..=count as u32).contains(n));
        fits.then(|| answer.to_vec())
    }

    /// The prediction of a program, beside what happens; none where the question is not about it.
    pub fn beside(&self, answer: &Answer, program: &str, times: &Times<'_>) -> Option<Beside> {
        if self.form == Form::Choice {
            let item = self.items.get(*answer.first()? as usize - 1)?;
            return Some(Beside::Choice { chosen: item.text.clone(), right: item.right });
        }
        let at = self.programs().position(|it| it == program)?;
        let place = self.happened(times).and_then(|all| all.get(at).copied());
        Some(Beside::Location { predicted_place: *answer.get(at)?, place, of: self.items.len() })
    }

    /// The place of each program, as far as all of them have run.
    pub fn happened(&self, times: &Times<'_>) -> Option<Vec<usize>> {
        let times: Option<Vec<f64>> =
            self.programs().map(|it| times.took(it).map(|ns| ns as f64)).collect();
        times.filter(|times| !times.is_empty()).map(|times| places(&times))
    }
}

/// How long the programs of a puzzle take, as far as they have run under the conditions that hold
/// now.
pub struct Times<'a> {
    /// The student's progress.
    pub progress: &'a Progress,
    /// The exercise's name.
    pub exercise: &'a str,
    /// The conditions that the programs and their times depend on.
    pub conditions: Fingerprint,
}

impl Times<'_> {
    /// Nanoseconds that a program took when it ran under these conditions.
    pub fn took(&self, program: &str) -> Option<u64> {
        self.progress.took(self.exercise, program, self.conditions)
    }
}

/// Files that decide how long a program takes on the simulated device, besides its own text.
const DECIDING: [&str; 6] = [
    "checker/simulator/src",
    "checker/simulator/profiles",
    "checker/trace/src",
    "exercises/lab/src",
    "exercises/lab/kernels/src",
    "exercises/lab/kernels/ptx",
];

/// The conditions under which the puzzle's programs run in the workspace in `root`. Of the programs
/// the handed-out text counts, as far as that is known: an experiment in them is no new puzzle.
pub fn conditions(root: &Path, place: &Location) -> Fingerprint {
    let mut contents = Vec::new();
    for folder in DECIDING {
        collect(&root.join(folder), &mut contents);
    }
    let prints = handout::record(root).ok().flatten().unwrap_or_default();
    let of_puzzle = ["examples", MANIFEST].map(|name| place.folder.join(name));
    let decides = |path: &Path| of_puzzle.iter().any(|it| root.join(path).starts_with(it));
    for (path, print) in prints.iter().filter(|(path, _)| decides(path)) {
        contents.push(format!("{} {print}", path.display()).into_bytes());
    }
    Fingerprint::of_all(contents.iter().map(Vec::as_slice))
}

/// The names and contents of the files in a folder, in order.
fn collect(folder: &Path, contents: &mut Vec<Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, contents);
        } else if let Ok(bytes) = std::fs::read(&path) {
            contents.push(path.file_name().unwrap_or_default().as_encoded_bytes().to_vec());
            contents.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox::scratch::Scratch;

    #[test]
    fn other_conditions_make_another_puzzle_and_what_somebody_tries_does_not() {
        let folder = Scratch::new().expect("a folder");
        let root = folder.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let place = Location::of(root.join("exercises/01_swift")).expect("a place");
        let now = || conditions(root, &place);
        write("exercises/lab/src/lib.rs", "// a");
        let mut before = now();
        let mut is_another = || std::mem::replace(&mut before, now()) != now();
        write("exercises/01_swift/examples/swift_slow.rs", "// tried");
        assert!(!is_another());
        for (path, text) in [
            ("exercises/lab/src/lib.rs", "// b"),
            ("checker/simulator/profiles/h200.toml", "rate = 2"),
            (
                ".handed_out",
                "handed out 1\n00000000000000ff exercises/01_swift/examples/swift_slow.rs\n",
            ),
        ] {
            write(path, text);
            assert!(is_another(), "{path}");
        }
        write(
            ".handed_out",
            "handed out 1\n00000000000000fe exercises/01_swift/examples/swift_slow.rs\n",
        );
        assert!(is_another());
    }
}
