//! `checker calibrate`: measures the GPU of this machine, and writes a profile of it for the
//! simulated device.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use simulator::Profile;

use crate::calibrate::machine::{self, Machine};
use crate::calibrate::raw::Raw;
use crate::calibrate::{Bench, Subject, fit, program};
use checker::cli;
use checker::compile::{Build, Built, Optimisation, Source};
use checker::device::DeviceChoice;
use checker::device::{self, Device, Simulated};
use checker::exit::{Exit, Usage};
use checker::print::{self, Style};
use checker::status::Indicator;
use checker::workspace::Workspace;
use sandbox::interrupt;

/// Version of the object.
const FORMAT: u32 = 1;

/// How often everything is measured: what disturbs the host for some seconds disturbs one of them.
const ROUNDS: usize = 3;
/// A figure whose middle half is wider than this share of it, in percent, is worth a word.
const WIDE_PERCENT: i64 = 10;
/// More of them are in the file of raw figures.
const WIDE_SHOWN: usize = 8;

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    name: &'a str,
    output: String,
    machine: &'a Machine,
    seconds: f64,
    /// By table, as in the profile.
    figures: serde_json::Value,
    /// Figures whose middle half is wider than a tenth, in percent.
    wide: Vec<(&'a str, i64)>,
    missing: Vec<(&'a str, &'a str)>,
}

/// Measures, and writes down what came of it.
pub(crate) fn calibrate(arguments: &cli::Calibrate) -> Result<Exit> {
    let began = Instant::now();
    let raw = match arguments.from.as_slice() {
        [] => measure(arguments)?,
        visits => join(visits)?,
    };
    if let Some(path) = &arguments.raw {
        write(path, &raw.to_json().context("cannot write raw figures")?)?;
    }
    if raw.wrong_elements() > 0 {
        bail!(
            "the kernels compute wrong results on this GPU ({} elements), so that no figure of them \
             means anything",
            raw.wrong_elements()
        );
    }

    let name = arguments.name.clone().unwrap_or_else(|| name_of(&raw.machine.device));
    let profile = fit::profile(&raw, &name).context("there is too little for a profile")?;
    if let Some(named) = &arguments.check {
        let against = Simulated::named(Some(named))?.profile;
        let off = off(&profile, &against);
        let all = Checked { format: FORMAT, profile: named, machine: &raw.machine, figures: off };
        if arguments.look.json {
            print::json(&all)?;
        } else {
            print::out(&all.text());
        }
        return Ok(Exit::Passed);
    }
    let text = profile.to_toml(&header(&raw, &name));
    let read: Profile = toml::from_str(&text).context("the profile cannot be read back")?;
    if read != profile {
        bail!("the profile reads back as another one");
    }
    let output = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    write(&output, &text)?;
    let shown = output.display().to_string();
    if arguments.look.json {
        print::json(&Object {
            format: FORMAT,
            name: &name,
            output: shown,
            machine: &raw.machine,
            seconds: began.elapsed().as_secs_f64(),
            figures: figures(&profile)?,
            wide: raw.wide(WIDE_PERCENT),
            missing: raw.missing().collect(),
        })?;
        return Ok(Exit::Passed);
    }
    print::out(&summary(&raw, &profile, &shown, began.elapsed().as_secs_f64()));
    Ok(Exit::Passed)
}

/// How far a figure of a profile is off on the machine at hand.
#[derive(Debug, PartialEq, Serialize)]
struct Off {
    figure: String,
    profile: u64,
    measured: u64,
    /// How much more was measured, in percent of the profile's.
    percent: f64,
}

/// The figures that were measured for both, what is off most first.
fn off(measured: &Profile, profile: &Profile) -> Vec<Off> {
    let flat = |profile: &Profile| {
        let mut flat = BTreeMap::new();
        for (table, figures) in profile.tables() {
            for (name, figure) in figures.iter().filter(|(_, it)| it.source.starts_with("measured"))
            {
                flat.insert(format!("{table}.{name}"), figure.value);
            }
        }
        flat
    };
    let (measured, profile) = (flat(measured), flat(profile));
    let both = profile.into_iter().filter_map(|(figure, profile)| {
        let measured = *measured.get(&figure)?;
        // Of nothing there is no percentage.
        let percent = 100.0 * (measured as f64 / profile as f64 - 1.0);
        (profile > 0).then_some(Off { figure, profile, measured, percent })
    });
    let mut both: Vec<Off> = both.collect();
    both.sort_by(|a, b| b.percent.abs().total_cmp(&a.percent.abs()));
    both
}

