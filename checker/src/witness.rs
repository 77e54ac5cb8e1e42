//! The witness of a hazard: an order of its two uses of memory in which the data goes wrong.
//!
//! The program runs twice more. Once each operation is over before the next call is made: that is
//! what the host meant. And once the use that it issued later is over before the other one begins,
//! which nothing forbids; all that is documented to be an order holds there too. In both runs the
//! driver looks at the memory that the two share, when each begins and when both are over.

use std::fmt;
use std::str::FromStr;

use anyhow::Result;
use serde::{Serialize, Serializer};
use simulator::Schedule;
use simulator::device::At;
use simulator::machine::Watch;
use trace::hazards::{AccessAt, CallAt, Edge, Kind, StreamNames, Usage};
use trace::program::{BlockId, Call, Program, Site};
use trace::record::Output;
use trace::{Hazard, Record, hazards};

use crate::attempt::Attempt;
use crate::exit;

/// Schedules of `--schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The schedule of this seed.
    Seed(u64),
    /// The witness of this hazard of the report, counted from 1.
    Witness(usize),
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "it is a seed, `witness` or `witness:N`".to_owned();
        match text.strip_prefix("witness") {
            Some("") => Ok(Self::Witness(1)),
            Some(rest) => {
                let number = rest.strip_prefix(':').and_then(|it| it.parse().ok());
                number.filter(|&number| number > 0).map(Self::Witness).ok_or_else(wrong)
            }
            None => text.parse().map(Self::Seed).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "{seed}"),
            Self::Witness(1) => f.write_str("witness"),
            Self::Witness(number) => write!(f, "witness:{number}"),
        }
    }
}

impl Serialize for Wanted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Seed(seed) => serializer.serialize_u64(*seed),
            Self::Witness(_) => serializer.collect_str(self),
        }
    }
}

/// The data of a hazard in the order that the host did not mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// Which hazard of the report, counted from 1.
    pub hazard: usize,
    /// In words: which of the two came first here.
    pub order: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// In words: what became of the data.
    pub message: String,
}

/// Outcomes for the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is wrong.
    Wrong {
        /// The memory.
        block: u32,
        /// The first wrong element of 32 bits, counted from the start of the block.
        element: u64,
        /// Its value where each operation is over before the next.
        expected: u32,
        /// Its value here.
        found: u32,
        /// How many elements are wrong of those that both use,
        wrong: u64,
        /// and how many there are of those.
        of: u64,
    },
    /// The write goes to memory that was freed.
    Lost,
    /// It is the same in either order.
    Same,
    /// The order was not played.
    NotPlayed(Why),
}

/// Why an order was not played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Memory that is gone is gone in every order.
    Gone,
    /// It takes host threads that run in another order.
    Threads,
    /// The program ended before.
    Ended,
    /// The program issued something else than before.
    Diverged,
    /// The host goes on only when the first of the two is over.
    #[serde(rename = "held")]
    Blocked,
    /// It was not seen what the two do.
    Unseen,
}

/// How the two runs are made; none for a hazard that no order of operations shows.
pub fn schedules(hazard: &Hazard) -> Option<(Schedule, Schedule, Watch)> {
    // Memory that is gone is gone in every order, and what the host did first it cannot do later.
    let is_of_threads = matches!(hazard.missing, Edge::Handover { .. });
    if hazard.first.usage == Usage::Free || hazard.first.stream.is_none() || is_of_threads {
        return None;
    }
    let at = |call: &CallAt| At { step: call.step, node: call.node };
    let (first, second) = (at(&hazard.first.call), at(&hazard.second.call));
    let watch = Watch { first, second, range: hazard.overlap };
    Some((Schedule::InOrder, Schedule::Reversed { first, second }, watch))
}

