//! Causes: why lanes that had work to do stood empty.
//!
//! [`find`] looks at a [`Program`] and at the [`Timeline`] that came of it, and groups what it
//! finds by the line of the source. A cause is no mistake in the sense of a hazard: the data is
//! right, and time was lost.
//!
//! | code | name | severity | what it is |
//! | --- | --- | --- | --- |
//! | `SWIM-C01` | `pageable-copy` | warning | a copy of ordinary host memory, which the driver stages and the host waits for |
//! | `SWIM-C02` | `default-stream-barrier` | warning | an operation in the NULL stream, which blocking streams wait for and which waits for them |
//! | `SWIM-C03` | `shared-stream` | warning | operations take turns in one stream though neither needs the other |
//! | `SWIM-C04` | `host-synchronisation` | warning | the host waits for the device before it has issued everything |
//! | `SWIM-C05` | `device-wide-wait` | warning | a free or a module load waits for the whole device |
//! | `SWIM-C06` | `issue-order` | warning | the order in which the host asks keeps an engine from its work |
//! | `SWIM-C07` | `too-few-chunks` | warning | filling and draining the pipeline takes a large share of the time |
//! | `SWIM-C08` | `too-many-chunks` | warning | what each operation or its call costs outweighs what it does |
//! | `SWIM-C09` | `full-device` | note | a kernel fills the device, and kernels of other streams wait |
//! | `SWIM-C10` | `launch-bound` | warning | kernels are shorter than the calls that launch them |
//! | `SWIM-C11` | `needless-wait` | warning | a stream waits for an event whose work it does not need |
//! | `SWIM-C12` | `late-event` | warning | a stream waits for more than it needs: the event is recorded late, or waited for early |
//! | `SWIM-C13` | `synchronous-call` | warning | a call without `Async` where there is one with it |
//! | `SWIM-C14` | `full-queue` | warning | a stream is full, and the host waits until there is room |
//! | `SWIM-C15` | `allocation-in-region` | warning | memory is allocated while the clock runs |
//! | `SWIM-C16` | `idle-host-work` | warning | the host works while the device has nothing to do |
//! | `SWIM-C17` | `taken-queue` | warning | work that waits takes a work queue, and work that could start is late |
//! | `SWIM-C18` | `waiting-request` | warning | a request waits for other work of the device |
//! | `SWIM-C19` | `rebuilt-graph` | warning | a graph is captured and instantiated again, of the same calls on the same memory |
//! | `SWIM-C20` | `staged-peer-copy` | warning | a copy between devices goes through the host, since neither may use the memory of the other |
//!
//! # What a cause costs
//! What is found here is an *attribution*, and an upper bound on what can be won back where it says
//! lost time. That is how long, while the line had its effect, a lane that was to be given work
//! later stood empty. Two causes can be charged with the same instant. What removing a cause really
//! gains is known only once the program without it has run: `simulator::advice` runs it and puts
//! that number in the place of this one ([`Basis::Replayed`]).
//!
//! | code | attributed cost |
//! | --- | --- |
//! | C01 | the time of the calls |
//! | C04, C05, C13, C14 | lost time, from where the host is blocked until it next gives the device work |
//! | C15, C19 | lost time of the calls |
//! | C16 | the time of the calls in which nothing ran on the device, while work was to come |
//! | C02, C03, C11, C12 | how much earlier operations were ready but for it |
//! | C06, C08 | the time in which the busiest lane was not; the time of the calls, where these set the pace |
//! | C07 | the time before the busiest lane began and after it ended |
//! | C09 | how long kernels were ready and others filled the device, and how long a small one was alone after that |
//! | C20 | lost time while the copies run |
//! | C10 | the time of the calls in which nothing ran on the device; all of it where chunks are many kernels shorter than these |
//! | C17 | how long kernels were ready and came after others in a work queue |
//! | C18 | how long operations of requests were ready but for it; C04, how long the host came too late to requests |
//!
//! Causes under [`LEAST_PERMILLE`] of the makespan are left out. A wait is called needless only if
//! the program without it has no hazard.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`engines`] | from a timeline alone: which lanes are busy, and what a blocked host loses |
//! | [`chains`] | operations that hand the same memory on, and the jobs that are cut into such chains |
//! | [`delays`] | when each operation was issued, ready and started, and what kept it |
//! | [`graphs`] | graphs that are captured and instantiated again |
//! | `region` | a program beside its timeline |
//! | `host` | what the host did while lanes were empty |
//! | `stream_order` | what operations waited for |
//! | `dependencies` | what each operation comes after: its stream, events, the default stream |
//! | [`peers`] | copies between devices that go through the host |
//! | `requests` | what requests waited for |
//! | `chunks` | how jobs are cut and in which order they are issued |
//! | `words` | what is said about a cause |

