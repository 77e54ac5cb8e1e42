//! Numbers by which programs of one file differ.
//!
//! A puzzle often compares programs that differ in a number alone. They share a file, which gets
//! the number by `lab.number("n", 8)?`; the second argument counts where the program is started by
//! hand. Each of the programs has its own number in the exercise's manifest, and where one of them
//! is shown, its number stands in the place of the question.

use std::collections::BTreeMap;

/// Numbers by name.
pub type Numbers = BTreeMap<String, u64>;

/// The call by which a file gets a number, up to its name.
const ASKS: &str = "lab.number(\"";
/// How the question ends.
const END: &str = ")?";

/// The form in which they travel in [`env::NUMBERS`](crate::env::NUMBERS): `n=8,streams=128`.
pub fn setting(numbers: &Numbers) -> String {
    let pairs: Vec<String> = numbers.iter().map(|(name, n)| format!("{name}={n}")).collect();
    pairs.join(",")
}

/// The number `name` of a [`setting`]: none where it has no such number, or none that can be read.
pub fn of_setting(setting: &str, name: &str) -> Option<u64> {
    let pairs = setting.split(',').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(own, _)| *own == name)?.1.parse().ok()
}

/// The names of the numbers that a file gets.
pub fn asked(source: &str) -> Vec<&str> {
    source.split(ASKS).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// A program's file with these numbers: line for line the same, with a number in the place of each
/// call for one. The same goes for `{name}`, as the remarks at the head of the file have it.
pub fn filled(source: &str, numbers: &Numbers) -> String {
    let mut text = source.to_owned();
    for (name, number) in numbers {
        let number = number.to_string();
        text = text.replace(&format!("{{{name}}}"), &number);
        let asks = format!("{ASKS}{name}\"");
        while let Some(start) = text.find(&asks) {
            let Some(length) = text[start..].find(END) else { break };
            text.replace_range(start..start + length + END.len(), &number);
        }
    }
    text
}

/// The summary of a file: the first paragraph of the remarks at its head, on one line.
pub fn summary(source: &str) -> Option<String> {
    let head = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let first: Vec<&str> = head.take_while(|line| !line.is_empty()).collect();
    (!first.is_empty()).then(|| first.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
//! Kernels of one block, {n} of them,
//! side by side.
//!
//! More of it.

let n = lab.number(\"n\", 8)?;
let wide = lab.number(\"blocks\", 1)?;
";

    fn numbers(pairs: &[(&str, u64)]) -> Numbers {
        pairs.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
    }

    #[test]
    fn numbers_stand_where_a_file_asks_for_them_and_no_line_moves() {
        let filled = filled(SOURCE, &numbers(&[("n", 160), ("blocks", 4)]));
        assert_eq!(
            summary(&filled).as_deref(),
            Some("Kernels of one block, 160 of them, side by side.")
        );
        assert!(filled.ends_with("\nlet n = 160;\nlet wide = 4;\n"), "{filled}");
        assert_eq!(filled.lines().count(), SOURCE.lines().count());
        assert_eq!(super::filled(SOURCE, &Numbers::new()), SOURCE);
        assert_eq!(asked(SOURCE), ["n", "blocks"]);
        assert_eq!(summary("fn main() {}"), None);
    }

    #[test]
    fn numbers_travel_as_one_setting() {
        let setting = setting(&numbers(&[("n", 8), ("streams", 128)]));
        assert_eq!(setting, "n=8,streams=128");
        assert_eq!(of_setting(&setting, "streams"), Some(128));
        assert_eq!(of_setting(&setting, "stream"), None);
        assert_eq!(of_setting("n=x", "n"), None);
    }
}
