//! The critical path of small runs, against what follows from its definition by hand.

use trace::metrics::critical_path::Part;
use trace::metrics::path;
use trace::observed::{NO_STEP, Wait};
use trace::timeline::{Interval, SpanKind};

use crate::samples::{COPY, DOWN, KERNEL, LAUNCH, Run, UP, stream, us};

const SYNCHRONIZE: &str = "cuStreamSynchronize";
const WAIT: &str = "cuStreamWaitEvent";

/// The parts of a run's path, by kind and by where they end, in µs.
fn parts(run: &Run) -> Vec<(Part, u64)> {
    let segments = path(&run.0).segments;
    let extent = run.0.timeline.extent();
    let edges = segments.windows(2).all(|pair| pair[0].time.end_ns == pair[1].time.start_ns);
    assert!(edges, "each part begins where the one before it ends");
    assert_eq!(segments.iter().map(|it| it.time.ns()).sum::<u64>(), extent.ns());
    segments.iter().map(|it| (it.part, it.time.end_ns / us(1))).collect()
}

fn work(kind: SpanKind, end_us: u64) -> (Part, u64) {
    (Part::Work(kind), end_us)
}

#[test]
fn of_two_operations_that_run_past_the_region_the_path_ends_with_the_one_issued_last() {
    let mut run = Run::new();
    run.timeline().region = Some(Interval::new(0, us(100)));
    run.issue(KERNEL, 1, (0, 1), (20, 150));
    run.issue(UP, 2, (2, 3), (90, 120));
    // The copy ends earlier, but neither within the region. It waited for nothing but its call.
    assert_eq!(parts(&run), [(Part::Host, 2), (Part::Launch, 90), work(UP, 100)]);
}

#[test]
fn an_operation_comes_after_the_one_that_left_its_engine_at_that_instant() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (2, 30));
    run.issue(UP, 2, (3, 4), (30, 50));
    assert_eq!(parts(&run), [(Part::Launch, 2), work(UP, 30), work(UP, 50)]);
}

#[test]
fn a_call_that_did_not_hold_the_host_waited_for_nothing() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (2, 15));
    run.call(LAUNCH, 0, (10, 20), 0);
    run.issue(KERNEL, 2, (25, 26), (30, 40));
    assert_eq!(parts(&run), [(Part::Host, 25), (Part::Launch, 30), work(KERNEL, 40)]);
}

#[test]
fn a_call_comes_after_the_wait_that_had_ended_when_it_began_and_after_no_later_one() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (2, 15));
    run.call(SYNCHRONIZE, 0, (2, 16), 14);
    let launch = run.call(LAUNCH, 0, (16, 17), 0);
    run.call(SYNCHRONIZE, 0, (17, 41), 23);
    run.work(launch, KERNEL, 2, (20, 40));
    run.timeline().region = Some(Interval::new(0, us(40)));
    let expected = [
        (Part::Launch, 2),
        work(UP, 15),
        (Part::Host, 16), // from the end of the copy to the next call
        (Part::Launch, 20),
        work(KERNEL, 40),
    ];
    assert_eq!(parts(&run), expected);
}

#[test]
fn a_wait_of_another_thread_holds_nothing_up() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (2, 15));
    run.call(SYNCHRONIZE, 1, (2, 16), 14);
    run.issue(KERNEL, 2, (17, 18), (20, 40));
    assert_eq!(parts(&run), [(Part::Host, 17), (Part::Launch, 20), work(KERNEL, 40)]);
}

#[test]
fn a_copy_that_held_the_host_itself_is_what_its_call_waited_for() {
    let mut run = Run::new();
    // Another copy ends while the first is made, and later than that.
    run.issue(DOWN, 2, (0, 1), (3, 19));
    let copy = run.call(COPY, 0, (2, 20), 18);
    run.work(copy, UP, 1, (4, 18));
    run.issue(KERNEL, 3, (20, 21), (22, 40));
    let parts = parts(&run);
    assert!(parts.contains(&work(UP, 18)), "{parts:?}");
    assert!(!parts.iter().any(|(part, _)| *part == Part::Work(DOWN)), "{parts:?}");
}

