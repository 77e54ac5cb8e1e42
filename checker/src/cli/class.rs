//! Arguments that only the commands for a class have.

use std::str::FromStr;

use clap::ValueEnum;

/// Formats of a class's reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Format {
    /// The summary that the terminal shows
    Text,
    /// One JSON object a line, which all others are made from
    Jsonl,
    /// One row for each student and exercise
    Csv,
    /// For CI systems
    Junit,
    /// results.json of an autograder
    Gradescope,
    /// The exported gradebook, with points filled in
    Canvas,
    /// For the import of grades
    Moodle,
    /// result.json of an autograder
    Classroom50,
    /// results.json of an external grader
    Prairielearn,
    /// For the summary of a GitHub job
    Markdown,
    /// One page for each student, one for the class
    Html,
}

/// A part of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u32,
    /// How many parts there are.
    pub of: u32,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, of)| {
            Some(Self { index: index.parse().ok()?, of: of.parse().ok()? })
        });
        match parts {
            Some(shard) if shard.index < shard.of => Ok(shard),
            _ => Err("a shard is `I/N` with I from 0 to N - 1, such as `0/20`".to_owned()),
        }
    }
}

/// How lateness becomes points: `GRACE:POINTS:LAST`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LateRule {
    /// Hours after the deadline that cost nothing.
    pub grace_hours: u32,
    /// Points of 100 for each day after the deadline that has begun.
    pub points_per_day: f64,
    /// Hours after the deadline from which on nothing counts any more.
    pub last_hours: u32,
}

impl FromStr for LateRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<_> = text.split(':').collect();
        let rule = match parts[..] {
            [grace, points, last] => {
                (grace.parse().ok(), points.parse::<f64>().ok(), last.parse().ok())
            }
            _ => (None, None, None),
        };
        match rule {
            (Some(grace_hours), Some(points_per_day), Some(last_hours))
                if (0.0..=100.0).contains(&points_per_day) && grace_hours <= last_hours =>
            {
                Ok(Self { grace_hours, points_per_day, last_hours })
            }
            _ => Err(RULE.to_owned()),
        }
    }
}

const RULE: &str = "it is `GRACE:POINTS:LAST`, such as `1:10:72`: hours that cost nothing, points of 100 for each \
day that has begun, and hours after which nothing counts";

/// A heading of a gradebook and what goes below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading, `Streams (4711)`, or its title or number alone.
    pub heading: String,
    /// The exercise whose points go there; none for all together.
    pub exercise: Option<String>,
}

impl std::str::FromStr for Column {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.rsplit_once('=') {
            Some((heading, exercise)) => {
                Self { heading: heading.to_owned(), exercise: Some(exercise.to_owned()) }
            }
            None => Self { heading: text.to_owned(), exercise: None },
        })
    }
}
