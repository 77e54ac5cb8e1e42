//! Points as reports show them: the one rounding.

use std::fmt;
use std::iter::Sum;

use crate::record::Row;
use checker::grade::Verdict;
use checker::grade::score::shown;

/// The words where points have a decimal.
pub(super) const RULE: &str = "points are rounded down to one decimal";
/// The words where only whole numbers are taken.
pub(super) const WHOLE: &str =
    "each exercise's points are rounded down to whole points; the total is their sum";

/// Tenths of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Points(u32);

/// The points of one exercise.
pub(super) const FULL: Points = Points(1000);

impl Points {
    /// The points of a row that count; none where there are none, which is no zero. Trouble that is
    /// not the student's has none unless a person gave some.
    pub(super) fn of(row: &Row) -> Option<Self> {
        let is_trouble = matches!(row.verdict, Verdict::Error | Verdict::Inconclusive);
        if is_trouble && row.replaced.is_none() {
            return None;
        }
        Self::from(row.points?)
    }

    /// Points of 100, rounded down; none for what is no number.
    pub(super) fn from(points: f64) -> Option<Self> {
        // What people read elsewhere and what is written here are the same digits.
        let digits = points.is_finite().then(|| shown(points.clamp(0.0, 100.0)))?;
        digits.replace('.', "").parse().ok().map(Self)
    }

    /// As a number, for formats that take decimals.
    pub(super) fn number(self) -> f64 {
        f64::from(self.0) / 10.0
    }

    /// Rounded down, for formats that take whole numbers.
    pub(super) fn whole(self) -> u32 {
        self.0 / 10
    }

    pub(super) fn tenths(self) -> u32 {
        self.0
    }

    /// The share of `full` in hundredths of a percent, rounded down; nothing of nothing is nothing.
    pub(super) fn share(self, full: Self) -> u32 {
        (u64::from(self.0) * 10_000 / u64::from(full.0.max(1))) as u32
    }

    /// The points that `count` exercises have together.
    pub(super) fn full(count: usize) -> Self {
        Self(FULL.0.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)))
    }

    /// These points of `full` where there are `possible`, rounded down to hundredths.
    pub(super) fn scaled(self, full: Self, possible: f64) -> String {
        let hundredths = f64::from(self.0) * possible * 100.0 / f64::from(full.0.max(1));
        // What is whole but for the last bits is whole.
        let hundredths = (hundredths + 1e-6).floor().max(0.0) as u64;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.0 / 10, self.0 % 10))
    }
}

impl Sum for Points {
    fn sum<I: Iterator<Item = Self>>(points: I) -> Self {
        Self(points.map(|points| points.0).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(points: f64) -> Points {
        Points::from(points).expect("a number")
    }

    #[test]
    fn points_are_the_digits_that_are_shown_elsewhere() {
        for value in [0.0, 79.96, 79.999_999_999_9, 80.0, 99.95, 100.0, 33.333] {
            assert_eq!(points(value).to_string(), shown(value));
        }
        assert_eq!(points(79.96).whole(), 79);
        assert_eq!(points(120.0), FULL);
        assert_eq!(Points::from(f64::NAN), None);
    }

    #[test]
    fn points_in_another_scale_are_those_that_are_shown() {
        assert_eq!(points(87.99).scaled(FULL, 10.0), "8.79");
        assert_eq!(points(100.0).scaled(FULL, 15.0), "15.00");
        assert_eq!(points(33.3).scaled(FULL, 3.0), "0.99");
        let total: Points = [points(50.0), points(100.0)].into_iter().sum();
        assert_eq!(total.scaled(Points::full(2), 10.0), "7.50");
    }
}
