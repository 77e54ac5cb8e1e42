//! Measured regions on a GPU: fill, start the clock, stop it, look.

use std::collections::HashSet;

use simulator::machine::{self, Library as _, Task};
use trace::lab_protocol::{Pass, Region, Reply};
use trace::program::Call;
use trace::record::{self, DeviceState, Output, Record, Trial};
use trace::timeline::{Interval, Method, Origin, Span, SpanKind};
use trace::{Timeline, env};

use super::clock::Offset;
use super::cupti::join::{Wanted, join};
use super::log::Times;
use super::numbers::renumber;
use super::observe::{Observed, Work};
use super::threads::thread;
use super::{Gpu, Trace};
use crate::contexts::real_contexts;
use crate::cuda::{CUresult, Handle, code};
use crate::library::Library;
use crate::lock::lock;
use crate::record_file::write_record;

/// More than this between two readings of how CUPTI's clock relates to the host's, in ns, and the
/// spans are visibly off.
const DRIFT_NS: u64 = 20_000;

/// All regions of the run.
pub(super) struct Regions {
    pub(super) observed: Observed,
    pub(super) open: Option<Open>,
    trials: Vec<Trial>,
    notes: Vec<String>,
    /// Of the last region.
    spans: Vec<Span>,
    interval: Option<Interval>,
    method: Method,
}

/// A region that has begun.
pub(super) struct Open {
    region: Region,
    task: Option<Box<dyn Task>>,
    requests: machine::Requests,
    /// The memory as it was when requests were answered. It is compared after the region: the
    /// program's time is not for that.
    sent: Vec<Sent>,
    site: Option<u32>,
    times: Times,
    method: Method,
    /// Where CUPTI watches.
    watch: Option<Watch>,
}

/// The data that answered a request.
struct Sent {
    request: u32,
    /// Where words of the answer are to be, and what was there.
    answer: Option<(Region, Vec<[u8; 4]>)>,
}

impl Sent {
    fn is_right(&self, task: &dyn Task) -> bool {
        self.answer.as_ref().is_some_and(|(answer, words)| {
            let mut found = words.iter();
            let checked = machine::check_outputs(answer, task, |_, room| {
                room.copy_from_slice(found.next().unwrap_or(&[0; 4]));
            });
            checked == Output::Correct
        })
    }
}

/// How CUPTI's records are to be read.
#[derive(Clone, Copy)]
struct Watch {
    /// How its clock relates to the host's.
    offset: Offset,
    /// The time of its clock when all was ready: older records are no part of the region.
    since: u64,
}

impl Regions {
    pub(super) fn new() -> Self {
        Self {
            observed: Observed::new(),
            open: None,
            trials: Vec::new(),
            notes: Vec::new(),
            spans: Vec::new(),
            interval: None,
            method: Method::Untraced,
        }
    }

    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

impl Gpu {
    pub(super) fn begin_region(&self, region: Region) -> Reply {
        let entered = self.clock.now();
        let site = self.site();
        let refused = |why: String| Reply::Refused { why };
        let mut regions = lock(&self.regions);
        if regions.open.is_some() {
            return refused("a measured region is open already".to_owned());
        }
        let speeds = match &self.speeds {
            Ok(speeds) => speeds,
            Err(why) => return refused(why.clone()),
        };
        let task =
            if region.task.is_empty() { None } else { Library.task(&region.task, speeds, 1) };
        if task.is_none() && !region.task.is_empty() {
            return refused(format!("there is no task `{}`", region.task));
        }

        let failed =
            |result| refused(format!("the device is not ready: {}", self.real.error(result)));
        if let Err(result) = self.have_context().and_then(|()| self.wait()) {
            return failed(result);
        }
        self.take_up(&mut regions);
        regions.observed.begin_region();
        if let Some(task) = &task
            && let Err(result) = self.fill(&region, task.as_ref(), &regions.observed)
        {
            return failed(result);
        }
        if let Err(result) = self.wait() {
            return failed(result);
        }
        let (method, watch) = self.prepare(&mut regions);
        let open = regions.open.insert(Open {
            region,
            requests: machine::Requests::of(task.as_deref()),
            sent: Vec::new(),
            task,
            site,
            times: Times::default(),
            method,
            watch,
        });
        // The very last thing: all that comes before is not the program's.
        let start = self.clock.now();
        open.times = Times { entered, start, end: start };
        Reply::Done
    }

