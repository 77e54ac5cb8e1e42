//! `checker trace`: what a trace shows, of any program and from any profiler that writes Chrome's
//! format, or of ours.
//!
//! Reading, measuring and telling are [`viewer`]'s, which a page of the book shares.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`text`] | what is told, for people |
//! | [`json`] | the same for programs |

mod json;
mod text;

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use trace::draw::{self, Lanes};
use trace::export;
use viewer::facts::Run;
use viewer::source::{Device, Source};
use viewer::{alone, view};

use crate::cli;
use crate::exit::{Exit, Usage};
use crate::print::{self, Style};

/// Reads the trace that is named and says what it shows.
pub(super) fn trace(arguments: &cli::Trace) -> Result<Exit> {
    let source = open(&arguments.file, arguments.limit)?;
    let wants_names = arguments.perfetto.is_some() || arguments.html.is_some();
    let observed = source.runs(arguments.device_index, wants_names);
    let mut observed = observed.map_err(|error| Usage(error.to_string()))?;
    if let Some(window) = &arguments.window {
        view::look(&mut observed, |start_ns, end_ns| window.from(start_ns, end_ns));
        let empty = |run: &Device<'_>| run.observed.timeline.extent().ns() == 0;
        if observed.iter().all(empty) {
            let text = "nothing of the trace lies in that window\n\nhint: it counts from the start of \
                        the first operation; without `--window` you see how long the trace is";
            return Err(Usage(text.into()).into());
        }
    }
    let lanes = match arguments.lanes {
        Some(cli::LanesChoice::Streams) => Lanes::Streams,
        Some(cli::LanesChoice::Engines) => Lanes::Engines,
        None => view::lanes(&observed),
    };
    let runs: Vec<Run<'_>> = observed.iter().map(Run::of).collect();

    if let Some(path) = &arguments.perfetto {
        perfetto(path, &observed)?;
    }
    let drawn = (arguments.svg.is_some() || arguments.html.is_some() || !arguments.look.json)
        .then(|| view::layout(&runs, lanes));
    if let (Some(path), Some(layout)) = (&arguments.svg, &drawn) {
        let text = draw::svg(layout, "trace");
        write(path, &text)?;
    }
    if let (Some(path), Some(layout)) = (&arguments.html, &drawn) {
        write(path, &alone::trace(&source, &runs, layout))?;
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

fn open(path: &Path, limit: u64) -> Result<Source> {
    let shown = path.display();
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Usage(format!("there is no file `{shown}`")).into());
        }
        Err(error) => return Err(error).with_context(|| format!("cannot open `{shown}`")),
    };
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Usage(format!("`{shown}` is a folder; name one file of it")).into());
    }
    Source::read(&mut file, &shown.to_string(), limit)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

fn perfetto(path: &Path, devices: &[Device<'_>]) -> Result<()> {
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
