//! The smallest change that puts a hazard right, as an edit of the student's source.
//!
//! It is made only where the lines are so plain that it is sure to be one: statements of one line
//! each, in one block, and streams with names. Elsewhere the words of the hazard have to do. Where
//! an exercise marks the regions that are to be edited, it stays inside of them.

use std::ops::Range;

use trace::Hazard;
use trace::hazards::{CallAt, Edge, NearMiss, Slip, StreamNames, Turn, Waiter};

use crate::regions::Mark;
use crate::report::names::{receiver, variable};
use crate::report::sources::{Sources, is_word};

/// Changes of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct Fix {
    /// As places in the source name it.
    pub file: String,
    /// In the order of the file; no two touch.
    pub edits: Vec<Edit>,
}

/// Bytes of the source, and what takes their place.
#[derive(Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes of the file that it takes the place of.
    pub bytes: Range<usize>,
    /// The text to stand there instead.
    pub text: String,
}

/// The change for `hazard`, if there is one that is sure.
pub fn fix(hazard: &Hazard, names: &StreamNames, sources: &Sources) -> Option<Fix> {
    let (first, second) = hazard.changed();
    let file = &second.site.as_ref()?.file;
    let source = Source::new(file, sources.get(file)?);
    let (first, second) = (source.line(&first)?, source.line(&second)?);
    let place = Place { hazard, names, source: &source, first, second };
    let mut edits = match &hazard.near {
        Some(near) => place.near(near)?,
        None => place.afresh()?,
    };
    edits.sort_by_key(|edit| edit.bytes.start);
    if !edits.iter().all(|edit| source.is_inside(edit)) {
        return None;
    }
    Some(Fix { file: file.clone(), edits })
}

struct Place<'a> {
    hazard: &'a Hazard,
    names: &'a StreamNames,
    source: &'a Source<'a>,
    /// The lines of the two uses, from 0.
    first: usize,
    second: usize,
}

