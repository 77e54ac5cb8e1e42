//! A class: many students' files, graded like one. The commands are `checker grade`, `merge` and
//! `forget`.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `commands` | one file for each command; `reports` is what they have in common |
//! | [`kit`] | what every submission is compiled against |
//! | [`compile`] | from a student's file to a program, by `rustc` alone |
//! | [`objects`] | what the compiler made of a student's file, and what may be in it |
//! | [`grader`] | one student's exercise, from the file to what is kept of it |
//! | [`worker`] | a process that grades one file after another |
//! | [`on_gpu`] | what files take on a GPU, beside their grades |
//! | [`timings`] | what grading took, stage by stage |
//! | [`grading`] | a class's files, graded by several workers at once |
//! | [`store`] | the folder that a class's grades are in |
//! | [`export`] | every report, made from the rows |
//! | [`record`] | what is kept of one student's exercise, which every report is made from |
//! | [`name`] | names that came from outside: how they are shown, what files are called after them |
//! | [`submission`] | what students handed in, and which file of it is graded |
//! | [`roster`] | who is in the class |
//! | [`lateness`] | what comes after the deadline |
//! | [`replacements`] | points that a person gives in place of a score |
//! | [`similar`] | files that resemble each other |
//! | [`fingerprints`] | what a class's files are compared by, and the list of those that resemble each other |
//! | [`forget_student`] | taking a student's data out |
//! | [`table`] | tables that an instructor writes, read strictly |

#![cfg(target_os = "linux")]

mod commands;
mod compile;
mod export;
mod fingerprints;
mod forget_student;
mod grader;
mod grading;
mod kit;
mod lateness;
mod name;
mod objects;
mod on_gpu;
mod record;
mod replacements;
mod roster;
#[cfg(test)]
mod schema;
mod similar;
mod store;
mod submission;
mod table;
mod timings;
mod worker;

use anyhow::Result;
use checker::cli::{Cli, Command};
use checker::exit::Exit;

/// Runs the command of the command line: those for classes here, all others as the checker does.
pub fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        Some(Command::Grade(arguments)) => commands::grade::grade(&arguments),
        Some(Command::Merge(arguments)) => commands::merge::merge(&arguments),
        Some(Command::Forget(arguments)) => commands::forget::forget(&arguments),
        Some(Command::GradeWorker) => commands::grade::worker(),
        _ => checker::commands::dispatch(cli),
    }
}
