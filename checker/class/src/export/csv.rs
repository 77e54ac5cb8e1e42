//! One row for each student and exercise, for spreadsheets and scripts.
//!
//! A cell that a student could have written never begins as a formula does; a number is a number.
//! An empty score is one that is not known.

use std::fmt::Display;

use anyhow::{Context as _, Result};

use super::plain::{cell, line};
use super::points::Points;
use super::roll::concerns;
use crate::record::{Finding, Row};
use checker::grade::Verdict;

/// The first four are a promise to scripts.
const COLUMNS: [&str; 30] = [
    "student",
    "exercise",
    "verdict",
    "score",
    "points",
    "pass_score",
    "gate",
    "reason",
    "late_hours",
    "late_points",
    "replaced_points",
    "replaced_by",
    "replaced_reason",
    "score_rule",
    "metric",
    "metric_value",
    "baseline_value",
    "reference_value",
    "makespan_ns",
    "floor_ns",
    "serial_ns",
    "hazards",
    "causes",
    "needs_a_person",
    "message",
    "sha256",
    "sandbox",
    "gpu_score",
    "gpu_makespan_ns",
    "gpu_trust",
];

/// The table.
pub(super) fn text(rows: &[Row]) -> Result<String> {
    write(&COLUMNS, rows.iter().map(record))
}

/// Any table as text.
pub(super) fn write<C: AsRef<[u8]>, R: IntoIterator<Item = String>>(
    columns: &[C],
    records: impl Iterator<Item = R>,
) -> Result<String> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).context("cannot write a table")?;
    for record in records {
        writer.write_record(record).context("cannot write a table")?;
    }
    let bytes = writer.into_inner().context("cannot write a table")?;
    String::from_utf8(bytes).context("cannot write a table")
}

fn record(row: &Row) -> Vec<String> {
    // What a machine's trouble left over is no score either.
    let score = match row.verdict {
        Verdict::Error | Verdict::Inconclusive => None,
        Verdict::Passed | Verdict::Failed | Verdict::Rejected => row.score.and_then(Points::from),
    };
    let replaced = row.replaced.as_ref();
    let gpu = row.gpu.as_ref();
    vec![
        cell(&row.student),
        cell(&row.exercise),
        row.verdict.to_string(),
        known(score),
        known(Points::of(row)),
        known(Points::from(row.pass_score)),
        known(row.gate),
        known(row.reason.map(|reason| word(&reason))),
        known(row.late.as_ref().map(|late| late.hours)),
        known(row.late.as_ref().and_then(|late| Points::from(late.points))),
        known(replaced.and_then(|replaced| Points::from(replaced.points))),
        replaced.map(|replaced| cell(&replaced.by)).unwrap_or_default(),
        replaced.map(|replaced| cell(&replaced.reason)).unwrap_or_default(),
        row.score_rule.to_string(),
        word(&row.metric),
        known(row.metric_value),
        known(row.baseline_value),
        known(row.reference_value),
        known(row.makespan_ns),
        known(row.floor_ns),
        known(row.serial_ns),
        cell(&codes(&row.hazards)),
        cell(&codes(&row.causes)),
        cell(&concerns(row).iter().map(|concern| line(concern)).collect::<Vec<_>>().join("; ")),
        cell(&row.message),
        row.file.as_ref().map(|file| cell(&file.sha256)).unwrap_or_default(),
        word(&row.with.sandbox.level),
        known(gpu.and_then(|gpu| gpu.score).and_then(Points::from)),
        known(gpu.and_then(|gpu| gpu.makespan_ns)),
        known(gpu.map(|gpu| word(&gpu.trust))),
    ]
}

fn known(value: Option<impl Display>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The name of a word of ours in a row.
pub(super) fn word(word: &impl serde::Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// The codes of findings, each once.
fn codes(findings: &[Finding]) -> String {
    let mut codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.join(" ")
}
