//! Marks in the source that say what shows a claim: `<!-- shown: row "…" -->`. Pages do not have
//! them.
//!
//! | mark | what it names |
//! | --- | --- |
//! | `row "NAME"` | a row of the lab's test `conformance`, as a GPU answered it |
//! | `run EXERCISE/NAME scores 98 passes` | a solution under `checker/tests/alternatives`, `solution` or `shipped` |
//! | `measured KEY` | a figure of `measured/h200.json`, as `{{#value h200 KEY}}` names it |
//! | `doc URL` | a page of documentation |
//! | `simulator` | a rule of the simulated device alone |
//! | `follows from …` | what it follows from, in words |

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::records::Records;

const BEGIN: &str = "<!-- shown:";
const END: &str = "-->";

/// The GPU whose measurements and conformance rows a mark names.
const GPU: &str = "h200";
/// Where the rows are, from the book's folder.
const ROWS: &str = "../exercises/lab/tests/conformance/h200.json";
/// Solutions written differently, a folder for each exercise.
const ALTERNATIVES: &str = "../checker/tests/alternatives";
/// The snapshots of the checker's test of them: a file for each exercise, whose name ends in its
/// own, and a line for each.
const SNAPSHOTS: &str = "../checker/tests/it/snapshots";
const SCORES: &str = "it__alternatives__alternatives_of_";

/// A mark, and where it lies in the text.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The text after `shown:`.
    pub what: String,
    /// The whole comment.
    pub range: Range<usize>,
}

impl Mark {
    /// Whether it names a program that was graded.
    pub fn is_run(&self) -> bool {
        self.what.starts_with("run ")
    }
}

/// The marks of a text, in order.
pub fn marks(text: &str) -> Vec<Mark> {
    let found = text.match_indices(BEGIN).filter_map(|(start, _)| {
        let inside = start + BEGIN.len();
        let length = text[inside..].find(END)?;
        let what = text[inside..inside + length].trim().to_owned();
        Some(Mark { what, range: start..inside + length + END.len() })
    });
    found.collect()
}

/// The text without its marks. A line that holds nothing else goes as a whole, so that it parts no
/// paragraph.
pub fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for Mark { range, .. } in marks(text) {
        let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
        let alone = text[line..range.start].trim().is_empty()
            && text[range.end..end].trim().is_empty()
            && line >= done;
        if alone {
            out.push_str(&text[done..line]);
            done = end;
        } else {
            // The space before it goes too.
            out.push_str(text[done..range.start].trim_end_matches(' '));
            done = range.end;
        }
    }
    out + &text[done..]
}

/// Everything that marks may name.
pub struct Evidence<'a> {
    root: &'a Path,
    records: &'a Records,
    /// Rows with one clear answer.
    rows: Result<BTreeMap<String, serde_json::Value>, String>,
    /// Score and verdict, by `EXERCISE/NAME`.
    scores: Result<BTreeMap<String, (f64, String)>, String>,
}

