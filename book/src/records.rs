//! The recorded runs under `figures`, and what follows from them.
//!
//! | a record is called | and is | and lies in |
//! | --- | --- | --- |
//! | `EXERCISE.PROGRAM` | a program of the exercise's puzzle, simulated | `figures/NAME.json.gz` |
//! | `EXERCISE.baseline`, `EXERCISE.solution` | one end of the exercise's score, simulated | the same, and its program in the exercise's `recorded` |
//! | `EXERCISE.PROGRAM.GPU` | the same program on a GPU | `figures/NAME.json.gz` |
//! | as `figures/records.toml` says | another record's program, changed and simulated | nothing of its own |
//!
//! What is simulated is kept without its timeline, which follows from the program. What is kept of
//! a GPU beside its records lies in `measured/GPU.json`. Numbers on a page are computed from these
//! and never typed.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`metric`] | the numbers of a record that a page may name |
//! | [`kept`] | the numbers of a GPU that a page may name |

pub mod kept;
pub mod metric;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use simulator::{Profile, Schedule, replay};
use toml::Spanned;
use trace::program::Call;
use trace::record::Kept;
use trace::timeline::Origin;
use trace::{Fidelity, Program, Record};

use crate::exercises::{self, Exercise};
use crate::problem::{Problem, Problems, Reach, line_at};

/// The file that says which records are made of others.
pub const VARIANTS: &str = "figures/records.toml";

/// The title above the timeline of every solution.
const SOLVED: &str = "the exercise, solved";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variants {
    #[serde(default)]
    variant: Vec<Spanned<Variant>>,
}

/// Another record's program, changed and simulated again when the book is built.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    name: String,
    title: String,
    of: String,
    /// How many times the last launch is made once more, at the end.
    more_launches: usize,
}

/// How a record on a real device came about, as far as the record does not say it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The day, as `2026-11-21`.
    pub date: String,
    /// Driver and CUDA version, in words.
    pub release: String,
    /// The command as it was typed.
    pub command: String,
}

/// Where a record comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A run on the simulated device, with these arguments of `checker run`.
    Run(Vec<String>),
    /// A run on a real device.
    Measured(Measured),
    /// Another record's program, changed and simulated again.
    Variant {
        /// That record.
        of: String,
        /// How many times the last launch is made once more, at the end.
        more_launches: usize,
    },
}

/// A record and where it comes from.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// The title above its timeline.
    pub title: String,
    /// Where it comes from.
    pub source: Source,
    /// The run.
    pub record: Record,
}

impl Recorded {
    /// The exercise and the program that ran, by their names; what was measured or changed is one
    /// of those too.
    pub fn program(&self) -> Option<(&str, &str)> {
        let name = match &self.source {
            Source::Variant { of, .. } => of,
            Source::Run(_) | Source::Measured(_) => &self.name,
        };
        let mut names = name.split('.');
        Some((names.next()?, names.next()?))
    }
}

/// All recorded runs, and the exercises whose programs ran.
#[derive(Debug, Default)]
pub struct Records {
    /// The exercises, by name.
    pub exercises: BTreeMap<String, Exercise>,
    runs: BTreeMap<String, Recorded>,
    /// Records whose program has not been run yet: the manifest that names the program, and where.
    absent: BTreeMap<String, (PathBuf, usize)>,
    /// The kept measurements of each GPU.
    kept: BTreeMap<String, Fidelity>,
    /// Those of the alternatives to the solutions.
    alternatives: BTreeMap<String, Fidelity>,
}

impl Records {
    /// Reads all that is kept beside the book in `root`; there may be nothing.
    pub fn read(root: &Path) -> Result<Self> {
        let (exercises, measured) = (exercises::read(root)?, root.join("measured"));
        let (kept, alternatives) =
            (kept::read(&measured)?, kept::read(&measured.join("alternatives"))?);
        let mut records = Self { exercises, kept, alternatives, ..Self::default() };
        let profile: Profile = toml::from_str(Profile::H200).context("the profile is not TOML")?;
        for exercise in records.exercises.clone().values() {
            for Simulated { name, title, arguments, recorded, line } in simulated(exercise) {
                if !file(root, &name).exists() {
                    let manifest = exercise.folder.join(exercises::MANIFEST);
                    records.absent.insert(name, (manifest, line));
                    continue;
                }
                let record = open(root, &name, recorded.as_deref(), &profile)?;
                if !matches!(record.timeline.origin, Origin::Simulated { .. }) {
                    bail!("record `{name}` was measured; its name says that it is simulated");
                }
                let source = Source::Run(arguments);
                records.runs.insert(name.clone(), Recorded { name, title, source, record });
            }
        }
        records.measured(root, &profile)?;
        records.variants(root, &profile)?;
        Ok(records)
    }

