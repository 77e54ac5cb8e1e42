//! The regions of a student's file, and what a solution does in them.
//!
//! A region begins with a line `// region: NAME` and ends with `// endregion`. A solution is the
//! shipped file with lines added or moved inside regions, and with lines taken out that do nothing
//! but wait. So a student never has to guess what else to touch, and the difference between the two
//! files is what the chapter teaches.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Problems;
use checker::regions::Mark;

/// A line of a file, from 1, without its margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    number: usize,
    text: &'a str,
    /// How many regions have begun by then.
    region: usize,
}

impl Line<'_> {
    /// Whether it is the same line in the same region.
    fn stays(self, other: Line<'_>) -> bool {
        self.text == other.text && self.region == other.region
    }
}

/// A file in two parts.
struct Parts<'a> {
    /// The lines that only the author may change, marks included.
    fixed: Vec<Line<'a>>,
    /// Lines of code inside regions.
    marked: Vec<Line<'a>>,
}

/// Compares the shipped file with a solution, and notes where that does what it may not: where it
/// is free, regions may be rewritten. The lines of code that it adds, moves or takes out.
pub(crate) fn compare<'a>(
    [(shipped_path, shipped), (solution_path, solution)]: [(&Path, &'a str); 2],
    is_free: bool,
    problems: &mut Problems,
) -> Vec<&'a str> {
    let before = problems.len();
    let (old, new) =
        (parts(shipped_path, shipped, problems), parts(solution_path, solution, problems));
    if problems.len() > before {
        return Vec::new(); // without sound marks the rest would be noise
    }
    fixed(&old, (shipped_path, &new, solution_path), problems);
    for line in missing(&old.marked, &new.marked) {
        // A solution has no needless wait.
        if is_free || waits(line.text) {
            continue;
        }
        let message = "the solution lacks this line: it adds lines and moves them, and neither changes \
                       nor drops any but those that only wait";
        problems.add(shipped_path, line.number, message);
    }
    let mut changed: Vec<&str> =
        missing(&new.marked, &old.marked).iter().map(|line| line.text).collect();
    changed.extend(moved(&old.marked, &new.marked));
    if changed.is_empty() && problems.len() == before {
        problems.add(solution_path, None, "the solution adds nothing to the shipped file");
    }
    changed
}

fn parts<'a>(path: &Path, text: &'a str, problems: &mut Problems) -> Parts<'a> {
    let mut parts = Parts { fixed: Vec::new(), marked: Vec::new() };
    let mut open: Option<Line<'_>> = None;
    let mut names: Vec<&str> = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        let line = Line { number, text: text.trim(), region: names.len() };
        let mark = Mark::of(text);
        if let Some(Mark::Begin(name)) = mark {
            if open.is_some() {
                problems.add(path, number, "a region begins inside another");
            }
            if names.contains(&name) {
                problems.add(path, number, format!("there are two regions `{name}`"));
            }
            names.push(name);
            open = Some(line);
            parts.fixed.push(line);
        } else if mark == Some(Mark::End) {
            if open.take().is_none() {
                problems.add(path, number, "no region ends here");
            }
            parts.fixed.push(line);
        } else if open.is_some() {
            if is_code(line.text) {
                parts.marked.push(line);
            }
        } else if !line.text.starts_with("//!") && !line.text.is_empty() {
            // What a file says of itself differs; empty lines say nothing.
            parts.fixed.push(line);
        }
    }
    if let Some(Line { number, .. }) = open {
        problems.add(path, number, "this region has no end");
    }
    if names.is_empty() {
        let message = "no region is marked: `// region: NAME` and `// endregion` stand around what the \
                       student edits";
        problems.add(path, None, message);
    }
    parts
}

/// Whether a line is more than a comment or a bracket.
fn is_code(line: &str) -> bool {
    !line.starts_with("//") && line.contains(|c: char| c.is_alphanumeric())
}

