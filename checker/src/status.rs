//! Which stage a run has reached, shown to the user who waits for it.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::print;

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Cargo is at work; what it said last, if anything.
    Building(String),
    /// The program runs.
    Running,
    /// The programs run in turn on a GPU; so many rounds are done.
    Measuring(usize),
    /// The outcome is looked at.
    Judging,
}

impl Status {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Self::Building(said) if said.is_empty() => "building".to_owned(),
            Self::Building(said) => format!("building: {said}"),
            Self::Running => "running".to_owned(),
            Self::Judging => "judging".to_owned(),
            Self::Measuring(0) => "measuring".to_owned(),
            Self::Measuring(rounds) => format!("measuring, {rounds} rounds so far"),
        }
    }
}

/// Is told each part of a run as it begins.
pub type Tell<'a> = &'a (dyn Fn(Status) + Sync);

/// Work that is shorter needs no word: its result is there before anybody wonders.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// How often an indicator moves, so that it is seen to be alive.
pub const TICK: Duration = Duration::from_millis(120);

/// The sign before the words at this time.
pub fn spinner(elapsed: Duration) -> char {
    const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
    FRAMES[(elapsed.as_millis() / TICK.as_millis()) as usize % FRAMES.len()]
}

/// A line on standard error that says what the work is at, once it takes long enough to wonder.
/// There is none where standard error is no terminal. The line goes away with this value.
#[derive(Debug)]
#[must_use = "dropping it ends the line"]
pub struct Indicator {
    stages: Mutex<Option<Sender<Status>>>,
    thread: Option<JoinHandle<()>>,
}

impl Indicator {
    /// Starts the clock.
    pub fn start() -> Self {
        if !io::stderr().is_terminal() || print::is_dumb() {
            return Self { stages: Mutex::new(None), thread: None };
        }
        let (sender, stages) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let start = Instant::now();
            let mut stage = Status::Running;
            let mut wait = PATIENCE;
            let mut shown = false;
            loop {
                match stages.recv_timeout(wait) {
                    Ok(new) => stage = new,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                let elapsed = start.elapsed();
                wait = PATIENCE.saturating_sub(elapsed).max(TICK);
                if elapsed >= PATIENCE {
                    let (frame, words) = (spinner(elapsed), stage.words());
                    let line = format!("{frame} {words} · {} s", elapsed.as_secs());
                    let line: String = line.chars().take(print::columns_of_stderr()).collect();
                    print::err(&format!("\r\x1b[2K{line}"));
                    shown = true;
                }
            }
            if shown {
                print::err("\r\x1b[2K");
            }
        });
        Self { stages: Mutex::new(Some(sender)), thread: Some(thread) }
    }

    /// Says what comes now.
    pub fn tell(&self, stage: Status) {
        let stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stages) = &*stages {
            _ = stages.send(stage); // the thread ends only after this value
        }
    }
}

impl Drop for Indicator {
    fn drop(&mut self) {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}
