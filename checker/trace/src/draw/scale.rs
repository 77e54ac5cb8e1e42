//! Durations in words, and the ticks of an axis; in integers, so that no two machines differ.

const UNITS: [(u64, &str); 3] = [(1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")];

/// A duration to three digits: `850 ns`, `12.3 µs`, `6.50 ms`, `1.25 s`.
pub fn duration(ns: u64) -> String {
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    for (unit, name) in UNITS {
        for (decimals, power) in [(2, 100), (1, 10), (0, 1)] {
            let rounded = round(ns, power, unit);
            if rounded < 1_000 {
                return match decimals {
                    0 => format!("{rounded} {name}"),
                    _ => format!("{}.{:02$} {name}", rounded / power, rounded % power, decimals),
                };
            }
        }
    }
    format!("{} s", round(ns, 1, 1_000_000_000))
}

/// A size of memory, to the nearest of at most two decimals: `64 MiB`, `1.5 KiB`.
pub fn size(bytes: u64) -> String {
    const SIZES: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((unit, name)) = SIZES.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} B");
    };
    let hundredths = round(bytes, 100, unit);
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match (rest, rest % 10) {
        (0, _) => format!("{whole} {name}"),
        (_, 0) => format!("{whole}.{} {name}", rest / 10),
        _ => format!("{whole}.{rest:02} {name}"),
    }
}

/// `part` of `whole` in percent, to the nearest: `62 %`. Nothing of nothing is `0 %`.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{} %", if whole == 0 { 0 } else { round(part, 100, whole) })
}

/// `value * power / unit`, to the nearest.
fn round(value: u64, power: u64, unit: u64) -> u64 {
    let (value, power, unit) = (u128::from(value), u128::from(power), u128::from(unit));
    u64::try_from((value * power + unit / 2) / unit).unwrap_or(u64::MAX)
}

/// A place on the axis that has a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Where, in ns from the start of the axis.
    pub at_ns: u64,
    /// `0`, or the time in the unit of the axis: `2 ms`, `0.5 µs`.
    pub label: String,
}

/// The most steps that an axis is divided into.
const MOST_STEPS: u64 = 8;

/// Ticks at round distances along an axis of `axis_ns`, the first at 0.
pub fn ticks(axis_ns: u64) -> Vec<Tick> {
    let mut power = 1_u64;
    let step = loop {
        let fits = |step: &u64| axis_ns / step <= MOST_STEPS;
        if let Some(step) =
            [1, 2, 5].map(|factor| power.saturating_mul(factor)).iter().find(|s| fits(s))
        {
            break *step;
        }
        power = power.saturating_mul(10);
    };
    let (unit, name) =
        UNITS.into_iter().rev().find(|&(unit, _)| axis_ns >= unit).unwrap_or((1, "ns"));
    (0..=axis_ns / step)
        .map(|index| Tick { at_ns: index * step, label: label(index * step, unit, name) })
        .collect()
}

fn label(ns: u64, unit: u64, name: &str) -> String {
    if ns == 0 {
        return "0".into();
    }
    let (whole, rest) = (ns / unit, ns % unit);
    if rest == 0 {
        return format!("{whole} {name}");
    }
    let digits = unit.ilog10() as usize;
    let fraction = format!("{rest:0digits$}");
    format!("{whole}.{} {name}", fraction.trim_end_matches('0'))
}
