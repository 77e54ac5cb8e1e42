//! Hints that are there, and that leave something to do.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::Problems;
use crate::problem::{line_at, line_of};
use checker::explain;
use checker::hints;

/// The hints of `exercise.toml` with their places; their rules are those of [`hints`].
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    hints: Vec<List>,
}

#[derive(Deserialize)]
struct List {
    code: Option<Spanned<String>>,
    levels: Vec<Spanned<String>>,
}

impl List {
    fn plain(&self) -> hints::List {
        let code = self.code.as_ref().map(|code| code.get_ref().clone());
        let levels = self.levels.iter().map(|level| level.get_ref().clone()).collect();
        hints::List { code, levels }
    }
}

/// Notes what is wrong with the hints in the manifest `text` of an exercise that is about `cause`,
/// whose solution adds or moves `changed`.
pub(crate) fn check(
    (path, text): (&Path, &str),
    cause: Option<&str>,
    changed: &[&str],
    problems: &mut Problems,
) {
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let line = error.span().map(|span| line_at(text, span.start));
            return problems.add(path, line, error.message());
        }
    };
    let lists: Vec<hints::List> = file.hints.iter().map(List::plain).collect();
    if let Err(error) = hints::check(&lists) {
        return problems.add(path, line_of(text, "[[hints]]"), format!("{error:#}"));
    }
    if let Some(cause) = cause
        && !file.hints.iter().any(|list| list.code.as_ref().is_some_and(|c| c.get_ref() == cause))
    {
        problems.add(path, None, format!("no hints for `{cause}`, which the exercise is about"));
    }
    for list in &file.hints {
        if let Some(code) = &list.code
            && explain::find(code.get_ref()).is_err()
        {
            let message = format!("`{}` is no code", code.get_ref());
            problems.add(path, line_at(text, code.span().start), message);
        }
        leave(path, text, list, changed, problems);
    }
}

/// A list of hints leads to the solution without giving it away: no step before the last contains a
/// line of it, and all steps together do not contain every line.
fn leave(path: &Path, text: &str, list: &List, changed: &[&str], problems: &mut Problems) {
    let Some((last, steps)) = list.levels.split_last() else { return };
    for step in steps {
        if let Some(line) = changed.iter().find(|line| tells(step.get_ref(), line)) {
            let message = format!("only the last hint may tell a line of the solution: `{line}`");
            problems.add(path, line_at(text, step.span().start), message);
        }
    }
    if !changed.is_empty() && changed.iter().all(|line| tells(last.get_ref(), line)) {
        let message = "this hint tells the whole solution: leave something to do";
        problems.add(path, line_at(text, last.span().start), message);
    }
}

/// Whether `hint` holds this line of code, however it is set.
fn tells(hint: &str, line: &str) -> bool {
    let bare = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    bare(hint).contains(bare(line).trim_end_matches([';', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"format = 2

[[hints]]
code = "SWIM-C01"
levels = [
    "look at the host",
    "at the plan",
    "say `let plan = plan.pin();`",
]

[[hints]]
levels = ["look", "there", "do it"]
"#;

    fn said(text: &str, changed: &[&str]) -> Vec<String> {
        let mut problems = Problems::new(Path::new("/"));
        check((Path::new("/exercise.toml"), text), Some("SWIM-C01"), changed, &mut problems);
        problems.sorted().iter().map(ToString::to_string).collect()
    }

    const CHANGED: [&str; 2] = ["let plan = plan.pin();", "stream.synchronize()?;"];

    #[test]
    fn hints_that_lead_to_the_solution_are_fine() {
        assert_eq!(said(TEXT, &CHANGED), Vec::<String>::new());
    }

    #[test]
    fn hints_that_are_the_solution_are_not() {
        let early = TEXT.replace("at the plan", "say  let plan=plan.pin()");
        assert_eq!(
            said(&early, &CHANGED),
            [
                "exercise.toml:7: only the last hint may tell a line of the solution: `let plan = plan.pin();`"
            ]
        );
        assert_eq!(
            said(TEXT, &CHANGED[..1]),
            ["exercise.toml:8: this hint tells the whole solution: leave something to do"]
        );
    }

    #[test]
    fn hints_for_the_cause_have_to_be_there_and_for_nothing_that_is_none() {
        let other = TEXT.replace("SWIM-C01", "SWIM-C99");
        assert_eq!(
            said(&other, &CHANGED),
            [
                "exercise.toml: no hints for `SWIM-C01`, which the exercise is about",
                "exercise.toml:4: `SWIM-C99` is no code",
            ]
        );
    }

    #[test]
    fn hints_that_lack_a_step_are_named_by_their_place() {
        let short = TEXT.replace("    \"at the plan\",\n", "");
        assert_eq!(
            said(&short, &CHANGED),
            ["exercise.toml:3: the list for SWIM-C01 has 2 steps, not 3"]
        );
        let broken = TEXT.replace("\"look at the host\",", "\"look at the host,");
        assert!(said(&broken, &CHANGED)[0].starts_with("exercise.toml:7: "), "{broken}");
    }
}