impl<'a> Evidence<'a> {
    /// Reads what there is; a missing part is reported when a mark needs it.
    pub fn read(root: &'a Path, records: &'a Records) -> Self {
        let read = |path: &str| {
            std::fs::read_to_string(root.join(path)).map_err(|error| {
                format!("cannot read `{}`: {error}", path.trim_start_matches("../"))
            })
        };
        let rows = read(ROWS).and_then(|text| {
            let kept: serde_json::Value =
                serde_json::from_str(&text).map_err(|error| error.to_string())?;
            let rows = kept["rows"].as_object().cloned().unwrap_or_default();
            Ok(rows.into_iter().filter(|(_, seen)| seen.is_array()).collect())
        });
        let entries = std::fs::read_dir(root.join(SNAPSHOTS)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let texts = names
            .filter(|name| name.starts_with(SCORES))
            .map(|name| read(&format!("{SNAPSHOTS}/{name}")));
        let texts: Result<Vec<String>, String> = texts.collect();
        let scores =
            texts.map(|texts| texts.iter().flat_map(|it| it.lines()).filter_map(row).collect());
        Self { root, records, rows, scores }
    }

    /// Whether what a mark names is there and says what the mark says.
    pub fn check(&self, mark: &Mark) -> Result<(), String> {
        let (kind, rest) = mark.what.split_once(char::is_whitespace).unwrap_or((&mark.what, ""));
        let rest = rest.trim();
        match kind {
            "row" => self.row(rest.trim_matches('"')),
            "run" => self.run(rest),
            "measured" => self.records.value(&format!("{GPU} {rest}")).map(drop),
            "doc" if rest.starts_with("https://") && !rest.contains(char::is_whitespace) => Ok(()),
            "doc" => Err(format!("`{rest}` is not the address of a page of documentation")),
            "simulator" if rest.is_empty() => Ok(()),
            "follows" if rest.strip_prefix("from ").is_some_and(|from| !from.trim().is_empty()) => {
                Ok(())
            }
            _ => Err(format!(
                "`shown: {}` is none of `row \"NAME\"`, `run EXERCISE/NAME scores N passes`, `measured KEY`, \
                 `doc URL`, `simulator` and `follows from …`",
                mark.what
            )),
        }
    }

    fn row(&self, name: &str) -> Result<(), String> {
        let rows = self.rows.as_ref().map_err(Clone::clone)?;
        let missing = || format!("no GPU gave a clear answer to a row `{name}`");
        rows.contains_key(name).then_some(()).ok_or_else(missing)
    }

    /// `EXERCISE/NAME`, and `scores N`, `passes` or `fails`.
    fn run(&self, said: &str) -> Result<(), String> {
        let mut words = said.split_whitespace();
        let name = words.next().unwrap_or_default();
        let (score, verdict) = self.score(name)?;
        let mut checked = false;
        while let Some(word) = words.next() {
            let right = match word {
                "scores" => {
                    let number = words.next().unwrap_or_default();
                    // As precise as it was said.
                    let decimals = number.split_once('.').map_or(0, |(_, after)| after.len());
                    format!("{score:.decimals$}") == number
                }
                "passes" => verdict == "passed",
                "fails" => verdict == "failed",
                other => {
                    return Err(format!("`{other}` is none of `scores N`, `passes` and `fails`"));
                }
            };
            if !right {
                return Err(format!("`{name}` scores {score} and {verdict}"));
            }
            checked = true;
        }
        let nothing = || format!("say what `{name}` does: `scores {score}` or `{verdict}`");
        checked.then_some(()).ok_or_else(nothing)
    }

    fn score(&self, name: &str) -> Result<(f64, String), String> {
        // The test asserts these two of every exercise.
        match name.split_once('/') {
            Some((_, "solution")) => return Ok((100.0, "passed".into())),
            Some((_, "shipped")) => return Ok((0.0, "failed".into())),
            _ => {}
        }
        if !self.root.join(ALTERNATIVES).join(format!("{name}.rs")).is_file() {
            return Err(format!("there is no `checker/tests/alternatives/{name}.rs`"));
        }
        let scores = self.scores.as_ref().map_err(Clone::clone)?;
        let missing = || format!("the checker's test `alternatives` has no score of `{name}` yet");
        scores.get(name).cloned().ok_or_else(missing)
    }
}

/// `three_lanes  copies_share_a_lane  9.758 ms  0.603  63.6 failed`.
fn row(line: &str) -> Option<(String, (f64, String))> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [exercise, name, .., score, verdict] = words[..] else { return None };
    let known = verdict == "passed" || verdict == "failed";
    Some((
        format!("{exercise}/{name}"),
        (score.parse().ok().filter(|_| known)?, verdict.to_owned()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_leave_no_trace_and_part_no_paragraph() {
        let text = "It does. <!-- shown: simulator --> So it is.\n<!-- shown: doc https://a.b -->\nAnd on.\n";
        assert_eq!(without_marks(text), "It does. So it is.\nAnd on.\n");
        assert_eq!(without_marks("a<!-- other -->\n"), "a<!-- other -->\n");
    }

    #[test]
    fn a_row_of_the_scores_is_read() {
        let read =
            row("three_lanes      copies_share_a_lane        9.758 ms   0.603   63.6 failed");
        assert_eq!(read, Some(("three_lanes/copies_share_a_lane".into(), (63.6, "failed".into()))));
        assert_eq!(row("source: checker/tests/it/alternatives.rs"), None);
    }
}
