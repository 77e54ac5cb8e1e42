//! Finds exercises, reads their manifests, and resolves the name that a user typed.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use trace::metrics::{Bounds, Latency};
use trace::numbers::{self, Numbers};
use trace::signs::Sign;

use crate::exit::Usage;
use crate::explain;
use crate::grade::{Gate, score};
use crate::hints::{self, List};
use crate::likeness::nearest;
use crate::question::Question;
use crate::workspace::Workspace;

/// An exercise's folder: `exercises/NN_name`. The number is its place in the order and nothing
/// else.
#[derive(Clone, Debug)]
pub struct Location {
    /// The exercise's name, which is also its package's.
    pub id: String,
    /// Its place in the order.
    pub number: u32,
    /// The folder.
    pub folder: PathBuf,
}

/// An exercise and its needs.
#[derive(Clone, Debug)]
pub struct Exercise {
    /// Where it is.
    pub place: Location,
    /// Its `exercise.toml`.
    pub manifest: Manifest,
}

/// Version of `exercise.toml`; any other is refused.
const FORMAT: u32 = 2;

/// The contents of `exercise.toml`. Unknown keys are errors: a misspelt limit is no limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    #[serde(rename = "format")]
    _format: u32,
    /// Its title.
    pub title: String,
    /// One line for the list.
    pub summary: String,
    /// The task of the measured region, where it is not the exercise's name.
    #[serde(default)]
    pub task: Option<String>,
    /// The metric that is graded.
    pub metric: Metric,
    /// The score from which on it is passed.
    pub pass_score: f64,
    /// How long one run may take, on the wall clock.
    pub time_limit_s: f64,
    /// How much output of one run is kept.
    #[serde(default = "default_output_limit_kib")]
    pub output_limit_kib: u32,
    /// Its needs of a real device, in words; `gpu` for one that no simulated device can run.
    #[serde(default)]
    pub needs: Vec<String>,
    /// How the metric becomes a score.
    score: Rule,
    /// The code of the cause that the exercise is about: the first one of its file as shipped. Or
    /// the gate that the file fails as shipped, where it is about what the program says and not
    /// about time.
    #[serde(default)]
    pub cause: Option<String>,
    /// Whether it asks how many streams there should be: then the reference's are not drawn.
    #[serde(default)]
    pub hides_streams: bool,
    /// The title above the timeline of the baseline; none where no page shows it.
    #[serde(default)]
    pub baseline: Option<String>,
    /// The programs of the chapter's puzzle.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Next steps after a run.
    pub next: Next,
    /// The question of its puzzle.
    #[serde(default)]
    pub puzzle: Option<Question>,
    /// Hints of its author for one who is stuck.
    #[serde(default)]
    pub hints: Vec<List>,
    /// Where a file is to be changed in several ways: these, in an order in which they can be made.
    /// What stands inside the regions of such a file may be rewritten.
    #[serde(default)]
    pub plan: Vec<Change>,
}

/// A change that a plan has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The sign that it is still to be made.
    pub sign: Sign,
    /// The words as long as it is.
    pub text: String,
    /// The exercise whose chapter is about it.
    pub chapter: String,
}

/// Enough for every print that helps; a megabyte of it is no help.
fn default_output_limit_kib() -> u32 {
    256
}

/// Metrics that an exercise is graded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Where the makespan lies between the serial time and the floor.
    OverlapEfficiency,
    /// The share of the makespan that the host had for its own work.
    HostFreedom,
    /// The latency of a request on an idle device, of the mean latency of the requests.
    LatencyRatio,
}

impl Metric {
    /// The value of a run in which [`Metric::ns`] is this; none where the task has nothing of the
    /// kind. The higher the better, and only a shorter time makes it higher: `bounds` are the
    /// task's.
    pub fn of(self, bounds: Bounds, ns: u64) -> Option<f64> {
        match self {
            Self::OverlapEfficiency => bounds.overlap_efficiency(ns),
            Self::HostFreedom => bounds.host_freedom(ns),
            Self::LatencyRatio => bounds.latency_ratio(ns),
        }
    }

