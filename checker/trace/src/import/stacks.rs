//! Lines of Python, as Kineto names them: `train.py(12): step`.

use std::collections::BTreeMap;

use super::names::{Name, Names};
use super::rows::{Call, Line, Thread};

/// Whether a frame is a line of a file, and not a function of C or a module.
pub(super) fn is_line(frame: &str) -> bool {
    let Some((file, rest)) = frame.split_once('(') else { return false };
    let Some((line, _)) = rest.split_once("): ") else { return false };
    !file.is_empty() && !file.starts_with('<') && line.parse::<u32>().is_ok()
}

/// Whether a frame is inside of a library, where a reader does not want to change anything.
fn is_library(frame: &str) -> bool {
    ["torch/", "site-packages/", "dist-packages/", "lib/python"]
        .iter()
        .any(|part| frame.split('(').next().is_some_and(|file| file.contains(part)))
}

/// The frame to show of a `Call stack`, which names the innermost first.
pub(super) fn innermost(stack: &[u8]) -> Option<String> {
    let stack = std::str::from_utf8(stack).ok()?;
    let lines = || stack.split(';').map(str::trim).filter(|frame| is_line(frame));
    lines().find(|frame| !is_library(frame)).or_else(|| lines().next()).map(str::to_owned)
}

/// The line that each of `calls` came from, where one is known: the innermost that is not a
/// library's. `calls` are ordered by their start, `lines` need not be.
pub(super) fn lines_of(calls: &[Call], lines: &mut [Line], names: &Names) -> Vec<Option<Name>> {
    let mut found = vec![None; calls.len()];
    if lines.is_empty() {
        return found;
    }
    // Outer frames first where two start at once.
    lines.sort_unstable_by_key(|line| (line.start, std::cmp::Reverse(line.end), line.name));
    let mut stacks: BTreeMap<Thread, Vec<&Line>> = BTreeMap::new();
    let mut next = lines.iter().peekable();
    for (call, found) in calls.iter().zip(&mut found) {
        while let Some(line) = next.next_if(|line| line.start <= call.start) {
            let stack = stacks.entry(line.thread).or_default();
            while stack.pop_if(|last| last.end <= line.start).is_some() {}
            stack.push(line);
        }
        let Some(stack) = stacks.get_mut(&call.thread) else { continue };
        while stack.pop_if(|last| last.end <= call.start).is_some() {}
        let around = || stack.iter().rev().filter(|line| line.end > call.start);
        let own = around().find(|line| !is_library(names.text(line.name)));
        *found = own.or_else(|| around().next()).map(|line| line.name);
    }
    found
}
