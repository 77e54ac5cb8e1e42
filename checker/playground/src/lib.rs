//! The playground of the book: programs, simulated and drawn where the reader is.
//!
//! There are programs with controls, and programs that the reader writes. For the first the reader
//! changes a [`Setting`]; [`Begun`] makes the [`Program`](trace::Program) that it stands for,
//! simulates it on a device profile and gives what the page shows, as HTML. For the others it reads
//! the text ([`language`]) and does the same. It draws the figure that readers without a script
//! see, and runs as wasm in the page of the others, so the two say the same to the last byte.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`setting`] | the controls, what the reader chose, and its form in the address of a page |
//! | [`workload`] | the program that a setting stands for, and the two ends of its scale |
//! | [`listing`] | the same program in words |
//! | [`language`] | a small language for host programs |
//! | [`run`] | a program of that language, simulated |
//! | [`program`] | numbers, races, drawing and table of such a run as HTML |
//! | [`profiles`] | the devices |
//! | [`fragment`] | numbers, drawing and table of a setting as HTML |
//! | `export` | what the wasm offers to the page's script |
//!
//! The wasm has to stay below 126 kB gzipped; a test holds the limit. So nothing here formats
//! floating-point numbers, reads JSON or looks for a `&str` in a text with the standard library.
//! The last was 5 kB, with the tables for the message of a slice that is out of bounds.

#[cfg(target_family = "wasm")]
mod export;
pub mod fragment;
pub mod language;
pub mod listing;
pub mod profiles;
pub mod program;
pub mod run;
pub mod setting;
pub mod workload;

pub use setting::{Setting, Sheet};

use std::sync::Arc;

use simulator::{Profile, Schedule, replay_on};
use trace::metrics::Bounds;
use trace::{Program, Timeline};

/// A setting, played.
pub struct Played {
    /// The steps that the host issued.
    pub program: Program,
    /// The device.
    pub profile: Arc<Profile>,
    /// The timeline of the device.
    pub timeline: Timeline,
    /// The two ends of the task's scale on this device.
    pub bounds: Bounds,
}

impl Played {
    /// Plays a setting.
    pub fn new(setting: &Setting) -> Self {
        let profile = Arc::new(profiles::profile(setting.device()));
        let program = workload::program(setting);
        let timeline = replay_on(&program, Arc::clone(&profile), Schedule::Exact);
        let bounds = workload::bounds(setting, &profile);
        Self { program, profile, timeline, bounds }
    }
}

/// A request of the page whose runs are simulated and not drawn yet. With thousands of calls each
/// half takes tens of milliseconds, in which the page answers nothing else.
pub enum Begun<'a> {
    /// A setting in the form of an address.
    Setting(Setting, Played),
    /// The reader's program.
    Program(program::Simulated<'a>),
}

impl<'a> Begun<'a> {
    /// Simulates what is asked: a setting in the form of an address, or a line `program`, the
    /// reader's program, a zero byte and the program before it.
    pub fn new(asked: &'a str) -> Self {
        match asked.strip_prefix("program\n") {
            None => {
                let setting = Setting::parse(asked);
                let played = Played::new(&setting);
                Self::Setting(setting, played)
            }
            Some(texts) => {
                let (text, before) = texts.split_once(['\0']).unwrap_or((texts, ""));
                Self::Program(program::Simulated::new(text, before))
            }
        }
    }

    /// As HTML. Ids in it begin with `id`.
    pub fn html(&self, id: &str) -> String {
        match self {
            Self::Setting(setting, played) => fragment::fragment(setting, played, id),
            Self::Program(simulated) => simulated.html(id),
        }
    }
}

/// Answers a request as HTML, in which ids begin with `id`.
pub fn answer(asked: &str, id: &str) -> String {
    Begun::new(asked).html(id)
}
