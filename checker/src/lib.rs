//! The checker: compiles an exercise, runs it in a process of its own, draws what the device did
//! and grades the overlap achieved.
//!
//! It is not a simulator and knows no CUDA: what a program did comes from the record that the driver
//! writes (`trace::Record`), what the reference would have done from the simulator. A program
//! that `run` starts has the rights of whoever started the checker; one that is graded runs in a sandbox.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `cli` | the command line, as types |
//! | `commands` | one file for each command |
//! | `workspace`, `exercise` | where the exercises are and what each asks for |
//! | `progress`, `kept` | what has been reached, and former states of a student's file |
//! | `prediction` | the chapter's puzzle, and what somebody expects |
//! | `author` | what an author's files have to be |
//! | `handout` | what students are handed, and what of it is still as it was |
//! | `hints` | what an exercise's author says to one who is stuck |
//! | `compile` | cargo, or binaries that were built elsewhere |
//! | `process` | one child process: its limits, its output, its end |
//! | `sandbox` | what stands between somebody else's code and this machine |
//! | `stage` | what a run is at, for whoever waits for it |
//! | `interrupt` | signals, and runs that nobody waits for any more |
//! | `attempt` | one run of one program: what it is told, what it leaves behind |
//! | `device` | which device a run takes; whether there is a GPU |
//! | `measure` | many runs on a GPU, and what they say together |
//! | `calibrate` | from the samples of micro-benchmarks to a device profile |
//! | `witness` | an order in which the data of a hazard goes wrong |
//! | `shelf` | the files in which predicted and measured numbers are kept |
//! | `host` | when and where a measurement is made |
//! | `grade` | gates, score, verdict: functions of what was seen |
//! | `class` | many students' files, graded like one |
//! | `explain` | the long form of every code |
//! | `report` | the same report for a terminal and as JSON |
//! | `print` | the only way to standard output and standard error |
//!
//! Exit codes are a contract: `exit::Exit`.

// The driver takes the place of a shared library as only ELF systems let it, see `main.rs`.
#![cfg(target_os = "linux")]

mod attempt;
mod author;
mod calibrate;
mod class;
mod cli;
mod commands;
mod compile;
mod device;
mod exercise;
mod exit;
mod explain;
mod grade;
mod handout;
mod hints;
mod host;
mod interrupt;
mod kept;
mod measure;
mod prediction;
mod print;
mod process;
mod progress;
mod report;
mod sandbox;
mod scratch;
mod shelf;
mod stage;
mod witness;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use exit::Exit;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Clap knows whether this is help for stdout or a mistake for stderr. A closed pipe is
            // no reason to complain about either.
            _ = error.print();
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Passed };
            return exit.into();
        }
    };
    match commands::dispatch(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            print::error(&error);
            exit::of_error(&error).into()
        }
    }
}
