//! The long form of every code: one page each, in `explain/`.
//!
//! The programs on the pages are compiled and run on the simulated device by the lab's test
//! `explained`: each shows its code, and none once it is put right. That of `SWIM-C10` alone is
//! not: every kernel of the lab takes longer than the call that launches it.

use crate::grade::Gate;
use crate::likeness::nearest;

/// The page of one code.
#[derive(Debug)]
pub struct Page {
    /// The code, such as `SWIM-H01`.
    pub code: &'static str,
    /// The page, in Markdown.
    pub text: &'static str,
}

/// All pages, hazards first.
pub const PAGES: &[Page] = &[
    Page { code: "SWIM-H01", text: include_str!("explain/SWIM-H01.md") },
    Page { code: "SWIM-H02", text: include_str!("explain/SWIM-H02.md") },
    Page { code: "SWIM-H03", text: include_str!("explain/SWIM-H03.md") },
    Page { code: "SWIM-H04", text: include_str!("explain/SWIM-H04.md") },
    Page { code: "SWIM-H05", text: include_str!("explain/SWIM-H05.md") },
    Page { code: "SWIM-H06", text: include_str!("explain/SWIM-H06.md") },
    Page { code: "SWIM-C01", text: include_str!("explain/SWIM-C01.md") },
    Page { code: "SWIM-C02", text: include_str!("explain/SWIM-C02.md") },
    Page { code: "SWIM-C03", text: include_str!("explain/SWIM-C03.md") },
    Page { code: "SWIM-C04", text: include_str!("explain/SWIM-C04.md") },
    Page { code: "SWIM-C05", text: include_str!("explain/SWIM-C05.md") },
    Page { code: "SWIM-C06", text: include_str!("explain/SWIM-C06.md") },
    Page { code: "SWIM-C07", text: include_str!("explain/SWIM-C07.md") },
    Page { code: "SWIM-C08", text: include_str!("explain/SWIM-C08.md") },
    Page { code: "SWIM-C09", text: include_str!("explain/SWIM-C09.md") },
    Page { code: "SWIM-C10", text: include_str!("explain/SWIM-C10.md") },
    Page { code: "SWIM-C11", text: include_str!("explain/SWIM-C11.md") },
    Page { code: "SWIM-C12", text: include_str!("explain/SWIM-C12.md") },
    Page { code: "SWIM-C13", text: include_str!("explain/SWIM-C13.md") },
    Page { code: "SWIM-C14", text: include_str!("explain/SWIM-C14.md") },
    Page { code: "SWIM-C15", text: include_str!("explain/SWIM-C15.md") },
    Page { code: "SWIM-C16", text: include_str!("explain/SWIM-C16.md") },
    Page { code: "SWIM-C17", text: include_str!("explain/SWIM-C17.md") },
    Page { code: "SWIM-C18", text: include_str!("explain/SWIM-C18.md") },
    Page { code: "SWIM-C19", text: include_str!("explain/SWIM-C19.md") },
    Page { code: "SWIM-C20", text: include_str!("explain/SWIM-C20.md") },
];

impl Page {
    /// The code's name, which stands in the page's title.
    pub fn name(&self) -> &'static str {
        let title = self.text.lines().next().unwrap_or_default();
        title.rsplit(' ').next().unwrap_or_default()
    }
}

/// The page that `wanted` means: a code with or without `SWIM-`, or its name. Otherwise a
/// suggestion.
pub fn find(wanted: &str) -> Result<&'static Page, String> {
    let upper = wanted.to_uppercase();
    let short = upper.strip_prefix("SWIM-").unwrap_or(&upper);
    let is_meant = |page: &&Page| {
        page.code.ends_with(&format!("-{short}")) || page.name() == wanted.to_lowercase()
    };
    if let Some(page) = PAGES.iter().find(is_meant) {
        return Ok(page);
    }
    if let Some(gate) = Gate::named(wanted) {
        return Err(format!("`{gate}` is a gate, which has no page: {}", gate.asks()));
    }
    Err(match nearest(PAGES, wanted, |page| [page.code, page.name()]) {
        Some(page) => format!("did you mean `{}`, {}?", page.code, page.name()),
        None => "`checker explain` lists them all".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use trace::{causes, hazards};

    use super::*;

    #[test]
    fn every_code_has_a_page_with_all_its_parts() {
        let hazards = hazards::Code::ALL.iter().map(|code| (code.as_str(), code.name()));
        let causes = causes::Code::ALL.iter().map(|code| (code.as_str(), code.name()));
        let codes: Vec<_> = hazards.chain(causes).collect();
        assert_eq!(codes.len(), PAGES.len());
        for (page, (code, name)) in PAGES.iter().zip(codes) {
            let parts: Vec<&str> = page.text.lines().filter(|line| line.starts_with('#')).collect();
            let title = format!("# {code} {name}");
            assert_eq!(
                parts,
                [
                    title.as_str(),
                    "## What happens",
                    "## A minimal program",
                    "## How to see it",
                    "## How to fix it",
                    "## Chapter",
                ]
            );
            for part in page.text.split("\n## ").skip(1) {
                assert!(part.lines().skip(1).any(|line| !line.trim().is_empty()), "{code}: {part}");
            }
            assert!(page.text.lines().all(|line| line.chars().count() <= 100), "{code}");
        }
    }

    #[test]
    fn a_page_is_found_by_code_short_code_and_name() {
        for wanted in ["SWIM-C01", "swim-c01", "C01", "c01", "pageable-copy"] {
            assert_eq!(find(wanted).map(|page| page.code), Ok("SWIM-C01"), "{wanted}");
        }
    }

    #[test]
    fn a_slip_of_the_finger_brings_a_suggestion_and_nonsense_does_not() {
        assert_eq!(find("pagable-copy").unwrap_err(), "did you mean `SWIM-C01`, pageable-copy?");
        assert!(find("SWIM-H07").unwrap_err().starts_with("did you mean `SWIM-"));
        for nonsense in ["zzz", ""] {
            assert_eq!(find(nonsense).unwrap_err(), "`checker explain` lists them all");
        }
    }
}
