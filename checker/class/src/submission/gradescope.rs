//! `submission_metadata.yml`, which Gradescope puts beside the folders that it exports: who handed
//! in which of them, and when.
//!
//! Its keys are Ruby's symbols. Newer files have a time as text, older ones as Ruby's object of it.
//! The output of students' programs stands in the same file, so that only what is wanted is kept
//! of it and no alias is followed.

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use saphyr_parser::{Event, Parser};

/// The name of the file.
pub(super) const NAME: &[u8] = b"submission_metadata.yml";

/// Longest such file, in bytes: a class of a thousand with all that their programs printed.
pub(super) const LONGEST: u64 = 256 * 1024 * 1024;

/// A folder that was exported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Submission {
    /// The folder's name.
    pub(super) folder: String,
    pub(super) submitters: Vec<Submitter>,
    pub(super) at: Option<Timestamp>,
}

/// One of those who handed it in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Submitter {
    pub(super) name: Option<String>,
    pub(super) sid: Option<String>,
    pub(super) email: Option<String>,
}

impl Submitter {
    /// The number that the class knows the student by, else the address.
    pub(super) fn id(&self) -> Option<&str> {
        self.sid.as_deref().or(self.email.as_deref())
    }
}

/// The submissions in the file.
pub(super) fn read(text: &str) -> Result<Vec<Submission>> {
    let mut submissions = Vec::new();
    // Keys on the way to where the parser is; a list has an empty one.
    let mut way: Vec<Level> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event?;
        match event {
            Event::MappingStart(..) => {
                if way.len() > DEEPEST {
                    bail!("it is nested more than {DEEPEST} deep");
                }
                begin(&way, &mut submissions);
                way.push(Level::Map(None));
            }
            Event::SequenceStart(..) => {
                if way.len() > DEEPEST {
                    bail!("it is nested more than {DEEPEST} deep");
                }
                way.push(Level::List);
            }
            Event::MappingEnd | Event::SequenceEnd => {
                way.pop();
                value_over(&mut way);
            }
            Event::Scalar(text, ..) => match way.last_mut() {
                Some(Level::Map(key @ None)) => *key = Some(text.into_owned()),
                _ => {
                    keep(&way, &text, &mut submissions)?;
                    value_over(&mut way);
                }
            },
            Event::Alias(_) => match way.last_mut() {
                Some(Level::Map(key @ None)) => *key = Some(String::new()),
                _ => value_over(&mut way),
            },
            _ => {}
        }
    }
    Ok(submissions)
}

/// Deeper than results of programs are written.
const DEEPEST: usize = 64;

enum Level {
    /// With the key whose value comes.
    Map(Option<String>),
    List,
}

fn value_over(way: &mut [Level]) {
    if let Some(Level::Map(key)) = way.last_mut() {
        *key = None;
    }
}

/// The keys of `way`, as far as they are wanted.
fn keys(way: &[Level]) -> Vec<&str> {
    let keys = way.iter().map(|level| match level {
        Level::Map(key) => key.as_deref().unwrap_or_default(),
        Level::List => "",
    });
    keys.collect()
}

fn begin(way: &[Level], submissions: &mut Vec<Submission>) {
    match keys(way)[..] {
        [folder] => {
            submissions.push(Submission { folder: folder.to_owned(), ..Submission::default() })
        }
        [_, ":submitters", ""] => {
            if let Some(submission) = submissions.last_mut() {
                submission.submitters.push(Submitter::default());
            }
        }
        _ => {}
    }
}

fn keep(way: &[Level], text: &str, submissions: &mut [Submission]) -> Result<()> {
    let Some(submission) = submissions.last_mut() else { return Ok(()) };
    let some = Some(text).filter(|text| !matches!(*text, "" | "~" | "null")).map(str::to_owned);
    match keys(way)[..] {
        [_, ":created_at"] | [_, ":created_at", "utc"] => {
            let at = time(text).with_context(|| format!("`{text}` is no time"))?;
            submission.at = Some(at);
        }
        [_, ":submitters", "", field] => {
            let Some(submitter) = submission.submitters.last_mut() else { return Ok(()) };
            match field {
                ":name" => submitter.name = some,
                ":sid" => submitter.sid = some,
                ":email" => submitter.email = some,
                _ => {}
            }
        }
        _ => {}
    }
    Ok(())
}

/// `2026-04-26 17:34:00.861687000 Z`, or with `+02:00` in the place of the last.
fn time(text: &str) -> Result<Timestamp> {
    Ok(text.replace(" Z", "Z").replace(" +", "+").replace(" -", "-").parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it is exported, with a time of each kind, an anchor, and output that looks like keys.
    const TEXT: &str = "\
submission_41:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0123'
    :email: ada@example.org
  :created_at: 2026-04-26 17:34:00.861687000 Z
  :score: 2.0
  :status: processed
  :results:
    score: 2.0
    output: |-
      submission_99:
        :submitters:
        - :sid: evil
    tests:
    - name: one
      :sid: evil
  :history:
  - :id: 40
    :created_at: 2026-04-25 17:34:00.861687000 Z
submission_42:
  :submitters:
  - :name: Grace Hopper
    :sid: 7
    :email: grace@example.org
  - :name: Edith Clarke
    :sid: ''
    :email: edith@example.org
  :created_at: !ruby/object:ActiveSupport::TimeWithZone
    utc: &1 2026-04-26 10:00:00.000000000 Z
    zone: &2 !ruby/object:ActiveSupport::TimeZone
      name: Etc/UTC
    time: *1
submission_43:
  :submitters: []
";

    #[test]
    fn submitters_and_times_are_read_and_what_programs_printed_is_not() {
        let submissions = read(TEXT).unwrap();
        let folders: Vec<_> = submissions.iter().map(|s| s.folder.as_str()).collect();
        assert_eq!(folders, ["submission_41", "submission_42", "submission_43"]);
        let ids = submissions.iter().map(|s| s.submitters.iter().map(|s| s.id()).collect());
        let ids: Vec<Vec<_>> = ids.collect();
        let none: Vec<Option<&str>> = Vec::new();
        assert_eq!(ids, [vec![Some("0123")], vec![Some("7"), Some("edith@example.org")], none]);
        let times: Vec<_> = submissions.iter().map(|s| s.at.map(|at| at.to_string())).collect();
        let one = Some("2026-04-26T17:34:00.861687Z".to_owned());
        assert_eq!(times, [one, Some("2026-04-26T10:00:00Z".to_owned()), None]);
    }

    #[test]
    fn a_time_that_is_none_is_an_error_and_so_is_endless_nesting() {
        assert!(read("submission_1:\n  :created_at: yesterday\n").is_err());
        let nested = "a: ".to_owned() + &"[".repeat(10_000);
        assert!(read(&nested).is_err());
    }
}