    /// The records of GPUs: those of which something is kept.
    fn measured(&mut self, root: &Path, profile: &Profile) -> Result<()> {
        for name in names(root)? {
            let Some((of, gpu)) = name.rsplit_once('.').filter(|(of, _)| of.contains('.')) else {
                continue;
            };
            let measured = self.visit(of, gpu)?;
            let title = match self.runs.get(of) {
                Some(simulated) => simulated.title.clone(),
                None => bail!("record `{name}` is of `{of}`, which no exercise has"),
            };
            let record = open(root, &name, None, profile)?;
            if !matches!(record.timeline.origin, Origin::Measured { .. }) {
                bail!("record `{name}` is simulated; its name says that it was measured");
            }
            let source = Source::Measured(measured);
            self.runs.insert(name.clone(), Recorded { name, title, source, record });
        }
        Ok(())
    }

    /// The records that are made of others.
    fn variants(&mut self, root: &Path, profile: &Profile) -> Result<()> {
        let path = root.join(VARIANTS);
        if !path.exists() {
            return Ok(());
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let problem = |line: Option<usize>, message: String| {
            Problems(vec![Problem::new(root, &path, line, message)], Reach::Part)
        };
        let variants: Variants = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| line_at(&text, span.start));
            problem(line, error.message().to_owned())
        })?;
        for variant in variants.variant {
            let line = line_at(&text, variant.span().start);
            let Variant { name, title, of, more_launches } = variant.into_inner();
            if self.runs.contains_key(&name) {
                return Err(problem(Some(line), format!("there are two records `{name}`")).into());
            }
            let record = self.get(&of).map_err(|message| anyhow!(message));
            let record = record.and_then(|of| varied(&of.record, more_launches, profile));
            let record = record.map_err(|error| problem(Some(line), format!("{error:#}")))?;
            let source = Source::Variant { of, more_launches };
            self.runs.insert(name.clone(), Recorded { name, title, source, record });
        }
        Ok(())
    }

    /// When a record of a GPU came about: at the last visit that has its program.
    fn visit(&self, of: &str, gpu: &str) -> Result<Measured> {
        let kept = self.kept.get(gpu).with_context(|| format!("nothing is kept of `{gpu}`"))?;
        let (exercise, program) = of.split_once('.').unwrap_or((of, ""));
        let (visit, _) = kept
            .measured(exercise, program)
            .last()
            .with_context(|| format!("no visit to `{gpu}` has `{exercise}` `{program}`"))?;
        let (date, command) = (visit.date.clone(), visit.command.clone());
        Ok(Measured { date, release: visit.release(), command })
    }

    /// The record of a name.
    pub fn get(&self, name: &str) -> Result<&Recorded, String> {
        self.runs.get(name).ok_or_else(|| match self.absent.contains_key(name) {
            true => not_run(name),
            false => format!("there is no record `{name}`"),
        })
    }

    /// Records whose program has not been run yet: where its manifest names it, and what is said
    /// wherever the record is used.
    pub fn absent(&self) -> impl Iterator<Item = (&Path, usize, String)> {
        self.absent.iter().map(|(name, (file, line))| (file.as_path(), *line, not_run(name)))
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Recorded> {
        self.runs.values()
    }

    /// The kept measurements of each GPU, by its name.
    pub fn gpus(&self) -> &BTreeMap<String, Fidelity> {
        &self.kept
    }

    /// The kept measurements of the alternatives to the solutions, by GPU.
    pub fn alternatives(&self) -> &BTreeMap<String, Fidelity> {
        &self.alternatives
    }

    /// The number that `RECORD METRIC` stands for, with its unit; or `GPU PROGRAM METRIC`, or `GPU
    /// NAME`.
    pub fn value(&self, argument: &str) -> Result<String, String> {
        let Some((name, metric)) = argument.trim().split_once(' ') else {
            return Err(format!("`{argument}` is not a record and a metric"));
        };
        let kept = self.kept.get(name);
        let one = |argument: &str| match (kept, argument.trim().split_once(' ')) {
            (Some(kept), _) => kept::number(kept, argument.trim()),
            (None, Some((name, metric))) => metric::number(&self.get(name)?.record, metric.trim()),
            (None, None) => Err(format!("`{argument}` is not a record and a metric")),
        };
        let whole = if kept.is_some() { metric } else { argument };
        let number = match whole.split_once(" over ") {
            // Of two programs of the same device, how many times as long the one takes as the
            // other.
            Some((long, short)) => metric::Number::Times(one(long)?.value() / one(short)?.value()),
            None => one(whole)?,
        };
        Ok(number.to_string())
    }
}

