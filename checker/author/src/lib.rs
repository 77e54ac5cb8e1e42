//! The commands for those who write exercises and measure devices: `checker dev …` and `checker
//! calibrate`.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `commands` | one file for each command |
//! | [`problem`] | what is wrong with an author's file, with file and line |
//! | [`placeholders`] | places that are still to be filled |
//! | [`solution_regions`] | the regions of a student's file, and what a solution does in them |
//! | [`advice`] | hints that are there, and that leave something to do |
//! | [`template`] | the chapter that a new one starts as |
//! | [`calibrate`] | from the samples of micro-benchmarks to a device profile |
//! | [`figures`] | the runs that the book keeps |
//! | [`measurements`] | the files in which predicted and measured numbers are kept |

#![cfg(target_os = "linux")]

mod advice;
mod calibrate;
mod commands;
mod figures;
mod measurements;
mod placeholders;
mod problem;
mod solution_regions;
mod template;

use anyhow::Result;
use checker::cli::author::Dev;
use checker::cli::{Cli, Command};
use checker::exit::Exit;

pub(crate) use problem::{Problem, Problems};

/// Runs the command: what an author needs here, everything else as the tools for a class and the
/// checker run it.
pub fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        Some(Command::Calibrate(arguments)) => commands::calibrate::calibrate(&arguments),
        Some(Command::Dev(dev)) => match dev {
            Dev::Record(arguments) => commands::record::record(&arguments),
            Dev::Check(arguments) => commands::check::check(&arguments),
            Dev::New { name, title } => commands::chapter::new(&name, title.as_deref()),
            Dev::Measure(arguments) => commands::measure::measure(&arguments),
            Dev::Confine(arguments) => commands::confine::confine(&arguments),
            Dev::Bundle { folder, exercises } => commands::bundle::bundle(&folder, &exercises),
        },
        _ => class::dispatch(cli),
    }
}