    pub(super) fn end_region(&self) -> Reply {
        // The very first thing: all that follows is not the program's.
        let end_ns = self.clock.now();
        let device = self.state();
        let site = self.site();
        let mut regions = lock(&self.regions);
        let Some(mut open) = regions.open.take() else {
            return Reply::Refused { why: "no measured region is open".to_owned() };
        };
        if let Some(task) = open.task.as_deref() {
            for sent in open.sent.iter().filter(|sent| !sent.is_right(task)) {
                open.requests.discard(sent.request);
            }
        }
        if let Err(result) = self.wait() {
            regions
                .note(format!("after the region the device reports {}", self.real.error(result)));
        }

        let start_ns = open.times.start;
        let first_step = regions.observed.program().steps.len();
        regions.observed.push(Call::RegionBegin, open.site, thread(), open.times, code::SUCCESS);
        let work = self.take_up(&mut regions);
        let times = Times { entered: end_ns, start: end_ns, end: end_ns };
        regions.observed.push(Call::RegionEnd, site, thread(), times, code::SUCCESS);
        let (method, mut spans) = self.spans(&mut regions, &open, &work);
        spans.sort_by_key(|span| (span.start_ns, span.step));
        (regions.spans, regions.method) = (spans, method);
        regions.interval = Some(Interval::new(start_ns, end_ns));

        let mut trial = Trial {
            name: open.region.name.clone(),
            makespan_ns: end_ns.saturating_sub(start_ns),
            bounds: None,
            output: Output::Unchecked,
            device,
            missing_work: Vec::new(),
            memory: None,
            misled: None,
            latency: open.requests.latency(),
        };
        // A warm-up is not looked at, and reading gigabytes back takes longer than the run.
        if let Some(task) = &open.task
            && open.region.pass == Pass::Counts
        {
            let program = regions.observed.program();
            trial.missing_work = machine::shortfalls(program, first_step, task.as_ref());
            trial.missing_work.extend(open.requests.shortfall());
            trial.memory = machine::memory_of(program, task.as_ref());
            match self.check(&open.region, task.as_ref(), &regions.observed) {
                Ok(output) => trial.output = output,
                Err(result) => {
                    let error = self.real.error(result);
                    regions.note(format!("an output cannot be read from the device: {error}"));
                }
            }
        }
        if open.region.pass == Pass::Counts {
            regions.trials.push(trial.clone());
            self.write_record(&regions);
        }
        regions.observed.returned(thread(), self.clock.now());
        Reply::Trial(Box::new(trial))
    }

    /// The host waits for the next request of the open region.
    pub(super) fn take_request(&self, played_ns: Option<u64>) -> Reply {
        let site = self.site();
        let entered = self.clock.now();
        let mut regions = lock(&self.regions);
        let next = regions
            .open
            .as_mut()
            .and_then(|it| Some((it.requests.take(played_ns)?, it.times.start)));
        drop(regions); // others are not kept from anything meanwhile
        let Some(((request, at_ns), begin)) = next else { return Reply::Gone };
        let mut times = Times { entered, start: entered, end: entered };
        let (number, _) = self.note_lab(Call::Arrival { request, at_ns }, site, times);
        self.clock.spin_until(begin.saturating_add(at_ns));
        if self.trace != Trace::Off {
            times.end = self.clock.now();
            lock(&self.log).returned(number, times, code::SUCCESS);
        }
        Reply::Number(request.into())
    }

    /// The host answers a request of the open region.
    pub(super) fn answer_request(&self, request: u32) -> Reply {
        // The very first thing: what it takes to note it is not the program's.
        let now = self.clock.now();
        let mut regions = lock(&self.regions);
        let Regions { open, observed, .. } = &mut *regions;
        let Some(open) = open else {
            return Reply::Refused { why: "no measured region is open".to_owned() };
        };
        let since = now.saturating_sub(open.times.start);
        if let Err(why) = open.requests.answer(request, since) {
            return Reply::Refused { why };
        }
        if let Some(task) = open.task.as_deref() {
            let answer = machine::answer_of(&open.region, task, request).and_then(|answer| {
                let words = self.words_of(&answer.outputs, observed).ok()?;
                Some((answer, words))
            });
            open.sent.push(Sent { request, answer });
        }
        drop(regions);
        let times = Times { entered: now, start: now, end: now };
        self.note_lab(Call::Answer { request }, self.site(), times);
        Reply::Done
    }

