//! Sizes and windows of time, as people type them.

use trace::timeline::Interval;

/// A part of a trace, from the start of its first operation. Ends may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning; none for that of the trace.
    pub from_ns: Option<u64>,
    /// Its end; none for that of the trace.
    pub to_ns: Option<u64>,
}

impl Window {
    /// The part of what goes from one instant to another.
    pub fn from(self, start_ns: u64, end_ns: u64) -> Interval {
        let at = |ns: u64| start_ns.saturating_add(ns).min(end_ns);
        let (from, to) = (self.from_ns.map_or(start_ns, at), self.to_ns.map_or(end_ns, at));
        Interval::new(from, to.max(from))
    }
}

/// Units of time, in ns. The first that a text ends in counts, so `s` is last.
const TIMES: [(&str, u64); 5] =
    [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Units of size, in bytes.
const SIZES: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// A number with up to three decimals and a unit.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?.trim_end(), *unit)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let parts = u128::from(10_u32).pow(fraction.len() as u32);
    let (whole, fraction) = (whole.parse::<u64>().ok()?, fraction.parse::<u64>().ok()?);
    let scaled = (u128::from(whole) * parts + u128::from(fraction)) * u128::from(unit) / parts;
    u64::try_from(scaled).ok()
}

/// `12ms..14ms`, `..14ms`, `800us..`
pub fn window(text: &str) -> Result<Window, String> {
    let advice = "expected two times, such as `12ms..14ms`, `..800us` or `1.5s..`";
    let (from, to) = text.split_once("..").ok_or(advice)?;
    let end = |text: &str| match text.trim() {
        "" => Ok(None),
        text => quantity(text, &TIMES).map(Some).ok_or(advice),
    };
    let window = Window { from_ns: end(from)?, to_ns: end(to)? };
    match (window.from_ns, window.to_ns) {
        (Some(from), Some(to)) if from >= to => Err("it ends before it starts".into()),
        _ => Ok(window),
    }
}

/// `8GiB`, `500MB`
pub fn size(text: &str) -> Result<u64, String> {
    quantity(text, &SIZES).ok_or_else(|| "expected a size, such as `8GiB` or `500MB`".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_in_every_unit_and_with_open_ends() {
        let of = |text| window(text).map(|window| (window.from_ns, window.to_ns));
        assert_eq!(of("12ms..14ms"), Ok((Some(12_000_000), Some(14_000_000))));
        assert_eq!(of("1.5us .. 2µs"), Ok((Some(1_500), Some(2_000))));
        assert_eq!(of("..0.25s"), Ok((None, Some(250_000_000))));
        assert_eq!(of("7ns.."), Ok((Some(7), None)));
        for text in ["12ms", "12..14", "a..b", "1.ms..", "-1ms..", "5ms..5ms", "1e3ms.."] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_in_both_families_of_units() {
        assert_eq!(size("8GiB"), Ok(8 << 30));
        assert_eq!(size("1.5 MB"), Ok(1_500_000));
        assert!(size("8").is_err() && size("GiB").is_err() && size("99999999999TiB").is_err());
    }
}
