//! A part of a source file, and which lines of two parts differ.

use std::path::Path;

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The line that it begins in, from 1.
    pub first: usize,
    /// Its lines, without the margin that all of them share.
    pub text: String,
}

/// The function `name` of a file in Rust, C++ or Python, without the margin that all its lines
/// share. It goes from the line that it begins in to the brace that closes it, in Python to the
/// last line that is indented more.
///
/// It is found by its layout: the closing brace stands below the first letter, as rustfmt and
/// clang-format put it.
pub fn function(file: &Path, name: &str) -> Result<Part, String> {
    let (_, text) = read(file)?;
    function_in(&text, file, name)
}

/// The same in the text that `file` has.
pub fn function_in(text: &str, file: &Path, name: &str) -> Result<Part, String> {
    let shown = file.file_name().unwrap_or_default().to_string_lossy();
    let python = file.extension().is_some_and(|ending| ending == "py");
    let called =
        |rest: &str| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', '<']));
    let rust = file.extension().is_none_or(|ending| ending == "rs");
    let starts = |line: &&str| {
        let line = line.trim_start().trim_start_matches("pub ");
        match (python, rust) {
            (true, _) => line.strip_prefix("def ").is_some_and(called),
            (_, true) => line.strip_prefix("fn ").is_some_and(called),
            // A definition names a type first, and ends in no semicolon.
            _ => {
                let at = line.find(&format!(" {name}("));
                at.is_some_and(|at| called(&line[at + 1..]))
                    && line.trim_end().ends_with(['{', ',', ')'])
            }
        }
    };
    let lines: Vec<&str> = text.lines().collect();
    let Some(start) = lines.iter().position(starts) else {
        return Err(format!("there is no function `{name}` in `{shown}`"));
    };
    let margin = lines[start].len() - lines[start].trim_start().len();
    let length = if python {
        let inside = |line: &&str| {
            line.trim().is_empty()
                || line.len() - line.trim_start().len() > margin
                || line.trim() == "):"
        };
        let body = lines[start + 1..].iter().take_while(|line| inside(line));
        let body: Vec<_> = body.collect();
        body.iter().rposition(|line| !line.trim().is_empty()).map(|last| last + 1)
    } else {
        let close = format!("{}}}", &lines[start][..margin]);
        lines[start..].iter().position(|line| *line == close)
    };
    let Some(length) = length else {
        return Err(format!("function `{name}` in `{shown}` has no end"));
    };
    Ok(Part { first: start + 1, text: unindented(&lines[start..=start + length]) })
}

/// The lines between `ANCHOR: name` and `ANCHOR_END: name`, without the margin that all of them
/// share.
pub fn anchor(file: &Path, name: &str) -> Result<Part, String> {
    let (shown, text) = read(file)?;
    let lines: Vec<&str> = text.lines().collect();
    let named = |line: &&str, word: &str| {
        line.split_whitespace().skip_while(|token| *token != word).nth(1) == Some(name)
    };
    let start = lines.iter().position(|line| named(line, "ANCHOR:"));
    let start = start.ok_or_else(|| format!("there is no anchor `{name}` in `{shown}`"))?;
    let length = lines[start..].iter().position(|line| named(line, "ANCHOR_END:"));
    let length = length.ok_or_else(|| format!("anchor `{name}` in `{shown}` has no end"))?;
    let part: Vec<&str> = lines[start + 1..start + length]
        .iter()
        .filter(|line| !line.contains("ANCHOR:") && !line.contains("ANCHOR_END:"))
        .copied()
        .collect();
    if part.iter().all(|line| line.trim().is_empty()) {
        return Err(format!("the anchor `{name}` in `{shown}` is empty"));
    }
    Ok(Part { first: start + 2, text: unindented(&part) })
}

/// A file's name, and what it says.
fn read(file: &Path) -> Result<(String, String), String> {
    let shown = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    Ok((shown, text))
}

/// Lines without the margin that all of them share.
fn unindented(lines: &[&str]) -> String {
    let written = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = written.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let lines = lines.iter().map(|line| line.get(margin..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A line, and whether the other text lacks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// Both texts have it.
    Shared(&'a str),
    /// The other text does not have it here.
    Different(&'a str),
}

/// The lines of two texts; a longest sequence of lines that both have in order is shared.
pub fn compare<'a>(left: &'a str, right: &'a str) -> (Vec<Line<'a>>, Vec<Line<'a>>) {
    let (a, b): (Vec<&str>, Vec<&str>) = (left.lines().collect(), right.lines().collect());
    // How many lines are shared from here on.
    let mut shared = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            shared[i][j] = if a[i] == b[j] {
                shared[i + 1][j + 1] + 1
            } else {
                shared[i + 1][j].max(shared[i][j + 1])
            };
        }
    }
    let (mut out_a, mut out_b) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            out_a.push(Line::Shared(a[i]));
            out_b.push(Line::Shared(b[j]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && shared[i + 1][j] >= shared[i][j + 1]) {
            out_a.push(Line::Different(a[i]));
            i += 1;
        } else {
            out_b.push(Line::Different(b[j]));
            j += 1;
        }
    }
    (out_a, out_b)
}

#[cfg(test)]
mod tests {
    use super::Line::{Different, Shared};
    use super::*;

    #[test]
    fn lines_that_only_one_text_has_are_different() {
        let (left, right) = compare("a\nb\nc\nd", "a\nx\nc\nd");
        assert_eq!(left, [Shared("a"), Different("b"), Shared("c"), Shared("d")]);
        assert_eq!(right, [Shared("a"), Different("x"), Shared("c"), Shared("d")]);
        let (left, right) = compare("a\nb\nc", "a\nc");
        assert_eq!(left, [Shared("a"), Different("b"), Shared("c")]);
        assert_eq!(right, [Shared("a"), Shared("c")]);
    }
}
