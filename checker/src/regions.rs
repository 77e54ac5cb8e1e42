//! The regions of a student's file: what is the exercise's own stands outside of them.
//!
//! A region begins with a line `// region: NAME` and ends with `// endregion`. The compiler does not mind edits
//! elsewhere, and most are slips; so a run says where they are, and they can be undone without losing what is in
//! the regions.

use std::collections::BTreeMap;

const BEGIN: &str = "// region: ";
const END: &str = "// endregion";

/// A line outside of the regions that is not as it was shipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The line of the student's file, from 1: the edited one, or the one where something is missing.
    pub line: usize,
    /// What stands there now; none where a line has gone.
    pub now: Option<String>,
    /// What stood there; none where a line has come.
    pub was: Option<String>,
}

/// Lines of a file with their numbers, split at the marks.
struct Parts<'a> {
    /// Code outside of the regions, and the marks.
    fixed: Vec<(usize, &'a str)>,
    /// What is in each region, by its name.
    inside: BTreeMap<&'a str, Vec<&'a str>>,
    lines: usize,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Self {
        let mut parts = Self { fixed: Vec::new(), inside: BTreeMap::new(), lines: 0 };
        let mut open = None;
        for (number, line) in (1..).zip(text.lines()) {
            parts.lines = number;
            let trimmed = line.trim();
            if let Some(name) = trimmed.strip_prefix(BEGIN) {
                open = Some(name);
                parts.inside.entry(name).or_default();
                parts.fixed.push((number, trimmed));
            } else if trimmed == END {
                open = None;
                parts.fixed.push((number, trimmed));
            } else if let Some(name) = open {
                parts.inside.entry(name).or_default().push(line);
            } else if !trimmed.is_empty() && !trimmed.starts_with("//") {
                // Comments and empty lines do nothing.
                parts.fixed.push((number, trimmed));
            }
        }
        parts
    }
}

/// Whether a line, from 1, lies outside of the regions of a file that has some: it is not the student's to change.
pub fn is_outside(text: &str, line: usize) -> bool {
    let before = text.lines().take(line).map(str::trim);
    let open = before.fold(false, |open, line| (open || line.starts_with(BEGIN)) && line != END);
    !open && text.lines().any(|line| line.trim().starts_with(BEGIN))
}

/// The first edit outside of the regions, if there is one. A file without a single mark is somebody's own from
/// beginning to end, and has no outside.
pub fn first_edit(shipped: &str, own: &str) -> Option<Edit> {
    let (old, new) = (Parts::of(shipped), Parts::of(own));
    if old.inside.is_empty() || new.inside.is_empty() {
        return None;
    }
    let same = old.fixed.iter().zip(&new.fixed).take_while(|(a, b)| a.1 == b.1).count();
    let (was, now) = (old.fixed.get(same), new.fixed.get(same));
    if was.is_none() && now.is_none() {
        return None;
    }
    let text = |line: &(usize, &str)| line.1.to_owned();
    let holds = |all: &[(usize, &str)], wanted: Option<&(usize, &str)>| {
        wanted.is_some_and(|wanted| all[same..].iter().any(|line| line.1 == wanted.1))
    };
    let line = now.map_or(new.lines, |now| now.0);
    let (has_come, has_gone) = (holds(&new.fixed, was), holds(&old.fixed, now));
    let now = now.filter(|_| has_come || !has_gone).map(text);
    let was = was.filter(|_| has_gone || !has_come).map(text);
    Some(Edit { line, now, was })
}

/// The shipped file with what is in the regions of the student's.
pub fn restored(shipped: &str, own: &str) -> String {
    let own = Parts::of(own);
    let mut text = String::new();
    let mut skips = false;
    for line in shipped.lines() {
        if line.trim() == END {
            skips = false;
        }
        if skips {
            continue;
        }
        text.push_str(line);
        text.push('\n');
        let inside = line.trim().strip_prefix(BEGIN).and_then(|name| own.inside.get(name));
        if let Some(inside) = inside {
            inside.iter().for_each(|line| text.extend([line, "\n"]));
            skips = true;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = "//! Before.\nfn f() {\n    a();\n    // region: one\n    b();\n    // endregion\n    \
                           c();\n    // region: two\n    // endregion\n}\n";

    fn edit(line: usize, now: Option<&str>, was: Option<&str>) -> Option<Edit> {
        Some(Edit { line, now: now.map(str::to_owned), was: was.map(str::to_owned) })
    }

    #[test]
    fn edits_inside_the_regions_and_of_comments_are_none() {
        let own = SHIPPED
            .replace("    b();\n", "    b(1);\n    x();\n")
            .replace("Before", "Mine")
            .replace("    c();", "\n    // why\n    c();");
        assert_eq!(first_edit(SHIPPED, &own), None);
        assert_eq!(first_edit(SHIPPED, SHIPPED), None);
    }

    #[test]
    fn what_is_outside_is_what_is_not_between_two_marks() {
        let outside: Vec<usize> = (1..=10).filter(|&line| is_outside(SHIPPED, line)).collect();
        assert_eq!(outside, [1, 2, 3, 6, 7, 9, 10]);
        assert!(!is_outside("fn f() {}", 1), "a file without marks is somebody's own");
    }

    #[test]
    fn a_line_that_was_changed_added_or_taken_out_is_named_with_its_place() {
        let of = |from: &str, to: &str| first_edit(SHIPPED, &SHIPPED.replace(from, to));
        assert_eq!(of("a();", "a(1);"), edit(3, Some("a(1);"), Some("a();")));
        assert_eq!(of("    a();", "    z();\n    a();"), edit(3, Some("z();"), None));
        assert_eq!(of("    c();\n", ""), edit(7, None, Some("c();")));
        assert_eq!(of("}\n", "}\nfn g() {}\n"), edit(11, Some("fn g() {}"), None));
        assert_eq!(of("}\n", ""), edit(9, None, Some("}")));
        let mark = of("    // endregion\n    c();", "    c();");
        assert_eq!(mark, edit(7, Some("// region: two"), Some("// endregion")));
    }

    #[test]
    fn a_file_without_marks_has_no_outside() {
        assert_eq!(first_edit(SHIPPED, "fn f() {}\n"), None);
        assert_eq!(first_edit("fn f() {}\n", SHIPPED), None);
    }

    #[test]
    fn what_is_outside_comes_back_and_what_is_inside_stays() {
        let inside = SHIPPED.replace("    b();\n", "    b(1);\n    x();\n");
        let own = inside.replace("a();", "z();").replace("    c();\n", "");
        assert_eq!(restored(SHIPPED, &own), inside);
        assert_eq!(restored(SHIPPED, "fn f() {}\n"), SHIPPED, "where no mark is left, nothing is");
    }
}
