//! A hazard: what is wrong, both lines, and what to do.

use trace::Hazard;
use trace::hazards::{CallAt, Severity};

use crate::print::Style;
use crate::report::snippet::{Notice, Sources, Weight};

/// Hazards that are shown; more than these have the same few causes.
const MOST: usize = 6;

/// All of `hazards`, one below the other, each with an empty line before it.
pub(crate) fn text(hazards: &[Hazard], sources: &Sources, style: Style) -> String {
    let mut text = String::new();
    for hazard in hazards.iter().take(MOST) {
        text.push('\n');
        text.push_str(&notice(hazard).text(sources, style));
        text.push('\n');
    }
    if hazards.len() > MOST {
        text.push_str(&format!("\nand {} more hazards\n", hazards.len() - MOST));
    }
    text
}

/// The calls that `hazards` are about.
pub(crate) fn calls(hazards: &[Hazard]) -> impl Iterator<Item = &CallAt> {
    hazards.iter().flat_map(|hazard| [&hazard.first.call, &hazard.second.call])
}

fn notice(hazard: &Hazard) -> Notice<'_> {
    let (first, second) = hazard.labels();
    let mut notes: Vec<String> = hazard.note().into_iter().collect();
    if hazard.count > 1 {
        notes.push(format!("this happens {} times at these two places", hazard.count));
    }
    Notice {
        weight: match hazard.severity {
            Severity::Error => Weight::Error,
            Severity::Warning => Weight::Warning,
        },
        code: hazard.code.as_str(),
        headline: hazard.headline(),
        places: vec![(&hazard.second.call, second), (&hazard.first.call, first)],
        notes,
        help: vec![hazard.help()],
    }
}
