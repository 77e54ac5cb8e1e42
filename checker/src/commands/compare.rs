//! `checker compare`: your file beside the reference's, region by region, and what each difference
//! is worth.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use similar::TextDiff;
use trace::draw::{self, duration};

use crate::cli;
use crate::commands::run::{self, Ran};
use crate::device::{self, Device, DeviceChoice, Simulated};
use crate::exercise::{self, Exercise};
use crate::exit::{Exit, Usage};
use crate::grade::Verdict;
use crate::print::{self, Style};
use crate::regions::{self, Difference};
use crate::report::{Chart, Report, terminal};
use crate::status::{Indicator, Tell};
use crate::variant::{Libraries, Variant};
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    exercise: &'a str,
    profile: &'a str,
    metric: exercise::Metric,
    /// The time that the metric is about, of your file and of the reference's, in ns.
    own_ns: u64,
    reference_ns: u64,
    regions: Vec<Region<'a>>,
    /// Regions that your file has no marks of: nothing is compared there.
    lacking: &'a [String],
    /// The regions that do not stand alone, put in together; none where there are not two of them.
    together: Option<&'a Outcome>,
}

/// Version of the object.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Region<'a> {
    #[serde(flatten)]
    difference: &'a Difference,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// Your file with some of the reference's lines.
#[derive(Serialize)]
struct Outcome {
    /// The time that the metric is about, in ns; none where that is no program that a score could
    /// be given.
    ns: Option<u64>,
    /// Why there is none.
    why: Option<String>,
}

/// Compares a file that passes with the reference.
pub(super) fn compare(arguments: &cli::Compare) -> Result<Exit> {
    let indicator = Indicator::start();
    let compared = Compared::of(arguments, &|stage| indicator.tell(stage));
    drop(indicator);
    let compared = compared?;
    if arguments.look.json {
        print::json(&compared.object())?;
    } else {
        let style = if arguments.look.plain { Style::Plain } else { Style::of_stdout() };
        print::out(&compared.text(print::columns(), style));
    }
    Ok(Exit::Passed)
}

struct Compared {
    exercise: Exercise,
    profile: String,
    /// Both timelines.
    charts: Vec<Chart>,
    own_ns: u64,
    reference_ns: u64,
    differences: Vec<(Difference, Outcome)>,
    lacking: Vec<String>,
    together: Option<Outcome>,
}

impl Compared {
    fn of(arguments: &cli::Compare, tell: Tell<'_>) -> Result<Self> {
        let workspace = Workspace::find()?;
        let exercise = match &arguments.exercise {
            Some(wanted) => exercise::find(&workspace, wanted)?,
            None => exercise::current(&workspace)?,
        };
        let id = exercise.place.id.clone();
        let solution = exercise.place.solution(&workspace);
        let Ok(reference) = std::fs::read_to_string(&solution) else {
            let message = format!(
                "the reference's file of `{id}` is not in this workspace\n\nhint: `cargo run -- run {id}` draws its \
                 timeline below yours"
            );
            return Err(Usage(message).into());
        };
        let device = match device::choose(DeviceChoice::Sim, arguments.profile.as_deref())? {
            Device::Simulated(device) => *device,
            Device::Gpu(_) => unreachable!("the simulated device was asked for"),
        };
        let asked = |solution| cli::Run {
            solution,
            device: DeviceChoice::Sim,
            profile: arguments.profile.clone(),
            ..cli::Run::of(&id)
        };
        let own = run::perform(&asked(false), Style::of_stderr(), tell)?;
        if own.report.verdict != Some(Verdict::Passed) {
            let message = format!(
                "your file does not pass yet: {}\n\nhint: `cargo run -- run {id}` says more; the comparison shows how the \
                 reference does it, so it is for a file that passes",
                own.report.message
            );
            return Err(Usage(message).into());
        }
        let whole = run::perform(&asked(true), Style::Plain, tell)?;
        let (Some(own_ns), Some(reference_ns)) = (own.report.graded_ns(), whole.report.graded_ns())
        else {
            return Err(
                Usage(format!("there is nothing to compare: {}", whole.report.message)).into()
            );
        };

        let text = std::fs::read_to_string(exercise.place.file())?;
        let libraries = Libraries::of(&workspace, &exercise.place, tell)?;
        let with = |names: &[&str]| -> Result<Outcome> {
            let text = regions::replaced(&text, &reference, |name| names.contains(&name));
            outcome(&exercise, Variant::of(&libraries, &text)?, &device, tell)
        };
        let mut differences = Vec::new();
        for difference in regions::differences(&text, &reference) {
            let outcome = with(&[&difference.name])?;
            differences.push((difference, outcome));
        }
        let entangled: Vec<&str> = differences
            .iter()
            .filter(|(_, outcome)| outcome.ns.is_none())
            .map(|(difference, _)| difference.name.as_str())
            .collect();
        let together = if entangled.len() > 1 { Some(with(&entangled)?) } else { None };
        let profile = device.profile.name.clone();
        let mut charts = own.presentation.charts;
        // What could be better is said by region.
        charts.iter_mut().for_each(|chart| chart.causes.clear());
        let lacking = regions::lacking(&text, &reference);
        Ok(Self { exercise, profile, charts, own_ns, reference_ns, differences, lacking, together })
    }