#[test]
fn a_copy_that_ends_as_its_call_returns_is_what_the_call_waited_for() {
    let mut run = Run::new();
    let copy = run.call(COPY, 0, (2, 20), 18);
    run.work(copy, UP, 1, (4, 20));
    run.issue(DOWN, 2, (0, 1), (5, 20)); // another ends at the same time
    run.issue(KERNEL, 3, (20, 21), (22, 40));
    let expected = [(Part::Launch, 4), work(UP, 20), (Part::Launch, 22), work(KERNEL, 40)];
    assert_eq!(parts(&run)[1..], expected);
}

#[test]
fn a_call_that_returned_before_its_operation_ended_waited_for_another() {
    let mut run = Run::new();
    run.issue(DOWN, 2, (0, 1), (3, 19));
    // It is staged: the host goes on before the copy has ended.
    let copy = run.call(COPY, 0, (2, 20), 18);
    run.work(copy, UP, 1, (4, 60));
    run.issue(KERNEL, 3, (20, 21), (30, 90));
    let parts = parts(&run);
    assert!(parts.contains(&work(DOWN, 19)), "{parts:?}");
    assert!(!parts.iter().any(|(part, _)| *part == Part::Work(UP)), "{parts:?}");
}

#[test]
fn what_ended_before_a_wait_began_is_not_what_it_waited_for() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (2, 5));
    run.call(SYNCHRONIZE, 0, (5, 20), 15);
    run.issue(KERNEL, 2, (20, 21), (22, 40));
    assert_eq!(parts(&run), [(Part::Host, 20), (Part::Launch, 22), work(KERNEL, 40)]);
}

#[test]
fn a_copy_that_began_when_its_call_had_staged_it_was_kept_back_by_the_host() {
    let staged = |held, returned| {
        let mut run = Run::new();
        run.issue(UP, 1, (0, 1), (2, 10));
        let copy = run.call(COPY, 0, (5, returned), held);
        run.work(copy, UP, 1, (30, 50));
        parts(&run)[2].0
    };
    assert_eq!(staged(25, 30), Part::Host, "it held the host until then");
    assert_eq!(staged(5, 12), Part::Turnaround, "it had returned long before");
    assert_eq!(staged(0, 31), Part::Turnaround, "it did not hold the host");
}

#[test]
fn a_recorded_wait_leads_to_what_the_event_stood_for_and_not_to_what_came_after_it() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (10, 30));
    let record = run.call("cuEventRecord", 0, (1, 2), 0);
    run.issue(DOWN, 1, (2, 3), (30, 90));
    let wait = run.call(WAIT, 0, (3, 4), 0);
    run.issue(KERNEL, 2, (4, 5), (33, 95));
    run.0.waits.push(Wait { stream: stream(2), step: wait, source: stream(1), record });
    let expected = [(Part::Launch, 10), work(UP, 30), (Part::Turnaround, 33), work(KERNEL, 95)];
    assert_eq!(parts(&run), expected);
}

#[test]
fn an_operation_comes_after_the_last_one_before_it_in_its_stream() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (10, 20));
    run.issue(KERNEL, 1, (1, 2), (20, 40));
    run.issue(DOWN, 1, (2, 3), (41, 60));
    let expected = [
        (Part::Launch, 10),
        work(UP, 20),
        work(KERNEL, 40),
        (Part::Turnaround, 41),
        work(DOWN, 60),
    ];
    assert_eq!(parts(&run), expected);
}

#[test]
fn of_its_stream_and_of_what_it_waited_for_an_operation_comes_after_what_ended_last() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (10, 30));
    let record = run.call("cuEventRecord", 0, (1, 2), 0);
    run.issue(DOWN, 2, (2, 3), (11, 20));
    let wait = run.call(WAIT, 0, (3, 4), 0);
    run.issue(KERNEL, 2, (4, 5), (40, 95));
    run.0.waits.push(Wait { stream: stream(2), step: wait, source: stream(1), record });
    let expected = [(Part::Launch, 10), work(UP, 30), (Part::Turnaround, 40), work(KERNEL, 95)];
    assert_eq!(parts(&run), expected);
}

