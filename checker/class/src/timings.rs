//! How long each stage of grading took, for those who make it faster. None of it enters a row.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use checker::status::Status;

/// The time that one stage took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spent {
    /// By the clock on the wall.
    pub(crate) wall_s: f64,
    /// On processors, with the processes that were started: it hardly depends on what else the
    /// machine does.
    pub(crate) processor_s: f64,
}

/// The time that files took, all together.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Took {
    /// How many files.
    pub(crate) files: usize,
    pub(crate) compile: Spent,
    pub(crate) run: Spent,
    /// Looking at the outcome of the run, and drawing it.
    pub(crate) judge: Spent,
    /// Most memory that a process had which grades one file after another.
    pub(crate) worker_kib: u64,
    /// Most that a process had which such a one started: mostly a compiler.
    pub(crate) child_kib: u64,
}

impl Took {
    /// Adds what others took.
    pub(crate) fn add(&mut self, other: &Self) {
        self.files += other.files;
        for (own, other) in [
            (&mut self.compile, other.compile),
            (&mut self.run, other.run),
            (&mut self.judge, other.judge),
        ] {
            own.wall_s += other.wall_s;
            own.processor_s += other.processor_s;
        }
        self.worker_kib = self.worker_kib.max(other.worker_kib);
        self.child_kib = self.child_kib.max(other.child_kib);
    }
}

/// Measures one file's stages as it is told of them.
pub(crate) struct StopWatch(Mutex<Watched>);

struct Watched {
    took: Took,
    stage: Option<Status>,
    since: Instant,
    processor_s: f64,
}

impl StopWatch {
    /// Starts it.
    pub(crate) fn start() -> Self {
        let took = Took { files: 1, ..Took::default() };
        let processor_s = processor_s();
        Self(Mutex::new(Watched { took, stage: None, since: Instant::now(), processor_s }))
    }

    /// The next stage begins.
    pub(crate) fn tell(&self, stage: Status) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).turn(Some(stage));
    }

    /// The time that it all took.
    pub(crate) fn stop(self) -> Took {
        let mut watched = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        watched.turn(None);
        let (own, children) = (usage(libc::RUSAGE_SELF), usage(libc::RUSAGE_CHILDREN));
        let kib = |usage: libc::rusage| u64::try_from(usage.ru_maxrss).unwrap_or_default();
        Took { worker_kib: kib(own), child_kib: kib(children), ..watched.took }
    }
}

impl Watched {
    fn turn(&mut self, next: Option<Status>) {
        let (now, processor_s) = (Instant::now(), processor_s());
        let spent = match self.stage {
            // What comes before the first stage is for the compiler.
            None | Some(Status::Building(_)) => &mut self.took.compile,
            Some(Status::Running | Status::Measuring(_)) => &mut self.took.run,
            Some(Status::Judging) => &mut self.took.judge,
        };
        spent.wall_s += (now - self.since).as_secs_f64();
        spent.processor_s += processor_s - self.processor_s;
        (self.stage, self.since, self.processor_s) = (next, now, processor_s);
    }
}

/// The processor time of this process and its children that have ended.
pub(crate) fn processor_s() -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN]
        .into_iter()
        .map(usage)
        .map(|usage| seconds(usage.ru_utime) + seconds(usage.ru_stime))
        .sum()
}

fn usage(who: libc::c_int) -> libc::rusage {
    // SAFETY: zeroes are a valid `rusage`, and the call writes one.
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    }
}

/// Most memory that this process has had.
pub(crate) fn own_kib() -> u64 {
    u64::try_from(usage(libc::RUSAGE_SELF).ru_maxrss).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stage_takes_is_put_down_for_that_stage() {
        let watch = StopWatch::start();
        watch.tell(Status::Running);
        std::thread::sleep(std::time::Duration::from_millis(20));
        watch.tell(Status::Judging);
        let took = watch.stop();
        assert!(took.run.wall_s >= 0.02, "{took:?}");
        assert!(took.compile.wall_s < 0.02 && took.judge.wall_s < 0.02, "{took:?}");
        assert!(took.worker_kib > 0);
    }
}