    /// The time that counts: of a pass through the region that took `makespan_ns`, in which
    /// requests were answered with this latency.
    pub fn ns(self, makespan_ns: u64, latency: Option<Latency>) -> u64 {
        match (self, latency) {
            (Self::LatencyRatio, Some(latency)) => latency.mean_ns,
            // Where no request was answered, the first one waited to the end.
            (Self::LatencyRatio | Self::OverlapEfficiency | Self::HostFreedom, _) => makespan_ns,
        }
    }

    /// The name of that time.
    pub fn time(self) -> &'static str {
        match self {
            Self::LatencyRatio => "mean latency",
            Self::OverlapEfficiency | Self::HostFreedom => "makespan",
        }
    }

    /// Why a task has nothing of the kind.
    pub fn lacks(self) -> &'static str {
        match self {
            Self::OverlapEfficiency => {
                "the task has nothing to overlap on this device: one engine's work is all"
            }
            Self::HostFreedom => "the task has no work for the host that it could be kept from",
            Self::LatencyRatio => "the task has no requests",
        }
    }
}

/// The rule that turns the metric into a score.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Which one: a grade names the rule that it was given by.
    version: u32,
}

/// A program of the chapter's puzzle: run and drawn, never graded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name for `--program`.
    pub name: String,
    /// The title above its timeline.
    pub title: String,
    /// The file that it shares with others, `examples/ID_EXAMPLE.rs`. Default:
    /// `examples/ID_NAME.rs` is its own.
    #[serde(default)]
    example: Option<String>,
    /// Numbers that tell it from the others.
    #[serde(default)]
    pub numbers: Numbers,
}

/// Next steps after a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// After one that is not a pass.
    pub failed: String,
    /// After a pass.
    pub passed: String,
}

/// Whether the student has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The file is as it was shipped.
    Untouched,
    /// It is not.
    Changed,
    /// It is not there.
    Missing,
    /// There is no copy to compare it with.
    Unknown,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Untouched => "untouched",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        })
    }
}

/// All exercises of a workspace, in order.
pub fn all(workspace: &Workspace) -> Result<Vec<Location>> {
    let folder = workspace.root().join("exercises");
    let entries = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot list `{}`", folder.display()))?;
    let mut places = Vec::new();
    for entry in entries {
        let folder = entry.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
        // One that was deleted by mistake is missed, and not left out.
        if [folder.join(MANIFEST), folder.join(".shipped").join(MANIFEST)]
            .iter()
            .any(|it| it.is_file())
            && let Some(place) = Location::of(folder)
        {
            places.push(place);
        }
    }
    places.sort_by(|a, b| (a.number, &a.id).cmp(&(b.number, &b.id)));
    Ok(places)
}

/// The exercise that `wanted` means: its name, its number, its folder, or the beginning of its name
/// where no other begins like it.
pub fn find(workspace: &Workspace, wanted: &str) -> Result<Exercise> {
    let mut places = all(workspace)?;
    match choose(&places, wanted) {
        Ok(index) => places.swap_remove(index).open(workspace),
        Err(usage) => Err(usage.into()),
    }
}

/// Those that are named, or all where none is.
pub fn named_or_all(workspace: &Workspace, wanted: &[String]) -> Result<Vec<Exercise>> {
    if wanted.is_empty() {
        return all(workspace)?.into_iter().map(|place| place.open(workspace)).collect();
    }
    wanted.iter().map(|name| find(workspace, name)).collect()
}

/// The exercise that is named, whether or not it can be read.
pub fn locate(workspace: &Workspace, wanted: &str) -> Result<Location> {
    let mut places = all(workspace)?;
    choose(&places, wanted).map(|index| places.swap_remove(index)).map_err(Into::into)
}

/// The exercise that is meant when none is named: the one whose folder this is, else the one whose
/// file was saved last, else the first.
pub fn current(workspace: &Workspace) -> Result<Exercise> {
    let places = all(workspace)?;
    let here = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok());
    let inside =
        places.iter().find(|place| here.as_ref().is_some_and(|h| h.starts_with(&place.folder)));
    match inside.or_else(|| saved_last(places.iter())).or_else(|| places.first()) {
        Some(place) => place.clone().open(workspace),
        None => Err(Usage(format!("`{}` holds no exercise", workspace.root().display())).into()),
    }
}

