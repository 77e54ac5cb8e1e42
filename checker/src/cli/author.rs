//! The commands for authors, as types.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::common::{Look, SandboxChoice};
use crate::device::DeviceChoice;
use crate::quantity;

#[derive(Debug, Subcommand)]
pub enum Dev {
    /// Start a chapter: its exercise, solution, task, page and quiz, with a mark at each place to
    /// fill
    New {
        /// Number and name, as in `05_events`
        #[arg(value_name = "NN_NAME")]
        name: String,
        /// Title of its page; default: the name in words
        #[arg(long, value_name = "TITLE")]
        title: Option<String>,
    },
    /// Check that exercises are fit to be solved and graded, and that their pages are whole
    Check(Check),
    /// Write every copy of what stands elsewhere: recorded programs, shipped files, the runs that
    /// pages show, snapshots
    Record(Record),
    /// Run every program on the simulated device and on the GPU, and keep what was predicted and
    /// measured
    Measure(Measure),
    /// Run any command in the sandbox that grading uses, and say what became of it, as JSON
    Confine(Confine),
    /// Build everything that a machine without Rust needs to run the exercises
    Bundle {
        /// A new folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Which exercises; default: all
        #[arg(value_name = "EX")]
        exercises: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct Record {
    /// Which exercises; default: all
    #[arg(value_name = "EX")]
    pub exercises: Vec<String>,
    /// Leave out the snapshots: they are what tests see, which have to be compiled
    #[arg(long)]
    pub no_snapshots: bool,
}

#[derive(Debug, Args)]
pub struct Check {
    /// Which exercises; default: all
    #[arg(value_name = "EX")]
    pub exercises: Vec<String>,
    /// Parts to look at; default: both
    #[arg(long, value_enum)]
    pub only: Option<Half>,
    #[command(flatten)]
    pub look: Look,
}

#[derive(Debug, Args)]
pub struct Confine {
    /// The program, by its path, and what it is told
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    pub command: Vec<String>,
    /// A file or folder that it may read
    #[arg(long = "read", value_name = "PATH")]
    pub readable: Vec<PathBuf>,
    /// A folder that it may write in; it starts in the first
    #[arg(long = "write", value_name = "DIR")]
    pub writable: Vec<PathBuf>,
    /// A variable of its environment, which is empty otherwise
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub variables: Vec<String>,
    /// As the compiler runs, which may make processes
    #[arg(long)]
    pub compiler: bool,
    /// Seconds that it may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub time_limit: f64,
    /// Memory that it may use
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = quantity::size)]
    pub memory: u64,
    /// Whether there is a sandbox at all
    #[arg(long, value_enum, default_value_t)]
    pub sandbox: SandboxChoice,
    /// Run without a sandbox, whatever it does
    #[arg(long)]
    pub accept_risk: bool,
    /// Refuse to run unless every property holds
    #[arg(long)]
    pub require_sandbox: bool,
}

/// One of the two halves of a chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Half {
    /// Exercise, hints and solution
    Exercise,
    /// Page, quiz and figures, which the book's own program looks at
    Page,
}

#[derive(Debug, Args)]
pub struct Measure {
    /// Which exercises; default: all
    #[arg(value_name = "EX")]
    pub exercises: Vec<String>,
    /// Take programs that `checker dev bundle` built, instead of cargo
    #[arg(long, value_name = "DIR")]
    pub prebuilt: Option<PathBuf>,
    /// Write all files to this folder, instead of into the book
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Whether to measure on a GPU; without one the predictions alone are made again
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    pub device: DeviceChoice,
    /// Profile of the simulated device, and the kept file: `h200`, `h100`, or a TOML file; default:
    /// that of the GPU if it has one, else `h200`
    #[arg(long, value_name = "P")]
    pub profile: Option<String>,
}