impl Place<'_> {
    fn near(&self, NearMiss { waiter, slip }: &NearMiss) -> Option<Vec<Edit>> {
        let Self { names, source, first, second, .. } = *self;
        let stream = names.of(self.hazard.first.stream?);
        let line = |call: &CallAt| source.line(call);
        match slip {
            Slip::RecordedTooEarly { record, wait } => {
                let (record, wait) = (line(record)?, line(wait)?);
                let to = source.after(first, wait)?;
                let unused = source.event(record).is_some_and(|event| {
                    !(record + 1..to).any(|line| source.has_word(line, event))
                });
                (unused && record < first && source.is_one_block(first, wait))
                    .then(|| source.moved(record, to))?
            }
            Slip::NotRecorded { wait, record } => {
                let (wait, record) = (line(wait)?, line(record.as_ref()?)?);
                (first < wait && wait < record && source.is_one_block(first, record))
                    .then(|| source.moved(record, source.after(first, wait)?))?
            }
            Slip::WaitsTooLate { wait, record } => {
                let wait = line(wait)?;
                let after = match (record, waiter) {
                    (Some(record), _) => line(record)?,
                    (None, Waiter::Host) => first,
                    (None, Waiter::Stream(_)) => return None,
                };
                let to = source.before(after, second)?;
                (source.is_quiet(to, second) && source.is_one_block(second, wait))
                    .then(|| source.moved(wait, to))?
            }
            Slip::HostWaitsTooEarly { wait } => {
                let wait = line(wait)?;
                let to = source.before(first, second)?;
                (wait < first && source.is_quiet(to, second) && source.is_one_block(wait, second))
                    .then(|| source.moved(wait, to))?
            }
            Slip::AnotherWaits { wait, stream, .. } => {
                let Waiter::Stream(waiter) = waiter else { return None };
                Some(vec![source.renamed(wait, names.of(*stream)?, names.of(*waiter)?)?])
            }
            Slip::HostWaitsForAnother { wait, stream: another } => {
                Some(vec![source.renamed(wait, names.of(*another)?, stream?)?])
            }
            Slip::RecordedElsewhere { record, stream: another, .. } => (first < line(record)?)
                .then(|| Some(vec![source.renamed(record, names.of(*another)?, stream?)?]))?,
            Slip::WaitsForAnotherEvent { wait, stale, record } => {
                let stale = source.event(line(stale.as_ref()?)?)?;
                let record = source.event(line(record)?)?;
                (stale != record).then(|| Some(vec![source.renamed(wait, stale, record)?]))?
            }
            Slip::NobodyWaits { record, .. } => {
                let record = line(record)?;
                let event = source.event(record)?;
                let call = match waiter {
                    Waiter::Host => format!("{event}.synchronize()?;"),
                    Waiter::Stream(stream) => format!("{}.wait(&{event})?;", names.of(*stream)?),
                };
                let to = match self.hazard.turn {
                    Turn::Same if source.is_one_block(record, second) => {
                        source.before(record, second)?
                    }
                    Turn::Later if self.is_next_lap() && source.is_one_block(second, record) => {
                        source.below(record)?
                    }
                    _ => return None,
                };
                Some(vec![source.inserted(to, record, &[call])?])
            }
            Slip::NotRecordedAgain { .. } | Slip::ByTurns { .. } => None,
        }
    }

    /// Whether the next iteration of the loop uses the memory again. Where iterations lie between,
    /// an event of the iteration before would make the stream wait for more than it needs.
    fn is_next_lap(&self) -> bool {
        self.hazard.laps < 2
    }

    /// Where nothing is there to be changed, lines are added.
    fn afresh(&self) -> Option<Vec<Edit>> {
        let Self { hazard, names, source, first, second } = *self;
        match hazard.missing {
            Edge::Wait { record_in, wait_in, .. } => {
                let (record_in, wait_in) = (names.of(record_in)?, names.of(wait_in)?);
                let event = ["done", "ready", "finished"].into_iter().find(|name| {
                    let is_code = |line: &usize| !source.text(*line).starts_with("//");
                    let mut code = (0..source.lines.len()).filter(is_code);
                    !code.any(|line| source.has_word(line, name))
                })?;
                let record = format!("let {event} = {record_in}.record_event(None)?;");
                let wait = format!("{wait_in}.wait(&{event})?;");
                match hazard.turn {
                    Turn::Same => {
                        source.is_one_block(first, second).then_some(())?;
                        let (after, before) =
                            (source.after(first, second)?, source.before(first, second)?);
                        if after == before {
                            return Some(vec![source.inserted(after, second, &[record, wait])?]);
                        }
                        let record = source.inserted(after, second, &[record])?;
                        Some(vec![record, source.inserted(before, second, &[wait])?])
                    }
                    // The stream of the line that is run again waits as soon as it can.
                    Turn::Later => {
                        (self.is_next_lap()
                            && second < first
                            && source.is_one_block(second, first))
                        .then_some(())?;
                        let below = source.below(first)?;
                        Some(vec![source.inserted(below, first, &[record, wait])?])
                    }
                }
            }
            Edge::Synchronise { stream, .. } if hazard.turn == Turn::Same => {
                let call = format!("{}.synchronize()?;", names.of(stream)?);
                source.is_one_block(first, second).then_some(())?;
                let to = source.before(first, second)?;
                Some(vec![source.inserted(to, second, &[call])?])
            }
            _ => None,
        }
    }
}

/// A file, by its lines from 0.
struct Source<'a> {
    file: &'a str,
    lines: Vec<&'a str>,
    /// Where each line starts.
    starts: Vec<usize>,
}

