//! One file for each command.

mod bundle;
mod calibrate;
mod doctor;
mod explain;
mod hint;
mod list;
mod measure;
mod overview;
mod probe;
mod record;
mod reset;
mod run;
pub(crate) mod trace;

use anyhow::Result;

use crate::cli::{Cli, Command, Dev};
use crate::exit::Exit;

/// Does what the command line asks for.
pub(crate) fn dispatch(cli: Cli) -> Result<Exit> {
    match cli.command {
        None => overview::overview(cli.look),
        Some(Command::List(look)) => list::list(look),
        Some(Command::Explain { code }) => explain::explain(code.as_deref()),
        Some(Command::Run(arguments)) => run::run(&arguments),
        Some(Command::Hint { exercise, look }) => hint::hint(exercise.as_deref(), look),
        Some(Command::Reset { exercise }) => reset::reset(&exercise),
        Some(Command::Undo { exercise }) => reset::undo(exercise.as_deref()),
        Some(Command::Trace(arguments)) => trace::trace(&arguments),
        Some(Command::Doctor(look)) => doctor::doctor(look),
        Some(Command::Calibrate(arguments)) => calibrate::calibrate(&arguments),
        Some(Command::Dev(Dev::Record { exercises })) => record::record(&exercises),
        Some(Command::Dev(Dev::Measure(arguments))) => measure::measure(&arguments),
        Some(Command::Dev(Dev::Bundle { folder })) => bundle::bundle(&folder),
        Some(Command::ProbeGpu) => probe::gpu(),
        Some(Command::ProbeDriver { library }) => probe::library(&library),
        Some(Command::DeviceProcess { library, fd }) => probe::serve(&library, fd),
    }
}