    /// Writes down what happened so far, where the starter of the run wants it.
    pub(super) fn write_record(&self, regions: &Regions) {
        if let Some(path) = std::env::var_os(env::RECORD) {
            write_record(path.as_ref(), &self.record(regions));
        }
    }

    /// The record so far: the last region and the calls before it, as far as they still matter.
    pub(super) fn record(&self, regions: &Regions) -> Record {
        let (device, driver) = self.identity().clone();
        let mut timeline =
            Timeline::new(Origin::Measured { device, driver, method: regions.method });
        timeline.region = regions.interval;
        timeline.spans = regions.spans.clone();
        // Without tracing the clock was not read at each call.
        if self.trace != Trace::Off {
            timeline.host = regions.observed.host().to_vec();
        }
        let mut program = regions.observed.program().clone();
        program.sites = lock(&self.places).list.clone();
        renumber(&mut program, &mut timeline.spans);
        let mut notes = regions.notes.clone();
        notes.extend(regions.observed.note());
        let trials = regions.trials.clone();
        Record { version: record::VERSION, program, timeline, trials, watched: None, notes }
    }

    /// Turns the log into steps.
    pub(super) fn take_up(&self, regions: &mut Regions) -> Vec<Work> {
        let now_ns = self.clock.now();
        regions.observed.take_up(&mut lock(&self.log), now_ns)
    }

    /// Whether any stream still has work. Streams that were made by calls unknown here are not
    /// asked.
    fn state(&self) -> DeviceState {
        /// `CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD`
        const DEFAULTS: [Handle; 2] = [1, 2];
        let streams = lock(&self.log).streams().to_vec();
        let is_busy = |stream: Handle| {
            // SAFETY: the stream is live, or stands for a default stream.
            unsafe { self.real.query_stream(stream) == code::NOT_READY }
        };
        if streams.into_iter().chain(DEFAULTS).any(is_busy) {
            DeviceState::Busy
        } else {
            DeviceState::Idle
        }
    }

    /// Makes sure that the calling thread has a context: the primary one, if it has none.
    fn have_context(&self) -> Result<(), CUresult> {
        let mut context = 0;
        // SAFETY: writes one handle.
        succeed(unsafe { self.real.current_context(&raw mut context) })?;
        if context != 0 {
            return Ok(());
        }
        // SAFETY: as above. The context is kept for the life of the process.
        succeed(unsafe { self.real.retain_context(&raw mut context, 0) })?;
        // SAFETY: the context is live.
        succeed(unsafe { self.real.set_current_context(context) })
    }

    /// Waits for all devices that were used.
    fn wait(&self) -> Result<(), CUresult> {
        // SAFETY: takes nothing.
        self.on_each_device(|| unsafe { self.real.synchronize() })
    }

    /// Does something in each context that was current at some time, and in that of the calling
    /// thread last.
    fn on_each_device(&self, call: impl Fn() -> CUresult) -> Result<(), CUresult> {
        let mut own = 0;
        // SAFETY: writes one handle.
        succeed(unsafe { self.real.current_context(&raw mut own) })?;
        for other in real_contexts().into_iter().filter(|&other| other != own) {
            // SAFETY: the context was current, and primary contexts are kept; where it is gone, the
            // call fails.
            if unsafe { self.real.set_current_context(other) } == code::SUCCESS {
                succeed(call())?;
            }
        }
        // SAFETY: it was current.
        succeed(unsafe { self.real.set_current_context(own) })?;
        succeed(call())
    }

    /// Makes ready for watching a region; the method that it will be watched by.
    fn prepare(&self, regions: &mut Regions) -> (Method, Option<Watch>) {
        if let Some(why) = &self.without_cupti {
            regions.note(why.clone());
        }
        if let (Method::Cupti, Some(cupti)) = (self.method(), &self.cupti) {
            // What the device did before is no part of the region.
            let taken = cupti.take().map(|_| ());
            self.warm_up();
            let offset = Offset::measure(&self.clock, || cupti.now());
            let watch = offset.zip(cupti.now()).map(|(offset, since)| Watch { offset, since });
            match taken.and(watch.ok_or_else(|| "it does not tell the time".to_owned())) {
                Ok(watch) => return (Method::Cupti, Some(watch)),
                Err(why) => regions.note(self.give_up_on_cupti(&why)),
            }
        }
        if self.method() == Method::EventPairs
            && let Err(result) = lock(&self.pairs).begin(&self.real, &self.clock)
        {
            let error = self.real.error(result);
            regions.note(format!("there is no timeline: events cannot be used: {error}"));
            return (Method::Untraced, None);
        }
        (self.method(), None)
    }

