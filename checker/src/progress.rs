//! A student's progress, kept from run to run.
//!
//! It is one text file, `progress.txt` in the workspace's folder, made when there is something to
//! keep. One fact stands on each line, its words apart by spaces:
//!
//! ```text
//! progress 1
//! passed three_lanes 97.3 9d41c7e2a8f05b13
//! stuck three_lanes SWIM-C01
//! hint three_lanes SWIM-C01 2
//! predicted three_lanes rank 3,4,1,1
//! took three_lanes non_blocking 68120000 3c6ef372fe94f82b
//! last three_lanes 34800000 SWIM-C03,SWIM-C04 9d41c7e2a8f05b13
//! best three_lanes 11400000 SWIM-C04 9d41c7e2a8f05b13
//! ```
//!
//! | line | what it says |
//! | --- | --- |
//! | `progress 1` | the version of the file; the first line that is no remark |
//! | `passed EX SCORE PRINT` | the best score that `EX` was passed with, and the fingerprint of the exercise as it was then |
//! | `stuck EX CODE` | what the last run of `EX` found first; `-` for nothing that has a code |
//! | `hint EX CODE LEVEL` | how far the hints of `EX` for that code have been read |
//! | `predicted EX PUZZLE NUMBERS` | what you expected of a puzzle of `EX`: the place of each of its items, or the number of the one you chose |
//! | `took EX PROGRAM NS PRINT` | how long a program of the puzzle took on the simulated device when it ran first, in nanoseconds, and the fingerprint of what decides that |
//! | `last EX NS CODES PRINT` | how long your last sound run of `EX` took on the simulated device, in nanoseconds, the codes of what it lost time by, `-` for none, and the fingerprint of the exercise |
//! | `best EX NS CODES PRINT` | the same of your shortest run |
//!
//! Remarks begin with `#`. Lines that are none of these are kept as they are: they may be a newer
//! checker's. The file is replaced as a whole, so a run that is cut off leaves the old one; one
//! that cannot be read is moved aside, never overwritten.

mod fact;
mod fingerprint;

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::exercise::{self, Location};
use crate::workspace::Workspace;
use fact::{Fact, NotAFact, Which};
pub use fingerprint::Fingerprint;

/// The file, in the workspace's folder.
const FILE: &str = "progress.txt";

/// The first line that is no remark.
const HEADER: &str = "progress 1";

/// The remark at the top of a new file.
const TITLE: &str = "# What you have reached in Swimming in Streams. The checker adds to this file; lines that it does
# not know it keeps.
";

/// Everything that has been reached in a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    lines: Vec<Line>,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq)]
enum Line {
    Fact(Fact),
    /// Remarks, and whatever else stands there.
    Other(String),
}

/// A run of a student's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// How long the region took.
    pub ns: u64,
    /// The codes of the causes of lost time.
    pub codes: Vec<String>,
}

/// Earlier runs of the student's file, of the exercise as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EarlierRuns {
    /// The last one.
    pub last: Option<PastRun>,
    /// The shortest one.
    pub best: Option<PastRun>,
}

/// The sign for a finding without a code.
const NO_CODE: &str = "-";

/// A pass, as it was reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The best score.
    pub score: f64,
    /// Whether the exercise is still the one that was passed.
    pub freshness: Freshness,
}

/// Whether a pass still says something about the exercise that is there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The exercise is as it was.
    Current,
    /// The exercise has changed since.
    Stale,
}

impl Progress {
    /// The progress in `workspace`. A file that cannot be read counts as none.
    pub fn read(workspace: &Workspace) -> Self {
        match load(&workspace.root().join(FILE)) {
            Loaded::Progress(progress) => progress,
            Loaded::Damaged(_) | Loaded::Newer => Self::default(),
        }
    }

    /// How `place` was passed, if it was.
    pub fn pass(&self, place: &Location) -> Option<Pass> {
        self.facts().find_map(|fact| match fact {
            Fact::Passed { exercise, score, exercise_was } if *exercise == place.id => {
                let same = *exercise_was == Fingerprint::of(place);
                let freshness = if same { Freshness::Current } else { Freshness::Stale };
                Some(Pass { score: *score, freshness })
            }
            _ => None,
        })
    }

