//! One line of the file: what it says, and how it is written.

use std::fmt;

use super::{Fingerprint, NO_CODE, PastRun};
use crate::grade::score;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fact {
    Passed { exercise: String, score: f64, exercise_was: Fingerprint },
    Stuck { exercise: String, code: String },
    Hint { exercise: String, code: String, level: usize },
    Predicted { exercise: String, puzzle: String, answer: Vec<u32> },
    Took { exercise: String, program: String, ns: u64, conditions: Fingerprint },
    Run { which: Which, exercise: String, run: PastRun, exercise_was: Fingerprint },
}

/// Which of the runs of a student's file is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Last,
    Best,
}

impl Which {
    fn word(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Best => "best",
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed { exercise, score, exercise_was } => {
                write!(f, "passed {exercise} {} {exercise_was}", score::shown(*score))
            }
            Self::Stuck { exercise, code } => write!(f, "stuck {exercise} {code}"),
            Self::Hint { exercise, code, level } => write!(f, "hint {exercise} {code} {level}"),
            Self::Predicted { exercise, puzzle, answer } => {
                let numbers: Vec<_> = answer.iter().map(ToString::to_string).collect();
                write!(f, "predicted {exercise} {puzzle} {}", numbers.join(","))
            }
            Self::Took { exercise, program, ns, conditions } => {
                write!(f, "took {exercise} {program} {ns} {conditions}")
            }
            Self::Run { which, exercise, run: PastRun { ns, codes }, exercise_was } => {
                let codes = if codes.is_empty() { NO_CODE.to_owned() } else { codes.join(",") };
                write!(f, "{} {exercise} {ns} {codes} {exercise_was}", which.word())
            }
        }
    }
}

/// A line that says nothing that this checker knows.
pub(super) struct NotAFact;

impl std::str::FromStr for Fact {
    type Err = NotAFact;

    fn from_str(line: &str) -> Result<Self, NotAFact> {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["passed", exercise, score, print] => {
                let score: f64 = score.parse().map_err(|_| NotAFact)?;
                let exercise_was = print.parse().map_err(|_| NotAFact)?;
                if !(0.0..=100.0).contains(&score) {
                    return Err(NotAFact);
                }
                Ok(Self::Passed { exercise: exercise.to_owned(), score, exercise_was })
            }
            ["stuck", exercise, code] => {
                Ok(Self::Stuck { exercise: exercise.to_owned(), code: code.to_owned() })
            }
            ["hint", exercise, code, level] => {
                let level = level.parse().map_err(|_| NotAFact)?;
                let (exercise, code) = (exercise.to_owned(), code.to_owned());
                Ok(Self::Hint { exercise, code, level })
            }
            ["predicted", exercise, puzzle, numbers] => {
                let answer: Result<_, _> = numbers.split(',').map(str::parse).collect();
                let answer = answer.map_err(|_| NotAFact)?;
                let (exercise, puzzle) = (exercise.to_owned(), puzzle.to_owned());
                Ok(Self::Predicted { exercise, puzzle, answer })
            }
            ["took", exercise, program, ns, ref conditions @ ..] => {
                let ns = ns.parse().map_err(|_| NotAFact)?;
                // Older checkers kept no conditions: theirs are none that hold now.
                let conditions = match conditions {
                    [] => Fingerprint(0),
                    [print] => print.parse().map_err(|_| NotAFact)?,
                    _ => return Err(NotAFact),
                };
                let (exercise, program) = (exercise.to_owned(), program.to_owned());
                Ok(Self::Took { exercise, program, ns, conditions })
            }
            [which, exercise, ns, codes, print] => {
                let which = [Which::Last, Which::Best].into_iter().find(|it| it.word() == which);
                let codes = codes.split(',').filter(|code| *code != NO_CODE);
                Ok(Self::Run {
                    which: which.ok_or(NotAFact)?,
                    exercise: exercise.to_owned(),
                    run: PastRun {
                        ns: ns.parse().map_err(|_| NotAFact)?,
                        codes: codes.map(str::to_owned).collect(),
                    },
                    exercise_was: print.parse().map_err(|_| NotAFact)?,
                })
            }
            _ => Err(NotAFact),
        }
    }
}