/// How far a profile is from a machine.
#[derive(Serialize)]
struct Checked<'a> {
    format: u32,
    profile: &'a str,
    machine: &'a Machine,
    figures: Vec<Off>,
}

/// So many percent are what two visits to one machine differ by.
const NEAR_PERCENT: f64 = 5.0;
/// So many figures that are further off are named.
const OFF_SHOWN: usize = 24;

impl Checked<'_> {
    fn text(&self) -> String {
        let Self { profile, machine, figures, .. } = self;
        let within = |percent: f64| figures.iter().filter(|it| it.percent.abs() <= percent).count();
        let far: Vec<&Off> = figures.iter().take(figures.len() - within(NEAR_PERCENT)).collect();
        let mut text = format!("\n{}\n", machine.describe());
        if !far.is_empty() {
            text.push_str(&format!("{:<44} {:>12} {:>12}  off by\n", "figure", "profile", "here"));
        }
        for Off { figure, profile, measured, percent } in far.iter().take(OFF_SHOWN) {
            text.push_str(&format!(
                "{figure:<44} {profile:>12} {measured:>12} {percent:>+6.1} %\n"
            ));
        }
        if let Some(more @ 1..) = far.len().checked_sub(OFF_SHOWN) {
            text.push_str(&format!("and {more} more: `--json` has all\n"));
        }
        text.push_str(&format!(
            "of {} figures that were measured for `{profile}`, {} are within {NEAR_PERCENT} % here, and {} within {} %\n",
            figures.len(),
            within(NEAR_PERCENT),
            within(2.0 * NEAR_PERCENT),
            2.0 * NEAR_PERCENT,
        ));
        text
    }
}

/// Measures what this machine has.
fn measure(arguments: &cli::Calibrate) -> Result<Raw> {
    let style = if arguments.look.plain { Style::Plain } else { Style::of_stderr() };
    let subject = subject(arguments)?;
    let mut machine = Machine::here();
    let rounds = match subject {
        Subject::Gpu => {
            machine.others = machine::others();
            ROUNDS
        }
        Subject::Simulated(_) => {
            machine.driver = "simulated".to_owned();
            1 // it says the same each time
        }
    };
    if let Some(others) = &machine.others {
        let word = style.unsure("warning:");
        print::err(&format!(
            "{word} the GPU is in use by others ({others}): figures will be too slow, and spread\n\n\
             hint: measure again when nothing else runs there\n"
        ));
    }
    let build = build(arguments, &subject)?;
    let bench = Bench {
        program: build.executable(&program().name)?.to_owned(),
        driver: build.driver.clone(),
        subject,
    };
    let mut raw = Raw::new(machine);
    for round in 1..=rounds {
        if rounds > 1 {
            print::err(&format!("round {round} of {rounds}\n"));
        }
        for section in bench.sections() {
            let heading = format!("{:<12} {:<52}", section.name, section.about);
            match bench.measure(section, &mut raw) {
                Ok(time) => print::err(&format!("{heading} {:>5.1} s\n", time.as_secs_f64())),
                Err(error) => {
                    print::err(&format!("{heading} {}\n", style.bad("failed")));
                    // What of it is needed is missed below, by name.
                    raw.lacks(section.name, &print::chain(&error));
                    print::err(&format!("  {}\n", print::chain(&error)));
                }
            }
        }
    }
    Ok(raw)
}

/// Joins the measurements of several visits.
fn join(visits: &[PathBuf]) -> Result<Raw> {
    let read = |path: &PathBuf| -> Result<Raw> {
        let context = || format!("cannot read raw figures from `{}`", path.display());
        let text = std::fs::read(path).with_context(context)?;
        serde_json::from_slice(&text).with_context(context)
    };
    let [first, others @ ..] = visits else { bail!("there is no visit to join") };
    let mut raw = read(first)?;
    for other in others {
        raw.join(read(other)?)
            .with_context(|| format!("`{}` does not belong to it", other.display()))?;
    }
    Ok(raw)
}