    /// Whether `place`, as it is now, has been passed.
    pub fn is_passed(&self, place: &Location) -> bool {
        self.pass(place).is_some_and(|pass| pass.freshness == Freshness::Current)
    }

    /// The exercise to go on with: the one saved last of those under way, else the first that has
    /// not been passed; none when all have.
    pub fn next<'a>(&self, places: &'a [Location]) -> Option<&'a Location> {
        let open = || places.iter().filter(|place| !self.is_passed(place));
        exercise::saved_last(open()).or_else(|| open().next())
    }

    /// The code of what the last run of the exercise found first.
    pub fn stuck(&self, exercise: &str) -> Option<&str> {
        let code = self.facts().find_map(|fact| match fact {
            Fact::Stuck { exercise: of, code } if of == exercise => Some(code.as_str()),
            _ => None,
        });
        code.filter(|code| *code != NO_CODE)
    }

    /// How many of the exercise's hints for `code` have been read.
    pub fn hints(&self, exercise: &str, code: Option<&str>) -> usize {
        let wanted = code.unwrap_or(NO_CODE);
        let level = self.facts().find_map(|fact| match fact {
            Fact::Hint { exercise: of, code, level } if of == exercise && code == wanted => {
                Some(*level)
            }
            _ => None,
        });
        level.unwrap_or(0)
    }

    /// The student's prediction of a puzzle.
    pub fn predicted(&self, exercise: &str, puzzle: &str) -> Option<&[u32]> {
        self.facts().find_map(|fact| match fact {
            Fact::Predicted { exercise: of, puzzle: it, answer }
                if of == exercise && it == puzzle =>
            {
                Some(answer.as_slice())
            }
            _ => None,
        })
    }

    /// How long a program of the puzzle took, under the conditions that hold now.
    pub fn took(&self, exercise: &str, program: &str, now: Fingerprint) -> Option<u64> {
        self.facts().find_map(|fact| match fact {
            Fact::Took { exercise: of, program: it, ns, conditions }
                if of == exercise && it == program && *conditions == now =>
            {
                Some(*ns)
            }
            _ => None,
        })
    }

    /// Keeps the student's prediction of a puzzle.
    pub fn predict(&mut self, exercise: &str, puzzle: &str, answer: &[u32]) {
        let fact = Fact::Predicted {
            exercise: exercise.to_owned(),
            puzzle: puzzle.to_owned(),
            answer: answer.to_vec(),
        };
        self.replace(
            fact,
            |old| matches!(old, Fact::Predicted { exercise: of, puzzle: it, .. } if of == exercise && it == puzzle),
        );
    }

    /// Keeps how long a program of the puzzle took, unless it has run before under the same
    /// conditions. A later change of it is an experiment, and the prediction is about the program
    /// as it was.
    pub fn ran(&mut self, exercise: &str, program: &str, ns: u64, conditions: Fingerprint) {
        if self.took(exercise, program, conditions).is_some() {
            return;
        }
        let (of, it) = (exercise.to_owned(), program.to_owned());
        self.replace(
            Fact::Took { exercise: of, program: it, ns, conditions },
            |old| matches!(old, Fact::Took { exercise: of, program: it, .. } if of == exercise && it == program),
        );
    }

    /// The last run of `place` as it is now, and the shortest.
    pub fn runs(&self, place: &Location) -> EarlierRuns {
        let now = Fingerprint::of(place);
        let of = |wanted: Which| {
            self.facts().find_map(|fact| match fact {
                Fact::Run { which, exercise, run, exercise_was }
                    if *which == wanted && *exercise == place.id && *exercise_was == now =>
                {
                    Some(run.clone())
                }
                _ => None,
            })
        };
        EarlierRuns { last: of(Which::Last), best: of(Which::Best) }
    }

    /// Keeps a run: as the last one, and as the best where none was shorter.
    pub fn has_run(&mut self, place: &Location, run: &PastRun) {
        let best = self.runs(place).best.filter(|best| best.ns <= run.ns);
        for (kind, run) in [(Which::Last, run), (Which::Best, best.as_ref().unwrap_or(run))] {
            let fact = Fact::Run {
                which: kind,
                exercise: place.id.clone(),
                run: run.clone(),
                exercise_was: Fingerprint::of(place),
            };
            self.replace(
                fact,
                |old| matches!(old, Fact::Run { which, exercise, .. } if *which == kind && *exercise == place.id),
            );
        }
    }

    /// Keeps a pass: the best score, unless that was for an exercise that has changed.
    pub fn passed(&mut self, place: &Location, score: f64) {
        let score = match self.pass(place) {
            Some(Pass { score: before, freshness: Freshness::Current }) => before.max(score),
            _ => score,
        };
        let exercise_was = Fingerprint::of(place);
        let fact = Fact::Passed { exercise: place.id.clone(), score, exercise_was };
        self.replace(
            fact,
            |old| matches!(old, Fact::Passed { exercise, .. } if *exercise == place.id),
        );
    }

    /// Keeps what a run found first.
    pub fn found(&mut self, exercise: &str, code: Option<&str>) {
        let code = code.unwrap_or(NO_CODE).to_owned();
        let fact = Fact::Stuck { exercise: exercise.to_owned(), code };
        self.replace(fact, |old| matches!(old, Fact::Stuck { exercise: of, .. } if of == exercise));
    }

    /// Keeps how many hints have been read.
    pub fn hinted(&mut self, exercise: &str, code: Option<&str>, level: usize) {
        let level = level.max(self.hints(exercise, code));
        let code = code.unwrap_or(NO_CODE).to_owned();
        let fact = Fact::Hint { exercise: exercise.to_owned(), code: code.clone(), level };
        self.replace(
            fact,
            |old| matches!(old, Fact::Hint { exercise: of, code: other, .. } if of == exercise && *other == code),
        );
    }

    fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.lines.iter().filter_map(|line| match line {
            Line::Fact(fact) => Some(fact),
            Line::Other(_) => None,
        })
    }

    /// Puts `fact` where the one stood that it supersedes, or at the end.
    fn replace(&mut self, fact: Fact, superseded: impl Fn(&Fact) -> bool) {
        let is_old = |line: &Line| matches!(line, Line::Fact(old) if superseded(old));
        match self.lines.iter().position(is_old) {
            Some(at) => self.lines[at] = Line::Fact(fact),
            None => self.lines.push(Line::Fact(fact)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| match line.parse() {
            Ok(fact) => Line::Fact(fact),
            Err(NotAFact) => Line::Other(line.to_owned()),
        });
        let is_remark = |line: &Line| matches!(line, Line::Other(text) if text.is_empty() || text.starts_with('#'));
        let mut kept = Vec::new();
        let header = loop {
            let line = lines.next()?;
            if !is_remark(&line) {
                break line;
            }
            kept.push(line);
        };
        if header != Line::Other(HEADER.to_owned()) {
            return None;
        }
        kept.push(header);
        kept.extend(lines);
        Some(Self { lines: kept })
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.iter().all(|line| matches!(line, Line::Fact(_))) {
            writeln!(f, "{TITLE}{HEADER}")?;
        }
        for line in &self.lines {
            match line {
                Line::Fact(fact) => writeln!(f, "{fact}")?,
                Line::Other(text) => writeln!(f, "{text}")?,
            }
        }
        Ok(())
    }
}

