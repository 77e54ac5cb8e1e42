//! Metrics against values that were worked out by hand, and against counting every nanosecond.

use trace::Program;
use trace::metrics::idle::Cause;
use trace::metrics::{
    Bounds, Coverage, Latency, Metrics, Usage, blocked, copies, idle, latency, union,
};
use trace::program::{Call, Step};
use trace::timeline::{HostMemory, HostSpan, Interval, SpanKind};

use crate::samples::{
    COPY, DOWN, Dice, INSIDE, KERNEL, LAUNCH, Run, SET, UP, empty, span, timeline, us,
};

fn of(region: Option<(u64, u64)>, spans: &[(SpanKind, u64, u64)]) -> Metrics {
    Metrics::of(&timeline(region, spans))
}

#[test]
fn a_union_joins_what_overlaps_or_touches_and_drops_what_is_empty() {
    let of = |pairs: &[(u64, u64)]| {
        union(pairs.iter().map(|&(start, end)| Interval::new(start, end)))
            .iter()
            .map(|i| (i.start_ns, i.end_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), []);
    assert_eq!(of(&[(5, 5), (7, 6)]), []);
    assert_eq!(of(&[(4, 6), (0, 2), (2, 3)]), [(0, 3), (4, 6)]);
    assert_eq!(of(&[(0, 10), (2, 3), (9, 12)]), [(0, 12)]);
}

#[test]
fn touching_intervals_have_nothing_in_common() {
    let cover = |start, end| Coverage::of([Interval::new(start, end)]);
    assert_eq!(cover(0, 5).intersection(&cover(5, 9)), Coverage::default());
    assert_eq!(cover(0, 6).intersection(&cover(5, 9)).ns(), 1);
    let metrics = of(None, &[(UP, 0, 5), (KERNEL, 5, 9)]);
    assert_eq!((metrics.hidden_copy_ns, metrics.exposed_copy_ns, metrics.idle_ns), (0, 5, 0));
}

#[test]
fn gaps_begin_and_end_with_their_window_whatever_lies_outside_of_it() {
    let covered = Coverage::of([(0, 5), (20, 25)].map(|(from, to)| Interval::new(from, to)));
    let gaps = |from, to| covered.gaps(Interval::new(from, to));
    assert_eq!(gaps(3, 10), [Interval::new(5, 10)]);
    assert_eq!(gaps(10, 22), [Interval::new(10, 20)]);
    assert_eq!(gaps(8, 18), [Interval::new(8, 18)]);
}

#[test]
fn of_gaps_of_one_cause_that_are_as_long_the_first_is_kept() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (1, 10));
    run.issue(UP, 1, (1, 2), (15, 20));
    run.issue(UP, 1, (2, 3), (25, 30));
    let longest =
        idle(&run.0).causes.iter().map(|it| it.longest.start_ns / us(1)).collect::<Vec<_>>();
    assert_eq!(longest, [10]);
}

#[test]
fn an_empty_timeline_has_lengths_of_zero_and_no_shares() {
    let metrics = of(None, &[]);
    assert_eq!((metrics.makespan_ns, metrics.busy_ns, metrics.idle_ns), (0, 0, 0));
    assert_eq!(metrics.hidden_fraction, None);
    assert_eq!(metrics.overlap_share, None);
    assert_eq!(metrics.orchestration_efficiency, None);
    assert_eq!(metrics.communication_efficiency, None);
}

#[test]
fn without_copies_there_is_no_hidden_fraction() {
    let metrics = of(Some((0, 10)), &[(KERNEL, 2, 6), (SET, 0, 1), (INSIDE, 6, 8)]);
    assert_eq!(metrics.hidden_fraction, None);
    assert_eq!((metrics.busy_ns, metrics.idle_ns), (7, 3));
    assert_eq!(metrics.orchestration_efficiency, Some(0.4));
    assert_eq!(metrics.communication_efficiency, Some(1.0));
}