/// Plays the witness of a hazard of the run that was made, counted from 1: what is to be shown from
/// there on, and what it says. None where the run has no hazard.
pub fn play(
    number: usize,
    plain: Attempt,
    run: impl Fn(Schedule, Option<Watch>) -> Result<Attempt>,
) -> Result<(Attempt, Option<Witness>)> {
    let found = plain.record().map_or(Vec::new(), |record| hazards::find(&record.program));
    if found.is_empty() {
        return Ok((plain, None));
    }
    let Some(hazard) = found.get(number - 1) else {
        let many = match found.len() {
            1 => "there is 1 hazard".to_owned(),
            many => format!("there are {many} hazards"),
        };
        return Err(exit::Usage(format!("`--schedule witness:{number}`, but {many}")).into());
    };
    let Some((meant, reversed, watch)) = schedules(hazard) else {
        let witness = Witness::impossible(number, hazard);
        return Ok((plain, Some(witness)));
    };
    let meant = run(meant, Some(watch))?;
    let mut played = run(reversed, Some(watch))?;
    let Some(found_in) = plain.record() else { return Ok((plain, None)) };
    let about = (hazard, &found_in.program);
    let witness = Witness::of(number, about, meant.record(), played.record());
    if matches!(witness.outcome, Outcome::NotPlayed(_)) {
        return Ok((plain, Some(witness)));
    }
    if let Ok(Some(record)) = &mut played.record {
        record.watched = None; // it has been looked at
    }
    Ok((played, Some(witness)))
}

impl Witness {
    /// That no order of operations shows anything.
    fn impossible(number: usize, hazard: &Hazard) -> Self {
        let why = match hazard.first.usage {
            Usage::Free => Why::Gone,
            _ => Why::Threads,
        };
        Self {
            hazard: number,
            order: String::new(),
            outcome: Outcome::NotPlayed(why),
            message: why.to_string(),
        }
    }

    /// The witness that the two runs give. `plain` is the program in which the hazard was found,
    /// `meant` the run in which everything is in order, `played` the other.
    fn of(
        number: usize,
        (hazard, plain): (&Hazard, &Program),
        meant: Option<&Record>,
        played: Option<&Record>,
    ) -> Self {
        let order = format!(
            "{} ({}) is over before {} ({}) begins",
            subject(&hazard.second),
            hazard.whole_place(&hazard.second),
            subject(&hazard.first),
            hazard.whole_place(&hazard.first)
        );
        let outcome = match (meant, played) {
            (Some(meant), Some(played)) => outcome((hazard, plain), meant, played),
            _ => Outcome::NotPlayed(Why::Ended),
        };
        let message = match &outcome {
            Outcome::Same if has_wrong_output(meant) || has_wrong_output(played) => {
                SAME_AND_WRONG.to_owned()
            }
            outcome => message(hazard, outcome, played.map(|played| &played.program)),
        };
        Self { hazard: number, order, outcome, message }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "the memory is gone in every order: nothing needs to be played",
            Self::Threads => {
                "what goes wrong here takes host threads that run in another order, which is not played"
            }
            Self::Ended => "the program did not come so far in this order",
            Self::Diverged => {
                "the program asks for something else in this order, so the two cannot be compared"
            }
            Self::Blocked => {
                "the simulated device cannot play this order: something that no documentation promises \
                 holds the host until the first of the two is over"
            }
            Self::Unseen => {
                "the simulated device did not see what the two do to the memory in this order"
            }
        })
    }
}

fn subject(access: &AccessAt) -> String {
    match access.stream_in(&StreamNames::default()) {
        Some(stream) => format!("{} in {stream}", access.call.what),
        None => access.call.what.clone(),
    }
}

/// Which of the two looks at the memory that the other changes; none if it is what is left that
/// counts.
fn reader(hazard: &Hazard) -> Option<&AccessAt> {
    match (hazard.kind, hazard.first.usage, hazard.second.usage) {
        (Kind::ReadAfterWrite, ..) => Some(&hazard.second),
        (Kind::WriteAfterRead, ..) => Some(&hazard.first),
        (Kind::UseAfterFree, Usage::Read, _) => Some(&hazard.first),
        (Kind::UseBeforeAllocation, _, Usage::Read) => Some(&hazard.second),
        _ => None,
    }
}