fn not_run(name: &str) -> String {
    let exercise = name.split('.').next().unwrap_or_default();
    format!(
        "the program of record `{name}` has not been run yet: `cargo run -- dev record {exercise}`"
    )
}

/// A record of the simulated device that an exercise has.
struct Simulated {
    name: String,
    title: String,
    /// Those of `checker run`.
    arguments: Vec<String>,
    /// Where its program lies, if not with the record.
    recorded: Option<PathBuf>,
    /// The line of the manifest that names the program.
    line: usize,
}

fn simulated(exercise: &Exercise) -> Vec<Simulated> {
    let id = &exercise.id;
    let programs = exercise.programs.iter().map(|program| Simulated {
        name: format!("{id}.{}", program.name),
        title: program.title.clone(),
        arguments: [id, "--program", &program.name].map(str::to_owned).to_vec(),
        recorded: None,
        line: program.line,
    });
    let ends = [
        (exercise.baseline.as_deref(), "baseline", "baseline"),
        (Some(SOLVED), "solution", "reference"),
    ];
    let ends = ends.into_iter().filter_map(|(title, end, file)| {
        Some(Simulated {
            name: format!("{id}.{end}"),
            title: title?.to_owned(),
            arguments: vec![id.clone(), format!("--{end}")],
            recorded: Some(exercise.folder.join(format!("recorded/{file}.json"))),
            line: 1,
        })
    });
    programs.chain(ends).collect()
}

/// The end of the name of a record's file.
const ENDING: &str = ".json.gz";

/// The file of a record.
pub fn file(root: &Path, name: &str) -> PathBuf {
    root.join(format!("figures/{name}{ENDING}"))
}

/// The names of the records that have a file, in order.
fn names(root: &Path) -> Result<Vec<String>> {
    let Ok(entries) = std::fs::read_dir(root.join("figures")) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.context("cannot list the records")?.file_name();
        names.extend(name.to_string_lossy().strip_suffix(ENDING).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Reads a record, and makes it whole; `recorded` is where its program lies, if not with it.
fn open(root: &Path, name: &str, recorded: Option<&Path>, profile: &Profile) -> Result<Record> {
    let path = file(root, name);
    let context = || format!("cannot read record `{name}`");
    let mut text = Vec::new();
    let packed = std::fs::File::open(&path).with_context(context)?;
    flate2::read::GzDecoder::new(packed).read_to_end(&mut text).with_context(context)?;
    let kept: Kept = serde_json::from_slice(&text).with_context(context)?;
    let program = match recorded.filter(|_| kept.program.is_none()) {
        Some(path) => {
            let text = std::fs::read(path).with_context(context)?;
            Some(serde_json::from_slice(&text).with_context(context)?)
        }
        None => None,
    };
    let record = kept.whole(program, |program| replay(program, profile, Schedule::Exact));
    record.with_context(|| format!("record `{name}` has no program"))
}

/// The record's program with its last launch made `more` times again before the end, simulated.
fn varied(record: &Record, more: usize, profile: &Profile) -> Result<Record> {
    let steps = &record.program.steps;
    let launch = |call: &Call| matches!(call, Call::Launch(_));
    let last = steps.iter().rposition(|step| launch(&step.call)).context("it launches nothing")?;
    // What the host does on its own account before a launch belongs to it.
    let work = last > 0 && matches!(steps[last - 1].call, Call::HostWork { .. });
    let again = &steps[if work { last - 1 } else { last }..=last];
    let end = steps
        .iter()
        .rposition(|step| matches!(step.call, Call::ContextSynchronize))
        .context("it does not wait for its end")?;
    let mut changed = steps[..end].to_vec();
    (0..more).for_each(|_| changed.extend_from_slice(again));
    changed.extend_from_slice(&steps[end..]);
    let program = Program { steps: changed, ..record.program.clone() };
    let timeline = replay(&program, profile, Schedule::Exact);
    Ok(Record { program, timeline, trials: Vec::new(), ..record.clone() })
}