pub mod chains;
mod chunks;
pub mod delays;
mod dependencies;
pub mod engines;
pub mod graphs;
mod host;
pub mod peers;
mod region;
mod requests;
mod stream_order;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::mem;

use serde::Serialize;

use crate::codes::codes;
use crate::hazards::{self, CallAt, stream_named as stream};
use crate::program::{Program, StreamId};
use crate::{Timeline, hazards::call_at};
use region::View;
pub use requests::Behind;

/// The least cost of a cause that is worth a line, in thousandths of the makespan. An exercise is
/// passed within 5 % of its target. The causes of the solutions, which have fills, drains and calls
/// as every program has, stay under this.
pub const LEAST_PERMILLE: u64 = 20;

/// Why lanes were empty, at one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// Its kind, by its code.
    pub code: Code,
    /// Whether something can be done about it.
    pub severity: Severity,
    /// The time it cost, in ns.
    pub cost_ns: u64,
    /// The basis of that number.
    pub basis: Basis,
    /// How long the calls blocked the host, in ns.
    #[serde(rename = "held_ns")]
    pub blocked_ns: u64,
    /// How long the calls took in all, in ns.
    #[serde(skip)]
    pub call_ns: u64,
    /// The first of its calls.
    pub at: CallAt,
    /// The stream of that call.
    pub stream: Option<StreamId>,
    /// The call at another line that has to do with it, such as one that it delayed.
    pub other: Option<CallAt>,
    /// How many calls of the line it was; for chunks, how many there are.
    pub count: u32,
    /// Whether its line is not to be changed: then something else has to be.
    #[serde(skip)]
    pub is_fixed: bool,
    /// Whether the line of the other call is not to be changed.
    #[serde(skip)]
    pub is_other_fixed: bool,
    /// For kernels that are ready: how many others run, where it is their number that leaves no
    /// room.
    #[serde(skip)]
    pub grids: Option<u32>,
    /// For requests: how they come to wait for the other work.
    #[serde(skip)]
    pub behind: Option<Behind>,
    /// Those calls, as indices into the program's steps.
    #[serde(skip)]
    pub steps: Vec<u32>,
}

/// The basis of a cause's cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Time in which lanes were empty, charged to the line.
    Attributed,
    /// The difference that the program makes without it, simulated.
    Replayed,
}

codes! {
    /// Kinds of causes. The codes never change their meaning.
    PageableCopy: "SWIM-C01", "pageable-copy";
    DefaultStreamBarrier: "SWIM-C02", "default-stream-barrier";
    SharedStream: "SWIM-C03", "shared-stream";
    HostSynchronisation: "SWIM-C04", "host-synchronisation";
    DeviceWideWait: "SWIM-C05", "device-wide-wait";
    IssueOrder: "SWIM-C06", "issue-order";
    TooFewChunks: "SWIM-C07", "too-few-chunks";
    TooManyChunks: "SWIM-C08", "too-many-chunks";
    FullDevice: "SWIM-C09", "full-device";
    LaunchBound: "SWIM-C10", "launch-bound";
    NeedlessWait: "SWIM-C11", "needless-wait";
    LateEvent: "SWIM-C12", "late-event";
    SynchronousCall: "SWIM-C13", "synchronous-call";
    FullQueue: "SWIM-C14", "full-queue";
    AllocationInRegion: "SWIM-C15", "allocation-in-region";
    IdleHostWork: "SWIM-C16", "idle-host-work";
    TakenQueue: "SWIM-C17", "taken-queue";
    WaitingRequest: "SWIM-C18", "waiting-request";
    RebuiltGraph: "SWIM-C19", "rebuilt-graph";
    StagedPeerCopy: "SWIM-C20", "staged-peer-copy";
}

impl Code {
    /// Whether a change of the line changes all its calls, those too that cost nothing this time.
    fn is_of_the_line(self) -> bool {
        matches!(
            self,
            Self::DefaultStreamBarrier
                | Self::HostSynchronisation
                | Self::DeviceWideWait
                | Self::LaunchBound
                | Self::LateEvent
                | Self::SynchronousCall
                | Self::IdleHostWork
                | Self::RebuiltGraph
                | Self::StagedPeerCopy
        )
    }

    /// Whether something can be done about it.
    pub fn severity(self) -> Severity {
        match self {
            Self::FullDevice => Severity::Note,
            _ => Severity::Warning,
        }
    }
}

/// Whether something can be done about a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// There is a change that wins the time back.
    Warning,
    /// It explains what is seen; often nothing changes it.
    Note,
}