fn outcome((hazard, plain): (&Hazard, &Program), meant: &Record, played: &Record) -> Outcome {
    // Where host threads take turns otherwise, or the program issues something else, a step is
    // another one.
    let is_same = [&hazard.first.call, &hazard.second.call].iter().all(|at| {
        let step = |program: &Program| {
            program.steps.get(at.step as usize).map(|step| (step.thread, step.call.clone()))
        };
        let here = step(plain);
        here.is_some() && here == step(&meant.program) && here == step(&played.program)
    });
    if !is_same {
        return Outcome::NotPlayed(Why::Diverged);
    }
    let (Some(right), Some(wrong)) = (&meant.watched, &played.watched) else {
        return Outcome::NotPlayed(Why::Unseen);
    };
    if !wrong.is_reversed {
        return Outcome::NotPlayed(Why::Blocked);
    }
    if hazard.kind == Kind::UseAfterFree && hazard.first.usage == Usage::Write {
        return Outcome::Lost;
    }
    let seen = match reader(hazard) {
        Some(reader) if reader == &hazard.second => (&right.second, &wrong.second),
        Some(_) => (&right.first, &wrong.first),
        None => (&right.left, &wrong.left),
    };
    let (Some(right), Some(wrong)) = seen else { return Outcome::NotPlayed(Why::Unseen) };
    let differ =
        || right.iter().zip(wrong).enumerate().filter(|(_, (right, wrong))| right != wrong);
    let Some((index, (&expected, &found))) = differ().next() else { return Outcome::Same };
    let scale = u64::from(played.program.scale);
    Outcome::Wrong {
        block: hazard.overlap.block.0,
        element: hazard.overlap.offset / scale / 4 + index as u64,
        expected,
        found,
        wrong: differ().count() as u64,
        of: right.len() as u64,
    }
}

fn message(hazard: &Hazard, outcome: &Outcome, program: Option<&Program>) -> String {
    match outcome {
        Outcome::Wrong { block, element, expected, found, wrong, of } => {
            let memory = program.map_or_else(String::new, |it| memory(it, BlockId(*block)));
            let values = format!("as {found:#010x} instead of {expected:#010x}");
            let many = format!("{wrong} of {of} elements are wrong");
            match reader(hazard) {
                Some(reader) => format!(
                    "{} reads element {element} of {memory} {values}; {many}",
                    reader.call.what
                ),
                None => {
                    format!("element {element} of {memory} ends up {values}; {many}")
                }
            }
        }
        Outcome::Lost => format!(
            "{} writes to memory that has been given back, and may be somebody else's by then",
            hazard.first.call.what
        ),
        Outcome::Same => "the data is the same in either order, so no harm is done as the program \
                          stands; nothing says that it stays so"
            .to_owned(),
        Outcome::NotPlayed(why) => why.to_string(),
    }
}

/// Whether the output of a run came out wrong.
fn has_wrong_output(record: Option<&Record>) -> bool {
    let trials = record.map_or(&[][..], |record| &record.trials);
    trials.iter().any(|trial| matches!(trial.output, Output::Wrong { .. }))
}

/// Said where the two uses see the same in either order, of memory that is wrong already.
const SAME_AND_WRONG: &str = "the two see the same data in either order here, but the output is wrong: something else \
                              that nothing orders has gone wrong before them, or between them in both orders";

/// A block of memory, as its owner may know it.
fn memory(program: &Program, block: BlockId) -> String {
    let made = program.steps.iter().find_map(|step| {
        let kind = match &step.call {
            Call::Alloc { block: of, .. } | Call::AllocAsync { block: of, .. } if *of == block => {
                "device memory"
            }
            Call::AllocHost { block: of, .. } if *of == block => "pinned memory",
            _ => return None,
        };
        Some((kind, program.site(step).map(Site::to_string)))
    });
    match made {
        Some((kind, Some(site))) => format!("block {} ({kind}, allocated at {site})", block.0),
        Some((kind, None)) => format!("block {} ({kind})", block.0),
        None => format!("block {}", block.0),
    }
}

#[cfg(test)]
mod tests {
    use trace::Timeline;
    use trace::program::{Mode, Place, Range, Step, StreamId};
    use trace::record::{self, Watched};
    use trace::timeline::Origin;

    use super::*;

    const BLOCK: BlockId = BlockId(0);
    const RANGE: Range = Range { block: BLOCK, offset: 0, bytes: 16 };

    fn stream(number: u32) -> StreamId {
        StreamId(StreamId::FIRST_CREATED + number)
    }

    fn set(number: u32) -> Call {
        Call::Memset { stream: stream(number), mode: Mode::Asynchronous, target: RANGE }
    }

    fn read(number: u32) -> Call {
        let (source, target) = (Place::Device(RANGE), Place::Pageable);
        let (stream, mode) = (stream(number), Mode::Asynchronous);
        Call::Copy { stream, mode, source, target, bytes: 16 }
    }

