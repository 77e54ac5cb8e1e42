//! Decimal numbers as they are written, without a detour through binary fractions.

/// A number that no time, size or identifier of a trace can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Significant digits that are looked at; an `i64` has 19.
const DIGITS: u32 = 30;

/// Whether `text` is a number of JSON.
pub(super) fn well_formed(text: &[u8]) -> bool {
    parts(text).is_some()
}

struct Parts<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// None where it is beyond all bounds.
    exponent: Option<i32>,
}

fn parts(text: &[u8]) -> Option<Parts<'_>> {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (whole, mut rest) = text.split_at(digits(text));
    if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
        return None;
    }
    let mut fraction: &[u8] = &[];
    if let [b'.', after @ ..] = rest {
        (fraction, rest) = after.split_at(digits(after));
        if fraction.is_empty() {
            return None;
        }
    }
    let mut exponent = Some(0);
    if let [b'e' | b'E', after @ ..] = rest {
        let (down, after) = match after {
            [b'-', after @ ..] => (true, after),
            [b'+', after @ ..] => (false, after),
            _ => (false, after),
        };
        if after.is_empty() || digits(after) != after.len() {
            return None;
        }
        let size = std::str::from_utf8(after).ok()?.parse::<i16>().ok().map(i32::from);
        exponent = size.map(|size| if down { -size } else { size });
        rest = &[];
    }
    rest.is_empty().then_some(Parts { negative, whole, fraction, exponent })
}

/// The number that `text` begins with and its length, where it has no exponent, no more decimals
/// than count, and fits: all but a few. None is no verdict.
pub(super) fn simple(text: &[u8], decimals: i32) -> Option<(usize, i64)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let (mut value, mut at) = (0_i64, sign);
    let mut digits = |at: &mut usize| {
        let first = *at;
        while let Some(digit @ b'0'..=b'9') = text.get(*at) {
            value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
            *at += 1;
        }
        Some(*at - first)
    };
    let whole = digits(&mut at)?;
    if whole == 0 || (whole > 1 && text[sign] == b'0') {
        return None;
    }
    let mut missing = decimals;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let fraction = digits(&mut at)?;
        missing = missing.checked_sub_unsigned(u32::try_from(fraction).ok()?)?;
        if fraction == 0 || missing < 0 {
            return None;
        }
    }
    // What comes after has to end it; at the end of the buffer there may be more.
    if !matches!(text.get(at)?, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
        return None;
    }
    let value = value.checked_mul(10_i64.checked_pow(missing.unsigned_abs())?)?;
    Some((at, if sign == 1 { -value } else { value }))
}

/// The number that `text` holds, times ten to the power of `decimals`, rounded to the nearest
/// integer (halves away from 0). None where `text` is no number.
pub(super) fn scaled(text: &[u8], decimals: i32) -> Result<Option<i64>, TooLarge> {
    let Some(Parts { negative, whole, fraction, exponent }) = parts(text.trim_ascii()) else {
        return Ok(None);
    };
    let mut value: i128 = 0;
    let mut taken = 0;
    let mut shift = decimals - fraction.len() as i32;
    for &digit in whole.iter().chain(fraction) {
        if taken == DIGITS {
            shift += 1;
            continue;
        }
        value = value * 10 + i128::from(digit - b'0');
        taken += u32::from(value != 0);
    }
    if value == 0 {
        return Ok(Some(0));
    }
    let power = exponent.ok_or(TooLarge)?.saturating_add(shift);
    if power >= 0 {
        let factor = 10_i128.checked_pow(power.unsigned_abs()).ok_or(TooLarge)?;
        value = value.checked_mul(factor).ok_or(TooLarge)?;
    } else {
        // Below the smallest power that fits, nothing is left of `DIGITS` digits.
        value = match 10_i128.checked_pow(power.unsigned_abs()) {
            Some(divisor) => (value + divisor / 2) / divisor,
            None => 0,
        };
    }
    let value = if negative { -value } else { value };
    i64::try_from(value).map(Some).map_err(|_| TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_become_nanoseconds_without_loss() {
        let ns = |text: &str| scaled(text.as_bytes(), 3);
        assert_eq!(ns("4402231415931.519"), Ok(Some(4_402_231_415_931_519)));
        assert_eq!(ns("1678920268737997"), Ok(Some(1_678_920_268_737_997_000)));
        assert_eq!(ns("1678920268737997.001"), Ok(Some(1_678_920_268_737_997_001)));
        assert_eq!(ns("0.0004"), Ok(Some(0)));
        assert_eq!(ns("0.0005"), Ok(Some(1)));
        assert_eq!(ns("-2.5"), Ok(Some(-2500)));
        assert_eq!(ns("1.5e3"), Ok(Some(1_500_000)));
        assert_eq!(ns("15E-1"), Ok(Some(1500)));
        assert_eq!(ns("0e99999999"), Ok(Some(0)));
        assert_eq!(ns("1e-30000"), Ok(Some(0)));
    }

    #[test]
    fn simple_numbers_are_what_all_numbers_are() {
        for text in [
            "0",
            "-0.5",
            "12.345",
            "999999999999999.999",
            "1678920268737997.001",
            "-4402232484871.998",
            "7.1",
        ] {
            let followed = format!("{text},");
            let (length, value) = simple(followed.as_bytes(), 3).unwrap_or_default();
            assert_eq!(
                (length, Ok(Some(value))),
                (text.len(), scaled(text.as_bytes(), 3)),
                "{text}"
            );
        }
        for text in [
            "1",
            "01,",
            "1.,",
            "-,",
            "1.2345,",
            "1e3,",
            "9999999999999999,",
            "99999999999999999999,",
            "1x",
        ] {
            assert_eq!(simple(text.as_bytes(), 3), None, "{text}");
        }
    }

    #[test]
    fn what_fits_no_time_is_too_large() {
        for text in ["1e300", "9300000000000000000", "1e99999999999", "-1e19"] {
            assert_eq!(scaled(text.as_bytes(), 3), Err(TooLarge), "{text}");
        }
        let long = format!("1{}", "0".repeat(60));
        assert_eq!(scaled(long.as_bytes(), 0), Err(TooLarge));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "0x10", "1 2", "--1", "NaN"] {
            assert_eq!(scaled(text.as_bytes(), 0), Ok(None), "{text}");
        }
    }
}
