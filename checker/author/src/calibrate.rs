//! From the samples of micro-benchmarks to a device profile.
//!
//! The measuring is done by the program `calibrate` of package `lab`, one process for each section.
//! What the samples mean is decided here, by functions of what was measured alone: no exercise
//! takes part.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`raw`] | what was measured: samples, medians, quartiles |
//! | [`machine`] | where it was measured |
//! | [`spans`] | starts and ends of operations, out of a record |
//! | [`fit`] | from raw figures to a profile |
//! | [`theil_sen`] | a straight line through points |

pub(crate) mod fit;
pub(crate) mod machine;
pub(crate) mod raw;
pub(crate) mod spans;
#[cfg(test)]
mod tests;
pub(crate) mod theil_sen;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use trace::{Record, env};

use checker::compile::{Target, TargetKind};
use raw::{Answer, Raw};
use sandbox::process::{self, Ending, Limits};
use sandbox::scratch::Scratch;

/// The program that measures.
pub(crate) fn program() -> Target {
    Target { package: "lab".into(), kind: TargetKind::Bin, name: "calibrate".into() }
}

/// A part of the measurements, in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// As the program calls it.
    pub(crate) name: &'static str,
    /// As people do.
    pub(crate) about: &'static str,
}

/// All sections in their order. The last two are seen through the driver library.
pub(crate) const SECTIONS: [Section; 16] = [
    Section { name: "device", about: "what the device says about itself" },
    Section { name: "correctness", about: "whether the kernels compute what they should" },
    Section { name: "kernels", about: "how fast kernels are" },
    Section { name: "network", about: "how fast the layers of a network are" },
    Section {
        name: "pipes",
        about: "how fast kernels are that one part of a multiprocessor bounds",
    },
    Section { name: "memory", about: "device memory" },
    Section { name: "pinned", about: "copies of pinned memory, alone and both ways" },
    Section { name: "pageable", about: "copies of ordinary memory" },
    Section { name: "calls", about: "what calls cost the host" },
    Section { name: "gaps", about: "from one operation to the next" },
    Section { name: "graphs", about: "graphs" },
    Section { name: "first_calls", about: "the first call of each kind" },
    Section { name: "pools", about: "the pool of stream-ordered memory" },
    Section { name: "limits", about: "what a stream and the device hold" },
    Section { name: PROGRAM, about: "what passes between two calls of a program" },
    Section { name: SPANS, about: "when operations start and end, by CUPTI" },
];

const PROGRAM: &str = "program";
const SPANS: &str = "spans";
/// The simulated device computes by the twins themselves: there is nothing to compare.
const CORRECTNESS: &str = "correctness";

/// One section takes ten seconds at the most on an H200. A driver that hangs hangs for ever.
const LIMITS: Limits = Limits { wall: Duration::from_secs(120), output_bytes: 64 << 10 };

/// The device that is measured, and how it is reached.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// The program.
    pub(crate) program: PathBuf,
    /// The driver library.
    pub(crate) driver: Option<PathBuf>,
    /// The kind of device that answers.
    pub(crate) subject: Subject,
}

/// Kinds of devices that answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The GPU of this machine.
    Gpu,
    /// The simulated device of this profile; none for the default.
    Simulated(Option<PathBuf>),
}

impl Bench {
    /// The sections that there are for what is measured.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section> {
        let simulated = matches!(self.subject, Subject::Simulated(_));
        SECTIONS.into_iter().filter(move |section| !simulated || section.name != CORRECTNESS)
    }

    /// Measures one section, into `raw`.
    pub(crate) fn measure(&self, section: Section, raw: &mut Raw) -> Result<Duration> {
        let began = Instant::now();
        let scratch = Scratch::new()?;
        let (answer, record) =
            (scratch.path().join("answer.json"), scratch.path().join("record.json"));
        let traced = section.name == SPANS;
        let mut command = std::process::Command::new(&self.program);
        for name in [
            env::DRIVER,
            env::DEVICE,
            env::PROFILE,
            env::MACHINE,
            env::RECORD,
            env::SCHEDULE,
            env::LEAVE_OUT,
            env::WATCH,
            env::TRACE,
            env::CONNECTIONS,
            env::COPY_CONNECTIONS,
        ] {
            command.env_remove(name);
        }
        let arm = match &self.subject {
            Subject::Gpu if traced || section.name == PROGRAM => {
                command.env(env::DEVICE, env::DEVICE_GPU);
                if traced {
                    command.env(env::TRACE, env::TRACE_CUPTI);
                }
                "library"
            }
            Subject::Gpu => "real",
            Subject::Simulated(profile) => {
                if let Some(profile) = profile {
                    command.env(env::PROFILE, profile);
                }
                "simulated"
            }
        };
        if let Some(driver) = &self.driver {
            command.env(env::DRIVER, driver);
        }
        command.env(env::RECORD, &record).args([section.name, arm]).arg(&answer);
        let finished = process::run(command, LIMITS, None)?;
        if answer.is_file() {
            raw.add(read::<Answer>(&answer)?);
        }
        let said = finished.output.text();
        let said = said.trim();
        match finished.ending {
            Ending::Exited(0) => {}
            Ending::Exited(_) => bail!("{said}"),
            Ending::Signalled(signal) => bail!("it crashed with signal {signal}: {said}"),
            Ending::OutOfTime | Ending::Deserted | Ending::OutOfOutput => {
                bail!("it did not end within {} s: {said}", LIMITS.wall.as_secs())
            }
        }
        if traced {
            match spans::samples(&read::<Record>(&record)?) {
                Ok(samples) => raw.add(Answer { samples, ..Answer::default() }),
                Err(why) => raw.lacks(SPANS, &format!("{why:#}")),
            }
        }
        Ok(began.elapsed())
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let context = || format!("cannot read what was measured, `{}`", path.display());
    let text = std::fs::read(path).with_context(context)?;
    serde_json::from_slice(&text).with_context(context)
}
