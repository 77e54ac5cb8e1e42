//! Names that came from outside: how they are shown, and what files are called after them.

use std::fmt::Write as _;

use super::kit::sha256;

/// `bytes` as text in which nothing is hidden: what is not UTF-8, moves a cursor or turns the
/// direction of writing is spelt out. Different bytes give different texts.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => text.push_str("\\\\"),
                char if char.is_control() || turns(char) => {
                    _ = write!(text, "{}", char.escape_default())
                }
                char => text.push(char),
            }
        }
        for byte in chunk.invalid() {
            _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Whether a character turns the direction in which text is shown, so that what is read is not what
/// is there. These are the ones that rustc's `text_direction_codepoint` lints know.
pub(crate) fn turns(char: char) -> bool {
    matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}')
}

/// Longest name that is kept as it is, and longest beginning of another one, in bytes: with the
/// hash and an ending it is far below the 255 that file systems allow.
const KEPT: usize = 48;

/// The name of files about `id`: safe in every file system and address, and never the same for
/// two ids, not even where case is ignored.
pub(crate) fn slug(id: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    let begins = id.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    if begins && id.len() <= KEPT && id.bytes().all(plain) && !id.ends_with('.') && !reserved(id) {
        return id.to_owned();
    }
    let readable = id.chars().map(|char| match char.to_ascii_lowercase() {
        char if char.is_ascii() && plain(char as u8) => char,
        _ => '-',
    });
    let readable: String = readable.take(KEPT).collect();
    // A plain id has no `~`, and eight bytes of a hash are enough for any class.
    format!("{}~{}", readable.trim_matches(['-', '.']), &sha256(id.as_bytes())[..16])
}

/// Names that some systems give to devices, whatever their ending.
fn reserved(id: &str) -> bool {
    let stem = id.split('.').next().unwrap_or(id);
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    matches!(stem, "con" | "prn" | "aux" | "nul")
        || port.is_some_and(|number| number.len() == 1 && number != "0")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_could_move_a_cursor_or_hide_is_spelt_out() {
        for (name, text) in [
            (&b"Ada Lovelace"[..], "Ada Lovelace"),
            (b"\xc3\xa9", "\u{e9}"),
            (b"a\nb\x1b[2J", "a\\nb\\u{1b}[2J"),
            (b"a\\nb", "a\\\\nb"),
            (b"\xff\xfe", "\\xff\\xfe"),
            ("x\u{202e}sr.bil".as_bytes(), "x\\u{202e}sr.bil"),
        ] {
            assert_eq!(shown(name), text);
        }
    }

    #[test]
    fn a_plain_id_is_its_own_slug() {
        for id in ["ada", "s1234567", "ada.lovelace", "007", "a-b_c"] {
            assert_eq!(slug(id), id);
        }
    }

    #[test]
    fn a_slug_is_safe_and_never_shared() {
        let ids = [
            "ada",
            "Ada",
            "ADA",
            "ada ",
            "../ada",
            "ada/",
            ".",
            "..",
            "-rf",
            "",
            "=1+1",
            "<b>ada</b>",
            "\u{e9}",
            "e\u{301}",
            "ada\\n",
            "con",
            "CON",
            "con.txt",
            "com1",
            "ada.",
            "~ada",
            "a~b",
            "ada@example.com",
            &"x".repeat(300),
            &"x".repeat(301),
            "ada~0123456789abcdef",
        ];
        let mut seen = BTreeSet::new();
        for id in ids {
            let slug = slug(id);
            assert!(slug.len() <= KEPT + 17, "{slug}");
            assert!(
                slug.bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.~".contains(&b)),
                "{slug}"
            );
            assert!(!slug.starts_with(['.', '-']) && !slug.ends_with('.'), "{slug}");
            assert!(seen.insert(slug.clone()), "{slug} is twice");
        }
    }
}
