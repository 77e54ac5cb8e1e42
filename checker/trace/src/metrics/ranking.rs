//! The places of several makespans: who was first?

/// Makespans closer than this count as a tie: a difference that repeated runs on a GPU would not
/// show.
pub const TIE: f64 = 0.03;

/// The place of each, from 1: one more than the number of those that are faster by more than a
/// [`TIE`].
pub fn places(makespans: &[f64]) -> Vec<usize> {
    let faster = |a: f64, b: f64| a < b * (1.0 - TIE);
    let before = |time: f64| makespans.iter().filter(|other| faster(**other, time)).count();
    makespans.iter().map(|time| 1 + before(*time)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_close_share_a_place() {
        assert_eq!(places(&[62.4e6, 68.1e6, 62.5e6, 62.41e6]), [1, 4, 1, 1]);
        // Exactly a tie apart, and a little more.
        assert_eq!(places(&[1.0 - TIE, 1.0]), [1, 1]);
        assert_eq!(places(&[1.0 - TIE - 1e-9, 1.0]), [1, 2]);
    }
}
