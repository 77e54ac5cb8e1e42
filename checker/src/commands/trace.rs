//! `checker trace`: what a trace shows, of any program and from any profiler that writes Chrome's
//! format, or of ours.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`input`] | from a file to runs of devices |
//! | [`facts`] | what is told of a run |
//! | [`text`] | that for people |
//! | [`json`] | that for programs |
//! | [`quantity`] | sizes and windows of time, as people type them |

mod facts;
mod input;
mod json;
mod text;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use trace::draw::{self, Lanes, Layout, Panel};
use trace::export;

use crate::cli;
use crate::exit::{Exit, Usage};
use crate::print::{self, Style};
use facts::Run;

/// Reads the trace that is named and says what it shows.
pub(super) fn trace(arguments: &cli::Trace) -> Result<Exit> {
    let source = input::Source::open(&arguments.file, arguments.limit)?;
    let wants_names = arguments.perfetto.is_some();
    let mut observed = source.runs(arguments.device_index, wants_names)?;
    if let Some(window) = &arguments.window {
        let starts = observed.iter().map(|run| run.observed.timeline.extent().start_ns);
        let start_ns = starts.min().unwrap_or(0);
        for run in &mut observed {
            let end_ns = run.observed.timeline.extent().end_ns;
            run.observed.timeline.region = Some(window.from(start_ns, end_ns));
        }
        let empty = |run: &input::Device<'_>| run.observed.timeline.extent().ns() == 0;
        if observed.iter().all(empty) {
            let text = "nothing of the trace lies in that window\n\nhint: it counts from the start of \
                        the first operation; without `--window` you see how long the trace is";
            return Err(Usage(text.into()).into());
        }
    }
    let lanes = lanes(arguments, &observed);
    let runs: Vec<Run<'_>> = observed.iter().map(Run::of).collect();

    if let Some(path) = &arguments.perfetto {
        perfetto(path, &observed)?;
    }
    let drawn = (arguments.svg.is_some() || !arguments.look.json).then(|| layout(&runs, lanes));
    if let (Some(path), Some(layout)) = (&arguments.svg, &drawn) {
        let text = draw::svg(layout, "trace");
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    if arguments.look.json {
        print::json(&json::object(&source, &runs))?;
        return Ok(Exit::Passed);
    }
    let style = if arguments.look.plain { Style::Plain } else { Style::of_stdout() };
    let timeline = drawn.map(|layout| {
        let style = match style {
            Style::Plain => draw::Style::Plain,
            Style::Colour => draw::Style::Colour,
        };
        draw::terminal(&layout, print::columns(), style)
    });
    print::out(&text::text(&source, &runs, &timeline.unwrap_or_default(), style));
    Ok(Exit::Passed)
}

/// Streams that can be told apart in one drawing; beyond these, lanes are engines.
const MOST_STREAMS: usize = 8;

fn lanes(arguments: &cli::Trace, devices: &[input::Device<'_>]) -> Lanes {
    match arguments.lanes {
        Some(cli::LanesChoice::Streams) => Lanes::Streams,
        Some(cli::LanesChoice::Engines) => Lanes::Engines,
        None => {
            let few = |device: &input::Device<'_>| device.streams() <= MOST_STREAMS;
            if devices.iter().all(few) { Lanes::Streams } else { Lanes::Engines }
        }
    }
}

fn layout(runs: &[Run<'_>], lanes: Lanes) -> Layout {
    let titles: Vec<String> = runs.iter().map(|run| run.device.title()).collect();
    let panels: Vec<Panel<'_>> = runs
        .iter()
        .zip(&titles)
        .map(|(run, title)| Panel {
            title,
            timeline: &run.device.observed.timeline,
            program: run.device.program,
        })
        .collect();
    Layout::new(&panels, lanes)
}

fn perfetto(path: &Path, devices: &[input::Device<'_>]) -> Result<()> {
    let devices: Vec<export::Device<'_>> = devices
        .iter()
        .map(|device| export::Device { index: device.index, observed: &device.observed })
        .collect();
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        export::chrome(&devices, &mut out)?;
        out.flush()
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}
