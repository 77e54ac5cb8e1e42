//! Graphs: what their edges mean, and what they save.

use trace::program::StreamKind::NonBlocking;
use trace::program::{Call, GraphId, GraphNode, KernelId, StreamId};
use trace::timeline::{Span, Timeline};

use crate::program::*;

const GRAPH: GraphId = GraphId(0);

/// Takes the last calls of a script back, as nodes that each come after the ones listed.
fn capture(script: &mut Script, after: &[&[u32]]) {
    let first = script.program.steps.len() - after.len();
    let captured = script.program.steps.split_off(first);
    let nodes = captured.into_iter().zip(after);
    let nodes = nodes
        .map(|(step, after)| GraphNode { call: step.call, after: after.to_vec(), site: None })
        .collect();
    script.call(Call::GraphCreate { graph: GRAPH, nodes });
    script.call(Call::GraphInstantiate { graph: GRAPH, updates: None });
}

fn launch(script: &mut Script, stream: StreamId) -> u32 {
    launch_copy(script, 0, stream)
}

fn launch_copy(script: &mut Script, copy: u32, stream: StreamId) -> u32 {
    script.call(Call::GraphLaunch { graph: GRAPH, copy, stream, accesses: Vec::new() })
}

/// The spans of a launch, in the order of their starts.
fn spans(timeline: &Timeline, step: u32) -> Vec<&Span> {
    timeline.spans.iter().filter(|span| span.step == step).collect()
}

#[test]
fn branches_run_side_by_side_and_the_join_after_both() {
    let mut script = Script::new();
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    script.kernel(first, 1, 100);
    script.kernel(first, 1, 300);
    script.kernel(second, 1, 400);
    script.kernel(first, 1, 100);
    capture(&mut script, &[&[], &[0], &[0], &[1, 2]]);
    let step = launch(&mut script, first);
    script.synchronize();
    let timeline = script.run();
    let [root, left, right, join] = spans(&timeline, step)[..] else { panic!("four kernels") };
    assert!(left.start_ns >= root.end_ns && right.start_ns >= root.end_ns);
    assert!(left.start_ns < right.end_ns && right.start_ns < left.end_ns);
    assert!(join.start_ns >= left.end_ns && join.start_ns >= right.end_ns);
}

#[test]
fn a_launch_comes_after_what_its_stream_holds_and_before_what_it_is_given() {
    for stream_of_nodes in 0..2 {
        let mut script = Script::new();
        let streams = [script.stream(NonBlocking), script.stream(NonBlocking)];
        script.kernel(streams[stream_of_nodes], 1, 100);
        script.kernel(streams[stream_of_nodes], 1, 200);
        capture(&mut script, &[&[], &[]]);
        let before = script.kernel(streams[0], 1, 1000);
        let step = launch(&mut script, streams[0]);
        let after = script.kernel(streams[0], 1, 10);
        let elsewhere = script.kernel(streams[1], 1, 10);
        script.synchronize();
        let timeline = script.run();
        for node in spans(&timeline, step) {
            assert!(span(&timeline, before).end_ns <= node.start_ns);
            assert!(node.end_ns <= span(&timeline, after).start_ns);
        }
        assert!(span(&timeline, elsewhere).start_ns < span(&timeline, before).end_ns);
    }
}

#[test]
fn each_launch_of_a_graph_runs_all_of_it() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    script.copy(stream, Way::Up(Host::Pinned), MIB);
    script.kernel(stream, 1, 10);
    capture(&mut script, &[&[], &[0]]);
    let (once, again) = (launch(&mut script, stream), launch(&mut script, stream));
    script.synchronize();
    let timeline = script.run();
    let (once, again) = (spans(&timeline, once), spans(&timeline, again));
    assert_eq!((once.len(), again.len()), (2, 2));
    assert!(once[1].end_ns <= again[0].start_ns);
}

