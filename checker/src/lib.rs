//! The checker: compiles an exercise, runs it in a process of its own, draws what the device did
//! and grades the overlap achieved.
//!
//! It is not a simulator and knows no CUDA: what a program did comes from the record that the
//! driver writes (`trace::Record`), what the reference would have done from the simulator. A
//! program that `run` starts has the rights of the user who started the checker; one that is graded
//! runs in a sandbox.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `cli` | the command line, as types |
//! | `commands` | one file for each command |
//! | `workspace`, `exercise` | where the exercises are and what each needs |
//! | `progress`, `backups` | what has been reached, and former states of a student's file |
//! | `book` | where an exercise's page is, and what opens it |
//! | `question` | what the chapter's puzzle asks, and what answers it |
//! | `prediction` | what a student expects of it, and what happens |
//! | `handout` | what students are handed, and what of it is still as it was |
//! | `regions` | what of a student's file is the exercise's own |
//! | `likeness` | suggestions for names that were mistyped |
//! | `hints` | what an exercise's author says to one who is stuck |
//! | `companions` | commands that are programs of their own, built when they are first called |
//! | `compile` | cargo, or binaries that were built elsewhere |
//! | `variant` | another text in place of the student's, compiled beside it |
//! | `status` | what a run is at, for one who waits for it |
//! | `attempt` | one run of one program: its settings, its results |
//! | `device` | which device a run takes; whether there is a GPU |
//! | `measure` | many runs on a GPU, and what they say together |
//! | `witness` | an order in which the data of a hazard goes wrong |
//! | `host_facts` | when and where a measurement is made |
//! | `grade` | gates, score, verdict: functions of what was seen |
//! | `explain` | the long form of every code |
//! | `report` | the same report for a terminal and as JSON |
//! | `quantity` | sizes and windows of time, as they are typed |
//! | `print` | the only way to standard output and standard error |
//!
//! Exit codes are a contract: `exit::Exit`.

// The driver takes the place of a shared library as only ELF systems let it, see `main.rs`.
#![cfg(target_os = "linux")]

pub mod attempt;
mod backups;
pub mod book;
pub mod cli;
pub mod commands;
mod companions;
pub mod compile;
pub mod device;
pub mod exercise;
pub mod exit;
pub mod explain;
pub mod grade;
pub mod handout;
pub mod hints;
pub mod host_facts;
mod likeness;
pub mod measure;
pub mod prediction;
pub mod print;
pub mod progress;
pub mod quantity;
pub mod question;
pub mod regions;
pub mod report;
pub mod status;
mod variant;
pub mod witness;
pub mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use cli::Cli;
use exit::Exit;

/// Runs the command line of this process; `dispatch` runs its command.
pub fn main(dispatch: fn(Cli) -> Result<Exit>) -> ExitCode {
    // Whichever program it is, its commands are the checker's.
    let arguments = std::iter::once("checker".into()).chain(std::env::args_os().skip(1));
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Clap knows whether this is help for stdout or a mistake for stderr. A closed pipe is
            // no reason to complain about either.
            _ = error.print();
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Passed };
            return exit.into();
        }
    };
    match dispatch(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            print::error(&error);
            exit::of_error(&error).into()
        }
    }
}