/// Whether a line does nothing but wait.
fn waits(line: &str) -> bool {
    let stream = line.strip_suffix(".synchronize()?;");
    stream.is_some_and(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Checks that the lines outside of regions are the same in both files.
fn fixed(
    old: &Parts<'_>,
    (old_path, new, new_path): (&Path, &Parts<'_>, &Path),
    problems: &mut Problems,
) {
    let same = old.fixed.iter().zip(&new.fixed).take_while(|(a, b)| a.text == b.text).count();
    match (old.fixed.get(same), new.fixed.get(same)) {
        (Some(theirs), Some(line)) => problems.add(
            new_path,
            line.number,
            format!(
                "outside of its regions the solution has to be the shipped file, whose line {} is `{}`",
                theirs.number, theirs.text
            ),
        ),
        (None, Some(line)) => {
            problems.add(new_path, line.number, "the shipped file has no such line");
        }
        (Some(line), None) => problems.add(
            old_path,
            line.number,
            "the solution lacks this line, which is outside of the regions",
        ),
        (None, None) => {}
    }
}

/// Lines of `these` that `those` has not, or not as often.
fn missing<'a>(these: &[Line<'a>], those: &[Line<'a>]) -> Vec<Line<'a>> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    those.iter().for_each(|line| *left.entry(line.text).or_default() += 1);
    let is_missing = |line: &&Line<'a>| match left.get_mut(line.text) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    these.iter().filter(is_missing).copied().collect()
}

/// Lines of `old` that are in another region in `new`, or come later than one that they stood
/// before, or are not there at all.
fn moved<'a>(old: &[Line<'a>], new: &[Line<'a>]) -> Vec<&'a str> {
    let mut at = 0;
    let mut moved = Vec::new();
    for line in old {
        match new[at..].iter().position(|other| other.stays(*line)) {
            // Jumping over lines that are still to come would leave those for moved ones instead.
            Some(skipped)
                if !new[at..at + skipped]
                    .iter()
                    .any(|other| old.iter().any(|o| o.stays(*other) && o.number > line.number)) =>
            {
                at += skipped + 1;
            }
            _ => moved.push(line.text),
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = "//! Before.\n\nfn f() {\n    a();\n    // region: one\n    b();\n    \
                           c();\n    // endregion\n    d();\n}\n";

    fn compared(shipped: &str, solution: &str) -> (Vec<String>, Vec<String>) {
        let mut problems = Problems::new(Path::new("/"));
        let files = [(Path::new("/old.rs"), shipped), (Path::new("/new.rs"), solution)];
        let changed = compare(files, false, &mut problems);
        let problems = problems.sorted().iter().map(ToString::to_string).collect();
        (changed.into_iter().map(str::to_owned).collect(), problems)
    }

    #[track_caller]
    fn refused(from: &str, to: &str, why: &str) {
        assert!(SHIPPED.contains(from), "{from}");
        // With a line of its own, so that the rest is in order.
        let solution = SHIPPED.replace("    b();\n", "    b();\n    new();\n").replace(from, to);
        assert_eq!(compared(SHIPPED, &solution).1, [why], "{solution}");
    }

    #[test]
    fn a_solution_adds_and_moves_lines_inside_regions_and_speaks_for_itself() {
        let solution = SHIPPED.replace("//! Before.", "//! After.\n//! And more.").replace(
            "    b();\n    c();\n",
            "    c();\n    if x {\n        b();\n    }\n    // why\n",
        );
        assert_eq!(compared(SHIPPED, &solution), (vec!["if x {".into(), "b();".into()], vec![]));
    }

    #[test]
    fn where_it_is_free_a_solution_rewrites_regions_and_nothing_else() {
        let told = |solution: &str| {
            let mut problems = Problems::new(Path::new("/"));
            let files = [(Path::new("/old.rs"), SHIPPED), (Path::new("/new.rs"), solution)];
            compare(files, true, &mut problems);
            problems.sorted().len()
        };
        assert_eq!(told(&SHIPPED.replace("    b();\n    c();\n", "    new();\n")), 0);
        assert_eq!(told(&SHIPPED.replace("    d();\n", "    new();\n")), 1);
    }

    #[test]
    fn a_line_that_only_waits_may_be_taken_out() {
        let shipped = SHIPPED.replace("    c();\n", "    c();\n    upload.synchronize()?;\n");
        let solution = SHIPPED.replace("    c();\n", "    c();\n    new();\n");
        let changed = vec!["new();".into(), "upload.synchronize()?;".into()];
        assert_eq!(compared(&shipped, &solution), (changed, vec![]));
        let shipped = shipped.replace("upload.synchronize()?;", "let n = upload.synchronize()?;");
        assert_eq!(compared(&shipped, &solution).1.len(), 1);
    }

    #[test]
    fn nothing_outside_of_regions_may_differ() {
        let why = "new.rs:4: outside of its regions the solution has to be the shipped file, whose line \
                   4 is `a();`";
        refused("    a();", "    a(1);", why);
        refused("    a();", "    z();\n    a();", why);
        refused("}\n", "}\nfn g() {}\n", "new.rs:12: the shipped file has no such line");
        let why = "old.rs:10: the solution lacks this line, which is outside of the regions";
        refused("}\n", "", why);
    }

    #[test]
    fn no_line_inside_a_region_may_be_dropped_or_changed() {
        let why = "old.rs:7: the solution lacks this line: it adds lines and moves them, and neither \
                   changes nor drops any but those that only wait";
        refused("    c();\n", "", why);
        refused("    c();\n", "    c(1);\n", why);
    }

    #[test]
    fn marks_that_do_not_pair_are_named() {
        for (from, to, why) in [
            ("    // endregion\n", "", "new.rs:5: this region has no end"),
            ("    // region: one\n", "", "new.rs:8: no region ends here"),
            (
                "    d();",
                "    // region: one\n    // endregion",
                "new.rs:10: there are two regions `one`",
            ),
        ] {
            let (_, problems) =
                compared(SHIPPED, &SHIPPED.replace(from, to).replace("c", "c();\nn"));
            assert!(problems.iter().any(|problem| problem == why), "{problems:#?}");
        }
    }

    #[test]
    fn a_line_may_move_to_another_region_and_nothing_else_need_change() {
        let shipped =
            SHIPPED.replace("    d();\n", "    d();\n    // region: two\n    // endregion\n");
        let solution = shipped.replace("    c();\n", "").replace("two\n", "two\n    c();\n");
        assert_eq!(compared(&shipped, &solution), (vec!["c();".to_owned()], vec![]));
    }

    #[test]
    fn the_shipped_file_is_no_solution() {
        let why = "new.rs: the solution adds nothing to the shipped file".to_owned();
        assert_eq!(compared(SHIPPED, SHIPPED), (vec![], vec![why]));
    }
}