#[test]
fn a_copy_under_a_kernel_is_all_hidden() {
    let metrics = of(None, &[(KERNEL, 0, 10), (UP, 2, 4), (DOWN, 6, 10)]);
    assert_eq!((metrics.copies_ns, metrics.hidden_copy_ns, metrics.exposed_copy_ns), (6, 6, 0));
    assert_eq!(metrics.hidden_fraction, Some(1.0));
    assert_eq!(metrics.communication_efficiency, Some(1.0));
}

#[test]
fn work_in_turn_hides_nothing() {
    let metrics = of(Some((0, 20)), &[(UP, 0, 4), (KERNEL, 4, 8), (DOWN, 8, 16)]);
    assert_eq!((metrics.copies_ns, metrics.hidden_copy_ns, metrics.exposed_copy_ns), (12, 0, 12));
    assert_eq!(metrics.hidden_fraction, Some(0.0));
    assert_eq!(metrics.overlap_share, Some(0.0));
    assert_eq!(metrics.orchestration_efficiency, Some(0.8)); // 16 of 20
    assert_eq!(metrics.communication_efficiency, Some(0.25)); // 4 of 16
}

#[test]
fn kernels_at_the_same_time_count_once_in_busy_and_twice_in_work() {
    let metrics = of(None, &[(KERNEL, 0, 6), (KERNEL, 2, 8), (UP, 7, 11)]);
    assert_eq!(metrics.kernel, Usage { busy_ns: 8, work_ns: 12 });
    assert_eq!((metrics.hidden_copy_ns, metrics.hidden_fraction), (1, Some(0.25)));
}

#[test]
fn spans_count_as_far_as_they_lie_in_the_region() {
    let metrics =
        of(Some((10, 20)), &[(UP, 0, 12), (KERNEL, 11, 30), (DOWN, 25, 40), (SET, 0, 10)]);
    assert_eq!(metrics.makespan_ns, 10);
    assert_eq!(metrics.host_to_device, Usage { busy_ns: 2, work_ns: 2 });
    assert_eq!(metrics.kernel, Usage { busy_ns: 9, work_ns: 9 });
    assert_eq!((metrics.device_to_host, metrics.memset), (Usage::default(), Usage::default()));
    assert_eq!((metrics.hidden_copy_ns, metrics.idle_ns), (1, 0));
}

#[test]
fn spans_of_no_length_count_nothing() {
    let metrics = of(Some((0, 10)), &[(UP, 3, 3), (KERNEL, 3, 3), (KERNEL, 0, 5)]);
    assert_eq!((metrics.copies_ns, metrics.hidden_fraction), (0, None));
    assert_eq!(metrics.kernel, Usage { busy_ns: 5, work_ns: 5 });
}

#[test]
fn the_overlap_share_takes_all_memory_work_and_the_hidden_fraction_only_transfers() {
    // Busy [0, 10). Kernel [0, 6) meets a memset [0, 1), a copy inside [1, 3), a copy up [5, 10).
    let metrics = of(None, &[(KERNEL, 0, 6), (SET, 0, 1), (INSIDE, 1, 3), (UP, 5, 10)]);
    assert_eq!((metrics.overlap_ns, metrics.overlap_share), (4, Some(0.4)));
    assert_eq!((metrics.hidden_copy_ns, metrics.hidden_fraction), (1, Some(0.2)));
}

#[test]
fn all_lanes_is_the_time_in_which_kernel_and_both_directions_ran() {
    let metrics = of(None, &[(KERNEL, 0, 6), (UP, 2, 9), (DOWN, 4, 5), (DOWN, 5, 12)]);
    assert_eq!(metrics.all_lanes_ns, 2); // [4, 6)
}

#[test]
fn a_host_function_leaves_the_device_idle() {
    let metrics = of(Some((0, 10)), &[(SpanKind::HostFunction, 0, 8)]);
    assert_eq!((metrics.busy_ns, metrics.idle_ns), (0, 10));
}

#[test]
fn the_host_is_blocked_at_the_end_of_a_call_and_only_inside_the_region() {
    let mut timeline = timeline(Some((10, 20)), &[]);
    let host = |start_ns, end_ns, blocked_ns| HostSpan { step: 0, start_ns, end_ns, blocked_ns };
    timeline.host = vec![host(0, 12, 5), host(12, 14, 0), host(14, 30, 14)];
    // [7, 12) gives 2, then nothing, then [16, 30) gives 4.
    assert_eq!(Metrics::of(&timeline).host_blocked_ns, 6);
    // A claim of more than the call's own length is the call's length.
    timeline.host = vec![host(12, 15, 100)];
    assert_eq!(Metrics::of(&timeline).host_blocked_ns, 3);
}

