//! Tables that are made from files which hold more than a page wants: `{{#codes
//! ../../checker/src/explain}}`, `{{#minutes ../minutes.toml}}`, `{{#trust off}}`, `rows` blocks,
//! and `curve` blocks, which draw theirs; and `{{#start three_lanes}}`, the commands of a first
//! run. What they show is said in one place, and cannot differ on a page.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`curve`] | a number of several programs, against what they differ in |
//! | [`codes`] | all codes of a report, as `checker explain` has them |
//! | [`minutes`] | how long readers took for a chapter |
//! | [`rows`] | what a GPU did when it was asked |
//! | [`start`] | the commands from nothing to a first run |
//! | [`trust`] | how well the simulated device predicts GPUs |

pub mod codes;
pub mod curve;
pub mod minutes;
pub mod rows;
pub mod start;
pub mod trust;

use crate::markup::in_markdown;
use crate::page::{Directive, Fence, Page, directives, fences, replace};

/// Replaces the tables of a chapter.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    type Table = fn(&mut Page<'_>, &Directive) -> Option<String>;
    let tables = [
        ("codes", codes::table as Table),
        ("minutes", minutes::table),
        ("start", start::listing),
        ("trust", trust::table),
    ];
    for (name, table) in tables {
        for directive in directives(text, name) {
            let html = table(page, &directive).unwrap_or_default();
            parts.push((directive.range, in_markdown(&html, 1)));
        }
    }
    type Block = fn(&mut Page<'_>, &Fence) -> Option<String>;
    for (name, block) in [("rows", rows::table as Block), ("curve", curve::figure)] {
        for fence in fences(text, name) {
            let html = block(page, &fence).unwrap_or_default();
            parts.push((fence.range, in_markdown(&html, fence.body.lines().count() + 1)));
        }
    }
    replace(text, parts)
}
