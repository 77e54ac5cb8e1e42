//! Claims of a chapter that nothing shows: about CUDA, the driver, an API call, the documentation
//! or a guarantee, and about what a change scores.
//!
//! What shows a claim stands in the same paragraph, item, table or caption, or is the figure, the
//! table of rows or the mark right next to it.

use std::path::Path;

use crate::evidence::{self, Evidence, Mark};
use crate::problem::{Problem, line_at};
use crate::proof::prose::{self, Kind, Piece, Word};
use crate::proof::source::PLACE;
use crate::proof::style::split;

/// The problems with the claims and the marks of one chapter.
pub fn check(root: &Path, file: &Path, text: &str, evidence: &Evidence<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut complain = |line: usize, message: String| {
        problems.push(Problem::new(root, file, line, message));
    };
    for mark in evidence::marks(text) {
        if let Err(message) = evidence.check(&mark) {
            complain(line_at(text, mark.range.start), message);
        }
    }
    let pieces = prose::markdown(text);
    let mut section = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let words = piece.words();
        if piece.kind == Kind::Heading {
            section = words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ");
            continue;
        }
        let Some(first) = words.first() else { continue };
        if text[piece.range.clone()].contains(PLACE) {
            continue; // what is still to be written claims nothing yet
        }
        // One mark stands for what is on both sides of it, as a figure does.
        let beside = [index.checked_sub(1), Some(index + 1)].into_iter().flatten();
        let beside: Vec<&Piece> = beside.filter_map(|index| pieces.get(index)).collect();
        let marks = || {
            let own = evidence::marks(&text[piece.range.clone()]);
            let others = beside.iter().filter(|piece| is_mark(text, piece));
            own.into_iter()
                .chain(others.flat_map(|piece| evidence::marks(&text[piece.range.clone()])))
        };
        if let Some(named) = claim(&words)
            && !(sourced(text, piece)
                || marks().next().is_some()
                || beside.iter().any(|piece| shows(piece)))
        {
            complain(first.line, format!("nothing shows this claim about {named}"));
        }
        if let Some(line) = score(&words, &section)
            && !marks().any(|mark: Mark| mark.is_run())
        {
            complain(
                line,
                "no `<!-- shown: run EXERCISE/NAME … -->` shows what this scores or that it passes"
                    .into(),
            );
        }
    }
    problems
}

/// Whether a piece is nothing but marks.
fn is_mark(text: &str, piece: &Piece) -> bool {
    piece.kind == Kind::Html
        && piece.words().is_empty()
        && !evidence::marks(&text[piece.range.clone()]).is_empty()
}

/// A figure, or what a GPU answered.
fn shows(piece: &Piece) -> bool {
    matches!(&piece.kind, Kind::Block(language) if language == "figure" || language == "rows")
}

/// A number of a run, or a link to elsewhere.
fn sourced(text: &str, piece: &Piece) -> bool {
    let text = &text[piece.range.clone()];
    text.contains("{{#value ") || text.contains("](https://") || text.contains("<https://")
}

/// The subject of a piece's claim, if it makes one.
fn claim(words: &[Word]) -> Option<String> {
    let parts: Vec<&str> = words
        .iter()
        .flat_map(|word| word.text.split(|c: char| !c.is_alphanumeric() && !"_.+".contains(c)))
        .map(|part| part.trim_end_matches('.'))
        .filter(|part| !part.is_empty())
        .collect();
    let call = |part: &str| {
        let upper = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
        ["cuda", "cu"].iter().any(|prefix| part.strip_prefix(prefix).is_some_and(upper))
            || part.strip_prefix("torch.").is_some_and(|rest| !rest.is_empty())
    };
    for (index, part) in parts.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| parts[before].to_lowercase());
        let after = parts.get(index + 1).copied();
        let lower = part.to_lowercase();
        match &*lower {
            // The name of a language says nothing.
            "cuda" if after != Some("C++") => return Some("CUDA".into()),
            "driver" | "driver's" if before.as_deref() == Some("the") => {
                return Some("the driver".into());
            }
            "documentation" => return Some("the documentation".into()),
            _ if lower.starts_with("guarantee") => return Some("a guarantee".into()),
            _ if call(part) => return Some(format!("`{part}`")),
            _ => {}
        }
    }
    None
}

/// The line of a sentence that says what a change scores, or that it passes. How many points pass
/// is the exercise's own rule, and what the file as handed out scores is the scale's end.
fn score(words: &[Word], section: &str) -> Option<usize> {
    let told = ["Exercise", "Explore more"].contains(&section);
    for sentence in words.split_inclusive(|word| word.last) {
        if sentence.last().is_some_and(|word| word.text.ends_with('?')) {
            continue;
        }
        let plain = sentence.iter().filter(|word| !word.code);
        let parts: Vec<String> =
            plain.flat_map(|word| split(&word.text).collect::<Vec<_>>()).collect();
        for (index, part) in parts.iter().enumerate() {
            let before = index.checked_sub(1).map_or("", |before| &parts[before]);
            let scores = match &**part {
                "scores" => !matches!(before, "the" | "file" | "no" | "of" | "what" | "replaced"),
                "scored" => true,
                "score" => matches!(before, "you" | "would" | "will" | "chunks" | "they"),
                "passes" | "passed" | "pass" => {
                    let threshold = parts.get(index + 1).is_some_and(|next| next == "with")
                        && before == "you"
                        && parts[index + 2..].iter().any(|part| part.parse::<u32>().is_ok())
                        && !parts[index + 2..].iter().any(|part| part.starts_with("chunk"));
                    (told || matches!(before, "you" | "still" | "not")) && !threshold
                }
                _ => false,
            };
            if scores {
                return sentence.first().map(|word| word.line);
            }
        }
    }
    None
}
