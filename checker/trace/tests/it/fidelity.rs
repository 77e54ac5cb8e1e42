//! Predicted against measured.

use trace::Timeline;
use trace::fidelity::{Ends, Fidelity, Measured, Operations, Predicted, Sum, Verdict, Visit};
use trace::metrics::Bounds;
use trace::program::StreamId;
use trace::timeline::{Interval, Origin, Span, SpanKind};

const BOUNDS: Bounds =
    Bounds { serial_ns: 3_000_000, floor_ns: 1_000_000, host_ns: 0, request_ns: 0 };

/// A program that is predicted to take `predicted` ns, and what a GPU took.
fn kept(predicted: u64, visits: &[&[u64]]) -> Fidelity {
    let mut kept = Fidelity::new("NVIDIA H200".to_owned(), "h200".to_owned());
    kept.programs.push(Predicted {
        exercise: "ex".to_owned(),
        program: "solution".to_owned(),
        makespan_ns: predicted,
        bounds: BOUNDS,
        ends: Ends::Task,
        misses: None,
    });
    for makespans in visits {
        let measured = Measured {
            exercise: "ex".to_owned(),
            program: "solution".to_owned(),
            makespans_ns: makespans.to_vec(),
            bounds: Some(BOUNDS),
            ..Measured::default()
        };
        kept.visits.push(Visit {
            date: "2026-11-21".to_owned(),
            driver: "580.159.04".to_owned(),
            cuda: 13_000,
            host: "a host".to_owned(),
            cores: 16,
            command: "checker dev measure".to_owned(),
            programs: vec![measured],
            overhead: None,
        });
    }
    kept
}

fn verdict(predicted: u64, visits: &[&[u64]]) -> Verdict {
    kept(predicted, visits).rows()[0].verdict()
}

#[test]
fn a_makespan_may_be_off_by_a_tenth_and_an_efficiency_by_a_twentieth() {
    // A twentieth of the scale of 2 ms is 0.1 ms.
    assert_eq!(verdict(1_099_000, &[&[1_000_000]]), Verdict::Met);
    assert_eq!(verdict(1_101_000, &[&[1_000_000]]), Verdict::Makespan);
    assert_eq!(verdict(2_099_000, &[&[2_000_000]]), Verdict::Met);
    assert_eq!(verdict(2_110_000, &[&[2_000_000]]), Verdict::Efficiency);
    assert_eq!(verdict(1_890_000, &[&[2_000_000]]), Verdict::Efficiency);
    assert_eq!(verdict(1_000_000, &[]), Verdict::Unmeasured);
}

#[test]
fn more_than_that_is_allowed_where_the_gpu_itself_spreads_further() {
    let spread: &[u64] = &[1_000_000, 1_000_000, 1_200_000];
    assert_eq!(verdict(1_200_000, &[spread]), Verdict::Met);
    assert_eq!(verdict(1_201_000, &[spread]), Verdict::Makespan);
    // Two machines spread as two runs of one do.
    assert_eq!(verdict(1_200_000, &[&[1_000_000, 1_000_000], &[1_200_000]]), Verdict::Met);
}

#[test]
fn programs_of_one_task_stand_on_the_scale_of_its_baseline() {
    let mut kept = kept(2_000_000, &[&[2_000_000]]);
    let mut baseline = kept.visits[0].programs[0].clone();
    baseline.program = "baseline".to_owned();
    kept.visits[0].programs.push(baseline);
    // In many small pieces each engine takes longer alone, and the scale of a program in such pieces is its own.
    kept.visits[0].programs[0].bounds = Some(Bounds { serial_ns: 9_000_000, ..BOUNDS });
    let efficiency = kept.rows()[0].measured.as_ref().and_then(|seen| seen.efficiency);
    assert_eq!(efficiency, Some(0.5));
}

#[test]
fn one_run_that_was_disturbed_is_no_excuse() {
    let runs: &[u64] =
        &[1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 9_000_000];
    assert_eq!(verdict(1_200_000, &[runs]), Verdict::Makespan);
}

#[test]
fn a_machine_that_is_slower_throughout_is_the_gpus_own_spread_however_many_were_visited() {
    let (fast, slow): (&[u64], &[u64]) = (&[1_000_000; 9], &[1_300_000; 9]);
    assert_eq!(verdict(1_300_000, &[fast, fast, fast, fast, fast, slow]), Verdict::Met);
    assert_eq!(verdict(1_301_000, &[fast, fast, fast, fast, fast, slow]), Verdict::Makespan);
}

