//! What is said about a cause is true of the program, and names the line that can be changed.

use simulator::{Schedule, replay};
use trace::Cause;
use trace::causes::{self, Code};
use trace::program::{Access, AccessKind, BlockId, Call, Program, Range};

use super::table::{Shape, program};
use super::{advised, codes};
use crate::program::h200;

/// The cause of this code before anything is replayed, if there is one.
fn found(program: &Program, code: Code) -> Option<Cause> {
    let timeline = replay(program, &h200(), Schedule::Exact);
    causes::find(program, &timeline).into_iter().find(|cause| cause.code == code)
}

#[test]
fn a_gap_that_a_wait_makes_is_no_gap_of_the_launch_after_it() {
    let layers = Shape { turns: 50, kernel_us: 20, blocks: 16, ..Shape::default() };
    let found = codes(&advised(&program("| map a x; sync a |", layers)));
    assert_eq!(found, [Code::HostSynchronisation]);
}

#[test]
fn two_waits_of_one_line_are_one_piece_of_advice_and_one_cause() {
    let shape = Shape { turns: 50, kernel_us: 20, blocks: 16, ..Shape::default() };
    let mut layers = program(
        "| rec e a; wait b e; map a x; map b y; rec f b; wait a f; #3 sync a; #9 sync b |",
        shape,
    );
    // Two calls of one line, as `elapsed_ms` makes them, are told apart by their columns alone.
    layers.sites.iter_mut().filter(|site| site.line == 9).for_each(|site| site.line = 3);
    let found = advised(&layers);
    let said: Vec<String> = found.advice.iter().map(|step| step.message()).collect();
    assert_eq!(
        (said.iter().filter(|it| it.contains("line 3: waiting")).count(), found.advice[0].count),
        (1, 100),
        "{said:?}"
    );
}

#[test]
fn no_more_chunks_are_said_to_be_begun_than_are() {
    let tiles =
        "| up a h x || map a x || down a x i || #1 up a j y || #2 map a y || #3 down a y j |";
    let shape = Shape { turns: 4, streams: 4, ..Shape::default() };
    let cause = found(&program(tiles, shape), Code::IssueOrder).expect("breadth first");
    assert_eq!(cause.count, 4, "{}", cause.headline());
}

#[test]
fn chunks_of_many_short_kernels_are_launch_bound_and_those_of_one_are_too_many() {
    let shape = Shape { turns: 64, kib: 64, kernel_us: 0, blocks: 16, ..Shape::default() };
    let of = |kernels: usize| {
        let launches = "map a x; ".repeat(kernels);
        advised(&program(&format!("| up a h x; {launches}down a x i |"), shape))
    };
    let (many, few) = (of(12), of(1));
    let has = |found: &simulator::advice::Advised, code| codes(found).contains(&code);
    assert!(has(&many, Code::LaunchBound) && !has(&many, Code::TooManyChunks));
    assert!(has(&few, Code::TooManyChunks), "{:?}", codes(&few));
    let step = &many.advice[0];
    assert_eq!(step.code, Code::LaunchBound);
    assert!(step.gain_ns() * 10 > step.before_ns, "{}", step.message());
}

#[test]
fn chunks_are_many_where_their_calls_set_the_pace_however_long_their_kernels_are() {
    let tasks = Shape { turns: 512, kib: 64, kernel_us: 190, blocks: 1, streams: 128 };
    let count = |shape| {
        let program = program("| up a h x; map a x; down a x i |", shape);
        advised(&program).causes.iter().find(|it| it.code == Code::TooManyChunks).map(|it| it.count)
    };
    assert_eq!(count(tasks), Some(512));
    // So they are if fewer streams take them in turn: those that are joined go to all of these.
    assert_eq!(count(Shape { streams: 32, ..tasks }), Some(512));
    // With few streams the host is done early, and the kernels set the pace.
    assert_eq!(count(Shape { streams: 8, ..tasks }), None);
}

#[test]
fn a_free_that_finds_the_device_idle_is_said_to_take_time_and_not_to_wait() {
    let shape = Shape { kernel_us: 20, ..Shape::default() };
    let own = program("| newh h; up a h x; sync a; freeh h; map b y |", shape);
    let cause = found(&own, Code::DeviceWideWait).expect("the free");
    let (label, _) = cause.labels();
    assert!(
        cause.blocked_ns == 0 && label.starts_with("takes ") && label.contains(" itself"),
        "{label}"
    );
    assert!(!cause.headline().contains("waits"), "{}", cause.headline());

    let cause =
        found(&program("| map a x; free w; up b h y |", Shape::default()), Code::DeviceWideWait);
    let (label, _) = cause.expect("the free").labels();
    assert!(label.starts_with("waits for "), "{label}");
}

#[test]
fn host_work_on_an_empty_device_is_put_down_to_the_wait_before_it() {
    let cause = found(&program("| up a h x; sync a; work |", Shape::default()), Code::IdleHostWork);
    let wait = cause.and_then(|cause| cause.other).expect("a wait");
    assert_eq!(wait.site.expect("a line").line, 2);
}

#[test]
fn the_hosts_first_work_is_not_charged_since_the_device_has_nothing_to_do_without_it() {
    let shape = Shape::default();
    let charged_ns = |turns| {
        let loads = program("| work; up a h x; sync a |", Shape { turns, ..shape });
        found(&loads, Code::IdleHostWork).map(|cause| cause.cost_ns)
    };
    let work_ns = shape.kernel_us * 1000;
    assert_eq!((charged_ns(1), charged_ns(8)), (None, Some(7 * work_ns)));
}

#[test]
fn work_is_named_before_the_wait_that_it_comes_after() {
    let shape = Shape { turns: 8, kernel_us: 300, ..Shape::default() };
    let found = codes(&advised(&program("| up a h x; sync a; work |", shape)));
    assert_eq!(found, [Code::IdleHostWork, Code::HostSynchronisation]);
}

#[test]
fn host_work_beside_a_busy_device_loses_nothing() {
    // The copies are short: their engine is empty most of the time, and the kernels are never.
    let shape = Shape { turns: 32, kib: 4 << 10, ..Shape::default() };
    let own = program("| map a x; work; up b h y |", shape);
    assert_eq!(found(&own, Code::IdleHostWork).map(|cause| cause.cost_ns), None);
}

#[test]
fn steps_that_each_need_the_one_before_are_no_chunks_that_are_too_many() {
    let pipeline = "| up a h x; map a x; down a x i |";
    let shape = Shape { turns: 64, kib: 64, kernel_us: 2, ..Shape::default() };
    let mut steps = program(pipeline, shape);
    assert!(found(&steps, Code::TooManyChunks).is_some(), "they are parts of one whole");
    // Weights, which each kernel reads and writes in place.
    let weights = Range { block: BlockId(u32::MAX), offset: 0, bytes: 1024 };
    for step in &mut steps.steps {
        if let Call::Launch(launch) = &mut step.call {
            let access = |kind| Access { kind, range: weights };
            launch.accesses.insert(0, access(AccessKind::Read));
            launch.accesses.push(access(AccessKind::Write));
        }
    }
    assert!(
        found(&steps, Code::TooManyChunks).is_none(),
        "each needs the weights of the one before"
    );
}
