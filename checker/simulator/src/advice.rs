//! Advice by replay: the program is changed where a cause of lost overlap lies, simulated again,
//! and the difference is the gain.
//!
//! [`advise`] goes step by step. Of all changes that the causes suggest it takes the one that gains
//! most, then looks for causes in the changed program, since one cause often hides the next. So the
//! advice is a list to be followed from the top: the times of an entry hold once those before it
//! are done. Where no change gains anything by itself, pairs are tried.
//!
//! A change never makes a race. Where it takes an order away that some data needs, an event is put
//! in its place, exactly between the two operations ([`Advice::edges`]); where that is not
//! possible, the change is not advised. What the host itself reads and writes is as far looked
//! after as the program tells it, so advice that makes a call asynchronous says that the host has
//! to wait before it touches the data.
//!
//! No advice is given for a program that has a hazard, since its times mean nothing. Nor is there
//! any for one that queried its work (`cuStreamQuery`, `cuEventQuery`) inside the region: on
//! another answer it may have gone another way. [`Refused`] says so.
//!
//! The number of replays is bounded by the program's length ([`REPLAYED_STEPS`]): a longer program
//! has fewer changes tried, and always the same ones.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `change` | the changes that a cause suggests |
//! | `chunk` | cutting a job into more or fewer chunks |
//! | `edit` | taking a program apart and putting it together, without making a race |
//! | `words` | what is said about a piece of advice |

mod change;
mod chunk;
mod edit;
mod words;

use serde::Serialize;
use trace::causes::{self, Basis, Cause, Code, LEAST_PERMILLE};
use trace::hazards::{self, CallAt, MOST_EFFORT};
use trace::program::{Call, Step, StreamId};
use trace::{Program, Timeline};

use crate::{Profile, Schedule, replay_changed};

pub use change::Change;

/// The changes that take a program's causes away, and their gains.
#[derive(Clone, Debug, Default)]
pub struct Advised {
    /// The causes: with the gain of their removal as cost where a change is known, and without
    /// those whose removal gains nothing.
    pub causes: Vec<Cause>,
    /// Steps to take, in this order.
    pub advice: Vec<Advice>,
    /// Why there is no advice, where there can be none.
    pub refused: Option<Refused>,
}

/// One change and what it gains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The cause that it removes.
    pub code: Code,
    /// The change.
    pub change: Change,
    /// Where: the first of the calls. Lines are those of the program as it is.
    pub at: CallAt,
    /// Whether that line is not to be changed: the change is made elsewhere.
    #[serde(skip)]
    pub is_fixed: bool,
    /// How many calls are changed.
    pub count: u32,
    /// Waits for events, or of the host, that are put in for the sake of the data.
    pub edges: u32,
    /// The makespan before, with all advice above followed, in ns.
    pub before_ns: u64,
    /// The makespan after, in ns.
    pub after_ns: u64,
}

impl Advice {
    /// The gain, in ns.
    pub fn gain_ns(&self) -> u64 {
        self.before_ns.saturating_sub(self.after_ns)
    }
}

/// Why no advice is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// The program asked whether work was done.
    Query(CallAt),
    /// The program has a hazard.
    Hazard,
    /// The program has more steps than [`MOST_STEPS`].
    Long,
    /// The program uses what it does not create: it was recorded elsewhere.
    Invalid,
}

/// Steps of the longest program that gets advice: each change is a copy of all of it, simulated
/// again.
pub const MOST_STEPS: usize = 100_000;
/// Steps of changed programs that are kept at a time, in case two changes gain what none of them
/// does: 100 MB.
const MOST_KEPT: usize = 200_000;
/// Of programs in which more has to be looked at for hazards, in the unit of [`MOST_EFFORT`], no
/// change is tried: each is searched a few times.
const MOST_SEARCHED: u64 = MOST_EFFORT / 40;
/// Steps that are replayed in all, at most and roughly: a second's work.
pub const REPLAYED_STEPS: usize = 2_000_000;
/// Replays that even the longest program gets, and that the shortest needs no more than.
const REPLAYS: std::ops::RangeInclusive<usize> = 12..=160;
/// Causes that are looked into at a time.
const CANDIDATES: usize = 8;
/// Pieces of advice, at most: more is another program.
const MOST: usize = 6;
/// Of several changes, one that comes later has to gain this much more of the makespan, in
/// thousandths, to be preferred: causes come in the order of their cost, and changes in that of
/// their size.
const BETTER_PERMILLE: u64 = 10;