/// Of those of `places` that have been begun, the one whose file was saved last.
pub fn saved_last<'a>(places: impl Iterator<Item = &'a Location>) -> Option<&'a Location> {
    let changed = places.filter(|place| place.state() == State::Changed);
    changed
        .max_by_key(|place| std::fs::metadata(place.file()).and_then(|data| data.modified()).ok())
}

fn choose(places: &[Location], wanted: &str) -> Result<usize, Usage> {
    // Shells complete folders to `exercises/01_name/`.
    let name = wanted.trim_end_matches('/').rsplit('/').next().unwrap_or(wanted);
    let exact = |place: &Location| {
        place.id == name || name.parse() == Ok(place.number) || place.name() == name
    };
    if let Some(index) = places.iter().position(exact) {
        return Ok(index);
    }
    let begins: Vec<_> =
        (0..places.len()).filter(|&index| places[index].id.starts_with(name)).collect();
    match begins[..] {
        [index] if !name.is_empty() => Ok(index),
        [_, _, ..] if !name.is_empty() => {
            let names: Vec<_> =
                begins.iter().map(|&index| format!("`{}`", places[index].id)).collect();
            Err(Usage(format!("`{wanted}` could be {}", names.join(" or "))))
        }
        _ => {
            Err(Usage(format!("there is no exercise `{wanted}`\n\nhint: {}", advice(places, name))))
        }
    }
}

fn advice(places: &[Location], name: &str) -> String {
    match nearest(places, name, |place| [&place.id]) {
        Some(place) => format!("did you mean `{}`?", place.id),
        None => "`checker list` names them all".to_owned(),
    }
}

impl Location {
    /// `NN_name`, or nothing for a folder that is called otherwise.
    pub fn of(folder: PathBuf) -> Option<Self> {
        let (number, id) = folder.file_name()?.to_str()?.split_once('_')?;
        let number = number.parse().ok()?;
        Some(Self { id: id.to_owned(), number, folder })
    }

    /// Reads the exercise's manifest.
    pub fn open(self, workspace: &Workspace) -> Result<Exercise> {
        let path = self.folder.join(MANIFEST);
        let manifest = match read(&path) {
            Ok(manifest) => manifest,
            Err(error) => {
                let relative = workspace.relative(&path).display();
                // Another format is no damage, and the shipped copy is of the same.
                let hint = match self.copies(MANIFEST).1 {
                    copy if is_sound(&copy) => format!(
                        "\n\nhint: `cargo run -- reset {}` brings it back as it was shipped",
                        self.id
                    ),
                    _ => String::new(),
                };
                bail!("cannot read `{relative}`: {error:#}{hint}");
            }
        };
        Ok(Exercise { place: self, manifest })
    }

    /// The reference's file, in workspaces that have it.
    pub fn solution(&self, workspace: &Workspace) -> PathBuf {
        workspace.root().join("solutions").join(self.name()).join("src/lib.rs")
    }

    /// Its folder's name, which its solution's folder has too.
    pub fn name(&self) -> &OsStr {
        self.folder.file_name().unwrap_or_default()
    }

    /// The student's file.
    pub fn file(&self) -> PathBuf {
        self.folder.join("src/lib.rs")
    }

    /// One of [`MANIFESTS`], and its copy.
    pub fn copies(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.folder.join(name), self.folder.join(".shipped").join(name))
    }

    /// Each file of which a copy is shipped, and that copy: [`MANIFESTS`], and the student's file.
    pub fn shipped_files(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut files: Vec<_> = MANIFESTS.iter().map(|name| self.copies(name)).collect();
        files.push((self.file(), self.folder.join(SHIPPED)));
        files
    }

    /// The student's file as it was shipped.
    pub fn shipped(&self) -> Result<String> {
        let path = self.folder.join(SHIPPED);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))
    }

    /// Whether the student's file is as it was shipped.
    pub fn state(&self) -> State {
        let pristine = std::fs::read(self.folder.join(SHIPPED));
        match (pristine, std::fs::read(self.file())) {
            (Ok(pristine), Ok(file)) if pristine == file => State::Untouched,
            (Ok(_), Ok(_)) => State::Changed,
            (Ok(_), Err(error)) if error.kind() == std::io::ErrorKind::NotFound => State::Missing,
            _ => State::Unknown,
        }
    }
}

