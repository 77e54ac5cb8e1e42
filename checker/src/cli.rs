//! The command line, as types.

#![expect(missing_docs, reason = "what stands there is printed by `--help`")]

pub mod author;
pub mod class;
mod common;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

use self::author::Dev;
use self::class::{Column, Format, LateRule, Shard};
pub use self::common::{Look, SandboxChoice};
use crate::attempt::Machine;
use crate::device::DeviceChoice;
use crate::quantity::{self, Window};
use crate::witness::Wanted;

/// Runs exercises about CUDA concurrency, draws what the device did and grades the overlap.
#[derive(Debug, Parser)]
#[command(name = "checker", version, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the exercises, their state, and what each needs
    List(List),
    /// Run an exercise: draw what the device did, grade it, say what to do next
    Run(Box<Run>),
    /// Open an exercise's page of the book in the browser, or say where it is
    Book(Book),
    /// Say what you expect of the chapter's puzzle, and then see what happens
    Predict(Predict),
    /// Run an exercise whenever you save its file
    Watch(Box<Watch>),
    /// Show the next of an exercise's hints: what to look at, where, and what to do
    Hint {
        /// Default: the exercise of this folder, or the one saved last
        #[arg(value_name = "EX")]
        exercise: Option<String>,
        #[command(flatten)]
        look: Look,
    },
    /// Put your file of an exercise beside the reference's, and say what each difference is worth
    Compare(Compare),
    /// Make a page to print: your timeline of the last chapter beside the one of the first day
    Poster(Poster),
    /// Make your file of an exercise the shipped one again; yours is kept
    Reset(Reset),
    /// Go back to the version of your file that was kept before this one, step by step
    Undo(Undo),
    /// Say what a trace of any program shows: PyTorch's profiler, Chrome's format, or ours
    Trace(Box<Trace>),
    /// Explain a code such as SWIM-H01; without one, list them all
    Explain {
        /// The code, or its name
        code: Option<String>,
        #[command(flatten)]
        look: Look,
    },
    /// Say what this machine has and which exercises run on it
    Doctor(Look),
    /// Measure the GPU of this machine, as a profile of a simulated device
    Calibrate(Calibrate),
    /// Grade a class: a folder of what students handed in
    Grade(Box<Grade>),
    /// Put parts of a class that were graded apart into one
    Merge(Box<Merge>),
    /// Take a student's data out of a class's grades
    Forget(Box<Forget>),
    /// Make a workspace for students: the exercises without solutions, and the book
    New {
        /// A folder that is new or empty
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The built book; default: `target/book`, where it is built
        #[arg(long, value_name = "DIR")]
        book: Option<PathBuf>,
        #[command(flatten)]
        look: Look,
    },
    /// Bring new and changed exercises into a student's workspace; what you changed stays
    Update(Update),
    /// Print a script that lets a shell complete commands, and the exercises that there are now
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Commands for authors of exercises
    #[command(hide = true, subcommand)]
    Dev(Dev),
    /// Answers whether there is a GPU; a process of its own, since the answer may crash or hang
    #[command(hide = true)]
    ProbeGpu,
    /// Answers what a driver library is; a process of its own, since loading it runs its code
    #[command(hide = true)]
    ProbeDriver {
        /// The library
        library: PathBuf,
    },
    /// Grades files, one after another, for `grade`
    #[command(hide = true)]
    GradeWorker,
    /// Hosts the simulated device for a program in another process
    #[command(hide = true)]
    DeviceProcess {
        /// The driver library, which holds the device
        library: PathBuf,
        /// The inherited file descriptor that leads to the program
        #[arg(long)]
        fd: i32,
    },
    /// Carries out one command in a sandbox
    #[command(hide = true)]
    Supervise {
        /// The inherited file descriptor that the order comes through
        #[arg(long)]
        fd: i32,
    },
    /// Tries to get out of the sandbox that it is in
    #[command(hide = true)]
    Canary {
        /// The change to try
        song: String,
    },
}

