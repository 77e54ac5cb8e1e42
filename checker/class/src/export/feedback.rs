//! The part of a row that a student may read.

use std::borrow::Cow;

use trace::causes::Code;
use trace::draw::duration;
use trace::words::counted;

use super::csv;
use super::plain::{line, quoted};
use super::points::Points;
use crate::record::{Finding, Row};
use checker::cli::Feedback;
use checker::grade::{Verdict, score};

/// The words of a row about lost overlap, as far as that goes.
pub(super) struct ShownCauses<'a> {
    pub(super) causes: Vec<Cow<'a, Finding>>,
    pub(super) advice: &'a [Finding],
}

/// As much about the causes in `row` as `feedback` allows, the same as of a single run.
pub(super) fn shown_causes(row: &Row, feedback: Feedback) -> ShownCauses<'_> {
    let causes = row.causes.iter();
    match feedback {
        Feedback::Symptom => {
            // Without their lines, two of one code would say the same.
            let mut seen = Vec::new();
            let new = causes.filter(|cause| {
                let is_new = !seen.contains(&&cause.code);
                seen.push(&cause.code);
                is_new
            });
            ShownCauses {
                causes: new.map(|cause| Cow::Owned(symptom(cause))).collect(),
                advice: &[],
            }
        }
        Feedback::Cause => ShownCauses { causes: causes.map(Cow::Borrowed).collect(), advice: &[] },
        Feedback::Advice => {
            ShownCauses { causes: causes.map(Cow::Borrowed).collect(), advice: &row.advice }
        }
    }
}

/// The symptom on the timeline, and not where it comes from.
fn symptom(cause: &Finding) -> Finding {
    let known = Code::ALL.into_iter().find(|code| code.as_str() == cause.code);
    Finding {
        code: cause.code.clone(),
        name: cause.name.clone(),
        severity: cause.severity.clone(),
        file: None,
        line: None,
        other_line: None,
        nanoseconds: None,
        count: None,
        message: known.map_or_else(|| cause.name.clone(), |code| code.symptom().to_owned()),
        help: None,
    }
}

/// `src/lib.rs:12 and :15`
pub(super) fn place(finding: &Finding) -> Option<String> {
    let mut place = line(finding.file.as_deref()?);
    if let Some(first) = finding.line {
        place += &format!(":{first}");
    }
    if let Some(other) = finding.other_line.filter(|other| Some(*other) != finding.line) {
        place += &format!(" and :{other}");
    }
    Some(place)
}

/// A finding in a line.
pub(super) fn sentence(finding: &Finding) -> String {
    let place = place(finding).map(|place| format!(" ({place})")).unwrap_or_default();
    format!("{} {}{place}: {}", line(&finding.code), line(&finding.name), line(&finding.message))
}

/// The verdict with its points: `passed with 87.9 of 100 points`.
pub(super) fn headline(row: &Row) -> String {
    match (row.verdict, Points::of(row)) {
        (verdict, Some(points)) => format!("{verdict} with {points} of 100 points"),
        (Verdict::Error | Verdict::Inconclusive, None) => {
            format!("{}: not graded, which is no zero", row.verdict)
        }
        (verdict, None) => format!("{verdict}, without points"),
    }
}

/// Why the points that count are not the score.
pub(super) fn changes(row: &Row) -> Vec<String> {
    let mut changes = Vec::new();
    if let (Some(late), Some(lost)) =
        (&row.late, row.late.as_ref().and_then(|late| Points::from(late.points)))
    {
        let hours = counted(late.hours as usize, "hour");
        changes.push(format!("{lost} points off for {hours} late"));
    }
    if let (Some(replaced), Some(points)) =
        (&row.replaced, row.replaced.as_ref().and_then(|replaced| Points::from(replaced.points)))
    {
        let (by, reason) = (line(&replaced.by), line(&replaced.reason));
        changes.push(format!("{points} points given by {by}: {reason}"));
    }
    changes
}

/// The time of a GPU for it, in words that say how far to believe them.
pub(super) fn on_gpu(row: &Row) -> Option<String> {
    let gpu = row.gpu.as_ref()?;
    let device = format!("On {} (CUDA {})", line(&gpu.device), line(&gpu.cuda));
    let message = line(&gpu.message);
    let Some(makespan_ns) = gpu.makespan_ns else {
        return Some(format!("{device}: {message}. The grade does not hang on it."));
    };
    let score = match (gpu.score.and_then(Points::from), gpu.range) {
        (Some(score), Some((low, high))) => {
            let [low, high] = [low, high].map(score::shown);
            format!(", which would be {score} points ({low} to {high})")
        }
        _ => String::new(),
    };
    Some(format!(
        "{device}: {}{score}; {message}. The program measured itself, so the grade does not hang on it.",
        duration(makespan_ns)
    ))
}

/// A row as text, for places that show text: what came of it, why, and what the program printed,
/// none of it at the beginning of a line.
pub(super) fn text(row: &Row, feedback: Feedback) -> String {
    let mut text = format!("{}\n{}", headline(row), quoted(&row.message, "  "));
    for change in changes(row).into_iter().chain(on_gpu(row)) {
        text += &quoted(&change, "  ");
    }
    let told = shown_causes(row, feedback);
    let parts: [(&str, Vec<String>); 4] = [
        ("hazards", row.hazards.iter().map(full).collect()),
        ("lost overlap", told.causes.iter().map(|cause| full(cause)).collect()),
        ("advice, each step on top of the one before", told.advice.iter().map(full).collect()),
        ("notes", row.notes.iter().map(|note| line(note)).collect()),
    ];
    for (title, items) in parts.iter().filter(|(_, items)| !items.is_empty()) {
        text += &format!("\n{title}:\n");
        for item in items {
            text += &quoted(item, "  ");
        }
    }
    for (title, said) in
        [("the compiler said", &row.compiler), ("the program printed", &row.output)]
    {
        if !said.trim().is_empty() {
            text += &format!("\n{title}:\n{}", quoted(said, "  | "));
        }
    }
    text
}

/// A finding with what to do about it.
fn full(finding: &Finding) -> String {
    match &finding.help {
        Some(help) => format!("{}\n  help: {}", sentence(finding), line(help)),
        None => sentence(finding),
    }
}

/// The versions that it was graded with, in a line.
pub(super) fn stamp(row: &Row) -> String {
    let with = &row.with;
    format!(
        "checker {}, {}, profile {}, score rule {}, sandbox {}",
        line(&with.checker),
        line(&with.rustc),
        line(&with.profile),
        row.score_rule,
        csv::word(&with.sandbox.level),
    )
}
