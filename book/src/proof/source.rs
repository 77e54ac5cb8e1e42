//! The chapters as they were written.

use std::path::Path;

use mdbook_markdown::pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use crate::page::{directives, events, fences};
use crate::preprocessors::STEPS;
use crate::problem::{Problem, line_at};
use crate::proof::Chapter;
use crate::puzzle::gate::REVEAL;
use crate::puzzle::predict;
use crate::quiz;
use crate::records::Records;

/// The headings that a chapter with a puzzle has, in this order.
pub const PARTS: [&str; 8] = [
    "The puzzle",
    "Why",
    "Discussion",
    "Quiz",
    "Exercise",
    "What should you remember in ten years?",
    "Explore more",
    "In your code",
];

/// The problems in a chapter.
pub fn check(root: &Path, chapter: &Chapter, records: &Records) -> Vec<Problem> {
    let Chapter { file, text, .. } = chapter;
    let mut problems = Vec::new();
    for step in STEPS {
        problems.extend(step.check(root, file, text, records));
    }
    for shown in directives(text, "quiz") {
        let path = file.parent().unwrap_or(file).join(quiz::argument(&shown.argument).0);
        // That it cannot be read is a problem already.
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        places(&text, &mut |line, message| problems.push(Problem::new(root, &path, line, message)));
    }
    let mut complain =
        |line, message: String| problems.push(Problem::new(root, file, line, message));
    places(text, &mut complain);
    includes(file, text, &mut complain);
    drawings(text, &mut complain);
    named(root, text, &mut complain);
    let is_chapter = !fences(text, "predict").iter().any(predict::is_alone);
    if is_chapter && !fences(text, "puzzle").is_empty() {
        parts(text, &mut complain);
    }
    reveals(text, &mut complain);
    problems
}

/// The mark before the words that say what an author has yet to write, in every file of a
/// chapter that `checker dev new` started.
pub(super) const PLACE: &str = "WRITE: ";

/// Places that are still to be filled.
fn places(text: &str, complain: &mut impl FnMut(usize, String)) {
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((_, what)) = line.split_once(PLACE) {
            // A quotation mark ends it in a quiz, a number or a tag in a page.
            let what = what.split(['"', '<', '{']).next().unwrap_or(what);
            complain(number, format!("still to be written: {}", what.trim_end()));
        }
    }
}

/// Files of the exercises that the text names, as a reader would look for them.
fn named(root: &Path, text: &str, complain: &mut impl FnMut(usize, String)) {
    for (at, _) in text.match_indices("`exercises/") {
        let path = text[at + 1..].split('`').next().unwrap_or_default();
        if !path.contains("NN_") && !root.join("..").join(path).exists() {
            complain(line_at(text, at), format!("there is no `{path}`"));
        }
    }
}

/// Listings and other files that are included: mdBook leaves a missing one out.
fn includes(file: &Path, text: &str, complain: &mut impl FnMut(usize, String)) {
    for name in ["include", "rustdoc_include", "playground"] {
        let start = format!("{{{{#{name} ");
        for (at, _) in text.match_indices(&start) {
            if text[..at].ends_with('\\') {
                continue;
            }
            let line = line_at(text, at);
            let rest = &text[at + start.len()..];
            let Some(end) = rest.find("}}") else {
                complain(line, format!("`{{{{#{name}` has no end"));
                continue;
            };
            let argument = rest[..end].split_whitespace().next().unwrap_or_default();
            if let Err(message) = include(file, argument) {
                complain(line, message);
            }
        }
    }
}

