//! What a region may not end without: in scripts, in random programs, and in the recordings of all exercises with
//! each of their final waits weakened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use trace::Program;
use trace::hazards::{self, MOST_EFFORT, Unsynchronised};
use trace::program::{Call, EventId, Place, Step, StreamId};

use super::oracle::{Frees, Oracle};
use super::random::random;
use super::script;

fn unwaited(program: &Program) -> Vec<Unsynchronised> {
    hazards::unwaited_within(program, MOST_EFFORT).expect("a small program")
}

/// The lines of a script's operations that nothing waits for.
fn lines(script: &str) -> Vec<u32> {
    let found = unwaited(&script::program(script));
    found.iter().map(|it| it.last.site.as_ref().expect("a line").line).collect()
}

#[test]
fn what_a_region_ends_without_a_wait_for_is_found_whatever_it_waits_for_that() {
    for (script, expected) in [
        ("begin; up a h x; map b y; ctx; end", vec![]),
        ("begin; up a h x; map b y; sync a; sync b; end", vec![]),
        // Each of the two unsound ends of `two_streams`.
        ("begin; up a h x; map b y; sync a; end", vec![3]),
        ("begin; up a h x; map b y; sync b; end", vec![2]),
        ("begin; up a h x; map b y; end", vec![2, 3]),
        // The last operation of a stream stands for those before it.
        ("begin; map a x; map a x; map a x; end", vec![4]),
        // A wait that is made too early, and an event that is recorded too early.
        ("begin; map a x; sync a; map a x; end", vec![4]),
        ("begin; map a x; rec e a; map a x; esync e; end", vec![4]),
        ("begin; map a x; map a x; rec e a; esync e; end", vec![]),
        // Through another stream.
        ("begin; map a x; rec e a; wait b e; sync b; end", vec![]),
        ("begin; map a x; rec e a; wait b e; map b y; sync b; end", vec![]),
        ("begin; map a x; wait b e; sync b; end", vec![2]),
        // A query that found the work done is a wait; one that did not is none.
        ("begin; map a x; q a; end", vec![]),
        ("begin; map a x; q? a; end", vec![2]),
        ("begin; map a x; rec e a; eq e; end", vec![]),
        // The legacy default stream waits for blocking streams, and for no others.
        ("begin; map A x; map b y; sync 0; end", vec![3]),
        // That freeing memory waits is promised nowhere.
        ("begin; map a x; free y; end", vec![2]),
        // A copy that is documented to have ended when it returns, and one that is not.
        ("begin; down! x h; end", vec![]),
        ("begin; down a x h; end", vec![2]),
        // Ordinary memory: what came there has come, and what goes from there may still be on its way.
        ("begin; map b x; rec e b; wait a e; downp a x; end", vec![]),
        ("begin; upp a x; end", vec![2]),
        ("begin; fn a; end", vec![2]),
        // What was issued before the region is over when it begins, and nobody asks what comes after it.
        ("map a x; begin; end", vec![]),
        ("begin; end; map a x", vec![]),
        // A stream that is destroyed still has its work.
        ("stream a; begin; map a x; kill a; end", vec![3]),
        // Making and ending memory in the order of a stream is no work to wait for.
        ("begin; map a x; sync a; newa a y; freea a y; end", vec![]),
        // A host thread that nobody waits for, and one that is joined without a wait, and with one.
        ("begin; spawn 1; @1 map a x; @1 sync a; @1 done; end", vec![3]),
        ("begin; spawn 1; @1 map a x; @1 done; join 1; end", vec![3]),
        ("begin; spawn 1; @1 map a x; @1 sync a; @1 done; join 1; end", vec![]),
        ("begin; cap a; map a x; endcap; inst; go a; end", vec![6]),
        ("begin; cap a; map a x; endcap; inst; go a; sync a; end", vec![]),
    ] {
        assert_eq!(lines(script), expected, "{script}");
    }
}

#[test]
fn the_message_names_the_operation_its_line_and_what_to_wait_for() {
    let message = |script: &str, is_over| unwaited(&script::program(script))[0].message(is_over);
    insta::assert_snapshot!(
        [
            message("begin; up a h x; map b y; sync a; end", true),
            message("begin; up a h x; map b y; sync b; end", false),
            message("begin; map a x; sync a; map a x; end", false),
            message("begin; map a x; end", false),
            message("begin; map 0 x; end", true),
        ]
        .join("\n")
    );
}

#[test]
fn random_programs_are_judged_as_the_oracle_judges_them() {
    let (mut caught, mut clean) = (0, 0);
    for seed in 1..=3000 {
        let mut program = random(seed);
        program.steps.retain(|step| step.call != Call::RegionEnd);
        program.steps.push(Step {
            call: Call::RegionEnd,
            site: None,
            thread: 0,
            gap_ns: 0,
            device: 0,
            result: 0,
        });
        let found: BTreeSet<u32> = unwaited(&program).iter().map(|it| it.last.step).collect();
        let all = Oracle::new(&program, Frees::Return).unwaited();
        assert!(found.is_subset(&all), "seed {seed}: {found:?} {all:?}");
        assert_eq!(found.is_empty(), all.is_empty(), "seed {seed}: {all:?}");
        caught += u32::from(!all.is_empty());
        clean += u32::from(all.is_empty());
    }
    assert!(caught > 500 && clean > 100, "{caught} {clean}");
}

