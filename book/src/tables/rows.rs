//! `rows` blocks: what a GPU did in situations that were brought about on purpose.
//!
//! ```toml
//! from = "../../exercises/lab/tests/conformance/h200.json"
//! rows = ["copies: two uploads on two streams run in turn"]
//! ```
//!
//! The file is what the lab's test `conformance` wrote on that GPU, and asks of the simulated
//! device.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::markup::escape;
use crate::page::{Fence, Page};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    from: String,
    rows: Vec<String>,
}

/// The results of one GPU.
#[derive(Deserialize)]
struct Kept {
    device: String,
    driver: String,
    date: String,
    rows: BTreeMap<String, Seen>,
}

/// The outcome of a row.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seen {
    /// The same each time.
    Clear(Vec<String>),
    /// Something that settles nothing.
    Unclear(serde::de::IgnoredAny),
}

/// A table of the rows that a block names.
pub fn table(page: &mut Page<'_>, fence: &Fence) -> Option<String> {
    let Rows { from, rows } = page.parse(fence)?;
    let kept = std::fs::read_to_string(page.beside(&from)).map_err(|error| error.to_string());
    let kept = kept
        .and_then(|text| serde_json::from_str::<Kept>(&text).map_err(|error| error.to_string()));
    let kept = kept.map_err(|why| format!("cannot read `{from}`: {why}"));
    let kept = page.note(fence.line, kept)?;
    let mut html = String::new();
    for row in rows {
        let seen = match kept.rows.get(&row) {
            Some(Seen::Clear(seen)) => Ok(seen.join(", ")),
            Some(Seen::Unclear(_)) => Err(format!("`{row}` has no clear answer")),
            None => Err(format!("`{from}` has no row `{row}`")),
        };
        let seen = page.note(fence.line, seen)?;
        html += &format!(
            "<tr><th scope=\"row\">{}</th><td><b>{}</b></td></tr>",
            escape(&row),
            escape(&seen)
        );
    }
    Some(format!(
        "<div class=\"table-wrapper\"><table class=\"rows\"><thead><tr><th scope=\"col\">what was done</th>\
         <th scope=\"col\">what an {} did (driver {}, {})</th></tr></thead><tbody>{html}</tbody></table></div>",
        escape(&kept.device),
        escape(&kept.driver),
        escape(&kept.date)
    ))
}