/// `PATH`, `PATH:ANCHOR`, `PATH:FIRST`, `PATH:FIRST:LAST`.
fn include(chapter: &Path, argument: &str) -> Result<(), String> {
    let (path, part) = argument.split_once(':').unwrap_or((argument, ""));
    let file = chapter.parent().unwrap_or(chapter).join(path);
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("cannot include `{path}`: {error}"))?;
    let numbers = part.split(':').all(|part| part.is_empty() || part.parse::<usize>().is_ok());
    let listing: Vec<&str> = if part.is_empty() {
        text.lines().collect()
    } else if numbers {
        let (first, last) = part.split_once(':').unwrap_or((part, part));
        let first = first.parse().unwrap_or(1_usize).max(1);
        let last = last.parse().unwrap_or(usize::MAX);
        text.lines().take(last).skip(first - 1).collect()
    } else {
        let anchor = |line: &str, word: &str| {
            line.split_whitespace()
                .skip_while(|token| *token != word)
                .nth(1)
                .is_some_and(|name| name == part)
        };
        if !text.lines().any(|line| anchor(line, "ANCHOR:")) {
            return Err(format!("there is no anchor `{part}` in `{path}`"));
        }
        let after = text.lines().skip_while(|line| !anchor(line, "ANCHOR:")).skip(1);
        after.take_while(|line| !anchor(line, "ANCHOR_END:")).collect()
    };
    if listing.iter().all(|line| line.trim().is_empty()) {
        return Err(format!("the listing `{argument}` is empty"));
    }
    Ok(())
}

/// Drawings in the text: an empty line ends the HTML that it stands in.
fn drawings(text: &str, complain: &mut impl FnMut(usize, String)) {
    let code = events(text).filter(|(event, _)| {
        matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))))
    });
    let code: Vec<_> = code.map(|(_, range)| range).collect();
    for (start, _) in text.match_indices("<svg") {
        if code.iter().any(|range| range.contains(&start)) {
            continue;
        }
        let first = line_at(text, start);
        match text[start..].find("</svg>") {
            None => complain(first, "this drawing has no end".into()),
            Some(end) => {
                let mut lines = text[start..start + end].lines();
                if let Some(empty) = lines.position(|line| line.trim().is_empty()) {
                    let message = "an empty line in a drawing: mdBook would drop the rest of it";
                    complain(first + empty, message.into());
                }
            }
        }
    }
}

/// Whether a chapter with a puzzle has all that belongs to one.
fn parts(text: &str, complain: &mut impl FnMut(usize, String)) {
    let headings = headings(text);
    let mut last = 0;
    for part in PARTS {
        match headings.iter().position(|(_, heading)| heading == part) {
            None => complain(1, format!("this chapter has no part `{part}`")),
            Some(place) if place < last => {
                complain(headings[place].0, format!("the part `{part}` comes too early"));
            }
            Some(place) => last = place,
        }
    }
    for (kind, least) in [("predict", 2), ("figure", 2)] {
        if fences(text, kind).len() < least {
            complain(1, format!("this chapter has fewer than {least} `{kind}` blocks"));
        }
    }
    if directives(text, "quiz").is_empty() {
        complain(1, "this chapter has no quiz".into());
    }
}

/// Line and text of each heading of the second level.
fn headings(text: &str) -> Vec<(usize, String)> {
    let mut headings = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }) => {
                open = Some((line_at(text, range.start), String::new()));
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some((_, heading)) = &mut open {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(HeadingLevel::H2)) => headings.extend(open.take()),
            _ => {}
        }
    }
    headings
}

/// Each prediction has its answer after it, before the next.
fn reveals(text: &str, complain: &mut impl FnMut(usize, String)) {
    let predictions = fences(text, "predict");
    for (index, fence) in predictions.iter().enumerate() {
        let end = predictions.get(index + 1).map_or(text.len(), |next| next.range.start);
        let open = |tag: &str| text[..fence.range.start].matches(tag).count();
        if open("<details") > open("</details>") {
            complain(
                fence.line,
                "a prediction stands in no fold: it gates all that is below it".into(),
            );
        }
        if !text[fence.range.end..end].contains(REVEAL) {
            complain(fence.line, "no `<details class=\"reveal\">` follows this prediction".into());
        }
    }
}
