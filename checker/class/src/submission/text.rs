//! The form of a student's file: text that a compiler reads as a person sees it.

use crate::name::turns;

/// Longest file, in bytes. The longest solution has four thousand; a hundred times that is no
/// longer written by hand.
pub(crate) const LONGEST: u64 = 1024 * 1024;

/// The text of a file, or why it is none, in words that follow the file's name.
pub(super) fn check(bytes: Vec<u8>) -> Result<String, String> {
    if let Some(endian) = utf16(&bytes) {
        return Err(format!("is UTF-16 ({endian} endian), not UTF-8{SAVE}"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => match text.bytes().position(|byte| byte == 0) {
            // What stands after it is invisible in many an editor, and ends a C string.
            Some(at) => Err(format!("has a NUL byte at byte {at}: it is no text")),
            None => Ok(text),
        },
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(format!("is not UTF-8: byte {at} does not belong to it{SAVE}"))
        }
    }
}

const SAVE: &str = "\n\nhint: save it as UTF-8; every editor can";

fn utf16(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] => Some("little"),
        [0xfe, 0xff, ..] => Some("big"),
        _ => None,
    }
}

/// Remarks for a person about a text that is graded nevertheless.
pub(super) fn flags(text: &str) -> Vec<String> {
    let turned = text.lines().zip(1..).find(|(line, _)| line.chars().any(turns));
    let flag = turned.map(|(_, line)| {
        format!("line {line} has a character that turns the direction of writing: what is shown need not be what is compiled")
    });
    flag.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_carriage_returns_and_a_shebang_are_no_mistakes() {
        for text in [
            "\u{feff}pub fn f() {}\n",
            "pub fn f() {}\r\n",
            "#!/usr/bin/env x\nfn f() {}",
            "",
            "fn f() {}",
        ] {
            assert_eq!(check(text.as_bytes().to_vec()).as_deref(), Ok(text));
            assert!(flags(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_place() {
        let utf16: Vec<u8> = "\u{feff}fn".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, words) in [
            (b"fn f() {\xff}".to_vec(), "is not UTF-8: byte 8 "),
            (b"fn f() {\xc3".to_vec(), "is not UTF-8: byte 8 "),
            (b"fn f() {\0}".to_vec(), "has a NUL byte at byte 8:"),
            (utf16, "is UTF-16 (little endian)"),
            (vec![0xfe, 0xff, 0, b'f'], "is UTF-16 (big endian)"),
        ] {
            let refusal = check(bytes).unwrap_err();
            assert!(refusal.starts_with(words), "{refusal}");
        }
    }

    #[test]
    fn a_character_that_turns_the_text_is_flagged_with_its_line() {
        let flags = flags("fn f() {\n    // \u{202e} } end\n}");
        assert_eq!(flags.len(), 1);
        assert!(flags[0].starts_with("line 2 "), "{flags:?}");
    }
}
