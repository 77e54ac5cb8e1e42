//! Unmodified cudarc on the driver library.
//!
//! A driver is one to a process, so each case runs in a process of its own: twice, with the simulated
//! device in that process and in another.

mod cases;
mod graphs;
mod host;
mod hostile;
mod lines;
mod order;
mod refusals;
mod threads;
mod tracking;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use trace::env;

/// A case and its name, which is a sentence.
type Case = (&'static str, fn());

/// Which case this process is to run.
const CASE: &str = "SWIM_TEST_CASE";
/// This process is to be the device, over this file descriptor.
const SERVE: &str = "SWIM_TEST_SERVE";
/// Where the device in another process writes its record.
const RECORDED: &str = "SWIM_TEST_RECORDED";

fn all() -> Vec<Case> {
    [
        cases::CASES,
        graphs::CASES,
        host::CASES,
        hostile::CASES,
        lines::CASES,
        order::CASES,
        refusals::CASES,
        threads::CASES,
        tracking::CASES,
    ]
    .concat()
}

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        let (_, case) = all().into_iter().find(|(case, _)| *case == name).expect("the case exists");
        case();
        return ExitCode::SUCCESS;
    }
    lab::driver::load().expect("cargo builds the driver library before this test");
    if let Ok(descriptor) = std::env::var(SERVE) {
        // SAFETY: the process that started this one handed the descriptor down.
        let memory = unsafe { OwnedFd::from_raw_fd(descriptor.parse().expect("it is a number")) };
        lab::driver::serve(memory).expect("the device is served");
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    for (name, _) in all() {
        trials.push(Trial::test(format!("in_process::{name}"), move || passes(name, None)));
        trials.push(Trial::test(format!("in_another_process::{name}"), move || {
            in_another_process(name)
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn passes(name: &str, device: Option<(&OwnedFd, &Path)>) -> Result<(), Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(CASE, name).env_remove(env::RECORD).stdin(Stdio::null());
    command.env("SWIM_SOURCE", env!("CARGO_MANIFEST_DIR"));
    if let Some((memory, record)) = device {
        command.env(env::MACHINE, memory.as_raw_fd().to_string()).env(RECORDED, record);
    }
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr)).into())
}

fn in_another_process(name: &str) -> Result<(), Failed> {
    let memory = lab::driver::device_memory()?;
    let folder = tempfile::tempdir()?;
    let record = folder.path().join("record.json");
    let mut device = Command::new(std::env::current_exe()?)
        .env(env::RECORD, &record)
        .env(SERVE, memory.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .spawn()?;
    let passed = passes(name, Some((&memory, &record)));
    device.kill()?;
    device.wait()?;
    passed
}
