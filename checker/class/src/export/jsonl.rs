//! The rows themselves, one a line: what every other report is made from.

use anyhow::{Context as _, Result};

use crate::record::Row;

/// A row with the end of its line.
pub(super) fn line(row: &Row) -> Result<String> {
    Ok(serde_json::to_string(row).context("cannot write a row as JSON")? + "\n")
}
