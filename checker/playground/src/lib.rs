//! The playground of the book: programs, simulated and drawn where the reader is.
//!
//! There are programs with controls, and programs that the reader writes. For the first the reader
//! changes a [`Setting`]; [`play`] makes the [`Program`](trace::Program) that it stands for,
//! simulates it on a device profile and gives what the page shows, as HTML. For the others
//! [`program::show`] reads the text ([`language`]) and does the same. Either function draws the
//! figure that readers without a script see, and runs as wasm in the page of the others, so the two
//! say the same to the last byte.
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
//! The wasm has to stay below 125 kB gzipped, so nothing here formats floating-point numbers or
//! reads JSON; a test holds the limit.

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

use std::mem::ManuallyDrop;
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

/// Answers a setting in the form of an address, as HTML. Ids in it begin with `id`.
pub fn play(address: &str, id: &str) -> String {
    let setting = Setting::parse(address);
    // In a page all memory is free again with the next request (see `export`), so the code that
    // gives it back piece by piece, some kB of it, may be left out.
    let played = ManuallyDrop::new(Played::new(&setting));
    let html = fragment::fragment(&setting, &played, id);
    if !cfg!(target_family = "wasm") {
        drop(ManuallyDrop::into_inner(played));
    }
    html
}

/// Answers a request, as HTML: a setting in the form of an address, or a line `program`, the
/// reader's program, a zero byte and the program before it.
pub fn answer(asked: &str, id: &str) -> String {
    match asked.strip_prefix("program\n") {
        None => play(asked, id),
        Some(texts) => {
            let (text, before) = texts.split_once(['\0']).unwrap_or((texts, ""));
            program::show(text, before, id)
        }
    }
}