#[test]
fn calls_of_which_no_time_is_known_do_not_hide_those_of_later_ones() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (2, 10));
    run.issue(KERNEL, 2, (30, 31), (33, 60));
    run.timeline().host.remove(0);
    assert_eq!(parts(&run), [(Part::Host, 30), (Part::Launch, 33), work(KERNEL, 60)]);
}

#[test]
fn of_two_recorded_waits_the_one_that_ended_last_counts() {
    for swapped in [false, true] {
        let mut run = Run::new();
        run.issue(UP, 1, (0, 1), (10, 30));
        let first = run.call("cuEventRecord", 0, (1, 2), 0);
        run.issue(DOWN, 3, (2, 3), (12, 31));
        let second = run.call("cuEventRecord", 0, (3, 4), 0);
        let waits = [run.call(WAIT, 0, (4, 5), 0), run.call(WAIT, 0, (5, 6), 0)];
        run.issue(KERNEL, 2, (6, 7), (33, 95));
        let mut sources = [(stream(1), first), (stream(3), second)];
        if swapped {
            sources.reverse();
        }
        for (step, (source, record)) in waits.into_iter().zip(sources) {
            run.0.waits.push(Wait { stream: stream(2), step, source, record });
        }
        assert!(parts(&run).contains(&work(DOWN, 31)), "{:?}", parts(&run));
    }
}

/// The path of two kernels of a stream, the first over at 30 µs. Before the second starts, a copy
/// of another stream ends.
fn gap(start: u64, copy_ends: u64, waits: bool) -> Vec<(Part, u64)> {
    let mut run = Run::new();
    run.issue(KERNEL, 1, (0, 1), (10, 30));
    run.issue(UP, 2, (1, 2), (12, copy_ends));
    run.call(if waits { WAIT } else { LAUNCH }, 0, (3, 4), 0);
    run.issue(KERNEL, 1, (4, 5), (start, 90));
    parts(&run)
}

#[test]
fn a_stream_is_left_only_after_more_than_a_turnaround_and_for_what_ended_within_one() {
    let leaves =
        |start, copy_ends, waits| gap(start, copy_ends, waits).contains(&work(UP, copy_ends));
    assert!(!leaves(34, 32, true), "4 us are the stream's own turnaround");
    assert!(leaves(35, 32, true), "5 us are more");
    assert!(leaves(40, 36, true), "the copy ended 4 us before");
    assert!(!leaves(40, 35, true), "and here 5 us before");
    assert!(!leaves(35, 32, false), "no stream was made to wait");
}

#[test]
fn an_operation_whose_call_is_not_known_may_have_waited_for_any_other() {
    let mut run = Run::new();
    run.issue(KERNEL, 1, (0, 1), (10, 30));
    run.issue(UP, 2, (1, 2), (12, 33));
    run.work(NO_STEP, KERNEL, 1, (36, 90));
    assert!(parts(&run).contains(&work(UP, 33)), "{:?}", parts(&run));
}

#[test]
fn operations_of_no_length_and_those_that_begin_where_the_region_ends_end_the_walk() {
    let mut run = Run::new();
    run.timeline().region = Some(Interval::new(0, us(40)));
    run.issue(UP, 1, (0, 1), (10, 20));
    run.issue(KERNEL, 1, (1, 2), (20, 20));
    run.issue(KERNEL, 1, (2, 3), (20, 40));
    run.issue(DOWN, 2, (3, 4), (40, 50));
    assert_eq!(parts(&run), [(Part::Launch, 10), work(UP, 20), work(KERNEL, 40)]);
}

#[test]
fn an_operation_of_no_length_does_not_come_after_itself() {
    let mut run = Run::new();
    run.issue(KERNEL, 1, (0, 1), (10, 30));
    run.call(WAIT, 0, (3, 4), 0);
    run.issue(KERNEL, 1, (4, 5), (40, 40));
    run.issue(KERNEL, 1, (5, 6), (40, 60));
    let expected = [(Part::Launch, 10), work(KERNEL, 30), (Part::Turnaround, 40), work(KERNEL, 60)];
    assert_eq!(parts(&run), expected);
}
