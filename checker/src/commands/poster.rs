//! `checker poster`: your timeline beside the first one, as a page to print and as a picture.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use trace::draw::{self, duration};
use trace::words::escape;

use crate::cli;
use crate::commands::run::{self, Ran};
use crate::device::DeviceChoice;
use crate::exit::{Exit, Usage};
use crate::print::{self, Style};
use crate::report::{Report, terminal};
use crate::status::Indicator;

/// The exercise whose poster it is, where none is named.
const RELAY: &str = "capstone";
/// The title above your timeline, where you give no name.
const NAMELESS: &str = "with the changes";

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    exercise: &'a str,
    /// The two files that were written.
    page: &'a Path,
    picture: &'a Path,
    makespan_ns: u64,
    first_ns: u64,
    score: f64,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Runs your file and the baseline on the simulated device, and draws both.
pub(super) fn poster(arguments: &cli::Poster) -> Result<Exit> {
    let indicator = Indicator::start();
    let ran = |baseline| -> Result<Ran> {
        let exercise = arguments.exercise.as_deref().unwrap_or(RELAY);
        let asked = cli::Run {
            baseline,
            device: DeviceChoice::Sim,
            profile: arguments.profile.clone(),
            ..cli::Run::of(exercise)
        };
        run::perform(&asked, Style::of_stderr(), &|stage| indicator.tell(stage))
    };
    let (own, first) = (ran(false)?, ran(true)?);
    drop(indicator);
    let facts = Facts::of(&own.report, &first.report)?;

    let (mut own, mut first) = (own.presentation, first.presentation);
    let (Some(mut own), Some(mut first)) =
        (own.charts.drain(..).next(), first.charts.drain(..).next())
    else {
        return Err(Usage("there is nothing to draw".to_owned()).into());
    };
    own.title = arguments.name.clone().unwrap_or_else(|| NAMELESS.to_owned());
    "as on the first day".clone_into(&mut first.title);
    // It shows what happened; what could be better is for the report.
    own.causes.clear();
    first.causes.clear();
    let picture = draw::svg(&terminal::layout(&[first, own]), facts.exercise);

    let page_path = arguments.output.with_extension("html");
    let picture_path = arguments.output.with_extension("svg");
    write(&picture_path, &picture)?;
    write(&page_path, &page(&facts, arguments.name.as_deref(), &picture))?;
    if arguments.look.json {
        print::json(&Object {
            format: FORMAT,
            exercise: facts.exercise,
            page: &page_path,
            picture: &picture_path,
            makespan_ns: facts.own_ns,
            first_ns: facts.first_ns,
            score: facts.score,
        })?;
    } else {
        let Facts { own_ns, first_ns, .. } = facts;
        let (page, picture) = (page_path.display(), picture_path.display());
        print::out(&format!(
            "{} and {}: {} times as fast\n\nwrote `{page}`, a page to print, and `{picture}`\n",
            duration(first_ns),
            duration(own_ns),
            times(first_ns, own_ns)
        ));
    }
    Ok(Exit::Passed)
}

/// The numbers of a poster.
struct Facts<'a> {
    exercise: &'a str,
    device: String,
    own_ns: u64,
    first_ns: u64,
    floor_ns: u64,
    score: f64,
    /// How many changes of the plan are made, and of how many.
    made: (usize, usize),
}

impl<'a> Facts<'a> {
    fn of(own: &'a Report, first: &Report) -> Result<Self> {
        let exercise = own.exercise.as_deref().unwrap_or(RELAY);
        // What a gate has failed, or has no score for another reason, is nothing to hang on a wall.
        let sound = (own.score.filter(|_| own.gate.is_none()), own.makespan_ns, first.makespan_ns);
        let (Some(score), Some(own_ns), Some(first_ns)) = sound else {
            let why = &own.message;
            let message = format!(
                "there is no poster of this run: {why}\n\nhint: `cargo run -- run {exercise}` says more"
            );
            return Err(Usage(message).into());
        };
        let device = match &own.device {
            Some(crate::report::Where::Simulated { profile, .. }) => format!("simulated {profile}"),
            _ => String::new(),
        };
        let left = own.plan.iter().filter(|it| it.is_left).count();
        let floor_ns = own.bounds.map_or(0, |bounds| bounds.floor_ns);
        let made = (own.plan.len() - left, own.plan.len());
        Ok(Self { exercise, device, own_ns, first_ns, floor_ns, score, made })
    }
}

/// How many times as fast, to a tenth.
fn times(slow_ns: u64, fast_ns: u64) -> String {
    format!("{:.1}", slow_ns as f64 / fast_ns.max(1) as f64)
}

/// The page: all of it in one file, for a sheet on its side.
fn page(facts: &Facts<'_>, name: Option<&str>, picture: &str) -> String {
    let Facts { exercise, device, own_ns, first_ns, floor_ns, score, made } = facts;
    let by = name.map(|name| format!("<p class=\"by\">{}</p>\n", escape(name))).unwrap_or_default();
    let mut numbers = vec![
        (times(*first_ns, *own_ns), "times as fast"),
        (duration(*first_ns), "as on the first day"),
        (duration(*own_ns), "now"),
        (duration(*floor_ns), "lower bound"),
        (format!("{score:.0}"), "points of 100"),
    ];
    if made.1 > 0 {
        numbers.push((format!("{} of {}", made.0, made.1), "changes"));
    }
    let mut list = String::new();
    for (number, what) in numbers {
        _ = writeln!(list, "<div><dt>{what}</dt><dd>{number}</dd></div>");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Swimming in Streams: {exercise}</title>\n\
         <style>{STYLE}</style>\n<main>\n<h1>Swimming in Streams</h1>\n{by}<dl>\n{list}</dl>\n<figure>\n{picture}\n</figure>\n\
         <p class=\"where\"><code>{exercise}</code> on the {device}</p>\n</main>\n</html>\n"
    )
}

const STYLE: &str = "
@page { size: A4 landscape; margin: 14mm; }
body { margin: 0; background: #fff; color: #111; font: 16px/1.4 system-ui, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 24px; }
h1 { font-size: 40px; line-height: 1.1; margin: 0; }
.by { font-size: 24px; margin: 4px 0 0; overflow-wrap: anywhere; }
dl { display: flex; flex-wrap: wrap; gap: 8px 40px; margin: 24px 0; }
dt { font-size: 14px; color: #555; }
dd { font-size: 28px; margin: 0; }
figure { margin: 0; }
figure svg { width: 100%; height: auto; }
.where { font-size: 14px; color: #555; }
@media print { main { max-width: none; padding: 0; } figure svg { max-height: 118mm; } }
";

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
