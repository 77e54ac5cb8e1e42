//! From a metric to points: a straight line from a little above the baseline to a little below the
//! reference.

use crate::grade::spread;

/// The rule that this file is. A grade names it, so that a later rule cannot change what an old one
/// meant.
pub const RULE: u32 = 1;

/// Share of the way from baseline to reference that gives nothing, so that the baseline scores 0
/// under noise too; and as much at the other end, so that the reference scores 100.
pub const MARGIN: f64 = 0.05;
/// The range that is left between the margins.
pub const REACH: f64 = 0.9;

/// The metric of baseline and reference, on the device of the run that is graded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standard {
    baseline: f64,
    reference: f64,
}

impl Standard {
    /// None if the reference is not above the baseline, or if either is not a number: then no score
    /// lies between them.
    pub fn new(baseline: f64, reference: f64) -> Option<Self> {
        (reference - baseline > 0.0 && (reference - baseline).is_finite())
            .then_some(Self { baseline, reference })
    }

    /// The baseline's metric.
    pub fn baseline(self) -> f64 {
        self.baseline
    }

    /// The reference's metric.
    pub fn reference(self) -> f64 {
        self.reference
    }

    /// How far they are apart.
    pub fn delta(self) -> f64 {
        self.reference - self.baseline
    }

    /// `100 · clamp((m − b − 0.05·Δ) / (0.9·Δ), 0, 1)`; 0 for a metric that is no number.
    pub fn score(self, metric: f64) -> f64 {
        if metric.is_nan() {
            return 0.0;
        }
        let delta = self.delta();
        let share = (metric - self.baseline - MARGIN * delta) / (REACH * delta);
        100.0 * share.clamp(0.0, 1.0)
    }
}

/// A score as people read it: one decimal, rounded down, so that 79.96 is not shown as the 80 that
/// it is not.
pub fn shown(score: f64) -> String {
    // Points that are whole but for the last bits are whole.
    format!("{:.1}", ((score * 10.0 + 1e-6).floor() / 10.0))
}

/// A score and the interval that it lies in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// From the medians.
    pub score: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Measured {
    /// The score of `central`, with the interval of the scores of single rounds.
    pub fn new(central: f64, rounds: &[f64]) -> Option<Self> {
        let (low, high) = spread::median_interval(rounds)?;
        // The median of ratios is not the ratio of medians, so it could lie just outside.
        Some(Self { score: central, low: low.min(central), high: high.max(central) })
    }

    /// Whether it is known well enough to be a grade.
    pub fn is_conclusive(self) -> bool {
        self.high - self.low <= 2.0 * TOLERANCE
    }
}

/// Points by which a measured score may be off in either direction and still be a grade.
pub const TOLERANCE: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn standard(baseline: f64, reference: f64) -> Standard {
        Standard::new(baseline, reference).expect("the reference is above the baseline")
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_baseline_scores_nothing_and_the_reference_everything() {
        let standard = standard(0.1, 0.9);
        assert_eq!(standard.score(0.1), 0.0);
        assert_eq!(standard.score(0.9), 100.0);
    }

    #[test]
    fn half_the_way_is_half_the_points() {
        assert!(near(standard(0.1, 0.9).score(0.5), 50.0));
        assert!(near(standard(-1.0, 0.5).score(-0.25), 50.0));
    }

    #[test]
    fn the_margins_are_a_twentieth_of_the_way_at_either_end() {
        let standard = standard(0.0, 1.0);
        assert_eq!(standard.score(0.05), 0.0);
        assert!(near(standard.score(0.06), 100.0 / 90.0));
        assert!(near(standard.score(0.94), 100.0 - 100.0 / 90.0));
        assert!(near(standard.score(0.95), 100.0));
    }

    #[test]
    fn the_metric_is_not_clamped_but_the_score_is() {
        let standard = standard(-0.4, 0.8);
        assert_eq!(standard.score(-7.0), 0.0);
        assert_eq!(standard.score(1.2), 100.0);
        // A baseline below serial counts as far below as it is: clamped to 0, this would be 44.
        assert!(near(standard.score(0.4), 100.0 * (0.8 - 0.06) / 1.08));
    }

    #[test]
    fn a_tiny_way_still_gives_points_between_nothing_and_everything() {
        let standard = standard(0.5, 0.5 + 1e-12);
        for metric in [0.0, 0.5, 0.5 + 5e-13, 0.5 + 1e-12, 1.0] {
            let score = standard.score(metric);
            assert!((0.0..=100.0).contains(&score), "{metric}: {score}");
        }
    }

    #[test]
    fn there_is_no_standard_without_a_way_from_baseline_to_reference() {
        for (baseline, reference) in [
            (0.5, 0.5),
            (0.6, 0.5),
            (f64::NAN, 0.5),
            (0.5, f64::NAN),
            (0.5, f64::INFINITY),
            (f64::NEG_INFINITY, 0.5),
            (f64::MIN, f64::MAX),
        ] {
            assert_eq!(Standard::new(baseline, reference), None, "{baseline} {reference}");
        }
    }

    #[test]
    fn a_metric_that_is_no_number_scores_nothing() {
        assert_eq!(standard(0.0, 1.0).score(f64::NAN), 0.0);
    }

    #[test]
    fn a_score_is_never_shown_higher_than_it_is() {
        assert_eq!(shown(79.96), "79.9");
        assert_eq!(shown(80.0), "80.0");
        assert_eq!(shown(79.999_999_999_9), "80.0");
        assert_eq!(shown(0.0), "0.0");
        assert_eq!(shown(100.0), "100.0");
    }

    #[test]
    fn scores_within_three_points_either_way_are_conclusive() {
        let tight = [88.0, 89.0, 90.0, 91.0, 92.0, 93.0, 94.0];
        assert!(Measured::new(91.0, &tight).expect("seven rounds").is_conclusive());
        let wide = [87.9, 89.0, 90.0, 91.0, 92.0, 93.0, 94.0];
        assert!(!Measured::new(91.0, &wide).expect("seven rounds").is_conclusive());
    }
}
