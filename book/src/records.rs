//! The recorded runs under `figures`, and what follows from them.
//!
//! `figures/records.toml` says where each record comes from; the record itself is
//! `figures/NAME.record.json`, as the driver wrote it. What is kept of a GPU beside its records lies in
//! `measured/GPU.json`. Numbers on a page are computed from these and never typed.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`metric`] | the numbers of a record that a page may name |
//! | [`kept`] | the numbers of a GPU that a page may name |

pub mod kept;
pub mod metric;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use simulator::{Profile, Schedule, replay};
use toml::Spanned;
use trace::program::Call;
use trace::{Fidelity, Program, Record};

use crate::page::line_at;
use crate::problem::{Problem, Problems, Reach};

/// The file that says where records come from.
pub const MANIFEST: &str = "figures/records.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    #[serde(default)]
    record: Vec<Spanned<Entry>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    title: String,
    /// Arguments of `checker run` that give this record on the simulated device.
    run: Option<Vec<String>>,
    /// The GPU, as its kept file is called. The record's name is then `EXERCISE.PROGRAM.GPU`.
    measured: Option<String>,
    variant: Option<Variant>,
}

/// How a record on a real device came about, as far as the record does not say it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The day, as `2026-11-21`.
    pub date: String,
    /// Driver and CUDA version, in words.
    pub release: String,
    /// What was typed.
    pub command: String,
}

/// Another record's program, changed and simulated again when the book is built.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    of: String,
    /// How many times the last launch is made once more, at the end.
    more_launches: usize,
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
    /// What stands above its timeline.
    pub title: String,
    /// Where it comes from.
    pub source: Source,
    /// The run.
    pub record: Record,
}

/// All recorded runs.
#[derive(Debug, Default)]
pub struct Records {
    runs: BTreeMap<String, Recorded>,
    /// Records whose program has not been run yet, and where the manifest names them.
    absent: BTreeMap<String, usize>,
    /// What is kept of each GPU.
    kept: BTreeMap<String, Fidelity>,
}

impl Records {
    /// Reads the manifest and what it names; a book without one has no records.
    pub fn read(root: &Path) -> Result<Self> {
        let mut records = Self { kept: kept::read(root)?, ..Self::default() };
        for (entry, line) in entries(root)? {
            let name = entry.name.clone();
            if entry.run.is_some() && !file(root, &name).exists() {
                records.absent.insert(name, line);
                continue;
            }
            let recorded = records.open(root, entry).map_err(|error| {
                Problems(
                    vec![Problem::new(root, &root.join(MANIFEST), line, format!("{error:#}"))],
                    Reach::Part,
                )
            })?;
            records.runs.insert(name, recorded);
        }
        Ok(records)
    }

    fn open(&self, root: &Path, entry: Entry) -> Result<Recorded> {
        let Entry { name, title, run, measured, variant } = entry;
        if self.runs.contains_key(&name) {
            bail!("there are two records `{name}`");
        }
        let source = match (run, measured, variant) {
            (Some(run), None, None) => Source::Run(run),
            (None, Some(gpu), None) => Source::Measured(self.visit(&name, &gpu)?),
            (None, None, Some(Variant { of, more_launches })) => {
                Source::Variant { of, more_launches }
            }
            _ => bail!("record `{name}` needs one of `run`, `measured` and `variant`"),
        };
        let record = match &source {
            Source::Variant { of, more_launches } => {
                let of = self.get(of).map_err(|message| anyhow!(message))?;
                varied(&of.record, *more_launches)?
            }
            Source::Run(_) | Source::Measured(_) => {
                let path = file(root, &name);
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read record `{name}`"))?;
                let record: Record = serde_json::from_str(&text)
                    .with_context(|| format!("`{}` is not a record", path.display()))?;
                let simulated =
                    matches!(record.timeline.origin, trace::timeline::Origin::Simulated { .. });
                if simulated != matches!(source, Source::Run(_)) {
                    bail!("record `{name}` is not what the manifest says: simulated or measured");
                }
                record
            }
        };
        Ok(Recorded { name, title, source, record })
    }

    /// When a measured record came about: at the last visit that has its program.
    fn visit(&self, name: &str, gpu: &str) -> Result<Measured> {
        let kept = self.kept.get(gpu).with_context(|| format!("nothing is kept of `{gpu}`"))?;
        let program = name.strip_suffix(gpu).and_then(|name| name.strip_suffix('.'));
        let (exercise, program) = program
            .and_then(|name| name.split_once('.'))
            .with_context(|| format!("`{name}` is not EXERCISE.PROGRAM.{gpu}"))?;
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
            false => format!("there is no record `{name}` in `{MANIFEST}`"),
        })
    }

    /// Records whose program has not been run yet: where the manifest names each, and what is said
    /// wherever one is asked for.
    pub fn absent(&self) -> impl Iterator<Item = (usize, String)> {
        self.absent.iter().map(|(name, line)| (*line, not_run(name)))
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Recorded> {
        self.runs.values()
    }

    /// The number that `RECORD METRIC` stands for, with its unit; or `GPU PROGRAM METRIC`, or `GPU NAME`.
    pub fn value(&self, argument: &str) -> Result<String, String> {
        let Some((name, metric)) = argument.trim().split_once(' ') else {
            return Err(format!("`{argument}` is not a record and a metric"));
        };
        let number = match self.kept.get(name) {
            Some(kept) => kept::number(kept, metric.trim()),
            None => metric::number(&self.get(name)?.record, metric.trim()),
        };
        number.map(|number| number.to_string())
    }
}

fn not_run(name: &str) -> String {
    format!("the program of record `{name}` has not been run yet: `cargo run -p book -- figures`")
}

/// Names and arguments of the records that runs on the simulated device give.
pub fn runs(root: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let entries = entries(root)?.into_iter();
    Ok(entries.filter_map(|(entry, _)| Some((entry.name, entry.run?))).collect())
}

/// The file of a record.
pub fn file(root: &Path, name: &str) -> PathBuf {
    root.join(format!("figures/{name}.record.json"))
}

fn entries(root: &Path) -> Result<Vec<(Entry, usize)>> {
    let path = root.join(MANIFEST);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| {
        let line = error.span().map(|span| line_at(&text, span.start));
        Problems(vec![Problem::new(root, &path, line, error.message().to_owned())], Reach::Part)
    })?;
    let records = manifest.record.into_iter();
    Ok(records
        .map(|e| (line_at(&text, e.span().start), e.into_inner()))
        .map(|(l, e)| (e, l))
        .collect())
}

/// The record's program with its last launch made `more` times again before the end, simulated.
fn varied(record: &Record, more: usize) -> Result<Record> {
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
    let profile: Profile = toml::from_str(Profile::H200).context("the profile is not TOML")?;
    let timeline = replay(&program, &profile, Schedule::Exact);
    Ok(Record { program, timeline, trials: Vec::new(), ..record.clone() })
}