/// Of which calls the lines may be changed.
type MayChange<'a> = &'a dyn Fn(&CallAt) -> bool;

/// Says of causes whether their lines may be changed.
fn mark(causes: &mut [Cause], may_change: MayChange<'_>) {
    for cause in causes {
        cause.is_fixed = !may_change(&cause.at);
        cause.is_other_fixed = cause.other.as_ref().is_some_and(|other| !may_change(other));
    }
}

/// Finds what to do about `causes` of `program`, which [`causes::find`] found in it, on the device
/// of `profile`. A call for which `may_change` does not hold is at a line that is not the reader's.
/// Advice then names the call and not the line, and moves the call to another stream only where the
/// streams of the others cannot change instead.
pub fn advise(
    program: &Program,
    mut causes: Vec<Cause>,
    profile: &Profile,
    may_change: MayChange<'_>,
) -> Advised {
    mark(&mut causes, may_change);
    if causes.is_empty() {
        return Advised::default();
    }
    if let Some(refused) = refusal(program) {
        return Advised { causes, advice: Vec::new(), refused: Some(refused) };
    }
    let Some(mut advisor) = Advisor::new(program, profile, may_change) else {
        return Advised { causes, advice: Vec::new(), refused: Some(Refused::Invalid) };
    };
    let mut gains = vec![None; causes.len()];
    let mut advice = advisor.first(&causes, &mut gains);
    while !advice.is_empty() && advice.len() < MOST {
        let found = advisor.find();
        let more = advisor.first(&found, &mut vec![None; found.len()]);
        if more.is_empty() {
            break;
        }
        advice.extend(more);
    }
    let advice = by_line(advice);
    Advised { causes: weigh(causes, &gains, &advice, advisor.original_ns), advice, refused: None }
}

/// The causes with what their removal gains: alone, or as part of the advice where another hides
/// it.
fn weigh(
    causes: Vec<Cause>,
    gains: &[Option<u64>],
    advice: &[Advice],
    makespan_ns: u64,
) -> Vec<Cause> {
    let mut weighed = Vec::new();
    for (mut cause, gain) in causes.into_iter().zip(gains) {
        let same = |it: &Advice| it.code == cause.code && it.at.site == cause.at.site;
        // What gains nothing alone is worth what it opens the way to.
        let part = advice.iter().enumerate().filter(|(_, it)| same(it)).map(|(at, it)| {
            let next = advice.get(at + 1).filter(|_| it.gain_ns() == 0).unwrap_or(it);
            it.before_ns.saturating_sub(next.after_ns)
        });
        let part = part.max();
        if let Some(gain_ns) = (*gain).max(part) {
            if gain_ns.saturating_mul(1000) < makespan_ns.saturating_mul(LEAST_PERMILLE) {
                continue;
            }
            cause.cost_ns = gain_ns;
            cause.basis = Basis::Replayed;
        }
        weighed.push(cause);
    }
    causes::sort(&mut weighed);
    put_work_before_its_wait(&mut weighed, makespan_ns);
    weighed
}

/// A wait and the host's work after it are one fault. The cause of the work names both, so it comes
/// first, unless to drop the wait gains [`LEAST_PERMILLE`] of the makespan more.
fn put_work_before_its_wait(causes: &mut [Cause], makespan_ns: u64) {
    let margin_ns = makespan_ns.saturating_mul(LEAST_PERMILLE) / 1000;
    for index in 0..causes.len() {
        let (before, from) = causes.split_at(index);
        let work = &from[0];
        let Some(wait) = work.other.as_ref().filter(|_| work.code == Code::IdleHostWork) else {
            continue;
        };
        let is_its_wait = |it: &Cause| {
            it.code == Code::HostSynchronisation
                && it.at.site == wait.site
                && (it.severity, it.basis) == (work.severity, work.basis)
                && it.cost_ns <= work.cost_ns.saturating_add(margin_ns)
        };
        if let Some(first) = before.iter().position(is_its_wait) {
            causes[first..=index].rotate_right(1);
        }
    }
}

