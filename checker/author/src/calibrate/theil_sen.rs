//! A straight line through points, of which some may lie far off.

use checker::grade::spread::median;

/// `y = slope * x + intercept`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
}

impl Line {
    /// The line of Theil and Sen: the median of the slopes between any two points, and the median
    /// of what they leave. None through less than two points.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let mut slopes = Vec::new();
        for (index, &(x, y)) in points.iter().enumerate() {
            for &(other_x, other_y) in &points[index + 1..] {
                if other_x != x {
                    slopes.push((other_y - y) / (other_x - x));
                }
            }
        }
        let slope = middle(slopes)?;
        let intercept = middle(points.iter().map(|(x, y)| y - slope * x).collect())?;
        Some(Self { slope, intercept })
    }
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let places: Vec<usize> = (0..values.len()).collect();
    median(&places).map(|place| values[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_far_off_does_not_bend_the_line() {
        let mut points: Vec<(f64, f64)> =
            (1..8).map(|x| (f64::from(x), 3.0 * f64::from(x) + 5.0)).collect();
        points[3].1 = 1000.0;
        assert_eq!(Line::through(&points), Some(Line { slope: 3.0, intercept: 5.0 }));
        assert_eq!(Line::through(&points[..1]), None);
    }
}
