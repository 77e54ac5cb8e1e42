//! Names of streams in the student's source.
//!
//! A program knows streams by number. The variable in front of `.memcpy_htod(…)` on the line of a
//! copy is what its author calls the copy's stream; so is the one that a new stream is bound to. A
//! name that stands for several streams, as in a loop over them, is none.

use std::collections::{BTreeMap, BTreeSet};

use trace::Program;
use trace::hazards::{self, StreamNames};
use trace::program::{Call, Site, StreamId};

use crate::report::sources::{Sources, is_word};

/// The names in `sources` of the streams of `program`.
pub fn streams(program: &Program, sources: &Sources) -> StreamNames {
    let lines: BTreeMap<&str, Vec<&str>> =
        sources.iter().map(|(file, text)| (file.as_str(), text.lines().collect())).collect();
    let line = |site: &Site| -> Option<&str> {
        lines.get(site.file.as_str())?.get((site.line as usize).checked_sub(1)?).copied()
    };
    let mut called: Vec<(&str, StreamId)> = Vec::new();
    let mut bound: Vec<(&str, StreamId)> = Vec::new();
    let mut seen = BTreeSet::new();
    for step in &program.steps {
        let (Some(site), Some(stream)) = (program.site(step), stream(&step.call)) else { continue };
        // The same line says the same however often it is run.
        if !seen.insert((step.site, stream)) {
            continue;
        }
        match (line(site), &step.call) {
            (Some(line), Call::StreamCreate { .. }) => {
                bound.extend(variable(line).map(|name| (name, stream)));
            }
            (Some(line), _) => {
                let name = site.column.and_then(|column| receiver(line, column));
                called.extend(name.map(|name| (name, stream)));
            }
            (None, _) => {}
        }
    }
    let mut meant: BTreeMap<&str, BTreeSet<StreamId>> = BTreeMap::new();
    called.iter().chain(&bound).for_each(|(name, stream)| {
        meant.entry(name).or_default().insert(*stream);
    });
    // Of several names of one stream the one that it was first called by.
    let mut names = BTreeMap::new();
    for (name, stream) in called.iter().chain(&bound).filter(|(name, _)| meant[name].len() == 1) {
        names.entry(*stream).or_insert_with(|| (*name).to_owned());
    }
    names.into_iter().collect()
}

fn stream(call: &Call) -> Option<StreamId> {
    match call {
        Call::StreamCreate { stream, .. }
        | Call::EventRecord { stream, .. }
        | Call::StreamWait { stream, .. }
        | Call::StreamSynchronize { stream } => Some(*stream),
        call => hazards::stream(call),
    }
}

/// Methods of a stream in cudarc 0.19: what stands in front of them is one. `join` is none of them:
/// its calls are made for two streams.
const METHODS: [&str; 14] = [
    "alloc",
    "alloc_zeros",
    "clone_dtod",
    "clone_dtoh",
    "clone_htod",
    "memcpy_dtod",
    "memcpy_dtoh",
    "memcpy_dtov",
    "memcpy_htod",
    "memcpy_stod",
    "memset_zeros",
    "record_event",
    "synchronize",
    "wait",
];

/// `copy_in` of `copy_in.memcpy_htod(…)`, where the method is at `column`, counted from 1.
pub(super) fn receiver(line: &str, column: u32) -> Option<&str> {
    let (before, method) = line.split_at_checked((column as usize).checked_sub(1)?)?;
    let end = method.find(|c: char| !is_word(c)).unwrap_or(method.len());
    if !METHODS.contains(&&method[..end]) {
        return None;
    }
    let before = before.strip_suffix('.')?;
    let start = before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
    let name = &before[start..];
    // A field or an element is no variable that could stand anywhere else.
    (is_name(name) && !before[..start].ends_with(['.', ':'])).then_some(name)
}

/// `copy_in` of `let copy_in = context.new_stream()?;`.
pub(super) fn variable(line: &str) -> Option<&str> {
    let (name, _) = line.trim_start().strip_prefix("let ")?.split_once([':', '='])?;
    let name = name.trim();
    let name = name.strip_prefix("mut ").unwrap_or(name).trim();
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    name.chars().all(is_word) && name.starts_with(|c: char| !c.is_numeric()) && name != "self"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_in_front_of_a_streams_method_is_the_streams() {
        let line = "    copy_in.memcpy_htod(&input, &mut data)?;";
        assert_eq!(receiver(line, 13), Some("copy_in"));
        assert_eq!(receiver("x.map(&compute)", 3), None);
        assert_eq!(receiver("a.alloc_zeros::<u32>(1)?", 3), Some("a"));
        // A method of another name, though one of a stream's begins like it.
        assert_eq!(receiver("let mut chunks = plan.allocate()?;", 23), None);
        assert_eq!(receiver("ticket.wait_for(&done)?;", 8), None);
        for line in ["self.up.wait(&e)", "streams[0].wait(&e)", "f().wait(&e)"] {
            assert_eq!(receiver(line, line.find("wait").expect("it") as u32 + 1), None, "{line}");
        }
        assert_eq!(receiver("wait", 900), None);
    }

    #[test]
    fn a_new_stream_has_the_name_of_its_variable() {
        assert_eq!(variable("    let copy_in = context.new_stream()?;"), Some("copy_in"));
        assert_eq!(variable("let mut a: Arc<CudaStream> = make()?;"), Some("a"));
        for line in ["context.new_stream()?,", "let [a, b] = two()?;", "let (a, b) = two()?;"] {
            assert_eq!(variable(line), None, "{line}");
        }
    }
}