#[test]
fn overlap_efficiency_is_0_at_the_serial_time_and_1_at_the_floor_and_not_clamped() {
    let bounds = Bounds { serial_ns: 24, floor_ns: 10, host_ns: 0, request_ns: 0 };
    assert_eq!(bounds.overlap_efficiency(24), Some(0.0));
    assert_eq!(bounds.overlap_efficiency(10), Some(1.0));
    assert_eq!(bounds.overlap_efficiency(17), Some(0.5));
    assert_eq!(bounds.overlap_efficiency(38), Some(-1.0));
    assert_eq!(bounds.overlap_efficiency(3), Some(1.5));
    assert_eq!(bounds.headroom(), Some(14.0 / 24.0));
}

#[test]
fn a_task_with_nothing_to_overlap_has_no_overlap_efficiency() {
    for (serial_ns, floor_ns) in [(10, 10), (9, 10), (0, 0)] {
        let bounds = Bounds { serial_ns, floor_ns, host_ns: 0, request_ns: 0 };
        assert_eq!((bounds.overlap_efficiency(5), bounds.headroom()), (None, None));
    }
}

#[test]
fn host_freedom_is_the_share_of_the_makespan_that_the_hosts_own_work_takes() {
    let bounds = Bounds { serial_ns: 30, floor_ns: 20, host_ns: 20, request_ns: 0 };
    assert_eq!(bounds.host_freedom(20), Some(1.0));
    assert_eq!(bounds.host_freedom(30), Some(20.0 / 30.0));
    assert_eq!(bounds.host_freedom(80), Some(0.25));
    assert_eq!(bounds.host_freedom(0), None);
    let without = Bounds { host_ns: 0, ..bounds };
    assert_eq!(without.host_freedom(30), None);
}

#[test]
fn the_latency_ratio_is_the_latency_on_an_idle_device_of_the_mean_latency() {
    let bounds = Bounds { serial_ns: 30, floor_ns: 20, host_ns: 0, request_ns: 5 };
    assert_eq!(bounds.latency_ratio(5), Some(1.0));
    assert_eq!(bounds.latency_ratio(20), Some(0.25));
    assert_eq!(bounds.latency_ratio(0), None);
    assert_eq!(Bounds { request_ns: 0, ..bounds }.latency_ratio(20), None);
}

#[test]
fn a_request_waits_from_its_arrival_to_its_answer_and_those_of_earlier_regions_do_not_count() {
    let mut program = Program::new(1);
    let mut timeline = empty();
    for (call, start_ns) in [
        (Call::RegionBegin, 0),
        (Call::Arrival { request: 0, at_ns: 10 }, 5),
        (Call::Answer { request: 0 }, 500),
        (Call::RegionEnd, 600),
        (Call::RegionBegin, 990),
        (Call::Arrival { request: 0, at_ns: 10 }, 1_000),
        (Call::Answer { request: 0 }, 1_040),
        // It was there before the host came to it.
        (Call::Arrival { request: 1, at_ns: 20 }, 1_050),
        (Call::Answer { request: 1 }, 1_090),
        (Call::Arrival { request: 2, at_ns: 100 }, 1_095),
        (Call::RegionEnd, 1_200),
    ] {
        let step = program.steps.len() as u32;
        program.steps.push(Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 });
        timeline.host.push(HostSpan { step, start_ns, end_ns: start_ns, blocked_ns: 0 });
    }
    timeline.region = Some(Interval::new(1_000, 1_200));
    let found = latency(&program, &timeline);
    assert_eq!(found, Some(Latency { answers: 2, mean_ns: 50, longest_ns: 70 }));
    program.steps.truncate(1);
    assert_eq!(latency(&program, &timeline), None);
}