/// The causes of `program`, which ran as `timeline` says: what can be changed first, and of that
/// what costs most. Takes time in proportion to the program's length, and one search for hazards
/// for each line that waits for events and may do so in vain.
pub fn find(program: &Program, timeline: &Timeline) -> Vec<Cause> {
    let view = View::new(program, timeline);
    let mut found = Found::default();
    let short = chunks::shorter_than_their_launches(&view);
    host::look(&view, &short, &mut found);
    stream_order::look(&view, &mut found);
    chunks::look(&view, &short, &mut found);
    requests::look(&view, &mut found);
    peers::look(&view, &mut found);
    found.causes(&view)
}

/// Whether a part is less than so many thousandths of a whole, however long they are.
fn is_under(part_ns: u64, permille: u64, whole_ns: u64) -> bool {
    u128::from(part_ns) * 1000 < u128::from(whole_ns) * u128::from(permille)
}

/// Causes found so far, by code and line.
#[derive(Default)]
struct Found {
    groups: BTreeMap<(Code, Option<u32>), Group>,
}

#[derive(Default)]
struct Group {
    cost_ns: u64,
    blocked_ns: u64,
    call_ns: u64,
    steps: Vec<u32>,
    other: Option<u32>,
    grids: Option<u32>,
    behind: Option<Behind>,
}

impl Found {
    /// A call is charged with a time, or with more of it.
    fn charge(&mut self, view: &View<'_>, code: Code, step: u32, cost_ns: u64) -> &mut Group {
        let place = view.program.steps[step as usize].site;
        let group = self.groups.entry((code, place)).or_default();
        group.cost_ns = group.cost_ns.saturating_add(cost_ns);
        if group.steps.last() != Some(&step) {
            group.steps.push(step);
            if let Some(span) = view.host(step) {
                group.blocked_ns = group.blocked_ns.saturating_add(span.blocked_ns);
                group.call_ns = group.call_ns.saturating_add(span.end_ns - span.start_ns);
            }
        }
        group
    }

    fn causes(self, view: &View<'_>) -> Vec<Cause> {
        let makespan_ns = view.region.ns();
        let kernels = hazards::kernels(view.program);
        let lines = Lines::of(view);
        let mut causes = Vec::new();
        for ((mut code, place), group) in self.groups {
            let Group { cost_ns, blocked_ns, call_ns, mut steps, other, grids, behind } = group;
            let cost_ns = cost_ns.min(makespan_ns);
            if is_under(cost_ns, LEAST_PERMILLE, makespan_ns) || steps.is_empty() {
                continue;
            }
            if code.is_of_the_line() {
                steps.extend(lines.like(view, place, steps[0]));
            }
            steps.sort_unstable();
            steps.dedup();
            if code == Code::LateEvent && stream_order::is_needless(view.program, &steps) {
                code = Code::NeedlessWait;
            }
            let call_at = |step: u32| call_at(view.program, step, &kernels);
            causes.push(Cause {
                code,
                severity: code.severity(),
                cost_ns,
                basis: Basis::Attributed,
                blocked_ns,
                call_ns,
                at: call_at(steps[0]),
                stream: stream(&view.program.steps[steps[0] as usize].call),
                other: other.map(call_at),
                count: steps.len() as u32,
                is_fixed: false,
                is_other_fixed: false,
                grids,
                behind,
                steps,
            });
        }
        sort(&mut causes);
        causes
    }
}

/// The calls of the region, by line.
struct Lines {
    lines: HashMap<u32, Vec<u32>>,
}

impl Lines {
    fn of(view: &View<'_>) -> Self {
        let mut lines: HashMap<u32, Vec<u32>> = HashMap::new();
        for (step, _) in view.calls() {
            if let Some(place) = view.program.steps[step as usize].site {
                lines.entry(place).or_default().push(step);
            }
        }
        Self { lines }
    }

    /// The calls of a line that are what `step` is.
    fn like(&self, view: &View<'_>, place: Option<u32>, step: u32) -> Vec<u32> {
        let of_line = place.and_then(|place| self.lines.get(&place)).into_iter().flatten();
        let like = |other: u32| {
            let (call, other) = (view.call(step), view.call(other));
            let is_default = |call| stream(call).is_some_and(StreamId::is_legacy);
            mem::discriminant(call) == mem::discriminant(other)
                && is_default(call) == is_default(other)
        };
        of_line.copied().filter(|&other| like(other)).collect()
    }
}

/// Sorts causes: first those that can be changed, of these those that were replayed, and then those
/// that cost most.
pub fn sort(causes: &mut [Cause]) {
    causes.sort_by_key(|it| {
        (it.severity, Reverse(it.basis), Reverse(it.cost_ns), it.code, it.at.step)
    });
}
