//! Causes of lost overlap, told in steps: what is to be seen, where it comes from, what to do and
//! what that gains.

use std::borrow::Cow;

use simulator::advice::{Advice, Advised};
use trace::Cause;
use trace::causes::{Code, Severity};
use trace::hazards::CallAt;

use crate::cli::Feedback;
use crate::print::Style;
use crate::report::snippet::{Notice, Weight};
use crate::report::sources::Sources;

/// Causes that are shown: those that cost most. With these gone, the next run shows the others.
const MOST: usize = 3;

/// The causes that cost most and as much about them as `feedback` allows, each with an empty line
/// before it. `profile` is the simulated device that the advice is for, where the run was
/// elsewhere.
pub(super) fn text(
    advised: &Advised,
    feedback: Feedback,
    profile: Option<&str>,
    sources: &Sources,
    style: Style,
) -> String {
    let mut text = String::new();
    let mut shown = shown(advised);
    if feedback == Feedback::Symptom {
        // Without their lines, two of one code would say the same.
        let mut told = Vec::new();
        shown.retain(|cause| {
            let is_new = !told.contains(&cause.code);
            told.push(cause.code);
            is_new
        });
    }
    for cause in &shown {
        let notice = match feedback {
            Feedback::Symptom => symptom(cause),
            Feedback::Cause | Feedback::Advice => full(cause),
        };
        text.push('\n');
        text.push_str(&notice.text(sources, style));
        text.push('\n');
    }
    if feedback == Feedback::Symptom && !shown.is_empty() {
        text.push_str(
            "\nhint: `--feedback cause` shows the lines, `--feedback advice` what to change; \
             `cargo run -- explain CODE` tells more\n",
        );
    }
    if feedback == Feedback::Advice {
        text.push_str(&advice(advised, profile));
    }
    text
}

fn shown(advised: &Advised) -> Vec<&Cause> {
    advised.causes.iter().take(MOST).collect()
}

/// The calls that are shown.
pub fn calls(advised: &Advised) -> impl Iterator<Item = &CallAt> {
    shown(advised).into_iter().flat_map(|cause| [Some(&cause.at), cause.other.as_ref()]).flatten()
}

fn weight(cause: &Cause) -> Weight {
    match cause.severity {
        Severity::Warning => Weight::Warning,
        Severity::Note => Weight::Note,
    }
}

fn symptom(cause: &Cause) -> Notice<'_> {
    Notice {
        weight: weight(cause),
        code: cause.code.as_str(),
        headline: cause.code.symptom().to_owned(),
        places: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
        fix: None,
    }
}

fn full(cause: &Cause) -> Notice<'_> {
    let (own, other) = cause.labels();
    let mut places = vec![(Cow::Borrowed(&cause.at), own)];
    if let (Some(call), Some(label)) = (&cause.other, other)
        && call.site != cause.at.site
        && call.site.is_some()
    {
        places.push((Cow::Borrowed(call), label));
        if cause.code == Code::IdleHostWork {
            places.reverse(); // the wait is what can be changed
        }
    }
    Notice {
        weight: weight(cause),
        code: cause.code.as_str(),
        headline: cause.headline(),
        places,
        notes: vec![cause.note()],
        help: vec![cause.help()],
        fix: None,
    }
}

/// The advice in order, and what each step gains.
fn advice(advised: &Advised, profile: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(refused) = &advised.refused
        && !advised.causes.is_empty()
    {
        text.push_str(&format!("\nno advice: {}\n", refused.message()));
    }
    if advised.advice.is_empty() {
        return text;
    }
    let on = profile.map(|name| format!(" on profile `{name}`")).unwrap_or_default();
    text.push_str(&format!("\nadvice, simulated{on}, each step on top of the one before:\n"));
    for (number, step) in (1..).zip(&advised.advice) {
        text.push_str(&format!("  {number}. {} ({})\n", step.message(), step.code));
    }
    text
}

/// The help about a piece of advice's cause, for programs.
pub(super) fn help(advised: &Advised, advice: &Advice) -> Option<String> {
    let same = |cause: &&Cause| cause.code == advice.code && cause.at.site == advice.at.site;
    advised.causes.iter().find(same).map(Cause::help)
}
