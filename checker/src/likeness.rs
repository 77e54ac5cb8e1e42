//! Suggestions for names that were mistyped.

/// Names more alike than this are worth asking about; `jaro_winkler` of unrelated ones lies below.
const ALIKE: f64 = 0.75;

/// The one of `all` whose names are the most like `wanted`; none where none is.
pub(crate) fn nearest<'a, T, const N: usize>(
    all: &'a [T],
    wanted: &str,
    names: impl Fn(&'a T) -> [&'a str; N],
) -> Option<&'a T> {
    let wanted = wanted.to_lowercase();
    let alike = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &wanted);
    let likeness = |it: &'a T| names(it).into_iter().map(alike).fold(0.0, f64::max);
    let nearest = all.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.filter(|it| likeness(it) > ALIKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_name_and_another_word_finds_none() {
        let names = |it: &'static (&str, &str)| [it.0, it.1];
        const ALL: &[(&str, &str)] = &[("H01", "race"), ("events", "05")];
        assert_eq!(nearest(ALL, "Evnets", names), Some(&ALL[1]));
        assert_eq!(nearest(ALL, "rase", names), Some(&ALL[0]));
        assert_eq!(nearest(ALL, "frozen_encoder", names), None);
    }
}
