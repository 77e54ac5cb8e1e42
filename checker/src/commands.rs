//! One file for each command.

mod book;
mod compare;
mod completions;
mod doctor;
mod explain;
mod hint;
mod list;
mod overview;
mod poster;
mod predict;
mod probe;
mod reset;
pub mod run;
mod student;
pub mod trace;
mod watch;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::companions;
use crate::exit::Exit;

/// Runs the command of the command line.
pub fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        None => overview::overview(cli.look),
        Some(Command::List(arguments)) => list::list(&arguments),
        Some(Command::Explain { code, look }) => explain::explain(code.as_deref(), look),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::Predict(arguments)) => predict::predict(&arguments),
        Some(Command::Compare(arguments)) => compare::compare(&arguments),
        Some(Command::Poster(arguments)) => poster::poster(&arguments),
        Some(Command::Watch(arguments)) => watch::watch(&arguments),
        Some(Command::Hint { exercise, look }) => hint::hint(exercise.as_deref(), look),
        Some(Command::Reset(arguments)) => reset::reset(&arguments),
        Some(Command::Undo(arguments)) => reset::undo(&arguments),
        Some(Command::Book(arguments)) => book::book(&arguments),
        Some(Command::Trace(arguments)) => trace::trace(&arguments),
        Some(Command::Doctor(look)) => doctor::doctor(look),
        Some(Command::New { folder, book, look }) => student::new(&folder, book.as_deref(), look),
        Some(Command::Update(arguments)) => student::update(&arguments),
        Some(Command::Completions { shell }) => completions::completions(shell),
        Some(Command::Grade(_) | Command::Merge(_) | Command::Forget(_) | Command::GradeWorker) => {
            companions::call(&companions::CLASS)
        }
        Some(Command::Calibrate(_) | Command::Dev(_)) => companions::call(&companions::AUTHOR),
        Some(Command::ProbeGpu) => probe::gpu(),
        Some(Command::ProbeDriver { library }) => probe::library(&library),
        Some(Command::DeviceProcess { library, fd }) => probe::serve(&library, fd),
        Some(Command::Supervise { fd }) => probe::supervise(fd),
        Some(Command::Canary { song }) => probe::canary(&song),
    }
}
