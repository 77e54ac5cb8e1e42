//! Words that all reports and pages share.

/// `text` as character data or as the value of an attribute, in HTML and in XML.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether `text` contains `word`, in capitals or not. The tables for letters beyond ASCII, and a
/// search that is fast in long texts, would be kilobytes of a page.
pub fn contains(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    word.is_empty() || text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// `1 file`, `3 files`.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `once`, `3 times`.
pub fn times(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_named_in_the_singular() {
        assert_eq!([counted(0, "file"), counted(1, "file")], ["0 files", "1 file"]);
        assert_eq!([times(0), times(1), times(2)], ["0 times", "once", "2 times"]);
    }

    #[test]
    fn what_ends_a_text_or_an_attribute_is_escaped() {
        assert_eq!(escape("<a b='c' d=\"e\">&"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
    }
}