impl<'a> Source<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let starts = lines.iter().scan(0, |at, line| {
            *at += line.len();
            Some(*at - line.len())
        });
        Self { file, starts: starts.collect(), lines }
    }

    /// The line of a call in this file.
    fn line(&self, call: &CallAt) -> Option<usize> {
        let site = call.site.as_ref().filter(|site| site.file == self.file)?;
        (site.line as usize).checked_sub(1).filter(|line| *line < self.lines.len())
    }

    fn text(&self, line: usize) -> &'a str {
        self.lines.get(line).map_or("", |line| line.trim())
    }

    fn indent(&self, line: usize) -> &'a str {
        let line = self.lines[line];
        &line[..line.len() - line.trim_start().len()]
    }

    fn has_word(&self, line: usize, word: &str) -> bool {
        self.text(line).split(|c| !is_word(c)).any(|it| it == word)
    }

    /// Whether the line is one whole statement, and hands errors on.
    fn is_statement(&self, line: usize) -> bool {
        let text = self.text(line);
        let count =
            |open: char, close: char| text.matches(open).count() == text.matches(close).count();
        let begins = (0..line).rev().map(|line| self.text(line)).find(|text| !text.is_empty());
        let begins =
            begins.is_none_or(|text| text.ends_with([';', '{', '}']) || text.starts_with("//"));
        begins
            && text.ends_with(';')
            && text.contains('?')
            && count('(', ')')
            && count('{', '}')
            && count('[', ']')
            && !text.contains("//")
    }

    /// Whether both lines are statements of one block, the first before the second.
    fn is_one_block(&self, first: usize, second: usize) -> bool {
        let indent = self.indent(first).len();
        let within = |line: usize| self.text(line).is_empty() || self.indent(line).len() >= indent;
        first < second
            && self.is_statement(first)
            && self.is_statement(second)
            && self.indent(second).len() == indent
            && (first..second).all(within)
    }

    /// Whether there are only remarks from one line up to another.
    fn is_quiet(&self, from: usize, to: usize) -> bool {
        (from..to).map(|line| self.text(line)).all(|text| text.is_empty() || text.starts_with("//"))
    }

    /// Whether something may be put before a line: where regions are marked, only inside of one.
    fn is_open(&self, line: usize) -> bool {
        let mark = |line: usize| Mark::of(self.text(line));
        match (0..line).rev().find_map(mark) {
            Some(mark) => matches!(mark, Mark::Begin(_)),
            None => (line..self.lines.len()).all(|line| mark(line).is_none()),
        }
    }

    /// Whether an edit leaves alone what is not to be edited.
    fn is_inside(&self, edit: &Edit) -> bool {
        let line = self.starts.partition_point(|start| *start <= edit.bytes.start);
        line.checked_sub(1).is_some_and(|line| self.is_open(line))
    }

    /// The lines before which something may be put that comes after `first` and before `second`, in
    /// the block of `second`.
    fn room(&self, first: usize, second: usize) -> impl DoubleEndedIterator<Item = usize> {
        let indent = self.indent(second);
        (first + 1..=second).filter(move |line| {
            let text = self.text(*line);
            let in_block = self.indent(*line) == indent && !text.is_empty();
            in_block && !text.starts_with('}') && self.is_open(*line)
        })
    }

    /// The first of them.
    fn after(&self, first: usize, second: usize) -> Option<usize> {
        self.room(first, second).next()
    }

    /// The last of them.
    fn before(&self, first: usize, second: usize) -> Option<usize> {
        self.room(first, second).next_back()
    }

    /// The first line below one before which something may be put, in the block of that one.
    fn below(&self, line: usize) -> Option<usize> {
        let indent = self.indent(line).len();
        let is_end = |it: &usize| !self.text(*it).is_empty() && self.indent(*it).len() < indent;
        let end = (line + 1..self.lines.len()).find(is_end)?;
        let after =
            (line + 1..end).find(|it| self.indent(*it).len() == indent && self.is_open(*it));
        after.or(Some(end).filter(|end| self.is_open(*end)))
    }

    /// The variable of the event that is recorded on a line.
    fn event(&self, line: usize) -> Option<&'a str> {
        let text = self.text(line);
        let of =
            || text.find(".record(").map(|at| &text[..at]).filter(|it| it.chars().all(is_word));
        if text.contains(".record_event(") { variable(text) } else { of() }
    }

    /// A line goes to before another.
    fn moved(&self, line: usize, to: usize) -> Option<Vec<Edit>> {
        let start = self.starts[line];
        let gone = Edit { bytes: start..start + self.lines[line].len(), text: String::new() };
        let text = self.text(line).to_owned();
        self.is_statement(line).then(|| Some(vec![gone, self.inserted(to, to, &[text])?]))?
    }

    /// New lines before one, indented like another.
    fn inserted(&self, before: usize, like: usize, new: &[String]) -> Option<Edit> {
        let start = *self.starts.get(before)?;
        let indent = self.indent(like);
        let text = new.iter().map(|line| format!("{indent}{line}\n")).collect();
        Some(Edit { bytes: start..start, text })
    }

    /// On the line of a call, one variable takes the place of another.
    fn renamed(&self, call: &CallAt, old: &str, new: &str) -> Option<Edit> {
        let line = self.line(call)?;
        let text = self.lines[line];
        let column = call.site.as_ref()?.column?;
        let edit = |at: usize| {
            let start = self.starts[line] + at;
            Edit { bytes: start..start + old.len(), text: new.to_owned() }
        };
        if receiver(text, column) == Some(old) {
            return Some(edit((column as usize).checked_sub(2 + old.len())?));
        }
        // As an argument: the only time that it is on the line.
        let mut found = text.match_indices(old).filter(|(at, _)| {
            !text[..*at].ends_with(is_word) && !text[at + old.len()..].starts_with(is_word)
        });
        let at = found.next()?.0;
        (found.next().is_none() && at >= column as usize).then(|| edit(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
for chunk in chunks {
    up.copy(chunk)?;
    // region: handover
    // endregion
    down.copy(chunk)?;
    if last {
        return;
    }
    let a = up.record_event(None)?;
    b.record(&up)?;
    let c = up
        .record_event(None)?;
}
down.synchronize()?;
";

    #[test]
    fn what_is_put_between_two_lines_goes_into_the_regions_that_are_left_for_it() {
        let source = Source::new("f", TEXT);
        let room = |first, second| (source.after(first, second), source.before(first, second));
        assert_eq!(room(1, 4), (Some(3), Some(3)));
        assert_eq!(room(4, 8), (None, None)); // not to be edited
        let edit = source.inserted(3, 4, &["x;".to_owned()]).expect("an edit");
        assert_eq!(edit.text, "    x;\n");
        assert_eq!(TEXT[edit.bytes.start..].lines().next(), Some("    // endregion"));
        let gone = |line| source.is_inside(&source.moved(line, 3).expect("edits")[0]);
        assert!(!gone(1) && !gone(4));

        let text = "\
{
    one()?;
    // region: a
    two()?;
    // endregion
    three()?;
    // region: b
    // endregion
    four()?;
    // region: c
    // endregion
}
";
        let source = Source::new("f", text);
        let room = |first, second| (source.after(first, second), source.before(first, second));
        assert_eq!(room(1, 8), (Some(3), Some(7)));
        assert_eq!(room(3, 8), (Some(4), Some(7)));
        assert_eq!([1, 5, 8].map(|line| source.below(line)), [Some(3), Some(7), Some(10)]);
        assert!(source.is_inside(&source.moved(3, 7).expect("edits")[0]));
    }

    #[test]
    fn where_no_regions_are_marked_all_of_a_file_may_be_edited() {
        let text = TEXT.replace("region: handover", "a remark").replace("endregion", "another");
        let source = Source::new("f", &text);
        let room = |first, second| (source.after(first, second), source.before(first, second));
        assert_eq!(room(1, 4), (Some(2), Some(4)));
        assert_eq!(room(4, 8), (Some(5), Some(8)));
        // Below the last line of a block, inside of it.
        assert_eq!((source.below(6), source.below(8)), (Some(7), Some(9)));
        assert_eq!(
            source.inserted(7, 6, &["x;".to_owned()]).expect("an edit").text,
            "        x;\n"
        );
    }

    #[test]
    fn only_whole_statements_of_one_block_are_touched() {
        let source = Source::new("f", TEXT);
        assert!(source.is_one_block(1, 4) && source.is_one_block(1, 9));
        for (first, second) in [(1, 10), (11, 13), (9, 13), (4, 1), (1, 6)] {
            assert!(!source.is_one_block(first, second), "{first} {second}");
        }
    }

    #[test]
    fn an_event_has_the_name_of_its_variable() {
        let source = Source::new("f", TEXT);
        assert_eq!(
            [8, 9, 10, 1].map(|line| source.event(line)),
            [Some("a"), Some("b"), None, None]
        );
    }
}
