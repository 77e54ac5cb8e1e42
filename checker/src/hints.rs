//! Hints of an exercise's author for one who is stuck, in steps.
//!
//! They stand in `exercise.toml`, in lists. One list has no code and is for runs without a
//! diagnosis; each other one is for runs in which the code it names was found first.

use anyhow::{Result, bail};
use serde::Deserialize;

/// Steps of a list: what to look at, where, and what to do there. Fewer give too much away at once,
/// more are not read.
pub const LEVELS: usize = 3;

/// Steps for one situation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The code of a hazard or a cause; none for the list that fits where no other does.
    #[serde(default)]
    pub code: Option<String>,
    /// The steps, each saying more than the one before.
    pub levels: Vec<String>,
}

/// Whether all lists are whole, and one of them is for everybody.
pub fn check(lists: &[List]) -> Result<()> {
    if lists.iter().filter(|list| list.code.is_none()).count() != 1 {
        bail!("exactly one list of hints has to be without a `code`, for whoever has no diagnosis");
    }
    for list in lists {
        if list.levels.len() != LEVELS {
            let whose = list.code.as_deref().unwrap_or("no code");
            bail!("the list for {whose} has {} steps, not {LEVELS}", list.levels.len());
        }
    }
    Ok(())
}

/// The list for one who is stuck on `code`.
pub fn of<'a>(lists: &'a [List], code: Option<&str>) -> Option<&'a List> {
    let exact = lists.iter().find(|list| list.code.as_deref() == code);
    exact.or_else(|| lists.iter().find(|list| list.code.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[hints]]
code = "SWIM-C01"
levels = ["look at the host", "at line 3", "pin it"]

[[hints]]
levels = ["look", "look there", "do it"]
"#;

    fn lists(text: &str) -> Vec<List> {
        #[derive(Deserialize)]
        struct File {
            hints: Vec<List>,
        }
        toml::from_str::<File>(text).expect("lists").hints
    }

    #[test]
    fn the_list_for_a_code_comes_before_the_general_one() {
        let lists = lists(TEXT);
        let first = |code| of(&lists, code).map(|list| list.levels[0].as_str());
        assert_eq!(first(Some("SWIM-C01")), Some("look at the host"));
        assert_eq!(first(Some("SWIM-H01")), Some("look"));
        assert_eq!(first(None), Some("look"));
    }

    #[test]
    fn hints_that_lack_a_step_or_the_general_list_are_refused() {
        assert!(check(&lists(TEXT)).is_ok());
        for (from, to, why) in [
            ("\"at line 3\", ", "", "the list for SWIM-C01 has 2 steps, not 3"),
            ("code = \"SWIM-C01\"\n", "", "exactly one list"),
        ] {
            let error = check(&lists(&TEXT.replace(from, to))).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
