//! Other people's text, harmless to look at: what would move a cursor, turn letters round or not be
//! seen at all is shown instead.
//!
//! What a format reads as its own (`<`, a comma, a backtick) is that format's to escape, after
//! this.

use std::fmt::Write as _;

/// As a single line: line breaks and tabs become spaces.
pub(super) fn line(text: &str) -> String {
    let text = text.trim_end_matches(['\n', '\r']).replace("\r\n", "\n");
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            c => push(&mut line, c),
        }
    }
    line
}

/// A name as a single line that is never empty.
pub(super) fn name(text: &str) -> String {
    let line = line(text);
    if line.trim().is_empty() { "(no name)".to_owned() } else { line }
}

/// Line by line, with tabs, and no empty lines at the end.
pub(super) fn lines(text: &str) -> String {
    let text = text.trim_end().replace("\r\n", "\n");
    let mut lines = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => lines.push(c),
            c => push(&mut lines, c),
        }
    }
    lines
}

/// Line by line, each with `mark` in front: what a line begins with is a command in some places
/// (`::error::` in the log of a GitHub job).
pub(super) fn quoted(text: &str, mark: &str) -> String {
    let lines = lines(text);
    let lines = lines.lines().map(|line| format!("{mark}{line}").trim_end().to_owned() + "\n");
    lines.collect()
}

/// The beginning of `text`, at most `bytes` of it, and a line that says so where that is not all.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n(cut off: {} of {} bytes)\n", &text[..end], end, text.len())
}

/// A cell of a table that a spreadsheet opens. What could be a formula there gets a `'` in front,
/// as OWASP says, and so does what begins with one already: who takes one `'` away has what was
/// there.
pub(crate) fn cell(text: &str) -> String {
    let line = line(text);
    let first = line.trim_start().chars().next();
    match first {
        // The wide forms are taken for the others by some. A colon begins a command of GitHub's.
        Some('=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' | '\'' | ':' | '|' | '%') => {
            format!("'{line}")
        }
        _ => line,
    }
}

fn push(text: &mut String, c: char) {
    match c {
        '\0'..='\x1f' => text.extend(char::from_u32(0x2400 + u32::from(c))),
        '\x7f' => text.push('␡'),
        c if is_hidden(c) => _ = write!(text, "⟨U+{:04X}⟩", u32::from(c)),
        c => text.push(c),
    }
}

/// Whether `c` is a control, turns the direction of writing, has no width where no script needs
/// that, or is no character at all.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(line("a\x1b[31mb\0"), "a␛[31mb␀");
        assert_eq!(
            line("\u{202e}txt\u{feff}\u{ffff}\u{85}"),
            "⟨U+202E⟩txt⟨U+FEFF⟩⟨U+FFFF⟩⟨U+0085⟩"
        );
        assert_eq!(line("a\r\nb\tc\rd\n"), "a b c␍d");
        assert_eq!(lines("a\r\n\tb\x07\n\n"), "a\n\tb␇");
        // Scripts and families need these.
        assert_eq!(
            line("\u{1f468}\u{200d}\u{1f469} é \u{645}\u{200c}"),
            "👨\u{200d}👩 é م\u{200c}"
        );
    }

    #[test]
    fn a_cell_is_no_formula_and_can_be_had_back() {
        for text in ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "'=1", "＝1", "::error::x"] {
            let cell = cell(text);
            assert_eq!(cell.strip_prefix('\''), Some(line(text).as_str()), "{text}");
        }
        assert_eq!(cell("Ada -1"), "Ada -1");
    }

    #[test]
    fn a_text_is_cut_between_letters_and_says_so() {
        assert_eq!(cut("ä", 2), "ä");
        assert_eq!(cut("ää", 3), "ä\n(cut off: 2 of 4 bytes)\n");
    }

    #[test]
    fn no_quoted_line_begins_with_what_was_written() {
        assert_eq!(quoted("::error::x\n\n::b\n", "| "), "| ::error::x\n|\n| ::b\n");
    }
}
