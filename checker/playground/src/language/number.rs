//! Numbers with a fraction, without floating point, so that the same text gives the same nanosecond
//! everywhere.

/// A number in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(i64);

const ONE: i64 = 1_000_000;

/// Digits of a fraction; further ones are refused.
const DECIMALS: usize = 6;

impl Number {
    pub(super) fn whole(value: i64) -> Option<Self> {
        value.checked_mul(ONE).map(Self)
    }

    /// From its digits, in which `_` may stand; none if it has too many.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once(['.']).unwrap_or((text, ""));
        let mut value: i64 = 0;
        let mut add = |digit: u8| -> Option<()> {
            value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
            Some(())
        };
        for digit in whole.bytes().filter(u8::is_ascii_digit) {
            add(digit)?;
        }
        let fraction: Vec<u8> = fraction.bytes().filter(u8::is_ascii_digit).collect();
        if fraction.len() > DECIMALS {
            return None;
        }
        for place in 0..DECIMALS {
            add(fraction.get(place).copied().unwrap_or(b'0'))?;
        }
        Some(Self(value))
    }

    /// The largest whole number that is not above it.
    pub(super) fn floor(self) -> i64 {
        self.0.div_euclid(ONE)
    }

    /// The number itself, where it is whole.
    pub(super) fn exact(self) -> Option<i64> {
        (self.0 % ONE == 0).then_some(self.0 / ONE)
    }

    /// So many of something that counts `unit`, rounded down; none if it is negative or too large.
    pub(super) fn of(self, unit: u64) -> Option<u64> {
        let all = i128::from(self.0) * i128::from(unit) / i128::from(ONE);
        u64::try_from(all).ok()
    }

    /// As it is written.
    pub(super) fn shown(self) -> String {
        let (sign, all) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let (whole, rest) = (all / ONE as u64, all % ONE as u64);
        let fraction = format!(".{rest:06}");
        format!("{sign}{whole}{}", fraction.trim_end_matches(['0']).trim_end_matches(['.']))
    }

    pub(super) fn apply(self, sign: char, other: Self) -> Option<Self> {
        let (a, b) = (i128::from(self.0), i128::from(other.0));
        let one = i128::from(ONE);
        let value = match sign {
            '+' => a + b,
            '-' => a - b,
            '*' => a * b / one,
            '/' if b != 0 => a * one / b,
            '%' if b != 0 => a.rem_euclid(b),
            _ => return None,
        };
        i64::try_from(value).ok().map(Self)
    }
}