#[test]
fn a_sum_counts_what_was_measured_and_what_is_close() {
    let close = |ns| {
        let kept = kept(ns, &[&[1_000_000]]);
        let sum = Sum::of(&kept.rows());
        (sum.measured, sum.met, sum.close, sum.close_enough())
    };
    assert_eq!(close(1_049_000), (1, 1, 1, true));
    assert_eq!(close(1_051_000), (1, 1, 0, false));
    assert_eq!(Sum::of(&kept(1, &[]).rows()).measured, 0);
}

/// Kernels and uploads, by step: start and end.
fn timeline(spans: &[(SpanKind, u32, u64, u64)]) -> Timeline {
    let mut timeline = Timeline::new(Origin::Simulated { profile: "h200".to_owned() });
    timeline.region = Some(Interval::new(100, 1_000));
    for &(kind, step, start_ns, end_ns) in spans {
        timeline.spans.push(Span {
            step,
            kind,
            name: None,
            stream: StreamId(2),
            start_ns,
            end_ns,
            bytes: 0,
            host_memory: None,
        });
    }
    timeline
}

use SpanKind::{HostToDevice, Kernel};

#[test]
fn operations_are_told_by_engine_and_by_the_order_in_which_they_were_asked_for() {
    let operations = Operations::of(&timeline(&[
        (Kernel, 9, 300, 400),
        (HostToDevice, 4, 210, 220), // the second piece of a copy
        (HostToDevice, 4, 150, 200),
        (Kernel, 2, 500, 600),
        (SpanKind::HostFunction, 5, 300, 310),
        (SpanKind::Memset, 1, 10, 20), // before the region
    ]));
    assert_eq!(operations.0[&Kernel], [(400, 500), (200, 300)]);
    assert_eq!(operations.0[&HostToDevice], [(50, 120)]);
    assert_eq!((operations.0.len(), operations.shortest_ns()), (2, Some(70)));
}

#[test]
fn operations_are_kept_as_gaps_and_durations_and_come_out_as_they_went_in() {
    // The second kernel began before the first had ended, and the third was done before both.
    let text = r#"{"kernel":[400,100,-50,10,-260,100],"host_to_device":[50,70]}"#;
    let operations = Operations::of(&timeline(&[
        (Kernel, 1, 500, 600),
        (Kernel, 2, 550, 560),
        (Kernel, 3, 300, 400),
        (HostToDevice, 4, 150, 220),
    ]));
    assert_eq!(serde_json::to_string(&operations).expect("JSON"), text);
    assert_eq!(serde_json::from_str::<Operations>(text).expect("they are"), operations);
    for wrong in [r#"{"kernel":[1]}"#, r#"{"kernel":[-1,2]}"#, r#"{"kernel":[1,-2]}"#] {
        serde_json::from_str::<Operations>(wrong).expect_err(wrong);
    }
}

#[test]
fn pairs_agree_where_they_are_in_the_same_order_whatever_they_take() {
    let here = Operations::of(&timeline(&[
        (Kernel, 1, 100, 110),
        (Kernel, 2, 110, 120),
        (Kernel, 3, 120, 130),
        (HostToDevice, 4, 100, 110),
    ]));
    let same = here.agreement(&here).expect("the same operations");
    // The copy overlaps the first kernel, and comes before the two others.
    assert_eq!((same.engine.pairs, same.engine.same), (3, 3));
    assert_eq!((same.across.pairs, same.across.same), (2, 2));

    // Slower, kernels 2 and 3 in turn, and the copy last; kernel 1 overlaps kernel 3 a little.
    let there = Operations::of(&timeline(&[
        (Kernel, 1, 100, 210),
        (Kernel, 2, 300, 400),
        (Kernel, 3, 200, 300),
        (HostToDevice, 4, 500, 510),
    ]));
    let order = there.agreement(&here).expect("the same operations");
    assert_eq!((order.engine.pairs, order.engine.same), (2, 1));
    assert_eq!((order.across.pairs, order.across.same), (2, 0));
    assert_eq!(order.across.share(), Some(0.0));
    assert_eq!(order, here.agreement(&there).expect("it does not matter who is asked"));

    let fewer = Operations::of(&timeline(&[(Kernel, 1, 100, 110)]));
    assert_eq!(here.agreement(&fewer), None);
}

#[test]
fn the_report_says_what_was_met_and_what_was_missed() {
    let mut report = kept(1_500_000, &[&[1_000_000, 1_010_000, 1_020_000]]);
    report.programs[0].misses = Some("the reason".to_owned());
    report.visits[0].programs[0].failure = Some("no timeline".to_owned());
    insta::assert_snapshot!(report.markdown());
}
