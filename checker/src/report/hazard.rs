//! A hazard: what is wrong, the lines that it is about, and what to do.

use std::borrow::Cow;

use trace::Hazard;
use trace::hazards::{CallAt, Severity, StreamNames, Told};

use crate::print::Style;
use crate::report::fix::fix;
use crate::report::snippet::{Notice, Weight};
use crate::report::sources::Sources;
use crate::witness::{self, Outcome, Wanted, Witness};

/// Hazards that are shown; more than these have the same few causes.
const MOST: usize = 6;

/// All of `hazards`, one below the other, each with an empty line before it. Streams have the
/// `names` that they have in the `sources`. `play` is the command that shows what one does, but for
/// its number.
pub fn text(
    hazards: &[Hazard],
    names: &StreamNames,
    sources: &Sources,
    play: Option<&str>,
    style: Style,
) -> String {
    let mut text = String::new();
    for (number, hazard) in (1..).zip(hazards).take(MOST) {
        text.push('\n');
        text.push_str(&notice(hazard, names, sources).text(sources, style));
        text.push('\n');
        if let Some(play) = play.filter(|_| witness::schedules(hazard).is_some()) {
            let schedule = Wanted::Witness(number);
            text.push_str(&format!("see it go wrong: `{play} --schedule {schedule}`\n"));
        }
    }
    if hazards.len() > MOST {
        text.push_str(&format!("\nand {} more hazards\n", hazards.len() - MOST));
    }
    text
}

/// The calls that `hazards` are about, and those that are to be changed.
pub fn calls(hazards: &[Hazard]) -> Vec<CallAt> {
    let of = |hazard: &Hazard| {
        let near = hazard.near.iter().flat_map(|near| near.slip.calls()).cloned();
        let (first, second) = hazard.changed();
        let uses = [hazard.first.call.clone(), hazard.second.call.clone(), first, second];
        near.chain(uses).collect::<Vec<_>>()
    };
    hazards.iter().flat_map(of).collect()
}

/// Words for the data of a hazard in another order.
pub fn witness(witness: &Witness, style: Style) -> String {
    let Witness { hazard, order, outcome, message } = witness;
    let title = style.bold(&format!("witness of hazard {hazard}"));
    match outcome {
        Outcome::NotPlayed(_) => format!("\n{title}: {message}\n"),
        _ => format!("\n{title}: played so that {order}\n  {message}\n"),
    }
}

fn notice(hazard: &Hazard, names: &StreamNames, sources: &Sources) -> Notice<'static> {
    let Told { headline, places, mut notes, help } = hazard.tell(names);
    if hazard.count > 1 {
        notes.push(format!("this happens {} times at these two places", hazard.count));
    }
    Notice {
        weight: match hazard.severity {
            Severity::Error => Weight::Error,
            Severity::Warning => Weight::Warning,
        },
        code: hazard.code.as_str(),
        headline,
        places: places.into_iter().map(|(call, label)| (Cow::Owned(call), label)).collect(),
        notes,
        help: vec![help],
        fix: fix(hazard, names, sources),
    }
}