#[test]
fn launches_of_one_copy_take_turns_and_those_of_two_copies_do_not() {
    let overlap = |second_copy| {
        let mut script = Script::new();
        let streams = [script.stream(NonBlocking), script.stream(NonBlocking)];
        script.kernel(streams[0], 1, 100);
        capture(&mut script, &[&[]]);
        script.call(Call::GraphInstantiate { graph: GRAPH, updates: None });
        let first = launch(&mut script, streams[0]);
        let second = launch_copy(&mut script, second_copy, streams[1]);
        script.synchronize();
        let timeline = script.run();
        span(&timeline, second).start_ns < span(&timeline, first).end_ns
    };
    assert!(!overlap(0));
    assert!(overlap(1));
}

#[test]
fn an_updated_copy_takes_turns_with_what_it_was_and_is_not_brought_to_the_device_again() {
    let other = GraphId(1);
    let mut script = Script::new();
    let streams = [script.stream(NonBlocking), script.stream(NonBlocking)];
    script.kernel(streams[0], 1, 100);
    capture(&mut script, &[&[]]);
    let first = launch(&mut script, streams[0]);
    let again = launch(&mut script, streams[0]);
    let Call::GraphCreate { nodes, .. } = script.program.steps[first as usize - 2].call.clone()
    else {
        panic!("a graph is created")
    };
    script.call(Call::GraphCreate { graph: other, nodes });
    let made = script.call(Call::GraphInstantiate { graph: other, updates: None });
    let updated = script.call(Call::GraphInstantiate { graph: other, updates: Some((GRAPH, 0)) });
    let accesses = Vec::new();
    let launched =
        script.call(Call::GraphLaunch { graph: other, copy: 1, stream: streams[1], accesses });
    script.synchronize();
    let timeline = script.run();
    assert!(span(&timeline, launched).start_ns >= span(&timeline, again).end_ns);
    let [first, again, made, updated, launched] = [first, again, made, updated, launched]
        .map(|step| timeline.host.iter().find(|call| call.step == step).expect("a call"))
        .map(|call| call.end_ns - call.start_ns);
    assert!(updated * 5 < made, "{updated} and {made}");
    assert!(launched == again && again < first, "{launched}, {again} and {first}");
}

#[test]
fn an_empty_graph_is_over_at_once() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    capture(&mut script, &[]);
    let step = launch(&mut script, stream);
    script.synchronize();
    assert!(spans(&script.run(), step).is_empty());
}

#[test]
fn two_hundred_tiny_kernels_take_what_they_took_on_an_h200() {
    // Measured: 0.12 ms as one graph, of kernels that do nothing (2026-11-22, driver 580.159.04, `graph_run_ns`
    // of the raw figures). Launched one by one they are bound by the host.
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    let kernel = KernelId(1);
    script.call(Call::FunctionGet {
        kernel,
        name: "tiny".to_owned(),
        rate: "matmul".to_owned(),
        registers: 32,
        shared_bytes: 0,
        items: None,
        inner_loop: None,
    });
    let tiny = |script: &mut Script| {
        let step = script.kernel(stream, 1, 0);
        let Call::Launch(launch) = &mut script.program.steps[step as usize].call else {
            unreachable!("a kernel is a launch")
        };
        launch.kernel = kernel;
    };
    let mut chain = vec![vec![]];
    chain.extend((0..199).map(|before| vec![before]));
    let chain: Vec<&[u32]> = chain.iter().map(Vec::as_slice).collect();
    (0..200).for_each(|_| tiny(&mut script));
    capture(&mut script, &chain);
    launch(&mut script, stream); // the first one takes the graph to the device
    let begin = script.synchronize();
    launch(&mut script, stream);
    let graph = script.synchronize();
    (0..200).for_each(|_| tiny(&mut script));
    let eager = script.synchronize();
    let timeline = script.run();
    let end = |step| timeline.host.iter().find(|call| call.step == step).unwrap().end_ns;
    let ms = |from, to| (end(to) - end(from)) as f64 / 1e6;
    assert!((0.12..0.15).contains(&ms(begin, graph)), "{} ms", ms(begin, graph));
    let launches = 200.0 * h200().host.launch_ns.value as f64 / 1e6;
    assert!((launches..1.05 * launches).contains(&ms(graph, eager)), "{} ms", ms(graph, eager));
}
