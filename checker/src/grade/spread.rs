//! Statistics of several measurements, without assuming how they are distributed.

pub use trace::fidelity::median;

/// How sure the interval is to hold the median.
const CONFIDENCE: f64 = 0.95;

/// An interval between two of `values` that holds the median of what they are drawn from with at
/// least [`CONFIDENCE`]; none where there are too few for that, or one is no number.
///
/// Each value lies below the true median with probability ½, so the number of those below is
/// binomial whatever the distribution.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let skipped = skipped(sorted.len())?;
    Some((sorted[skipped], sorted[sorted.len() - 1 - skipped]))
}

/// How many of `count` values may be left out at either end.
fn skipped(count: usize) -> Option<usize> {
    // P(at most k values below the median), for k = 0, 1, …
    let mut probability = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut below = 0.0;
    let mut skipped = None;
    for k in 0..count {
        below += probability;
        if 1.0 - 2.0 * below < CONFIDENCE {
            break;
        }
        skipped = Some(k);
        probability *= (count - k) as f64 / (k + 1) as f64;
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median(&[3, 1, 2]), Some(2));
        assert_eq!(median(&[4, 1, 3, 2]), Some(2));
        assert_eq!(median::<u64>(&[]), None);
    }

    #[test]
    fn the_interval_leaves_out_as_many_as_the_sign_test_allows() {
        // The table of order statistics for 95 %.
        for (count, expected) in [
            (5, None),
            (6, Some(0)),
            (7, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (12, Some(2)),
            (20, Some(5)),
        ] {
            assert_eq!(skipped(count), expected, "{count} values");
        }
    }

    #[test]
    fn one_outlier_among_nine_does_not_widen_the_interval() {
        let values = [90.0, 90.1, 90.2, 90.3, 90.4, 90.5, 90.6, 90.7, 3.0];
        assert_eq!(median_interval(&values), Some((90.0, 90.6)));
    }

    #[test]
    fn a_value_that_is_no_number_makes_no_interval() {
        assert_eq!(median_interval(&[1.0, 2.0, f64::NAN, 3.0, 4.0, 5.0, 6.0]), None);
    }
}