/// Changes what is kept for `workspace`. Two checkers at once wait for each other. Returns remarks
/// about the file, for the caller to say where it is read.
pub fn update(workspace: &Workspace, change: impl FnOnce(&mut Progress)) -> Result<Option<String>> {
    let root = workspace.root();
    let path = root.join(FILE);
    let keep = || -> Result<Option<String>> {
        let mut note = None;
        // A folder can be locked like a file, so no lock file is left over.
        let folder = File::open(root)?;
        folder.lock()?;
        let mut progress = match load(&path) {
            Loaded::Progress(progress) => progress,
            Loaded::Damaged(why) => {
                let aside = set_aside(&path)?;
                note = Some(format!(
                    "`{FILE}` {why}; it is now `{}`, and a new one begins",
                    workspace.relative(&aside).display()
                ));
                Progress::default()
            }
            Loaded::Newer => bail!("it was written by a newer checker\n\nhint: update the checker"),
        };
        let before = progress.clone();
        change(&mut progress);
        if progress != before {
            replace(&path, progress.to_string())?;
        }
        Ok(note)
    };
    keep().with_context(|| format!("cannot keep your progress in `{FILE}`"))
}

enum Loaded {
    Progress(Progress),
    Damaged(&'static str),
    Newer,
}

fn load(path: &Path) -> Loaded {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Loaded::Progress(Progress::default());
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            return Loaded::Damaged("is not text");
        }
        Err(_) => return Loaded::Damaged("cannot be read"),
    };
    if let Some(progress) = Progress::parse(&text) {
        return Loaded::Progress(progress);
    }
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let version = lines.next().and_then(|line| line.strip_prefix("progress "));
    match version.and_then(|version| version.parse::<u32>().ok()) {
        Some(version) if version > 1 => Loaded::Newer,
        _ => Loaded::Damaged("does not begin as it should"),
    }
}