/// Joins changes of one kind and one line that follow one another: to the reader of that line they
/// are one change.
fn by_line(advice: Vec<Advice>) -> Vec<Advice> {
    let line = |it: &Advice| it.at.site.as_ref().map(|site| (site.file.clone(), site.line));
    let mut lines: Vec<Advice> = Vec::new();
    for next in advice {
        match lines.last_mut() {
            Some(last)
                if last.change == next.change
                    && line(last).is_some()
                    && line(last) == line(&next) =>
            {
                last.count += next.count;
                last.edges += next.edges;
                last.after_ns = next.after_ns;
            }
            Some(Advice { change: Change::Streams { now, .. }, at, after_ns, .. })
                if at.site == next.at.site
                    && matches!(next.change, Change::Streams { before, .. } if before == *now) =>
            {
                let Change::Streams { now: more, .. } = next.change else { continue };
                (*now, *after_ns) = (more, next.after_ns);
            }
            _ => lines.push(next),
        }
    }
    lines
}

fn refusal(program: &Program) -> Option<Refused> {
    if program.steps.len() > MOST_STEPS || weight(program) > REPLAYED_STEPS {
        return Some(Refused::Long);
    }
    let region = causes::chains::region(program);
    let asks = |index: &usize| {
        matches!(program.steps[*index].call, Call::StreamQuery { .. } | Call::EventQuery { .. })
    };
    if let Some(index) = region.clone().find(asks) {
        return Some(Refused::Query(hazards::call(program, index as u32)));
    }
    let Ok(hazards) = hazards::find_within(program, MOST_SEARCHED) else {
        return Some(Refused::Long);
    };
    let mut hazards = hazards.into_iter();
    hazards.any(|it| it.severity == hazards::Severity::Error).then_some(Refused::Hazard)
}

/// Whether a program uses the second device.
fn uses_two_devices(program: &Program) -> bool {
    let there = |step: &Step| {
        step.device > 0 || edit::stream_of(&step.call).is_some_and(|it| it.device() > 0)
    };
    program.steps.iter().any(there)
}

/// The cost of playing a program once, in steps: one in the default stream looks at all other
/// streams.
fn weight(program: &Program) -> usize {
    let mut streams = 0;
    let in_default = program.steps.iter().filter(|step| {
        streams += usize::from(matches!(step.call, Call::StreamCreate { .. }));
        edit::stream_of(&step.call) == Some(StreamId::LEGACY)
    });
    /// Streams that are looked at in the time that a step takes.
    const STREAMS: usize = 16;
    let in_default = in_default.count();
    program.steps.len().saturating_add(in_default.saturating_mul(streams) / STREAMS)
}

/// A program, its replay, and how many more there may be.
struct Advisor<'a> {
    profile: &'a Profile,
    may_change: MayChange<'a>,
    program: Program,
    timeline: Timeline,
    /// Whether it uses two devices.
    are_two: bool,
    /// The makespan of the program as it was given, in ns.
    original_ns: u64,
    replays: usize,
}

/// A changed program.
struct Trial {
    advice: Advice,
    program: Program,
    timeline: Timeline,
}

impl<'a> Advisor<'a> {
    /// None for a program that cannot be played.
    fn new(program: &Program, profile: &'a Profile, may_change: MayChange<'a>) -> Option<Self> {
        let timeline = replay_changed(program, profile, Schedule::Exact).ok()?;
        let searched = MOST_EFFORT / hazards::effort(program).max(1);
        let affordable = (REPLAYED_STEPS / weight(program).max(1)).min(searched as usize);
        Some(Self {
            profile,
            may_change,
            program: program.clone(),
            are_two: uses_two_devices(program),
            original_ns: timeline.extent().ns(),
            timeline,
            replays: affordable.clamp(*REPLAYS.start(), *REPLAYS.end()),
        })
    }