#[test]
fn bounds_without_host_work_or_requests_read_and_write_as_they_did_before_there_was_any() {
    let old = r#"{"serial_ns":30,"floor_ns":20}"#;
    let bounds: Bounds = serde_json::from_str(old).expect("two fields are enough");
    assert_eq!(bounds, Bounds { serial_ns: 30, floor_ns: 20, host_ns: 0, request_ns: 0 });
    assert_eq!(serde_json::to_string(&bounds).expect("plain data"), old);
    let worked = Bounds { host_ns: 7, ..bounds };
    let text = serde_json::to_string(&worked).expect("plain data");
    assert_eq!(text, r#"{"serial_ns":30,"floor_ns":20,"host_ns":7}"#);
    let served = Bounds { request_ns: 9, ..bounds };
    let text = serde_json::to_string(&served).expect("plain data");
    assert_eq!(text, r#"{"serial_ns":30,"floor_ns":20,"request_ns":9}"#);
    assert_eq!(serde_json::from_str::<Bounds>(&text).expect("its own form"), served);
    for bounds in [bounds, worked, served] {
        // The form that goes from the driver to the lab has no names, so no field may be missing.
        let bytes = postcard::to_stdvec(&bounds).expect("plain data");
        assert_eq!(postcard::from_bytes::<Bounds>(&bytes).expect("its own form"), bounds);
    }
}

#[test]
fn random_timelines_agree_with_counting_every_nanosecond() {
    const KINDS: [SpanKind; 6] = [KERNEL, UP, DOWN, INSIDE, SET, SpanKind::HostFunction];
    let mut dice = Dice(7);
    for round in 0..400 {
        let spans: Vec<_> = (0..dice.roll(25))
            .map(|_| {
                let start = dice.roll(150);
                (KINDS[dice.roll(6) as usize], start, start + dice.roll(40))
            })
            .collect();
        let region = (dice.roll(3) > 0).then(|| {
            let start = dice.roll(60);
            (start, start + dice.roll(120))
        });
        let timeline = timeline(region, &spans);
        let extent = timeline.extent();
        let metrics = Metrics::of(&timeline);

        let [mut kernel, mut up, mut down, mut inside, mut set] = [0; 5];
        let [mut busy, mut copies, mut hidden, mut overlap, mut all, mut useful] = [0; 6];
        let mut work = 0;
        for now in extent.start_ns..extent.end_ns {
            let running = |kind: SpanKind| {
                spans.iter().filter(move |&&(k, start, end)| k == kind && start <= now && now < end)
            };
            let [k, u, d, i, s] =
                [KERNEL, UP, DOWN, INSIDE, SET].map(|kind| running(kind).next().is_some());
            work += running(KERNEL).count() as u64;
            kernel += u64::from(k);
            up += u64::from(u);
            down += u64::from(d);
            inside += u64::from(i);
            set += u64::from(s);
            busy += u64::from(k || u || d || i || s);
            copies += u64::from(u || d);
            hidden += u64::from((u || d) && k);
            overlap += u64::from((u || d || i || s) && k);
            all += u64::from(u && d && k);
            useful += u64::from(u || d || k);
        }
        let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);

        assert_eq!(metrics.kernel, Usage { busy_ns: kernel, work_ns: work }, "round {round}");
        assert_eq!(metrics.host_to_device.busy_ns, up, "round {round}");
        assert_eq!(metrics.device_to_host.busy_ns, down, "round {round}");
        assert_eq!(metrics.device_to_device.busy_ns, inside, "round {round}");
        assert_eq!(metrics.memset.busy_ns, set, "round {round}");
        assert_eq!(metrics.busy_ns, busy, "round {round}");
        assert_eq!(metrics.copies_ns, copies, "round {round}");
        assert_eq!(metrics.hidden_copy_ns, hidden, "round {round}");
        assert_eq!(metrics.hidden_fraction, ratio(hidden, copies), "round {round}");
        assert_eq!(metrics.overlap_share, ratio(overlap, busy), "round {round}");
        assert_eq!(metrics.all_lanes_ns, all, "round {round}");
        assert_eq!(metrics.orchestration_efficiency, ratio(useful, extent.ns()), "round {round}");
        assert_eq!(metrics.communication_efficiency, ratio(kernel, useful), "round {round}");
        assert_eq!(metrics.makespan_ns, metrics.busy_ns + metrics.idle_ns, "round {round}");
        let parts = metrics.hidden_copy_ns + metrics.exposed_copy_ns;
        assert_eq!(parts, metrics.copies_ns, "round {round}");
    }
}

#[test]
fn copies_add_up_by_direction_and_memory_pinned_first_if_they_begin_in_the_region() {
    let mut timeline = timeline(Some((10, 100)), &[]);
    let copy = |kind, start_ns, host_memory| {
        let mut copy = span(kind, start_ns, start_ns + 20);
        (copy.bytes, copy.host_memory) = (7, host_memory);
        copy
    };
    let (pinned, pageable) = (Some(HostMemory::Pinned), Some(HostMemory::Pageable));
    timeline.spans = vec![
        copy(UP, 9, pinned), // before the region
        copy(UP, 10, pageable),
        copy(UP, 99, pinned), // whole, though it ends later
        copy(UP, 40, pageable),
        copy(UP, 50, None),
        copy(KERNEL, 50, None),
        copy(UP, 100, pinned),
    ];
    let sums: Vec<_> = copies(&timeline)
        .iter()
        .map(|it| (it.kind, it.host_memory, it.copies, it.bytes, it.ns))
        .collect();
    let expected = [(UP, pinned, 1, 7, 20), (UP, pageable, 2, 14, 40), (UP, None, 1, 7, 20)];
    assert_eq!(sums, expected);
}

#[test]
fn of_gaps_of_one_cause_the_longest_is_kept_and_what_takes_no_time_in_them_is_not_told() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (1, 10)); // after a gap of 1 us, in which it is issued
    run.issue(UP, 1, (1, 10), (20, 30)); // after 10, in which it waits
    run.call("cuEventQuery", 0, (12, 30), 0); // over as the next gap begins
    run.issue(DOWN, 1, (30, 50), (50, 60)); // after 20; its call was made at once
    run.issue(KERNEL, 1, (61, 62), (65, 70)); // after 5; its call came 1 us late and took 1 us
    let found = idle(&run.0);
    let causes: Vec<_> = found
        .causes
        .iter()
        .map(|it| (it.cause, it.gaps, it.ns / us(1), it.longest.start_ns / us(1)))
        .collect();
    assert_eq!(causes, [(Cause::Host, 1, 5, 60), (Cause::Dependency, 3, 31, 30)]);
    let doing: Vec<_> = found.host.iter().map(|it| (it.call, it.ns / us(1))).collect();
    assert_eq!(doing, [(None, 1), (Some(LAUNCH), 1)]);
}

