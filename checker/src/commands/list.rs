//! `checker list`: the exercises in order.

use anyhow::Result;
use serde::Serialize;
use simulator::Profile;
use simulator::profile::BuiltIn;

use crate::book;
use crate::cli;
use crate::device::{self, TWO_GPUS};
use crate::exercise::{self, State};
use crate::exit::Exit;
use crate::grade::score;
use crate::print::{self, Style};
use crate::progress::{Freshness, Progress};
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object {
    format: u32,
    exercises: Vec<Entry>,
}

#[derive(Serialize)]
pub(super) struct Entry {
    pub(super) exercise: String,
    pub(super) number: u32,
    pub(super) title: String,
    summary: String,
    needs: Vec<String>,
    state: State,
    /// The best score that it was passed with; null where it was not.
    passed_score: Option<f64>,
    /// Whether the exercise has changed since it was passed; null where it was not.
    stale: Option<bool>,
    programs: Vec<Program>,
}

#[derive(Serialize)]
struct Program {
    name: String,
    summary: String,
}

const MORE: &str = "
`cargo run -- list --programs` names the programs of each chapter too
";

const PAGES: &str = "`cargo run -- book EX` opens the chapter of an exercise\n";

/// Version of the object.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Profiles {
    format: u32,
    profiles: Vec<OfProfile>,
}

/// A profile of the simulated device.
#[derive(Serialize)]
struct OfProfile {
    name: String,
    /// The device that it stands for.
    device: String,
}

const ANY_PROFILE: &str = "
`cargo run -- run EX --profile NAME` takes one of them, and the first where none is named. The path of a TOML file
will do as well: `cargo run -- calibrate` writes one of the GPU of a machine
";

fn profiles(look: cli::Look) -> Result<Exit> {
    let mut profiles = Vec::new();
    for named in BuiltIn::ALL {
        let Profile { name, device, .. } = device::built_in(named)?;
        profiles.push(OfProfile { name, device });
    }
    if look.json {
        print::json(&Profiles { format: FORMAT, profiles })?;
        return Ok(Exit::Passed);
    }
    let style = if look.plain { Style::Plain } else { Style::of_stdout() };
    let width = profiles.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let line = |OfProfile { name, device }: &OfProfile| {
        let padded = format!("{name:<width$}");
        format!("{}  {device}\n", style.bold(&padded))
    };
    print::out(&format!("{}{ANY_PROFILE}", profiles.iter().map(line).collect::<String>()));
    Ok(Exit::Passed)
}

/// Prints the exercises in order, one line each, with how far they have been solved.
pub(super) fn list(arguments: &cli::List) -> Result<Exit> {
    let look = arguments.look;
    if arguments.profiles {
        return profiles(look);
    }
    let workspace = Workspace::find()?;
    let exercises = entries(&workspace)?;
    if look.json {
        print::json(&Object { format: FORMAT, exercises })?;
        return Ok(Exit::Passed);
    }
    let style = if look.plain { Style::Plain } else { Style::of_stdout() };
    let widest = |of: fn(&Entry) -> &str| {
        exercises.iter().map(|entry| of(entry).chars().count()).max().unwrap_or(0)
    };
    let widths = (widest(|entry| &entry.exercise), widest(|entry| &entry.title));
    let mut text = String::new();
    for entry in &exercises {
        text.push_str(&entry.line(widths, style));
        if arguments.programs {
            text.push_str(&entry.details());
        }
    }
    if exercises.is_empty() {
        text.push_str("there are no exercises here\n");
    } else if !arguments.programs {
        text.push_str(MORE);
        text.push_str(if book::first_page(&workspace).is_some() { PAGES } else { "" });
    }
    print::out(&text);
    Ok(Exit::Passed)
}

/// The exercises of a workspace, in order.
pub(super) fn entries(workspace: &Workspace) -> Result<Vec<Entry>> {
    let progress = Progress::read(workspace);
    let mut entries = Vec::new();
    for place in exercise::all(workspace)? {
        let exercise = place.open(workspace)?;
        let pass = progress.pass(&exercise.place);
        let program = |it: &exercise::Program| Program {
            name: it.name.clone(),
            summary: exercise.summary(it),
        };
        let programs = exercise.manifest.programs.iter().map(program).collect();
        entries.push(Entry {
            passed_score: pass.map(|pass| pass.score),
            stale: pass.map(|pass| pass.freshness == Freshness::Stale),
            number: exercise.place.number,
            state: exercise.place.state(),
            exercise: exercise.place.id,
            title: exercise.manifest.title,
            summary: exercise.manifest.summary,
            needs: exercise.manifest.needs,
            programs,
        });
    }
    Ok(entries)
}

impl Entry {
    /// How far it has been solved.
    pub(super) fn reached(&self, style: Style) -> String {
        match (self.passed_score, self.stale) {
            (Some(score), Some(false)) => {
                format!("{} with {}", style.good("passed"), score::shown(score))
            }
            (Some(_), _) => "passed before the exercise changed; run it again".to_owned(),
            (None, _) => self.state.to_string(),
        }
    }

    fn line(&self, (name, title): (usize, usize), style: Style) -> String {
        let padded = format!("{:<name$}", self.exercise);
        format!(
            "{:02} {}  {:<title$}  {}\n",
            self.number,
            style.bold(&padded),
            self.title,
            self.reached(style)
        )
    }

    /// Details: its subject, its needs and its programs.
    fn details(&self) -> String {
        let needs = match &self.needs[..] {
            [] => "needs no GPU".to_owned(),
            [need] if need == "gpu" => "needs a GPU".to_owned(),
            [need] if need == TWO_GPUS => "needs no GPU, or two of them".to_owned(),
            needs => format!("needs no GPU; on one, it needs {}", needs.join(", ")),
        };
        let mut text = format!("   {}\n   {needs}\n", self.summary);
        for program in &self.programs {
            text.push_str(&format!("   `--program {}`: {}\n", program.name, program.summary));
        }
        text
    }
}