#[derive(Debug, Args)]
pub struct List {
    /// Name the programs of each chapter's puzzle too, and what each exercise needs
    #[arg(long)]
    pub programs: bool,
    /// Name the profiles of the simulated device that come with it, for `--profile`
    #[arg(long, conflicts_with = "programs")]
    pub profiles: bool,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Book {
    /// Default: the exercise to go on with
    #[arg(value_name = "EX")]
    pub exercise: Option<String>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// Default: the exercise of this folder, or the one saved last
    #[arg(value_name = "EX")]
    pub exercise: Option<String>,
    /// Profile of the simulated device, as for `run`
    #[arg(long, value_name = "P")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Poster {
    /// Default: the last chapter's exercise
    #[arg(value_name = "EX")]
    pub exercise: Option<String>,
    /// Title above your timeline; default: no name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The page, and the picture beside it
    #[arg(long, short, value_name = "FILE", default_value = "poster.html")]
    pub output: PathBuf,
    /// Profile of the simulated device, as for `run`
    #[arg(long, value_name = "P")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Reset {
    /// Name, number or beginning of the name
    #[arg(value_name = "EX")]
    pub exercise: String,
    /// Restore what is outside of the `region` marks alone; what is inside stays yours
    #[arg(long)]
    pub outside: bool,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Undo {
    /// Default: the one of which something was kept last
    #[arg(value_name = "EX")]
    pub exercise: Option<String>,
    /// Take this version, of those that are kept
    #[arg(long, value_name = "N")]
    pub to: Option<u32>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Update {
    /// A newer workspace, the authors' or one for students
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// The built book; default: the one that comes with the workspace
    #[arg(long, value_name = "DIR")]
    pub book: Option<PathBuf>,
    /// Bring back what you removed, too
    #[arg(long)]
    pub restore: bool,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Run {
    /// Name, number or beginning of the name; default: the exercise of this folder, or the one
    /// saved last
    #[arg(value_name = "EX")]
    pub exercise: Option<String>,

    /// Run the solution instead of your file
    #[arg(long, conflicts_with_all = ["baseline", "program"])]
    pub solution: bool,
    /// Run the correct but slow program that scores 0
    #[arg(long, conflicts_with = "program")]
    pub baseline: bool,
    /// Run a program of the chapter's puzzle: drawn, not graded
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Which device to run on
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub device: DeviceChoice,
    /// Profile of the simulated device: `h200` or `h100` (measured), `one_engine` or `slow_link`
    /// (invented for teaching), or a TOML file
    #[arg(long, value_name = "P")]
    pub profile: Option<String>,
    /// Another legal order of operations on the simulated device: the one of a seed, or `witness`,
    /// in which the first hazard's data goes wrong (`witness:2` for the second); checks, and gives
    /// no score
    #[arg(long, value_name = "S")]
    pub schedule: Option<Wanted>,
    /// Take programs that `checker dev bundle` built, instead of cargo
    #[arg(long, value_name = "DIR")]
    pub prebuilt: Option<PathBuf>,

    /// How much to say about lost overlap; default: nothing while there is a race, `symptom` while
    /// your file does not pass, else everything, as always with `--json`
    #[arg(long, value_enum, value_name = "STEP")]
    pub feedback: Option<Feedback>,

    /// Show how the score comes about
    #[arg(long)]
    pub explain_score: bool,
    /// Write the calls of the program and what ran where to a file, as JSON
    #[arg(long, value_name = "F")]
    pub trace: Option<PathBuf>,
    /// Draw a part alone, counted from the first call: `1ms..2ms`, `..800us`, `1.5ms..`
    #[arg(long, value_name = "FROM..TO", value_parser = quantity::window)]
    pub window: Option<Window>,
    /// Write the drawing to a file, as SVG
    #[arg(long, value_name = "F")]
    pub svg: Option<PathBuf>,
    /// Write drawing and report to a file, as a page to zoom into
    #[arg(long, value_name = "F")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub look: Look,

    /// Where the simulated device lives
    #[arg(long, value_enum, default_value_t, hide = true)]
    pub machine: Machine,
    /// Run the program in the sandbox that grading uses; the device has to be in another process
    #[arg(long, hide = true)]
    pub confined: bool,
    /// Seed of the task's inputs on the simulated device, instead of the public one
    #[arg(long, value_name = "N", hide = true)]
    pub seed: Option<u64>,
    /// Seconds that one run may take, instead of the exercise's own limit
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub time_limit: Option<f64>,
    /// Seconds that the runs on a GPU may take together
    #[arg(long, value_name = "SECONDS", default_value_t = TIME_CAP_S, hide = true)]
    pub time_cap: f64,
}

impl Run {
    /// `checker run EXERCISE`, without any options.
    pub fn of(exercise: &str) -> Self {
        Self {
            exercise: Some(exercise.to_owned()),
            solution: false,
            baseline: false,
            program: None,
            device: DeviceChoice::Auto,
            profile: None,
            schedule: None,
            prebuilt: None,
            feedback: None,
            explain_score: false,
            trace: None,
            window: None,
            svg: None,
            html: None,
            look: Look { json: false, plain: false },
            machine: Machine::default(),
            confined: false,
            seed: None,
            time_limit: None,
            time_cap: TIME_CAP_S,
        }
    }
}

/// Seconds that the runs on a GPU may take together.
pub const TIME_CAP_S: f64 = 60.0;

#[derive(Debug, Args)]
pub struct Grade {
    /// Files that students handed in: a folder for each, or a platform's `.zip`
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Where grades go
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Grade this exercise alone; may be given several times; default: all
    #[arg(long = "exercise", value_name = "EX")]
    pub exercises: Vec<String>,
    /// How many files are graded at a time; default: as many as there are cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_JOBS as i64))]
    pub jobs: Option<u16>,
    /// Go on with an earlier run: what was graded is not graded again
    #[arg(long)]
    pub resume: bool,
    /// Grade a part of the class, such as `0/20`; `merge` puts the parts together
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Profile of the simulated device; default: `h200`
    #[arg(long, value_name = "P")]
    pub profile: Option<String>,
    /// Where files run; on `gpu` a measurement is added to each grade, which stays that of `sim`
    #[arg(long, value_enum, default_value_t)]
    pub device: GradeDevice,
    /// Seconds of time-outs after which a student's other exercises are left to a person
    #[arg(long, value_name = "SECONDS", default_value_t = BUDGET_S)]
    pub budget: f64,

    /// When it was due, such as `2026-05-01T23:59:00+02:00`
    #[arg(long, value_name = "TIME", requires = "late")]
    pub deadline: Option<String>,
    /// Cost of being late, as GRACE:POINTS:LAST: hours that cost nothing, points of 100 for each
    /// day that has begun, hours after which nothing counts
    #[arg(long, value_name = "RULE", requires = "deadline")]
    pub late: Option<LateRule>,
    /// When each student handed in: a table `student,time`
    #[arg(long, value_name = "FILE", requires = "late")]
    pub times: Option<PathBuf>,
    /// Points in place of scores: a table `student,exercise,points,by,reason`
    #[arg(long, value_name = "FILE", conflicts_with = "shard")]
    pub replace: Option<PathBuf>,
    /// Score of those on the roster who handed in nothing at all
    #[arg(long, value_enum, default_value_t)]
    pub absent: Absent,

    #[command(flatten)]
    pub report: ClassReport,

    /// Whether students' code is kept in a sandbox
    #[arg(long, value_enum, default_value_t)]
    pub sandbox: SandboxChoice,
    /// Run students' code outside of a sandbox, whatever it does: for `--sandbox off`, and for
    /// `--device gpu`, which no sandbox lets through
    #[arg(long)]
    pub accept_risk: bool,
    /// Grade nothing unless every property of the sandbox holds
    #[arg(long)]
    pub require_sandbox: bool,
    /// Print the time of each stage on standard error, for work on speed
    #[arg(long, hide = true)]
    pub timings: bool,
    #[command(flatten)]
    pub look: Look,
}

/// The most jobs: each has a sandbox of its own, and so do those of other checkers.
pub const MOST_JOBS: u16 = 256;

#[derive(Debug, Args)]
pub struct Merge {
    /// Folders that `grade --out` wrote
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Where the whole goes; may be one of them
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub report: ClassReport,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Forget {
    /// The student, as the grades have it
    pub student: String,
    /// The folder that `grade --out` wrote
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub report: ClassReport,
}

/// Reports about a class.
#[derive(Debug, Args)]
pub struct ClassReport {
    /// Reports to write into `OUT/reports`
    #[arg(
        long = "format",
        value_enum,
        value_name = "F",
        value_delimiter = ',',
        default_values_t = [Format::Csv, Format::Html]
    )]
    pub formats: Vec<Format>,
    /// Name of the class
    #[arg(long, value_name = "TEXT", default_value = "Swimming in Streams")]
    pub title: String,
    /// Who is in the class: a table with a column `student`, `id`, `login` or `email`
    #[arg(long, value_name = "FILE")]
    pub roster: Option<PathBuf>,
    /// The roster's column that submissions go by
    #[arg(long, value_name = "COLUMN", requires = "roster")]
    pub key: Option<String>,
    /// How much students may read about lost overlap
    #[arg(long, value_enum, value_name = "STEP", default_value = "cause")]
    pub feedback: Feedback,
    /// The gradebook that Canvas exported, for `--format canvas`
    #[arg(long, value_name = "FILE")]
    pub gradebook: Option<PathBuf>,
    /// A column of the gradebook to fill, as HEADING, or HEADING=EXERCISE for one exercise's points
    #[arg(long = "column", value_name = "COLUMN", requires = "gradebook")]
    pub columns: Vec<Column>,
}

/// Two compilations that come to no end and a few programs: a class of hundreds still ends in a
/// night.
const BUDGET_S: f64 = 180.0;

#[derive(Debug, Args)]
pub struct Predict {
    /// Default: the exercise of this folder, or the one saved last
    #[arg(value_name = "EX")]
    pub exercise: Option<String>,
    /// Your answer, without being asked: letters, the fastest first, such as `b a=c d`
    #[arg(long, value_name = "LETTERS")]
    pub answer: Option<String>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Watch {
    /// The exercise to begin with; default: the one to go on with
    #[arg(value_name = "EX")]
    pub exercise: Option<String>,

    /// Which device to run on; on a GPU a verdict takes a minute
    #[arg(long, value_enum, default_value = "sim", hide_possible_values = true)]
    pub device: DeviceChoice,
    /// Profile of the simulated device
    #[arg(long, value_name = "P")]
    pub profile: Option<String>,
    /// How much to say about lost overlap
    #[arg(long, value_enum, value_name = "STEP")]
    pub feedback: Option<Feedback>,
    /// Look at the files once a second, for folders that send no events; network folders and those
    /// of Windows are known
    #[arg(long)]
    pub poll: bool,
    /// Say on standard error how long each part of a run took
    #[arg(long, hide = true)]
    pub timings: bool,

    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Calibrate {
    /// Write the profile to this file; default: NAME.toml
    #[arg(long, value_name = "F")]
    pub output: Option<PathBuf>,
    /// Name of the profile; default: that of the device
    #[arg(long, value_name = "N")]
    pub name: Option<String>,
    /// Write every sample, with medians and quartiles, to this file, as JSON
    #[arg(long, value_name = "F")]
    pub raw: Option<PathBuf>,
    /// Measure nothing: make the profile of what earlier visits wrote with `--raw`, from the
    /// samples of all
    #[arg(long, value_name = "F", num_args = 1..)]
    pub from: Vec<PathBuf>,
    /// Write no profile: say how far this one is from what is measured; a name, or the path of a
    /// TOML file
    #[arg(long, value_name = "P", conflicts_with_all = ["output", "name"])]
    pub check: Option<String>,
    /// Take programs that `checker dev bundle` built, instead of cargo
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    pub prebuilt: Option<PathBuf>,

    #[command(flatten)]
    pub look: Look,

    /// Which device to measure: measuring the simulated one gives back its profile
    #[arg(long, value_enum, default_value = "gpu", hide = true)]
    pub device: DeviceChoice,
    /// Profile of the simulated device that is measured
    #[arg(long, value_name = "P", hide = true)]
    pub profile: Option<String>,
}

#[derive(Debug, Args)]
pub struct Trace {
    /// A JSON file, or a gzip of one
    pub file: PathBuf,

    /// Look at a part alone, counted from the first operation: `12ms..14ms`, `..800us`, `1.5s..`
    #[arg(long, value_name = "FROM..TO", value_parser = quantity::window)]
    pub window: Option<Window>,
    /// Rows of the drawing; default: streams, engines where there are many
    #[arg(long, value_enum)]
    pub lanes: Option<LanesChoice>,
    /// Look at one of several devices
    #[arg(long, value_name = "N")]
    pub device_index: Option<u32>,

    /// Write what ran to a file, for ui.perfetto.dev and chrome://tracing
    #[arg(long, value_name = "F")]
    pub perfetto: Option<PathBuf>,
    /// Write the drawing to a file, as SVG
    #[arg(long, value_name = "F")]
    pub svg: Option<PathBuf>,
    /// Write drawing and numbers to a file, as a page to zoom into
    #[arg(long, value_name = "F")]
    pub html: Option<PathBuf>,
    /// Read at most so much text; a small gzip can hold a large one
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = quantity::size)]
    pub limit: u64,

    #[command(flatten)]
    pub look: Look,
}

/// Kinds of rows of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LanesChoice {
    /// One for each stream
    Streams,
    /// One for each engine: copies up, kernels, copies down, the rest
    Engines,
}

/// How much to say about lost overlap, so that a puzzle stays one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    /// A symptom on the timeline
    Symptom,
    /// Also the lines, and what each costs
    Cause,
    /// Also what to change, and what that gains
    Advice,
}

/// Scores of a student who handed in nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Absent {
    /// No points, so that an import of grades leaves them as they are
    #[default]
    Blank,
    /// No points of 100
    Zero,
}

/// Which devices a class's files run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GradeDevice {
    /// The simulated device
    #[default]
    Sim,
    /// The simulated device, which grades, and then this machine's GPU
    Gpu,
}

const EXIT_CODES: &str = "\
Exit codes: 0 passed, 1 failed, 2 usage, 3 inconclusive, 4 an error that is not yours, 5 rejected";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