#[test]
fn a_wait_for_the_other_devices_context_is_none_and_the_message_says_so() {
    let mut program = script::program("begin; map a x; ctx; end");
    let on_second = |stream: &mut StreamId| *stream = StreamId::on(1, stream.0);
    for step in &mut program.steps {
        match &mut step.call {
            Call::StreamCreate { stream, .. } => on_second(stream),
            Call::Launch(launch) => on_second(&mut launch.stream),
            _ => {}
        }
    }
    let found = unwaited(&program);
    assert_eq!(found.len(), 1);
    let message = found[0].message(false);
    assert!(message.contains("is for the context of device 0 alone"), "{message}");
    assert!(message.contains("stream 1 of device 1"), "{message}");
    for step in &mut program.steps {
        step.device = u32::from(step.call == Call::ContextSynchronize);
    }
    assert!(unwaited(&program).is_empty());
}

/// What each exercise's baseline and solution ask for, as it is recorded: the exercise, which of the two, the program.
fn recordings() -> Vec<(String, String, Program)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root).expect("a folder").flatten().map(|it| it.path()).collect();
    folders.retain(|folder| folder.join("recorded").is_dir());
    folders.sort();
    let mut all = Vec::new();
    for folder in folders {
        let folder_name = folder.file_name().expect("a name").to_string_lossy();
        let (_, exercise) = folder_name.split_once('_').expect("a number and a name");
        for name in ["baseline", "reference"] {
            let path = folder.join("recorded").join(name).with_extension("json");
            let text = std::fs::read_to_string(path).expect("a recording");
            let program = serde_json::from_str(&text).expect("a program");
            all.push((exercise.to_owned(), format!("{exercise} {name}"), program));
        }
    }
    all
}

/// The waits of the host that a program makes when it has issued all its work.
fn final_waits(program: &Program) -> Vec<usize> {
    let is_wait = |call: &Call| {
        matches!(
            call,
            Call::ContextSynchronize
                | Call::StreamSynchronize { .. }
                | Call::EventSynchronize { .. }
        )
    };
    let end = program.steps.iter().rposition(|step| step.call == Call::RegionEnd).expect("an end");
    let work = program.steps[..end].iter().rposition(|step| stream_of(&step.call).is_some());
    let after = work.expect("some work") + 1..end;
    after.filter(|&step| is_wait(&program.steps[step].call)).collect()
}

fn stream_of(call: &Call) -> Option<StreamId> {
    match call {
        Call::GraphLaunch { stream, .. } => Some(*stream),
        call => hazards::stream(call),
    }
}

/// A program with one of its waits weakened, and how.
fn weakened(program: &Program, wait: usize) -> Vec<(String, Program)> {
    let with = |call: Call| {
        let mut program = program.clone();
        program.steps[wait].call = call;
        program
    };
    let mut dropped = program.clone();
    dropped.steps.remove(wait);
    let mut all = vec![("left out".to_owned(), dropped)];
    let mut last: BTreeMap<StreamId, usize> = BTreeMap::new();
    for (index, step) in program.steps[..wait].iter().enumerate() {
        last.extend(stream_of(&step.call).map(|stream| (stream, index)));
    }
    for &stream in last.keys() {
        let call = Call::StreamSynchronize { stream };
        if program.steps[wait].call != call {
            all.push((format!("for {stream} alone"), with(call)));
        }
    }
    for (stream, index) in last {
        // An event that is recorded in the stream before its last operation.
        let event = EventId(u32::MAX);
        let mut program = with(Call::EventSynchronize { event });
        let record =
            Step { call: Call::EventRecord { event, stream }, ..program.steps[index].clone() };
        program.steps.insert(index, record);
        all.push((format!("for an event before the last operation of {stream}"), program));
    }
    all
}

/// Whether the last copy is a download into pageable memory, whose call waits by itself.
fn ends_with_pageable(program: &Program) -> bool {
    let mut calls = program.steps.iter().rev().map(|step| &step.call);
    calls.find(|call| matches!(call, Call::Copy { .. })).is_some_and(|call| {
        matches!(call, Call::Copy { source: Place::Device(_), target: Place::Pageable, .. })
    })
}

#[test]
fn each_final_wait_of_each_exercise_that_is_weakened_is_caught_or_was_needless() {
    let mut tables: BTreeMap<String, String> = BTreeMap::new();
    for (exercise, name, program) in recordings() {
        // For its author, who waits for the tables of no others.
        if std::env::var("SWIM_ONLY").is_ok_and(|only| only.split(',').all(|it| it != exercise)) {
            continue;
        }
        let table = tables.entry(exercise).or_default();
        assert!(unwaited(&program).is_empty(), "{name} ends too early as it is");
        let waits = final_waits(&program);
        let mut without = program.clone();
        waits.iter().rev().for_each(|&wait| drop(without.steps.remove(wait)));
        let needs_none = unwaited(&without).is_empty();
        assert_eq!(needs_none, ends_with_pageable(&program), "{name}: its final waits");
        for wait in waits {
            let call = hazards::call(&program, wait as u32);
            for (how, weak) in weakened(&program, wait) {
                let found = unwaited(&weak);
                let races = hazards::missing(&weak).len();
                let left = Oracle::new(&weak, Frees::Return).unwaited();
                assert_eq!(found.is_empty(), left.is_empty(), "{name}, {how}: {left:?}");
                let verdict = match (races, found.first()) {
                    (1.., _) => "caught: a race".to_owned(),
                    (0, Some(first)) => format!("caught: {} in {}", first.last.what, first.stream),
                    (0, None) => "needless: all is waited for otherwise".to_owned(),
                };
                let (what, place) = (&call.what, call.place());
                writeln!(table, "{name}, {what} at {place}, {how}: {verdict}").expect("a string");
            }
        }
    }
    for (exercise, table) in tables {
        insta::assert_snapshot!(format!("final_waits_of_{exercise}"), table);
    }
}
