//! `checker dev confine`: any command in the sandbox that grading uses, to see what comes of it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use checker::cli;
use checker::exit::{Exit, Usage};
use checker::print;
use sandbox::Layers;
use sandbox::process::Ending;
use sandbox::{Confined, Exceeded, Limits, Plan, Required, Role, Sandbox};

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    sandbox: &'a Layers,
    /// `exited`, `signalled` or the name of a limit.
    ending: &'static str,
    /// The exit status or the signal's number.
    number: Option<i32>,
    exceeded: Option<Exceeded>,
    output: String,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Bytes that are kept of a command's output: as many as a person reads.
const OUTPUT_BYTES: usize = 64 * 1024;

/// Runs one command.
pub(crate) fn confine(arguments: &cli::author::Confine) -> Result<Exit> {
    let sandbox = match (arguments.sandbox, arguments.accept_risk) {
        (cli::SandboxChoice::Off, true) => Sandbox::off(),
        (cli::SandboxChoice::Off, false) => {
            return Err(Usage("`--sandbox off` needs `--accept-risk`".to_owned()).into());
        }
        (cli::SandboxChoice::Auto, _) => {
            let full = arguments.require_sandbox;
            Sandbox::probe(if full { Required::Full } else { Required::Floor })?
        }
    };
    let resolve = |path: &PathBuf| {
        path.canonicalize().with_context(|| format!("cannot find `{}`", path.display()))
    };
    let (program, rest) = arguments.command.split_first().context("there is no command")?;
    let variables = arguments.variables.iter().map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.into(), value.into())
    });
    let wall = Duration::try_from_secs_f64(arguments.time_limit)
        .map_err(|error| Usage(format!("`--time-limit`: {error}")))?;
    let role = if arguments.compiler { Role::Compiler } else { Role::Program };
    let limits = match role {
        Role::Compiler => Limits::of_compiler(wall, OUTPUT_BYTES),
        Role::Program => Limits::of_program(wall, OUTPUT_BYTES),
    };
    let writable: Vec<_> = arguments.writable.iter().map(resolve).collect::<Result<_>>()?;
    let confined = Confined {
        role,
        program: resolve(&PathBuf::from(program))?,
        arguments: rest.iter().map(Into::into).collect(),
        environment: variables.collect(),
        readable: arguments.readable.iter().map(resolve).collect::<Result<_>>()?,
        folder: writable.first().cloned().unwrap_or_else(|| PathBuf::from("/")),
        writable,
        descriptors: Vec::new(),
        limits: Limits { memory_bytes: arguments.memory, ..limits },
        slot: 0,
        plan: Plan::new(),
    };
    let ended = sandbox.run(&confined, None)?;
    let (ending, number) = match ended.ending {
        Ending::Exited(status) => ("exited", Some(status)),
        Ending::Signalled(signal) => ("signalled", Some(signal)),
        Ending::OutOfTime => ("out_of_time", None),
        Ending::OutOfOutput => ("out_of_output", None),
        Ending::Deserted => ("deserted", None),
    };
    print::json(&Object {
        format: FORMAT,
        sandbox: sandbox.layers(),
        ending,
        number,
        exceeded: ended.exceeded,
        output: ended.output.text(),
    })?;
    Ok(if ended.ending == Ending::Exited(0) { Exit::Passed } else { Exit::Failed })
}
