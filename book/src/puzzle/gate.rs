//! Gates: until a prediction is committed or skipped, all that stands below it in the chapter is
//! one quiet block. Without a script there are no gates, and the reveals are folded.
//!
//! A gate is `<div class="gated">`, which holds the rest of the chapter and with it the next gate.
//! It is opened before the first paint, by a script of its own, where the reader has been here
//! before.

use std::ops::Range;

use crate::page::fences;

/// Opens the gate and its form when the browser keeps a prediction, or that the reader went on
/// without.
const KEPT: &str = "<script>{const gate=document.currentScript.parentNode,key=gate.dataset.key;try{\
    if(localStorage.getItem(`swim/${key}`))gate.previousElementSibling.classList.add(\"committed\"),gate.classList.add(\"open\");\
    if(localStorage.getItem(`swim/skipped/${key}`))gate.classList.add(\"open\")}catch{}}</script>";

/// Unfolds a reveal whose gate is open; without a script it stays folded.
pub(super) const SHOWN: &str = "<script>{const at=document.currentScript;\
    if(at.closest(\".gated\").matches(\".open\"))at.parentNode.open=true}</script>";

/// The end of a gate: at the end of the chapter, or after the reveal of a prediction that keeps
/// this alone.
pub(super) const CLOSE: &str = "\n\n</div></div>\n";

/// The beginning of a gate with so many steps below it.
pub(super) fn open(key: &str, steps: usize) -> String {
    let rest = match steps.saturating_sub(1) {
        0 => String::new(),
        1 => ", and one more part of this chapter".to_owned(),
        more => format!(", and {more} more parts of this chapter"),
    };
    format!(
        "<div class=\"gated\" data-key=\"{key}\">{KEPT}<div class=\"gate\"><p class=\"asked\" role=\"status\"></p>\
         <p>The answer follows{rest}. Commit your prediction above, or go on without one.</p>\
         <p><button type=\"button\" class=\"quiet\">Go on without one</button></p></div><div class=\"beyond\">"
    )
}

/// How many steps a reader has below a prediction: what each prediction reveals, and the parts of
/// the chapter.
pub(super) fn steps(below: &str) -> usize {
    let parts = below.lines().filter(|line| line.starts_with("## ")).count();
    below.matches(REVEAL).count() + parts
}

/// How a reveal begins.
pub const REVEAL: &str = "<details class=\"reveal\"";

/// Where the inside of the reveal begins that belongs to a prediction which ends at `end`.
pub(super) fn reveal(text: &str, end: usize) -> Option<usize> {
    let next = fences(text, "predict").into_iter().map(|fence| fence.range.start);
    let limit = next.filter(|start| *start >= end).min().unwrap_or(text.len());
    let start = end + text[end..limit].find(REVEAL)?;
    Some(start + text[start..limit].find('>')? + 1)
}

/// A prediction and what it reveals, as the author wrote them.
#[derive(Clone, Debug)]
pub struct Gated {
    /// The block that asks.
    pub predict: Range<usize>,
    /// The reveal, from its beginning to its end.
    pub reveal: Range<usize>,
}

/// The predictions of a chapter that have a reveal.
pub fn gated(text: &str) -> Vec<Gated> {
    let found = fences(text, "predict").into_iter().filter_map(|fence| {
        let reveal = whole(text, fence.range.end)?;
        Some(Gated { predict: fence.range, reveal })
    });
    found.collect()
}

/// Where the reveal ends that belongs to a prediction which ends at `end`.
pub(super) fn end(text: &str, end: usize) -> Option<usize> {
    whole(text, end).map(|reveal| reveal.end)
}

/// All of the reveal that belongs to a prediction which ends at `end`.
fn whole(text: &str, end: usize) -> Option<Range<usize>> {
    let start = text[..reveal(text, end)?].rfind(REVEAL)?;
    // Folds inside of it end before it does.
    let mut depth = 0;
    let mut at = start;
    loop {
        let open = text[at..].find("<details").map(|open| at + open);
        let close = at + text[at..].find("</details>")?;
        match open {
            Some(open) if open < close => (depth, at) = (depth + 1, open + 1),
            _ => (depth, at) = (depth - 1, close + 1),
        }
        if depth == 0 {
            return Some(start..close + "</details>".len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reveal_ends_where_the_folds_in_it_have_ended() {
        let text = "```predict\nid = 1\n```\n\n<details class=\"reveal\">\n<details>\n</details>\nx\n</details>\n\ny\n";
        let found = gated(text);
        assert_eq!(found.len(), 1);
        assert!(text[found[0].reveal.clone()].ends_with("x\n</details>"));
        assert_eq!(steps(&text[found[0].predict.end..]), 1);
    }
}
