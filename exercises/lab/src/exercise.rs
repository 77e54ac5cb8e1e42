//! The start of an exercise. `main` of an exercise's package is one line.

use std::process::ExitCode;

use trace::env;
use trace::lab_protocol::Pass;
use trace::record::{DeviceState, Output, Trial};

use crate::{Error, Lab, Result, driver};

/// The subject of an exercise: the thing that its function is given.
pub trait Exercise: Sized {
    /// Gets it ready on a device.
    fn open(lab: &Lab) -> Result<Self>;
    /// Runs the work of each engine alone, one region each.
    fn calibrate(&self) -> Result<()>;
}

/// Exit code for trouble of ours or of the machine's, as the checker has it.
const TROUBLE: u8 = 4;

pub(crate) fn seed() -> u64 {
    number(env::SEED).unwrap_or(env::PUBLIC_SEED)
}

fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs an exercise: what it is about is got ready, and `solve` is given it, as often as the one
/// who started the process wants. Use [`exercise!`](crate::exercise!), which knows the folder.
pub fn run<T: Exercise>(folder: &str, solve: impl Fn(&T) -> Result<()>) -> ExitCode {
    let calibrates = std::env::var(env::MODE).is_ok_and(|mode| mode == env::MODE_CALIBRATE);
    passes(folder, |lab| {
        let exercise = T::open(lab)?;
        if calibrates { exercise.calibrate() } else { solve(&exercise) }
    })
}

/// Runs a puzzle program. Use [`puzzle!`](crate::puzzle!), which knows the folder.
pub fn run_puzzle(folder: &str, program: impl Fn(&Lab) -> Result<()>) -> ExitCode {
    passes(folder, program)
}

fn passes(folder: &str, pass: impl Fn(&Lab) -> Result<()>) -> ExitCode {
    let mut lab = match Lab::open(folder) {
        Ok(lab) => lab,
        Err(error) => {
            report(&error);
            return ExitCode::from(TROUBLE);
        }
    };
    let warm_ups = number(env::WARMUPS).unwrap_or(0);
    let trials = number(env::TRIALS).unwrap_or(1);
    for index in 0..warm_ups + trials {
        lab.pass = if index < warm_ups { Pass::WarmUp } else { Pass::Counts };
        if let Err(error) = pass(&lab) {
            report(&error);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Prints how a pass went, unless a checker started the program: it reads the record instead.
pub(crate) fn report_trial(trial: &Trial) {
    if std::env::var_os(env::RECORD).is_some() {
        return;
    }
    let output = match &trial.output {
        Output::Unchecked => "output not checked".to_owned(),
        Output::Correct => "output correct".to_owned(),
        Output::Wrong { element, expected, found, wrong, of, .. } => format!(
            "output wrong in {wrong} of {of} elements: element {element} is {found:#010x}, not {expected:#010x}"
        ),
        Output::Unfounded { unfounded, of, .. } => format!(
            "output correct, but {unfounded} of {of} elements did not come about as the task wants them to"
        ),
    };
    let device = match trial.device {
        DeviceState::Idle => "",
        DeviceState::Busy => ", device still at work",
    };
    let efficiency = trial.bounds.and_then(|bounds| bounds.overlap_efficiency(trial.makespan_ns));
    let efficiency =
        efficiency.map_or(String::new(), |it| format!(", overlap efficiency {:.1} %", 100.0 * it));
    let freedom = trial.bounds.and_then(|bounds| bounds.host_freedom(trial.makespan_ns));
    let freedom = freedom.map_or(String::new(), |it| format!(", host freedom {:.1} %", 100.0 * it));
    say(&format!(
        "{}{efficiency}{freedom}, {output}{device}",
        trace::draw::duration(trial.makespan_ns)
    ));
}

#[expect(clippy::print_stdout, reason = "the result of a program that is run by hand")]
fn say(what: &str) {
    println!("{what}");
}

#[expect(clippy::print_stderr, reason = "the one place where an exercise's error is shown")]
fn report(error: &Error) {
    let call = match error {
        Error::Driver(error) => driver::failed_call(error.0 as u32),
        Error::Refused(_) => None,
    };
    match call {
        Some(call) => eprintln!("{}{call}", env::GAVE_UP),
        None => eprintln!("{}{error}", env::GAVE_UP),
    }
}

/// Runs an exercise's function, as `main` of its package.
#[macro_export]
macro_rules! exercise {
    ($solve:path) => {
        $crate::exercise::run(env!("CARGO_MANIFEST_DIR"), $solve)
    };
}

/// Runs a puzzle program, as its `main`.
#[macro_export]
macro_rules! puzzle {
    ($program:path) => {
        $crate::exercise::run_puzzle(env!("CARGO_MANIFEST_DIR"), $program)
    };
}
