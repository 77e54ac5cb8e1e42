//! What comes close to ordering two uses: it is found, and nothing else is blamed.

use std::collections::BTreeSet;

use trace::Hazard;
use trace::hazards::{self, NearMiss, Slip, StreamNames, Waiter};
use trace::program::{
    Access, AccessKind, BlockId, Call, EventId, Extent, Program, Range, Step, StreamId,
};

use super::oracle::{Frees, Oracle};
use super::{racy, script};

/// What it shows, the script, and of the first hazard the lines of its two uses, the slip, and the
/// lines to look at.
type Row = (&'static str, &'static str, &'static str);

const LESS: &[Row] = &[
    (
        "it is recorded before the copy",
        "rec e a; up a h x; wait b e; map b x",
        "2>4 recorded-too-early 1 3",
    ),
    ("long before", "rec e a; map a y; up a h x; wait b e; map b x", "3>5 recorded-too-early 1 4"),
    (
        "another event stands for the copy",
        "rec e a; up a h x; rec f a; wait b e; map b x",
        "2>5 waits-for-another-event 4 3",
    ),
    (
        "it is recorded in another stream",
        "up a h x; rec e c; wait b e; map b x",
        "1>4 recorded-elsewhere 2 3",
    ),
    (
        "in the stream that waits",
        "up a h x; rec e b; wait b e; map b x",
        "1>4 recorded-elsewhere 2 3",
    ),
    (
        "it is recorded after the wait",
        "up a h x; wait b e; map b x; rec e a",
        "1>3 not-recorded 2 4",
    ),
    ("the host waits for it", "rec e a; down a x h; esync e; read h", "2>4 recorded-too-early 1 3"),
];

const PLACES: &[Row] = &[
    ("after the kernel", "up a h x; rec e a; map b x; wait b e", "1>3 waits-too-late 4 2"),
    ("with the record", "up a h x; map b x; rec e a; wait b e", "1>2 waits-too-late 4"),
    ("the host, after it has read", "down a x h; read h; sync a", "1>2 waits-too-late 3"),
    ("for all streams", "down a x h; read h; ctx", "1>2 waits-too-late 3"),
    (
        "the host, before there was anything",
        "sync a; down a x h; read h",
        "2>3 host-waits-too-early 1",
    ),
    ("in a region", "begin; down a x h; read h; ctx; end", "2>3 waits-too-late 4"),
    (
        "for another copy too",
        "down a x h; down a y i; read h; read i; sync a",
        "1>3 waits-too-late 5",
    ),
];

const WAITERS: &[Row] = &[
    ("another stream", "up a h x; rec e a; wait c e; map b x; map c y", "1>4 another-waits 3 2"),
    ("the stream itself", "up a h x; rec e a; wait a e; map b x", "1>4 another-waits 3 2"),
    ("nobody", "up a h x; rec e a; map b x", "1>3 nobody-waits 2"),
    (
        "another stream, which needs it too",
        "up a h x; rec e a; wait c e; k c x > y; k b x > z",
        "1>5 nobody-waits 2 3",
    ),
    (
        "a stream in the place of the host",
        "down a x h; rec e a; wait b e; read h",
        "1>4 nobody-waits 2 3",
    ),
    (
        "the host waits for another stream",
        "up a h x; sync c; map b x",
        "1>3 host-waits-for-another 2",
    ),
    (
        "and then uses the memory itself",
        "down a x h; map b y; sync b; read h",
        "1>4 host-waits-for-another 3",
    ),
];

const NEEDED: &[Row] = &[
    ("nothing comes close", "up a h x; map b x", "1>2"),
    (
        "the wait is for the data of another stream",
        "up a h x; up c i y; rec e c; wait b e; k b x y > z",
        "1>5",
    ),
    (
        "an event that takes the time",
        "up a h x; rec e a; map b x; rec f a; ctx; elapsed e f",
        "1>3",
    ),
    ("the start of the region", "ctx; begin; down a x h; read h", "3>4"),
    ("the end of everything", "up a h x; map b x; ctx", "1>2"),
    (
        "the host waits for a stream that it needs",
        "up a h x; down c y i; sync c; read i; map b x",
        "1>5",
    ),
    ("what was queued since is waited for", "down a x h; read h; down a y i; ctx; read i", "1>2"),
    ("and may be used without being seen", "down a x h; read h; down a y i; ctx", "1>2"),
    (
        "and is to be over when the region ends",
        "begin; down a x h; read h; map b y; ctx; end",
        "2>3",
    ),
    (
        "the host waited for the copy before",
        "down a x h; sync a; read h; down a y i; read i",
        "4>5",
    ),
    ("and may have used it without being seen", "down a x h; sync a; down a y i; read i", "3>4"),
    (
        "the host waits for what it uses first",
        "down a x h; down b y i; sync b; read i; read h",
        "1>5",
    ),
    ("or may use", "down a x h; down b y i; sync b; read h", "1>4"),
    (
        "an earlier kernel needs the event as it is",
        "up a h x; up c i y; rec e c; wait b e; k b y > z; map b x",
        "1>6",
    ),
    (
        "a later operation needs the wait",
        "up a h x; rec e a; wait c e; set c y; k c x > z; k b x > w",
        "1>6 nobody-waits 2 3",
    ),
    (
        "the host needs the wait of the other stream",
        "down a x h; rec e a; wait c e; k b x > x; sync c",
        "1>4 nobody-waits 2 3",
    ),
];

#[test]
fn an_event_that_stands_for_less_than_it_should_is_found() {
    check(LESS);
}

#[test]
fn a_wait_at_the_wrong_place_is_found() {
    check(PLACES);
}

#[test]
fn a_wait_by_the_wrong_one_is_found() {
    check(WAITERS);
}

#[test]
fn what_has_another_purpose_is_left_alone() {
    check(NEEDED);
}

#[test]
fn what_is_said_to_be_changed_leaves_in_order_what_was() {
    let near = [LESS, PLACES, WAITERS, NEEDED].into_iter().flatten().map(|(_, script, _)| *script);
    let mut changes = 0;
    for script in near.chain(racy::all().map(|(_, script, _)| *script)) {
        let program = script::program(script);
        let before = unordered((0..).zip(program.steps.clone()).collect(), &program);
        for hazard in hazards::find(&program) {
            let Some(steps) = changed(&program, &hazard) else { continue };
            let after = unordered(steps, &program);
            let new: Vec<_> = after.difference(&before).collect();
            assert!(new.is_empty(), "{script}: {:?} makes {new:?}", hazard.near);
            let uses = (hazard.first.call.step, hazard.second.call.step);
            assert!(!after.contains(&uses), "{script}: {:?} changes nothing", hazard.near);
            changes += 1;
        }
    }
    assert!(changes >= 25, "{changes}");
}

/// The steps, by their number in the program, with the change that the help of `hazard` names; none
/// where something is added and nothing else changed. Each line is run once.
fn changed(program: &Program, hazard: &Hazard) -> Option<Vec<(u32, Step)>> {
    let NearMiss { waiter, slip } = hazard.near.as_ref()?;
    let mut steps: Vec<(u32, Step)> = (0..).zip(program.steps.iter().cloned()).collect();
    let (first, second) = (hazard.first.call.step, hazard.second.call.step);
    let stream = hazard.first.stream.expect("one that something is queued in");
    let mut carry = |step: u32, before: u32| {
        let at = |steps: &[(u32, Step)], step| steps.iter().position(|it| it.0 == step);
        let from = at(&steps, step).expect("it is there");
        let moved = steps.remove(from);
        let to = at(&steps, before).unwrap_or(steps.len());
        steps.insert(to, moved);
    };
    match slip {
        Slip::RecordedTooEarly { record, .. } | Slip::NotRecorded { record: Some(record), .. } => {
            carry(record.step, first + 1);
        }
        Slip::WaitsTooLate { wait, record } if record.is_some() || *waiter == Waiter::Host => {
            carry(wait.step, second);
        }
        Slip::HostWaitsTooEarly { wait } => carry(wait.step, second),
        Slip::WaitsForAnotherEvent { wait, record, .. } => {
            let event = event(&program.steps[record.step as usize].call);
            match &mut steps[wait.step as usize].1.call {
                Call::StreamWait { event: of, .. } | Call::EventSynchronize { event: of } => {
                    *of = event;
                }
                other => panic!("{other:?} is no wait"),
            }
        }
        Slip::RecordedElsewhere { record, .. } => {
            let event = event(&program.steps[record.step as usize].call);
            steps[record.step as usize].1.call = Call::EventRecord { event, stream };
        }
        Slip::AnotherWaits { wait, .. } => {
            let Waiter::Stream(stream) = *waiter else { panic!("the host is no stream") };
            let event = event(&program.steps[wait.step as usize].call);
            steps[wait.step as usize].1.call = Call::StreamWait { stream, event };
        }
        Slip::HostWaitsForAnother { wait, .. } => {
            steps[wait.step as usize].1.call = Call::StreamSynchronize { stream };
        }
        _ => return None,
    }
    Some(steps)
}

fn event(call: &Call) -> EventId {
    match call {
        Call::EventRecord { event, .. } | Call::StreamWait { event, .. } => *event,
        other => panic!("{other:?} has no event"),
    }
}

/// What nothing orders, by the numbers of the steps; also if the host uses all pinned memory
/// wherever it waited in `program` for what it used.
fn unordered(steps: Vec<(u32, Step)>, program: &Program) -> BTreeSet<(u32, u32)> {
    const UNSEEN: u32 = 1000;
    let pinned: Vec<BlockId> = (program.steps.iter())
        .filter_map(|step| match step.call {
            Call::AllocHost { block, .. } => Some(block),
            _ => None,
        })
        .collect();
    let accesses = |kind| {
        let range = |block| Range { block, offset: 0, bytes: u64::MAX };
        pinned.iter().map(|block| Access { kind, range: range(*block) }).collect()
    };
    let is_wait = |number: u32| {
        matches!(
            program.steps[number as usize].call,
            Call::StreamSynchronize { .. }
                | Call::ContextSynchronize
                | Call::EventSynchronize { .. }
        )
    };
    let mut waits: Vec<u32> = (0..program.steps.len() as u32).filter(|it| is_wait(*it)).collect();
    let mut all: Vec<(u32, Step)> = Vec::new();
    // Where a wait was, whether or not it is still there.
    let mut pass = |before: u32, all: &mut Vec<(u32, Step)>| {
        while let Some(wait) = waits.first().copied().filter(|wait| *wait < before) {
            waits.remove(0);
            let (accesses, extent) = (accesses(AccessKind::Write), Extent::Whole);
            let call = Call::HostAccess { accesses, extent };
            all.push((UNSEEN + wait, Step { call, ..program.steps[wait as usize].clone() }));
        }
    };
    for (number, step) in steps {
        if !is_wait(number) {
            pass(number, &mut all);
        }
        all.push((number, step));
    }
    pass(UNSEEN, &mut all);
    let numbers: Vec<u32> = all.iter().map(|(number, _)| *number).collect();
    let steps = all.into_iter().map(|(_, step)| step).collect();
    let program = Program { steps, ..program.clone() };
    let pairs = Oracle::new(&program, Frees::Return).pairs();
    pairs.keys().map(|(a, b)| (numbers[*a as usize], numbers[*b as usize])).collect()
}

#[test]
fn an_event_of_an_earlier_turn_is_told_from_one_that_is_recorded_once() {
    let turns = |lines: &str| {
        let mut program = script::program(lines);
        let own: Vec<_> = program.steps.iter().filter(|it| it.site.is_some()).cloned().collect();
        (
            program.steps.drain(..).filter(|it| it.site.is_none()).collect::<Vec<_>>(),
            own,
            program.sites,
        )
    };
    // Lines 1 and 2 in every turn; the wait of a turn is for the record of the turn before.
    let (made, own, sites) = turns("up a h x; rec e a; wait b e; map b x; rec f a; wait b f");
    let [up, rec_e, wait_e, map, rec_f, _] = &own[..] else { panic!("six lines") };
    let mut program = trace::Program { sites, ..script::program("ctx") };
    let at_line = |step: &trace::program::Step, of: &trace::program::Step| trace::program::Step {
        site: of.site,
        ..step.clone()
    };
    program.steps = made;
    program.steps.extend([up, rec_e, up, &at_line(rec_f, rec_e), wait_e, map].map(Clone::clone));
    assert_eq!(said(&program), "1>4 waits-for-another-event 3 2");
    // Now without the second record.
    let gone = program.steps.len() - 3;
    program.steps.remove(gone);
    assert_eq!(said(&program), "1>4 not-recorded-again 2 3");
    let help = hazards::find(&program)[0].help();
    assert_eq!(
        help,
        "record the event each time that line 1 is run: line 2 was run once, line 1 2 times"
    );
}

#[test]
fn calls_that_a_library_makes_on_the_way_are_never_blamed() {
    let mut program = script::program("up a h x; wait b e; map b x");
    // The wait is made on the way to the kernel's launch, at its line.
    let site = program.steps.last().and_then(|step| step.site);
    let wait = program.steps.len() - 2;
    program.steps[wait].site = site;
    assert_eq!(said(&program), "1>3");
}

#[test]
fn an_event_of_the_programs_own_that_is_never_recorded_is_found() {
    let mut program = script::program("work; up a h x; wait b e; map b x");
    // Made on the way by somebody, it may be there for anything.
    assert_eq!(said(&program), "2>4");
    let made = |it: &&mut trace::program::Step| matches!(it.call, Call::EventCreate { .. });
    program.steps.iter_mut().find(made).expect("an event").site = Some(0);
    assert_eq!(said(&program), "2>4 not-recorded 3");
}

#[test]
fn lines_that_take_turns_over_streams_are_named() {
    let mut program = script::program("map a x; map b y; k a y > z; k b x > w");
    let [.., one, two, three, four] = &mut program.steps[..] else { panic!("four lines") };
    (two.site, four.site) = (one.site, three.site);
    assert_eq!(said(&program), "1>3 by-turns");
    assert_eq!(
        hazards::find(&program)[0].notes()[0],
        "line 1 is run in 2 streams, line 3 in 2 streams: where both use the memory in the same \
         stream they are in order, and here they do not"
    );
}

#[test]
fn a_use_in_a_later_turn_is_said_to_be_one() {
    let mut program = script::program("up a h x; map b x; ctx");
    let [.., up, map, _] = &program.steps[..] else { panic!("three lines") };
    let (up, map) = (up.clone(), map.clone());
    let wait = script::program("up a h x; rec e a; wait b e; map b x").steps;
    let [.., record, wait, _] = &wait[..] else { panic!("four lines") };
    let (record, wait) = (record.clone(), wait.clone());
    program.steps.truncate(program.steps.len() - 3);
    let turn = [up, record, wait, map];
    program.steps.extend(turn.iter().chain(&turn).cloned());
    let hazard = &hazards::find(&program)[0];
    let told = hazard.tell(&StreamNames::default());
    assert_eq!(
        told.places[0].1,
        "the copy to the device in stream 1 writes here, when this line is run again"
    );
    assert!(told.help.ends_with("wait for it before line 1 is run again"), "{}", told.help);
}

#[test]
fn a_slot_that_comes_round_after_several_laps_is_said_to_need_an_event_of_its_own() {
    let all = script::program("up a h x; map a x; down b x i; up a h y; map a y; down b y j; ctx");
    let own = 6;
    let (before, laps) = all.steps.split_at(all.steps.len() - own - 1);
    let mut program = all.clone();
    program.steps = before.to_vec();
    // Two slots by turns, the lines of one loop. Each lap is in order in itself, and nothing says that
    // the copy down of a slot is over when the copy up of two laps later comes.
    let handed = script::program("map a x; rec e a; wait b e; map b x").steps;
    let [.., _, record, wait, _] = &handed[..] else { panic!("four lines") };
    for slot in [0, 1, 0, 1] {
        for (line, step) in laps[slot * 3..slot * 3 + 3].iter().enumerate() {
            if line == 2 {
                program.steps.extend([record.clone(), wait.clone()]);
            }
            let mut step = step.clone();
            step.site = laps[line].site;
            program.steps.push(step);
        }
    }
    let hazard = &hazards::find(&program)[0];
    assert_eq!((hazard.code, hazard.laps), (hazards::Code::WriteAfterRead, 2));
    let told = hazard.tell(&StreamNames::default());
    assert_eq!(
        told.places[0].1,
        "the copy to the device in stream 1 writes here, 2 laps of the loop later"
    );
    assert_eq!(
        told.help,
        "record an event in stream 2 after line 3, and let stream 1 wait for it before line 1 uses \
         this memory again, 2 laps later; keep an event for each of the 2: the one that was recorded \
         last is that of a later lap"
    );
}

#[test]
fn streams_are_called_what_the_source_calls_them() {
    let hazard = &hazards::find(&script::program("rec e a; up a h x; wait b e; map b x"))[0];
    let (a, b) = (StreamId(StreamId::FIRST_CREATED), StreamId(StreamId::FIRST_CREATED + 1));
    let names: StreamNames =
        [(a, "copy_in".to_owned()), (b, "compute".to_owned())].into_iter().collect();
    let told = hazard.tell(&names);
    assert_eq!(
        told.headline,
        "kernel 0 in stream 2 (`compute`) reads memory that the copy to the device in stream 1 \
         (`copy_in`) writes, and nothing orders the two"
    );
    assert_eq!(told.places[3].1, "`compute` waits for it here");
    assert_eq!(hazard.tell(&StreamNames::default()).places[3].1, "stream 2 waits for it here");
}

/// Lines of the uses, the slip, and the lines to look at.
fn said(program: &trace::Program) -> String {
    let found = hazards::find(program);
    let Some(hazard) = found.first() else { return "nothing".to_owned() };
    let line = |it: &hazards::CallAt| it.site.as_ref().map_or(0, |site| site.line);
    let mut said = format!("{}>{}", line(&hazard.first.call), line(&hazard.second.call));
    if let Some(near) = &hazard.near {
        said += &format!(" {}", near.slip.name());
        said.extend(near.slip.calls().iter().map(|call| format!(" {}", line(call))));
    }
    said
}

#[track_caller]
fn check(rows: &[Row]) {
    let mut wrong = String::new();
    for (name, script, expected) in rows {
        let found = said(&script::program(script));
        if found != *expected {
            wrong += &format!("{name}: {script}\n  expected {expected}, found {found}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