    /// The causes that the program has as it has been changed so far.
    fn find(&self) -> Vec<Cause> {
        let mut found = causes::find(&self.program, &self.timeline);
        mark(&mut found, self.may_change);
        found
    }

    fn makespan_ns(&self) -> u64 {
        self.timeline.extent().ns()
    }

    fn is_worth_it(&self, gain_ns: u64) -> bool {
        gain_ns.saturating_mul(1000) >= self.original_ns.saturating_mul(LEAST_PERMILLE)
    }

    /// The change that gains most, or the pair of which neither does alone. The advisor goes on
    /// with the program so changed. `gains` learns what each cause's best change gains.
    fn first(&mut self, causes: &[Cause], gains: &mut [Option<u64>]) -> Vec<Advice> {
        let mut best: Option<Trial> = None;
        let mut idle: Vec<Trial> = Vec::new();
        for (index, cause) in causes.iter().enumerate().take(CANDIDATES) {
            for trial in self.trials(cause) {
                let gain_ns = trial.advice.gain_ns();
                gains[index] = gains[index].max(Some(gain_ns));
                let margin_ns = self.original_ns.saturating_mul(BETTER_PERMILLE) / 1000;
                let known = best.as_ref().map_or(0, |best| best.advice.gain_ns() + margin_ns);
                if self.is_worth_it(gain_ns) && gain_ns > known {
                    best = Some(trial);
                } else if !self.is_worth_it(gain_ns) {
                    let kept: usize = idle.iter().map(|it| it.program.steps.len()).sum();
                    if kept + trial.program.steps.len() <= MOST_KEPT {
                        idle.push(trial);
                    }
                }
            }
        }
        if let Some(Trial { advice, program, timeline }) = best {
            (self.program, self.timeline) = (program, timeline);
            return vec![advice];
        }
        for Trial { advice, program, timeline } in idle {
            let before = (self.program.clone(), self.timeline.clone());
            let before_ns = self.makespan_ns();
            (self.program, self.timeline) = (program, timeline);
            let found = self.find();
            let mut pairs: Vec<Trial> = Vec::new();
            for cause in found.iter().take(CANDIDATES / 2) {
                pairs.extend(self.trials(cause));
            }
            let least = pairs.into_iter().min_by_key(|pair| pair.advice.after_ns);
            if let Some(pair) = least
                && self.is_worth_it(before_ns.saturating_sub(pair.advice.after_ns))
            {
                let Trial { advice: second, program, timeline } = pair;
                (self.program, self.timeline) = (program, timeline);
                return vec![advice, second];
            }
            (self.program, self.timeline) = before;
        }
        Vec::new()
    }

    /// The changes that a cause suggests, each simulated.
    fn trials(&mut self, cause: &Cause) -> Vec<Trial> {
        let mut trials: Vec<Trial> = Vec::new();
        let before_ns = self.makespan_ns();
        for option in change::options(&self.program, cause, self.profile) {
            if self.are_two && !option.change.suits_two_devices() {
                continue;
            }
            if self.replays == 0 {
                break;
            }
            let Some((program, edges)) = edit::mend(option.program) else { continue };
            self.replays -= 1;
            // A change may use a stream before it is created, where the program creates it in the
            // region.
            let Ok(timeline) = replay_changed(&program, self.profile, Schedule::Exact) else {
                continue;
            };
            let after_ns = timeline.extent().ns();
            let advice = Advice {
                code: cause.code,
                change: option.change,
                at: cause.at.clone(),
                is_fixed: cause.is_fixed,
                count: cause.count,
                edges,
                before_ns,
                after_ns,
            };
            // Sizes are tried upwards: once they get worse, they go on getting worse.
            let last_ns = trials.last().map_or(u64::MAX, |last| last.advice.after_ns);
            let is_size = matches!(option.change, Change::Chunks { .. });
            trials.push(Trial { advice, program, timeline });
            if is_size && after_ns > last_ns {
                break;
            }
        }
        trials
    }
}