    fn object(&self) -> Object<'_> {
        Object {
            format: FORMAT,
            exercise: &self.exercise.place.id,
            profile: &self.profile,
            metric: self.exercise.manifest.metric,
            own_ns: self.own_ns,
            reference_ns: self.reference_ns,
            regions: self
                .differences
                .iter()
                .map(|(difference, outcome)| Region { difference, outcome })
                .collect(),
            lacking: &self.lacking,
            together: self.together.as_ref(),
        }
    }

    fn text(&self, columns: usize, style: Style) -> String {
        let id = &self.exercise.place.id;
        let title = format!("{id} · your file beside the reference's · simulated {}", self.profile);
        let mut text = format!("{}\n\n", style.bold(&title));
        let drawn = match style {
            Style::Plain => draw::Style::Plain,
            Style::Colour => draw::Style::Colour,
        };
        text.push_str(&draw::terminal(&terminal::layout(&self.charts), columns, drawn));
        let what = self.exercise.manifest.metric.time();
        let all = self.worth(self.reference_ns);
        _ = writeln!(
            text,
            "\n{what}: {} with your file, {} with the reference's: {all}",
            duration(self.own_ns),
            duration(self.reference_ns)
        );
        for name in &self.lacking {
            _ = writeln!(
                text,
                "\nregion `{name}`: your file has no marks of it, so nothing is compared there; put `// region: {name}` \
                 and `// endregion` back around its lines"
            );
        }
        if self.differences.is_empty() && self.lacking.is_empty() {
            _ = writeln!(text, "\nwhat is in the regions is the same code");
        }
        let file = "src/lib.rs";
        for (difference, outcome) in &self.differences {
            let Difference { name, line, own, reference } = difference;
            _ = writeln!(text, "\n{} {file}:{line}", style.bold(&format!("region `{name}`")));
            for change in TextDiff::from_slices(&refs(own), &refs(reference)).iter_all_changes() {
                let line = format!("  {} {}", change.tag(), change.value());
                _ = writeln!(text, "{}", line.trim_end());
            }
            let says = match outcome {
                Outcome { ns: Some(ns), .. } => self.sentence(*ns, "here"),
                Outcome { why, .. } => format!(
                    "the reference's lines do not stand alone here: {}",
                    why.as_deref().unwrap_or_default()
                ),
            };
            _ = writeln!(text, "  {says}");
        }
        if let Some(together) = &self.together {
            let names: Vec<String> = self
                .differences
                .iter()
                .filter(|(_, outcome)| outcome.ns.is_none())
                .map(|(difference, _)| format!("`{}`", difference.name))
                .collect();
            let says = match together {
                Outcome { ns: Some(ns), .. } => self.sentence(*ns, "there"),
                Outcome { why, .. } => format!(
                    "the reference's lines do not stand without the rest: {}",
                    why.as_deref().unwrap_or_default()
                ),
            };
            let title = style.bold(&format!("regions {} together", names.join(", ")));
            _ = writeln!(text, "\n{title}\n  {says}");
        }
        text
    }

    /// A time in words, beside that of the student's file.
    fn worth(&self, ns: u64) -> String {
        match ns.cmp(&self.own_ns) {
            std::cmp::Ordering::Less => format!("{} less", duration(self.own_ns - ns)),
            std::cmp::Ordering::Equal => "the same".to_owned(),
            std::cmp::Ordering::Greater => format!("{} more", duration(ns - self.own_ns)),
        }
    }

    fn sentence(&self, ns: u64, place: &str) -> String {
        format!("with the reference's lines {place}: {}, {}", duration(ns), self.worth(ns))
    }
}

fn refs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// Runs a variant.
fn outcome(
    exercise: &Exercise,
    variant: Variant,
    device: &Simulated,
    tell: Tell<'_>,
) -> Result<Outcome> {
    let arguments = cli::Run::of(&exercise.place.id);
    let Ran { report, .. } = run::apart(exercise, variant, device, &arguments, tell)?;
    let Report { gate, message, .. } = &report;
    Ok(match (gate, report.graded_ns()) {
        (None, Some(ns)) => Outcome { ns: Some(ns), why: None },
        _ => Outcome { ns: None, why: Some(message.lines().next().unwrap_or_default().to_owned()) },
    })
}
