//! Causes of lost overlap: for each a program that has it and a near miss that has not, and advice that
//! is safe, in order, and the same every time.

mod puzzles;
mod table;
mod told;

use simulator::advice::{Advised, Change, Refused, advise};
use simulator::{Schedule, replay};
use trace::causes::{self, Basis, Code, LEAST_PERMILLE};
use trace::program::{Call, Program};

use crate::program::h200;
use table::{Row, Shape, program};

/// Causes and advice for a program.
fn advised(program: &Program) -> Advised {
    let profile = h200();
    let timeline = replay(program, &profile, Schedule::Exact);
    advise(program, causes::find(program, &timeline), &profile, &|_| true)
}

fn codes(advised: &Advised) -> Vec<Code> {
    advised.causes.iter().map(|cause| cause.code).collect()
}

#[test]
fn each_cause_is_found_where_it_is_and_not_in_a_near_miss() {
    let mut wrong = String::new();
    for Row { code, has, has_not, shapes } in table::ROWS {
        let has_it = program(has, shapes.0);
        let found = codes(&advised(&has_it));
        if !found.contains(code) {
            wrong += &format!("{code} is not found in `{has}`: {found:?}\n");
        }
        let found = codes(&advised(&program(has_not, shapes.1)));
        if found.contains(code) {
            wrong += &format!("{code} is found in `{has_not}`: {found:?}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_code_has_its_rows() {
    let tried: Vec<Code> = table::ROWS.iter().map(|row| row.code).collect();
    assert_eq!(tried, Code::ALL);
}

#[test]
fn what_is_advised_gains_what_it_says() {
    for Row { has, shapes, .. } in table::ROWS {
        let original = program(has, shapes.0);
        let before_ns = replay(&original, &h200(), Schedule::Exact).extent().ns();
        let Advised { causes, advice, .. } = advised(&original);
        let mut now_ns = before_ns;
        for step in &advice {
            assert_eq!(step.before_ns, now_ns, "{has}: {advice:#?}");
            now_ns = step.after_ns;
        }
        if !advice.is_empty() {
            assert!(now_ns < before_ns, "{has}: {advice:#?}");
        }
        for cause in causes.iter().filter(|cause| cause.basis == Basis::Replayed) {
            assert!(cause.cost_ns * 1000 >= before_ns * LEAST_PERMILLE, "{has}: {cause:?}");
        }
    }
}

#[test]
fn a_wait_of_the_hosts_that_data_needs_becomes_an_event() {
    let script = "| up a h x; sync a; map b x; sync b; down c x i |";
    // So many turns that cutting further gains nothing.
    let Advised { advice, .. } = advised(&program(script, Shape { turns: 32, ..Shape::default() }));
    assert_eq!(advice[0].change, Change::WaitAtTheEnd);
    assert_eq!(advice[0].edges, 32, "one for each turn of the loop");
}

#[test]
fn a_program_that_asks_whether_work_is_done_gets_no_advice() {
    let Advised { causes, advice, refused } =
        advised(&program("| upp a x; map b y | q? a", Shape::default()));
    assert!(advice.is_empty());
    assert!(
        matches!(refused, Some(Refused::Query(at)) if at.site.as_ref().is_some_and(|s| s.line == 3))
    );
    assert!(!causes.is_empty() && causes.iter().all(|cause| cause.basis == Basis::Attributed));
}

#[test]
fn a_racy_program_gets_no_advice() {
    let found = advised(&program("| upp a x; map b x |", Shape::default()));
    assert_eq!((found.advice.len(), found.refused), (0, Some(Refused::Hazard)));
}

#[test]
fn one_cause_hides_the_next_and_the_advice_goes_through_both() {
    // Pinned memory alone leaves the wait, and without the wait the copy itself holds the host.
    let script = "| downp a x; sync a || upp b y |";
    let found = advised(&program(script, Shape::default()));
    let changes: Vec<Change> = found.advice.iter().map(|step| step.change).collect();
    assert!(
        changes.contains(&Change::Pin) && changes.contains(&Change::WaitAtTheEnd),
        "{found:#?}"
    );
}

#[test]
fn what_is_written_to_memory_that_the_stream_may_have_freed_waits_for_more_than_the_stream() {
    let shape = Shape { turns: 32, kib: 1 << 10, kernel_us: 20, streams: 1, ..Shape::default() };
    let shares =
        |script: &str| codes(&advised(&program(script, shape))).contains(&Code::SharedStream);
    assert!(shares("| newa a x; set a x; up a h x; map a x; down a x i |"));
    assert!(!shares("| newa a x; set a x; up a h x; map a x; down a x i; freea a x |"));
}

#[test]
fn chunks_that_take_turns_in_too_few_streams_are_given_more() {
    let told = |streams: u32| {
        let shape = Shape { turns: 32, kib: 1 << 10, kernel_us: 190, blocks: 32, streams };
        let found = advised(&program("| up a h x; map a x; down a x i |", shape));
        let changes = found.advice.iter().map(|step| step.change);
        let streams = changes.filter(|it| matches!(it, Change::Streams { .. })).collect::<Vec<_>>();
        (codes(&found), streams)
    };
    let shared = vec![Code::SharedStream];
    assert_eq!(told(2), (shared.clone(), vec![Change::Streams { now: 8, before: 2 }]));
    assert_eq!(told(4), (shared, vec![Change::Streams { now: 8, before: 4 }]));
    assert_eq!(told(8), (vec![], vec![]));
}

#[test]
fn recorded_references_have_no_causes_and_baselines_their_own() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises");
    let recorded = |file: &str| -> Program {
        let text = std::fs::read(folder.join(file)).expect("a recorded program");
        serde_json::from_slice(&text).expect("a program")
    };
    for exercise in
        ["04_three_lanes", "05_events", "06_fork_join", "07_chunked_pipeline", "08_issue_order"]
    {
        let reference = recorded(&format!("{exercise}/recorded/reference.json"));
        assert_eq!(codes(&advised(&reference)), [], "{exercise}");
        let timeline = replay(&reference, &h200(), Schedule::Exact);
        let attributed = causes::find(&reference, &timeline);
        // Copies down share their streams with copies up there, and it is replay that says that a stream of their
        // own would gain nothing.
        if exercise != "08_issue_order" {
            assert_eq!(attributed, [], "{exercise}, attributed");
        }
    }
    let first = |file| codes(&advised(&recorded(file)))[0];
    assert_eq!(first("04_three_lanes/recorded/baseline.json"), Code::SharedStream);
    assert_eq!(first("05_events/recorded/baseline.json"), Code::HostSynchronisation);
    assert_eq!(first("06_fork_join/recorded/baseline.json"), Code::SharedStream);
    assert_eq!(first("07_chunked_pipeline/recorded/baseline.json"), Code::TooFewChunks);
    assert_eq!(first("08_issue_order/recorded/baseline.json"), Code::IssueOrder);
}

#[test]
fn the_same_program_gets_the_same_words() {
    for Row { has, shapes, .. } in table::ROWS {
        let words = || {
            let Advised { causes, advice, .. } = advised(&program(has, shapes.0));
            let causes: Vec<String> = causes.iter().map(|cause| cause.message()).collect();
            (causes, advice.iter().map(|step| step.message()).collect::<Vec<_>>())
        };
        assert_eq!(words(), words(), "{has}");
    }
}

#[test]
fn a_long_program_has_fewer_changes_tried() {
    let shape = Shape { turns: 20_000, kib: 64, kernel_us: 3, ..Shape::default() };
    let program = program("| map a x; rec e a; wait b e; upp b y; sync b |", shape);
    assert!(program.steps.len() > 100_000);
    let calls = |call: fn(&Call) -> bool| program.steps.iter().filter(|s| call(&s.call)).count();
    assert_eq!(calls(|call| matches!(call, Call::StreamSynchronize { .. })), 20_000);
    assert!(codes(&advised(&program)).contains(&Code::PageableCopy));
}

#[test]
fn what_a_reader_may_not_change_is_not_advised_and_its_line_is_not_named() {
    // A kernel in the default stream, between two blocking streams.
    let program = program("| map A x; set 0 z; up B h y |", table::BASE);
    let timeline = replay(&program, &h200(), Schedule::Exact);
    let advise = |may_change: bool| {
        let found = causes::find(&program, &timeline);
        simulator::advice::advise(&program, found, &h200(), &|_| may_change)
    };
    let changes = |advised: &Advised| advised.advice.iter().map(|it| it.change).collect::<Vec<_>>();
    let said = |advised: &Advised| {
        let advice = advised.advice.iter().map(simulator::advice::Advice::message);
        advice.chain(advised.causes.iter().map(causes::Cause::help)).collect::<Vec<_>>()
    };
    let (own, fixed) = (advise(true), advise(false));
    assert_eq!(changes(&own), [Change::OwnStream]);
    assert_eq!(changes(&fixed), [Change::NonBlocking]);
    assert_eq!(own.advice[0].after_ns, fixed.advice[0].after_ns, "the streams gain as much");
    let names = |text: &String| text.contains("line ") || text.contains(".rs:");
    assert!(said(&own).iter().all(names), "{:?}", said(&own));
    assert!(!said(&fixed).iter().any(names), "{:?}", said(&fixed));
}