    /// Makes CUPTI fetch what it needs on each device, which it lets go of whenever its records are
    /// taken. Otherwise the first operation of a region would wait 0.36 ms for that (H200, driver
    /// 580.159.04, CUPTI 13.0, 2026-11-21). A failure costs time and nothing else.
    fn warm_up(&self) {
        let _ = self.on_each_device(|| {
            let mut address = 0;
            // SAFETY: writes one address, which is written to and freed at once.
            unsafe {
                if self.real.alloc(&raw mut address, 1) == code::SUCCESS {
                    self.real.set_bytes(address, 0, 1);
                    self.real.free(address);
                }
            }
            code::SUCCESS
        });
    }

    /// The device's work in the region, and how it is known.
    fn spans(&self, regions: &mut Regions, open: &Open, work: &[Work]) -> (Method, Vec<Span>) {
        match (open.method, &self.cupti, open.watch) {
            (Method::Cupti, Some(cupti), Some(Watch { offset, since })) => {
                let observed = &regions.observed;
                let wanted: Vec<Wanted> =
                    work.iter().filter_map(|work| observed.wanted(work)).collect();
                let joined = cupti.take().and_then(|mut activities| {
                    activities.retain(|activity| activity.is_since(since));
                    join(&wanted, &activities)
                });
                let joined = match joined {
                    Ok(joined) => joined,
                    Err(why) => {
                        let note = self.give_up_on_cupti(&why);
                        regions.note(note);
                        return (Method::Untraced, Vec::new());
                    }
                };
                let span = |found: &super::cupti::join::Found| {
                    observed.span(found.step, offset.ours(found.start), offset.ours(found.end))
                };
                let spans: Vec<Span> = joined.found.iter().filter_map(span).collect();
                if comes_in_pieces(&spans) {
                    regions.note(STAGED.to_owned());
                }
                if joined.missing > 0 {
                    let missing = joined.missing;
                    regions
                        .note(format!("CUPTI does not show {missing} operations of the program"));
                }
                if joined.foreign > 0 {
                    let foreign = joined.foreign;
                    regions.note(format!(
                        "{foreign} operations are left out of the timeline: they come from calls that \
                         are not noted, such as graph launches"
                    ));
                }
                let later = Offset::measure(&self.clock, || cupti.now());
                if let Some(drift) =
                    later.map(|later| later.apart(offset)).filter(|ns| *ns > DRIFT_NS)
                {
                    let us = drift / 1000;
                    regions.note(format!("the clocks of CUPTI and of the host drifted by {us} µs"));
                }
                (Method::Cupti, spans)
            }
            (Method::EventPairs, ..) => {
                let (found, missed) = lock(&self.pairs).end(&self.real);
                if missed > 0 {
                    regions.note(format!("{missed} operations could not be timed with events"));
                }
                let step =
                    |number| work.iter().find(|work| work.number == number).map(|work| work.step);
                let span = |found: &super::pairs::Found| {
                    regions.observed.span(step(found.number)?, found.start_ns, found.end_ns)
                };
                (Method::EventPairs, found.iter().filter_map(span).collect())
            }
            _ => (Method::Untraced, Vec::new()),
        }
    }
}

/// Said of copies between devices that go through the host.
const STAGED: &str = "a copy between devices that goes through the host is shown by its last pieces alone: CUPTI tells of no \
                      others";

/// Whether a copy between devices has several spans: it goes through the host.
fn comes_in_pieces(spans: &[Span]) -> bool {
    let mut seen = HashSet::new();
    let mut copies = spans.iter().filter(|span| span.kind == SpanKind::PeerToPeer);
    copies.any(|span| !seen.insert(span.step))
}

fn succeed(result: CUresult) -> Result<(), CUresult> {
    if result == code::SUCCESS { Ok(()) } else { Err(result) }
}
