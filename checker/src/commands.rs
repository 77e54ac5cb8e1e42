//! One file for each command; `reports` is what those that touch a class's grades have in common.

mod bundle;
mod calibrate;
mod chapter;
mod check;
mod completions;
mod confine;
mod doctor;
mod explain;
mod forget;
mod grade;
mod hint;
mod list;
mod measure;
mod merge;
mod overview;
mod predict;
mod probe;
mod record;
mod reports;
mod reset;
pub(crate) mod run;
mod student;
pub(crate) mod trace;
mod watch;

use anyhow::Result;

use crate::cli::{Cli, Command, Dev};
use crate::exit::Exit;

/// Does what the command line asks for.
pub(crate) fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        None => overview::overview(cli.look),
        Some(Command::List(look)) => list::list(look),
        Some(Command::Explain { code, look }) => explain::explain(code.as_deref(), look),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::Grade(arguments)) => grade::grade(&arguments),
        Some(Command::Merge(arguments)) => merge::merge(&arguments),
        Some(Command::Forget(arguments)) => forget::forget(&arguments),
        Some(Command::GradeWorker) => grade::worker(),
        Some(Command::Predict(arguments)) => predict::predict(&arguments),
        Some(Command::Watch(arguments)) => watch::watch(&arguments),
        Some(Command::Hint { exercise, look }) => hint::hint(exercise.as_deref(), look),
        Some(Command::Reset { exercise, look }) => reset::reset(&exercise, look),
        Some(Command::Undo { exercise, look }) => reset::undo(exercise.as_deref(), look),
        Some(Command::Trace(arguments)) => trace::trace(&arguments),
        Some(Command::Doctor(look)) => doctor::doctor(look),
        Some(Command::New { folder, book, look }) => student::new(&folder, book.as_deref(), look),
        Some(Command::Update(arguments)) => student::update(&arguments),
        Some(Command::Completions { shell }) => completions::completions(shell),
        Some(Command::Calibrate(arguments)) => calibrate::calibrate(&arguments),
        Some(Command::Dev(Dev::Record { exercises })) => record::record(&exercises),
        Some(Command::Dev(Dev::Check(arguments))) => check::check(&arguments),
        Some(Command::Dev(Dev::New { name, title })) => chapter::new(&name, title.as_deref()),
        Some(Command::Dev(Dev::Measure(arguments))) => measure::measure(&arguments),
        Some(Command::Dev(Dev::Confine(arguments))) => confine::confine(&arguments),
        Some(Command::Dev(Dev::Bundle { folder })) => bundle::bundle(&folder),
        Some(Command::ProbeGpu) => probe::gpu(),
        Some(Command::ProbeDriver { library }) => probe::library(&library),
        Some(Command::DeviceProcess { library, fd }) => probe::serve(&library, fd),
        Some(Command::Supervise { fd }) => probe::supervise(fd),
        Some(Command::Canary { song }) => probe::canary(&song),
    }
}