/// Moves the file to a name that nothing has.
fn set_aside(path: &Path) -> Result<PathBuf> {
    let free = (1u32..).map(|n| path.with_extension(format!("damaged-{n}.txt")));
    let aside = free.into_iter().find(|aside| !aside.exists()).context("no free name")?;
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

/// Writes a file as a whole or not at all.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes.as_ref())?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    });
    if written.is_err() {
        _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\nprogress 1\n\npassed swift 97.3 00000000000000ff\nlast swift 12 SWIM-C01,SWIM-C03 00000000000000fe\nbest swift 9 - 00000000000000fe\nbadge swift gold\nhint lazy - 2\npassed broken\npredicted swift rank 2,1\npredicted swift rank two\ntook swift drawn 12 00000000000000fe\n";

    #[test]
    fn what_is_read_is_written_again_unknown_lines_and_all() {
        assert_eq!(Progress::parse(TEXT).expect("a file").to_string(), TEXT);
    }

    #[test]
    fn a_fact_takes_the_place_of_the_one_that_it_supersedes() {
        let mut progress = Progress::parse(TEXT).expect("a file");
        progress.hinted("lazy", None, 3);
        progress.hinted("lazy", None, 1); // what has been read stays read
        progress.hinted("lazy", Some("SWIM-C01"), 1);
        let expected = TEXT.replace("hint lazy - 2", "hint lazy - 3") + "hint lazy SWIM-C01 1\n";
        assert_eq!(progress.to_string(), expected);
    }

    #[test]
    fn a_time_is_of_the_conditions_that_it_was_taken_under() {
        let (then, now) = (Fingerprint(0xfe), Fingerprint(0xff));
        let mut progress = Progress::parse(TEXT).expect("a file");
        progress.ran("swift", "drawn", 13, then);
        let took = |progress: &Progress| [then, now].map(|it| progress.took("swift", "drawn", it));
        assert_eq!(took(&progress), [Some(12), None], "the first run counts");
        progress.ran("swift", "drawn", 14, now);
        assert_eq!(took(&progress), [None, Some(14)]);
        assert_eq!(progress.to_string().matches("took").count(), 1);
        // As older checkers wrote it.
        let old = Progress::parse("progress 1\ntook swift drawn 12\n").expect("a file");
        assert_eq!(took(&old), [None, None]);
    }

    #[test]
    fn a_file_that_begins_otherwise_is_no_progress() {
        for text in ["", "# only a remark\n", "progress one\n", "passed a 1 2\nprogress 1\n"] {
            assert_eq!(Progress::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_new_file_says_what_it_is() {
        let mut progress = Progress::default();
        progress.hinted("lazy", None, 1);
        let text = progress.to_string();
        assert_eq!(text, format!("{TITLE}progress 1\nhint lazy - 1\n"));
        assert_eq!(Progress::parse(&text).expect("a file").hints("lazy", None), 1);
    }
}