/// The student's file as it was shipped, in the exercise's folder.
const SHIPPED: &str = ".shipped/lib.rs";
/// The file that describes an exercise, in its folder.
pub const MANIFEST: &str = "exercise.toml";
/// The files without which an exercise does not run, beside the student's own. Copies lie in
/// `.shipped`.
pub const MANIFESTS: [&str; 2] = [MANIFEST, "Cargo.toml"];

/// The part of a manifest that a grade may depend on: all but the puzzle, the hints and remarks.
/// With others it is the same exercise.
pub fn graded_part(manifest: &str) -> String {
    let said = without_sections(manifest, &["[puzzle]", "[[puzzle.item]]", "[[hints]]"]);
    let lines = said.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

/// A manifest in TOML without the sections of these names.
pub(crate) fn without_sections(text: &str, names: &[&str]) -> String {
    let mut kept = String::new();
    let mut dropping = false;
    for line in text.lines() {
        if line.starts_with('[') {
            dropping = names.contains(&line.trim());
        }
        if !dropping {
            kept.push_str(&format!("{line}\n"));
        }
    }
    kept
}

/// Whether a manifest can be read.
pub fn is_sound(path: &Path) -> bool {
    read(path).is_ok()
}

fn read(path: &Path) -> Result<Manifest> {
    #[derive(Deserialize)]
    struct Header {
        format: u32,
    }

    let text = std::fs::read_to_string(path)?;
    // Read first: another version may differ in a way that does not parse.
    let Header { format } = toml::from_str(&text)?;
    if format != FORMAT {
        bail!("it is of format {format}, and this checker reads format {FORMAT}{UPDATE}");
    }
    let manifest: Manifest = toml::from_str(&text)?;
    if manifest.score.version != score::RULE {
        let Rule { version } = manifest.score;
        bail!(
            "its score is of rule {version}, and this checker knows rule {}{UPDATE}",
            score::RULE
        );
    }
    if !(manifest.time_limit_s > 0.0 && manifest.time_limit_s <= LONGEST_S) {
        bail!("`time_limit_s` is {}, not between 0 and {LONGEST_S}", manifest.time_limit_s);
    }
    if let Some(cause) = &manifest.cause
        && explain::find(cause).is_err()
        && Gate::named(cause).is_none()
    {
        bail!("its cause `{cause}` is no code, and no gate");
    }
    if !(0.0..=100.0).contains(&manifest.pass_score) {
        bail!("`pass_score` is {}, not between 0 and 100", manifest.pass_score);
    }
    Ok(manifest)
}

/// One run that takes longer than this is a mistake in the file.
const LONGEST_S: f64 = 600.0;

const UPDATE: &str = "\n\nhint: exercises and checker belong together; update both";

impl Exercise {
    /// The question of its puzzle; none where it has none.
    pub fn question(&self) -> Result<Option<&Question>> {
        let programs: Vec<_> = self.manifest.programs.iter().map(|it| it.name.as_str()).collect();
        let Some(question) = &self.manifest.puzzle else { return Ok(None) };
        let whose = || format!("cannot ask the puzzle of `{}`", self.place.id);
        question.check(&programs).with_context(whose)?;
        Ok(Some(question))
    }

    /// The steps for one who is stuck on `code`; none where its author wrote no hints.
    pub fn hints(&self, code: Option<&str>) -> Result<Option<&List>> {
        if self.manifest.hints.is_empty() {
            return Ok(None);
        }
        let whose = || format!("cannot give the hints of `{}`", self.place.id);
        hints::check(&self.manifest.hints).with_context(whose)?;
        Ok(hints::of(&self.manifest.hints, code))
    }

    /// The program that `--program` calls `name`.
    pub fn program(&self, name: &str) -> Result<&Program> {
        let programs = &self.manifest.programs;
        let id = &self.place.id;
        let own = name.strip_prefix(id).and_then(|rest| rest.strip_prefix('_')).unwrap_or(name);
        if let Some(program) = programs.iter().find(|it| it.name == name || it.name == own) {
            return Ok(program);
        }
        if programs.is_empty() {
            return Err(Usage(format!("`{id}` has no program `{name}`; it has none at all")).into());
        }
        let names: Vec<_> = programs.iter().map(|p| format!("`{}`", p.name)).collect();
        let message =
            format!("`{id}` has no program `{name}`\n\nhint: there is {}", names.join(", "));
        Err(Usage(message).into())
    }

    /// The example that a program is built from.
    pub fn example(&self, program: &Program) -> String {
        format!("{}_{}", self.place.id, program.example.as_ref().unwrap_or(&program.name))
    }

    /// The file of that example, in the exercise's folder.
    pub fn program_file(&self, program: &Program) -> String {
        format!("examples/{}.rs", self.example(program))
    }

    /// The text of a program's file, with its own numbers in it.
    pub fn source(&self, program: &Program) -> Result<String> {
        let path = self.place.folder.join(self.program_file(program));
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(numbers::filled(&text, &program.numbers))
    }

    /// The summary of a program from its file, in a line.
    pub fn summary(&self, program: &Program) -> String {
        let said = self.source(program).ok().and_then(|source| numbers::summary(&source));
        said.unwrap_or_else(|| program.title.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Vec<Location> {
        ["exercises/01_three_lanes", "exercises/02_chunked_pipeline", "exercises/10_chunked_graph"]
            .into_iter()
            .map(|folder| Location::of(PathBuf::from(folder)).expect("a number and a name"))
            .collect()
    }

    fn chosen(wanted: &str) -> Result<String, String> {
        let places = places();
        choose(&places, wanted).map(|i| places[i].id.clone()).map_err(|usage| usage.0)
    }

    #[test]
    fn a_grade_depends_on_neither_puzzle_nor_hints_and_on_all_else() {
        let manifest = "pass_score = 80\n\n[puzzle]\nask = \"a\"\n\n[[puzzle.item]]\ntext = \"a\"\n\n\
                        [[programs]]\nname = \"p\"\n\n[[hints]]\nlevels = [\n    \"a\",\n]\n\n[score]\nversion = 1\n";
        assert_eq!(graded_part(manifest), graded_part(&manifest.replace("\"a\"", "\"b\"")));
        assert_eq!(graded_part(manifest), graded_part(&format!("# a remark\n\n{manifest}")));
        for (from, to) in [("= 80", "= 90"), ("\"p\"", "\"q\""), ("version = 1", "version = 2")] {
            assert_ne!(graded_part(manifest), graded_part(&manifest.replace(from, to)), "{to}");
        }
    }

    #[test]
    fn an_exercise_is_found_by_name_number_folder_and_unique_beginning() {
        for wanted in
            ["three_lanes", "1", "01", "01_three_lanes", "exercises/01_three_lanes/", "thr"]
        {
            assert_eq!(chosen(wanted).as_deref(), Ok("three_lanes"), "{wanted}");
        }
    }

    #[test]
    fn a_beginning_of_two_names_is_not_guessed() {
        assert_eq!(
            chosen("chunked").unwrap_err(),
            "`chunked` could be `chunked_pipeline` or `chunked_graph`"
        );
    }

    #[test]
    fn a_slip_of_the_finger_brings_a_suggestion_and_nonsense_does_not() {
        assert_eq!(
            chosen("tree_lanes").unwrap_err(),
            "there is no exercise `tree_lanes`\n\nhint: did you mean `three_lanes`?"
        );
        for nonsense in ["zzz", "", "99"] {
            assert!(chosen(nonsense).unwrap_err().contains("checker list"), "{nonsense}");
        }
    }
}
