//! The regions of a student's file: what is the exercise's own stands outside of them.
//!
//! A region begins with a line `// region: NAME` and ends with `// endregion`. The compiler does
//! not mind edits elsewhere, and most are slips; so a run says where they are, and they can be
//! undone without losing what is in the regions.

use std::collections::BTreeMap;

use serde::Serialize;

/// A line that marks a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark<'a> {
    /// The region of this name begins.
    Begin(&'a str),
    /// It ends.
    End,
}

impl<'a> Mark<'a> {
    /// The mark that a line is, whatever its margin.
    pub fn of(line: &'a str) -> Option<Self> {
        match line.trim() {
            "// endregion" => Some(Self::End),
            line => line.strip_prefix("// region: ").map(Self::Begin),
        }
    }
}

/// A line outside of the regions that is not as it was shipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The line of the student's file, from 1: the edited one, or the one where something is
    /// missing.
    pub line: usize,
    /// The line that stands there now; none where a line has gone.
    pub now: Option<String>,
    /// The line that stood there; none where a line has come.
    pub was: Option<String>,
}

/// Lines of a file with their numbers, split at the marks.
struct Parts<'a> {
    /// Code outside of the regions, and the marks.
    fixed: Vec<(usize, &'a str)>,
    /// Lines of each region, by its name.
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
            if let Some(mark) = Mark::of(line) {
                open = None;
                if let Mark::Begin(name) = mark {
                    open = Some(name);
                    parts.inside.entry(name).or_default();
                }
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

/// Whether a line, from 1, lies outside of the regions of a file that has some: it is not the
/// student's to change.
pub fn is_outside(text: &str, line: usize) -> bool {
    let open = text.lines().take(line).filter_map(Mark::of).last();
    let is_open = matches!(open, Some(Mark::Begin(_)));
    !is_open && text.lines().any(|line| matches!(Mark::of(line), Some(Mark::Begin(_))))
}

/// The first edit outside of the regions, if there is one. A file without a single mark is
/// somebody's own from beginning to end, and has no outside.
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
    replaced(shipped, own, |_| true)
}

/// A region in which two files have other code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The region's name.
    pub name: String,
    /// The line of the first file in which it begins, from 1.
    pub line: usize,
    /// Lines of the first file.
    pub own: Vec<String>,
    /// Lines of the other one.
    pub reference: Vec<String>,
}

/// The regions in which two files have other code, in the order of the first one. Comments and
/// margins are no code.
pub fn differences(own: &str, reference: &str) -> Vec<Difference> {
    let (mine, theirs) = (Parts::of(own), Parts::of(reference));
    let code = |lines: &[&str]| -> Vec<String> {
        let lines = lines.iter().map(|line| line.trim());
        let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
        code.map(str::to_owned).collect()
    };
    let begins = |&(line, text): &(usize, &str)| match Mark::of(text) {
        Some(Mark::Begin(name)) => Some((line, name.to_owned())),
        _ => None,
    };
    let differs = |(line, name): (usize, String)| {
        let (own, reference) = (mine.inside.get(&*name)?, theirs.inside.get(&*name)?);
        let margin = own.iter().chain(reference).filter(|line| !line.trim().is_empty());
        let margin = margin.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        let text = |lines: &[&str]| -> Vec<String> {
            lines.iter().map(|line| line.get(margin..).unwrap_or_default().to_owned()).collect()
        };
        let differs = code(own) != code(reference);
        differs.then(|| Difference { line, own: text(own), reference: text(reference), name })
    };
    mine.fixed.iter().filter_map(begins).filter_map(differs).collect()
}

/// The regions of a file that another one lacks: marks of theirs have gone.
pub fn lacking(own: &str, reference: &str) -> Vec<String> {
    let (mine, theirs) = (Parts::of(own), Parts::of(reference));
    let names = theirs.inside.keys().filter(|name| !mine.inside.contains_key(*name));
    names.map(|&name| name.to_owned()).collect()
}

/// The first file with what the other one has in those of its regions that are wanted.
pub fn replaced(text: &str, other: &str, wanted: impl Fn(&str) -> bool) -> String {
    let other = Parts::of(other);
    let mut replaced = String::new();
    let mut skips = false;
    for line in text.lines() {
        let mark = Mark::of(line);
        if mark == Some(Mark::End) {
            skips = false;
        }
        if skips {
            continue;
        }
        replaced.push_str(line);
        replaced.push('\n');
        if let Some(Mark::Begin(name)) = mark
            && wanted(name)
            && let Some(inside) = other.inside.get(name)
        {
            inside.iter().for_each(|line| replaced.extend([line, "\n"]));
            skips = true;
        }
    }
    replaced
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

    #[test]
    fn code_that_differs_is_a_difference_and_comments_margins_and_empty_lines_are_none() {
        let other = SHIPPED.replace("    b();", "\n        // A remark.\n        b();");
        assert_eq!(differences(SHIPPED, &other), []);
        let other = SHIPPED.replace("    b();", "    b();\n        d();");
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let difference = Difference {
            name: "one".to_owned(),
            line: 4,
            own: lines(&["b();"]),
            reference: lines(&["b();", "    d();"]),
        };
        assert_eq!(differences(SHIPPED, &other), [difference]);
    }

    #[test]
    fn a_region_whose_marks_have_gone_is_lacking() {
        let other = SHIPPED.replace("    // region: two\n    // endregion\n", "");
        assert_eq!(lacking(&other, SHIPPED), ["two"]);
        assert_eq!(lacking(SHIPPED, &other), [""; 0]);
    }

    #[test]
    fn of_another_file_the_wanted_regions_are_taken_alone() {
        let other = "// region: one\nx();\n// endregion\n// region: two\ny();\n// endregion\n";
        let replaced = replaced(SHIPPED, other, |name| name == "two");
        assert_eq!(replaced, SHIPPED.replace("region: two\n", "region: two\ny();\n"));
    }
}
