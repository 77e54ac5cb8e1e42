//! A part of a source file, and which lines of two parts differ.

use std::path::Path;

/// The function `name` of a Rust file: from the line that it begins in to the brace that closes it,
/// without the margin that all its lines share.
///
/// It is found by its layout, which rustfmt fixes: the closing brace stands below the first letter.
pub fn function(file: &Path, name: &str) -> Result<String, String> {
    let shown = file.file_name().unwrap_or_default().to_string_lossy();
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
    let starts = |line: &&str| {
        let line = line.trim_start().trim_start_matches("pub ");
        line.strip_prefix("fn ").is_some_and(|rest| {
            rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(['(', '<']))
        })
    };
    let lines: Vec<&str> = text.lines().collect();
    let Some(start) = lines.iter().position(starts) else {
        return Err(format!("there is no function `{name}` in `{shown}`"));
    };
    let margin = lines[start].len() - lines[start].trim_start().len();
    let close = format!("{}}}", &lines[start][..margin]);
    let Some(length) = lines[start..].iter().position(|line| *line == close) else {
        return Err(format!("function `{name}` in `{shown}` has no end"));
    };
    let part = lines[start..=start + length].iter();
    Ok(part.map(|line| line.get(margin..).unwrap_or_default()).collect::<Vec<_>>().join("\n"))
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
