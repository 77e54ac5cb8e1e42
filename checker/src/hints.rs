//! Hints: what an exercise's author says to one who is stuck, in steps.
//!
//! `hints.toml` in the exercise's folder holds lists of steps. One list has no code and is for
//! whoever has no diagnosis; each other one is for runs in which the code it names was found first.

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::exercise::Place;

/// Version of `hints.toml`; any other is refused.
const FORMAT: u32 = 1;

/// Steps of a list: what to look at, where, and what to do there. Fewer give too much away at once,
/// more are not read.
pub const LEVELS: usize = 3;

/// The hints of an exercise.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    format: u32,
    hints: Vec<List>,
}

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

impl Hints {
    /// The hints of `place`; none where its author wrote none.
    pub fn read(place: &Place) -> Result<Option<Self>> {
        let path = place.folder.join("hints.toml");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("cannot read `hints.toml`"),
        };
        let hints = Self::parse(&text);
        hints.map(Some).with_context(|| format!("cannot read `hints.toml` of `{}`", place.id))
    }

    /// The hints that stand in a file.
    pub fn parse(text: &str) -> Result<Self> {
        let hints: Self = toml::from_str(text)?;
        if hints.format != FORMAT {
            bail!("it is of format {}, and this checker reads format {FORMAT}", hints.format);
        }
        if hints.hints.iter().filter(|list| list.code.is_none()).count() != 1 {
            bail!("exactly one list has to be without a `code`, for whoever has no diagnosis");
        }
        for list in &hints.hints {
            if list.levels.len() != LEVELS {
                let whose = list.code.as_deref().unwrap_or("no code");
                bail!("the list for {whose} has {} steps, not {LEVELS}", list.levels.len());
            }
        }
        Ok(hints)
    }

    /// The steps for one who is stuck on `code`.
    pub fn of(&self, code: Option<&str>) -> Option<&List> {
        let exact = self.hints.iter().find(|list| list.code.as_deref() == code);
        exact.or_else(|| self.hints.iter().find(|list| list.code.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
format = 1

[[hints]]
code = "SWIM-C01"
levels = ["look at the host", "at line 3", "pin it"]

[[hints]]
levels = ["look", "look there", "do it"]
"#;

    #[test]
    fn the_list_for_a_code_comes_before_the_general_one() {
        let hints = Hints::parse(TEXT).expect("hints");
        let first = |code| hints.of(code).map(|list| list.levels[0].as_str());
        assert_eq!(first(Some("SWIM-C01")), Some("look at the host"));
        assert_eq!(first(Some("SWIM-H01")), Some("look"));
        assert_eq!(first(None), Some("look"));
    }

    #[test]
    fn hints_that_lack_a_step_or_the_general_list_are_refused() {
        for (from, to, why) in [
            ("\"at line 3\", ", "", "the list for SWIM-C01 has 2 steps, not 3"),
            ("code = \"SWIM-C01\"\n", "", "exactly one list"),
            ("format = 1", "format = 2", "of format 2"),
        ] {
            let error = Hints::parse(&TEXT.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