    fn program(calls: &[Call]) -> Program {
        let mut program = Program::new(1);
        program.steps = (calls.iter().cloned())
            .map(|call| Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 })
            .collect();
        program
    }

    fn record(calls: &[Call], watched: Option<Watched>) -> Record {
        Record {
            version: record::VERSION,
            program: program(calls),
            timeline: Timeline::new(Origin::Simulated { profile: "h200".to_owned() }),
            trials: Vec::new(),
            watched,
            notes: Vec::new(),
        }
    }

    /// What is seen: of the first of the two, of the second, and in the end.
    fn watched(is_reversed: bool, words: [u32; 3]) -> Option<Watched> {
        let [first, second, left] = words.map(|word| Some(vec![7, word]));
        Some(Watched { is_reversed, first, second, left })
    }

    fn of(calls: &[Call], meant: Option<Watched>, played: Option<Watched>) -> (Outcome, String) {
        let found = hazards::find(&program(calls));
        let (meant, played) = (record(calls, meant), record(calls, played));
        let about = (&found[0], &meant.program);
        let witness = Witness::of(1, about, Some(&meant), Some(&played));
        (witness.outcome, witness.message)
    }

    #[test]
    fn a_value_that_differs_is_wrong_for_whoever_looks_at_it() {
        let wrong = |expected, found| Outcome::Wrong {
            block: 0,
            element: 1,
            expected,
            found,
            wrong: 1,
            of: 2,
        };
        let (meant, played) = (watched(false, [1, 2, 3]), watched(true, [4, 5, 6]));
        let tried = |calls: &[Call]| of(calls, meant.clone(), played.clone()).0;
        assert_eq!(tried(&[set(0), read(1)]), wrong(2, 5));
        assert_eq!(tried(&[read(0), set(1)]), wrong(1, 4));
        assert_eq!(tried(&[set(0), set(1)]), wrong(3, 6));
        let same = of(&[set(0), read(1)], watched(false, [1, 2, 3]), watched(true, [4, 2, 6]));
        assert_eq!(same.0, Outcome::Same);
    }

    #[test]
    fn what_is_written_to_memory_that_is_gone_is_lost() {
        let made = Call::AllocAsync { block: BLOCK, bytes: 16, stream: stream(0) };
        let free = Call::FreeAsync { block: BLOCK, stream: stream(1) };
        let (meant, played) = (watched(false, [1; 3]), watched(true, [1; 3]));
        let (outcome, message) = of(&[made, set(0), free], meant, played);
        assert_eq!(outcome, Outcome::Lost);
        assert!(message.starts_with("the memset writes to memory"), "{message}");
    }

    #[test]
    fn an_order_that_was_not_played_has_its_reason() {
        let calls = [set(0), read(1)];
        let why = |meant, played| of(&calls, meant, played).0;
        let seen = |is_reversed| watched(is_reversed, [1; 3]);
        let not = Outcome::NotPlayed;
        assert_eq!(why(seen(false), seen(false)), not(Why::Blocked));
        assert_eq!(why(seen(false), None), not(Why::Unseen));
        let half = Watched { second: None, ..seen(true).expect("it is there") };
        assert_eq!(why(seen(false), Some(half)), not(Why::Unseen));

        let plain = program(&calls);
        let hazard = (&hazards::find(&plain)[0], &plain);
        let (meant, other) = (record(&calls, seen(false)), record(&[set(0), set(1)], None));
        let diverged = Witness::of(1, hazard, Some(&meant), Some(&other));
        assert_eq!(diverged.outcome, not(Why::Diverged));
        // Both runs agree, and are not of the program in which the hazard was found: other threads, say.
        let both = record(&[set(0), set(1)], seen(true));
        let elsewhere = Witness::of(1, hazard, Some(&both), Some(&both));
        assert_eq!(elsewhere.outcome, not(Why::Diverged));
        assert_eq!(Witness::of(1, hazard, Some(&meant), None).outcome, not(Why::Ended));

        let free = Call::Free { block: BLOCK };
        let gone = &hazards::find(&program(&[free, set(0)]))[0];
        assert!(schedules(gone).is_none());
        assert_eq!(Witness::impossible(1, gone).outcome, not(Why::Gone));
    }
}