#[test]
fn a_late_call_that_spans_the_gap_leaves_no_time_between_calls() {
    let mut run = Run::new();
    run.issue(UP, 1, (0, 1), (1, 10));
    run.call("cuEventQuery", 0, (2, 12), 0);
    run.issue(KERNEL, 1, (12, 30), (20, 40));
    let doing: Vec<_> = idle(&run.0).host.iter().map(|it| (it.call, it.ns / us(1))).collect();
    assert_eq!(doing, [(Some(LAUNCH), 8), (Some("cuEventQuery"), 2)]);
}

#[test]
fn blocking_calls_of_one_name_add_up_and_the_longest_is_kept() {
    let mut run = Run::new();
    for time in [(0, 3), (5, 10), (11, 12)] {
        run.call(COPY, 0, time, 1);
    }
    let window = Interval::new(us(2), us(11));
    let found: Vec<_> = blocked(&run.0, window)
        .iter()
        .map(|it| (it.call, it.calls, it.ns / us(1), it.longest_ns / us(1)))
        .collect();
    assert_eq!(found, [(COPY, 2, 8, 5)], "the third is not in the window");
}

#[test]
fn only_a_kernel_is_communication() {
    let of = |kind| {
        let mut named = span(kind, 0, 1);
        named.name = Some("ncclDevKernel_AllReduce".into());
        named.is_communication()
    };
    assert_eq!([KERNEL, UP, INSIDE].map(of), [true, false, false]);
    assert!(!span(KERNEL, 0, 1).is_communication());
}