fn subject(arguments: &cli::Calibrate) -> Result<Subject> {
    match (arguments.device, arguments.profile.as_deref()) {
        (DeviceChoice::Sim, named) => match device::choose(DeviceChoice::Sim, named)? {
            Device::Simulated(simulated) => Ok(Subject::Simulated(simulated.file)),
            Device::Gpu(_) => Err(anyhow!("a simulated device is none")),
        },
        (_, Some(_)) => Err(Usage("`--profile` is for `--device sim`".to_owned()).into()),
        (_, None) => {
            let gpu = device::gpu();
            interrupt::check()?;
            match gpu {
                Ok(_) => Ok(Subject::Gpu),
                Err(error) => Err(anyhow!("there is no GPU to measure: {error}{WITHOUT_GPU}")),
            }
        }
    }
}

const WITHOUT_GPU: &str = "

hint: run it on a machine with one; `checker dev bundle DIR` gathers what it needs there";

fn build(arguments: &cli::Calibrate, subject: &Subject) -> Result<Build> {
    // Virtual time is the same in any build, and this one is there already.
    let optimisation = match subject {
        Subject::Gpu => Optimisation::Release,
        Subject::Simulated(_) => Optimisation::Dev,
    };
    let (source, own) = match &arguments.prebuilt {
        Some(folder) => (Source::Prebuilt(folder.clone()), folder.clone()),
        None => {
            let workspace = Workspace::find()?;
            let root = workspace.root().to_owned();
            (Source::Cargo(workspace), root)
        }
    };
    let indicator = Indicator::start();
    match source.build(&[program()], optimisation, &own, Style::of_stderr(), &|stage| {
        indicator.tell(stage)
    })? {
        Built::Ready(build) => Ok(build),
        Built::Refused(refusal) => bail!("{}\n\n{}", refusal.summary, refusal.rendered),
    }
}

/// The comment at the top of the profile.
fn header(raw: &Raw, name: &str) -> String {
    format!(
        "Profile `{name}`, written by `checker calibrate`: micro-benchmarks alone, nothing here was \
         fitted to\nan exercise.\n\n{}{}\n\
         Each figure says where it comes from: when and where it was measured, and from which keys of \
         the raw\nfigures (`checker calibrate --raw F`). Times of copies of ordinary memory, of \
         page-locking it, and of\ncalls depend on the host as much as on the device: on another host \
         they differ by a tenth and more.\n",
        raw.machine.describe(),
        match raw.visits {
            1 => String::new(),
            visits => format!("visits: {visits}, a figure is of the samples of all that have it\n"),
        }
    )
}

/// The last word of the device's name, as a name of a profile: `NVIDIA H200` is `h200`.
fn name_of(device: &str) -> String {
    let words = device.trim_start_matches("NVIDIA").trim().trim_end_matches("(simulated)").trim();
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_lowercase(),
        false => '_',
    };
    words.chars().map(letter).collect()
}

fn figures(profile: &Profile) -> Result<serde_json::Value> {
    let mut tables = serde_json::Map::new();
    for (table, figures) in profile.tables() {
        let mut object = serde_json::Map::new();
        for (name, figure) in figures {
            object.insert(name.to_owned(), serde_json::to_value(figure)?);
        }
        tables.insert(table, object.into());
    }
    Ok(tables.into())
}

fn summary(raw: &Raw, profile: &Profile, output: &str, seconds: f64) -> String {
    let tables = profile.tables();
    let all: Vec<_> = tables.iter().flat_map(|(_, figures)| figures).collect();
    let measured = all.iter().filter(|(_, it)| it.source.starts_with("measured")).count();
    let mut text = format!(
        "\n{}\nwrote `{output}` in {seconds:.0} s: {} figures, {measured} of them measured\n",
        raw.machine.describe(),
        all.len()
    );
    for (name, figure) in all.iter().filter(|(_, it)| !it.source.starts_with("measured")) {
        text.push_str(&format!("  {name} is {}\n", figure.source));
    }
    let wide = raw.wide(WIDE_PERCENT);
    if !wide.is_empty() {
        text.push_str(&format!(
            "{} raw figures are spread over more than {WIDE_PERCENT} %:\n",
            wide.len()
        ));
        for (key, percent) in wide.iter().take(WIDE_SHOWN) {
            text.push_str(&format!("  {key}: {percent} %\n"));
        }
    }
    for (key, why) in raw.missing() {
        text.push_str(&format!("  {key} is missing: {why}\n"));
    }
    text.push_str(&format!("next: checker run EX --profile {output}\n"));
    text
}

fn write(path: &std::path::Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
