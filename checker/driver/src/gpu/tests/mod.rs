//! The GPU arm in front of a stand-in: a library that answers for the driver and for CUPTI.

use kernels::Stage;
use simulator::machine::{Address, Library as _, Part, StreamCommand};
use trace::Record;
use trace::lab_protocol::{Buffer, Pass, Region, ThreadRequest};
use trace::program::{AccessKind, Call, ChannelEnd, ChannelId, Step};
use trace::record::{DeviceState, Output};
use trace::timeline::{HostMemory, Origin, SpanKind};

mod program;

use super::*;
use program::{Program, SPEEDS};

fn method(record: &Record) -> Method {
    match &record.timeline.origin {
        Origin::Measured { device, driver, method } => {
            assert_eq!((device.as_str(), *driver), ("Stand-in", 13_010));
            *method
        }
        other => panic!("measured on a stand-in, not {other:?}"),
    }
}

/// A warm-up, whose outputs nobody looks at, and a pass that counts, which is right.
fn solve_twice(program: &Program) -> Record {
    for (pass, output) in [(Pass::WarmUp, Output::Unchecked), (Pass::Counts, Output::Correct)] {
        let trial = program.pass(pass, || program.solve());
        assert_eq!((&trial.output, trial.device), (&output, DeviceState::Idle));
        assert_eq!(trial.missing_work, []);
        assert!(trial.makespan_ns > 600_000, "three operations of 200 µs: {}", trial.makespan_ns);
    }
    let record = program.record();
    assert_eq!(record.trials.len(), 1);
    record
}

/// The three operations, each inside the call that asked for it, since the stand-in is done by then.
fn check_spans(record: &Record) {
    let spans = &record.timeline.spans;
    let kinds: Vec<_> = spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [SpanKind::HostToDevice, SpanKind::Kernel, SpanKind::DeviceToHost]);
    assert_eq!(spans[1].name(), Stage::A.name());
    assert_eq!(spans[0].host_memory, Some(HostMemory::Pinned));
    let region = record.timeline.region.expect("there was one");
    // The clock of the records is not the host's; reading both leaves this much open, in ns.
    const SLACK: u64 = 100_000;
    for span in spans {
        assert!(span.end_ns - span.start_ns >= 200_000, "{span:?}");
        let host = &record.timeline.host[span.step as usize];
        assert_eq!(host.step, span.step);
        assert!(host.start_ns <= span.start_ns + SLACK, "{span:?} {host:?}");
        assert!(span.end_ns <= host.end_ns + SLACK, "{span:?} {host:?}");
        assert!(region.start_ns <= host.start_ns && host.end_ns <= region.end_ns);
    }
}

#[test]
fn a_run_whose_time_counts_has_a_program_and_no_spans() {
    let program = Program::new(Trace::Off);
    let record = solve_twice(&program);
    assert_eq!((method(&record), record.timeline.spans.len()), (Method::Untraced, 0));
    assert_eq!(record.notes, Vec::<String>::new());
    let steps: Vec<_> = record.program.steps.iter().map(|step| &step.call).collect();
    // Five to set up, then the pass that counts: the warm-up has left nothing.
    assert_eq!(steps.len(), 11);
    assert!(matches!(
        steps[5..],
        [
            Call::RegionBegin,
            Call::Copy { .. },
            Call::Launch(_),
            Call::Copy { .. },
            Call::StreamSynchronize { .. },
            Call::RegionEnd,
        ]
    ));
    assert_eq!(record.timeline.host, [], "nobody has read the clock at each call");
}

#[test]
fn a_call_that_fails_is_a_step_with_its_code_in_a_run_whose_time_counts_too() {
    let program = Program::new(Trace::Off);
    let stream = program.stream;
    program.pass(Pass::Counts, || {
        let command = Command::Stream(StreamCommand::Query { stream });
        let failed = program.gpu.call(command, || code::NOT_READY, || Reply::Done);
        assert_eq!(failed, code::NOT_READY);
    });
    let results: Vec<_> = program
        .record()
        .program
        .steps
        .iter()
        .map(|step| step.result)
        .filter(|it| *it != 0)
        .collect();
    assert_eq!(results, [code::NOT_READY]);
}

#[test]
fn event_pairs_enclose_the_operations() {
    let program = Program::new(Trace::Events);
    let record = solve_twice(&program);
    assert_eq!((method(&record), &record.notes), (Method::EventPairs, &Vec::new()));
    check_spans(&record);
}

#[test]
fn cupti_records_become_spans() {
    let program = Program::new(Trace::Cupti);
    let record = solve_twice(&program);
    assert_eq!((method(&record), &record.notes), (Method::Cupti, &Vec::new()));
    check_spans(&record);
}

#[test]
fn cupti_records_without_numbers_become_spans_by_their_order() {
    let program = Program::new(Trace::Cupti);
    program.tell("stand_in_hide", 39);
    let record = solve_twice(&program);
    assert_eq!((method(&record), &record.notes), (Method::Cupti, &Vec::new()));
    check_spans(&record);
}

#[test]
fn records_that_contradict_the_program_make_the_next_pass_use_event_pairs() {
    let program = Program::new(Trace::Cupti);
    program.tell("stand_in_hide", 39);
    program.pass(Pass::WarmUp, || {
        program.solve();
        // As if CUPTI had lost a record.
        let launch = program.gpu.real.find("stand_in_launch").expect("the stand-in has it");
        // SAFETY: the stand-in defines it with this type.
        unsafe { std::mem::transmute::<usize, extern "C" fn() -> u32>(launch)() };
    });
    assert_eq!(method(&program.record()), Method::Untraced);
    let record = solve_twice(&program);
    assert_eq!(method(&record), Method::EventPairs);
    assert_eq!(
        record.notes,
        ["CUPTI cannot be relied on here: it shows more than the 3 operations asked for"]
    );
    check_spans(&record);
}

#[test]
fn without_cupti_there_are_event_pairs_and_a_note() {
    let mut program = Program::new(Trace::Events);
    program.gpu.trace = Trace::Cupti;
    program.gpu.without_cupti = Some("why".to_owned());
    let record = solve_twice(&program);
    assert_eq!((method(&record), record.notes), (Method::EventPairs, vec!["why".to_owned()]));
}

#[test]
fn work_that_is_not_done_or_not_over_is_found() {
    let program = Program::new(Trace::Off);
    let trial = program.pass(Pass::Counts, || {
        program.copy(Address::Pageable(program.input), Address::Device(program.device));
        program.tell("stand_in_busy", 1);
    });
    program.tell("stand_in_busy", 0);
    assert_eq!(trial.device, DeviceState::Busy);
    // Many threads look at it, and say together what one would say.
    let all = program.task.elements();
    let Output::Wrong { element, found, wrong, of, .. } = trial.output else {
        panic!("nothing was done, and yet: {:?}", trial.output)
    };
    assert_eq!((element, found, wrong, of), (0, machine::POISON, all, all));
    let missing: Vec<_> = trial.missing_work.iter().map(|work| work.what.as_str()).collect();
    assert_eq!(missing, ["device to host bytes", Stage::A.name()]);
}

#[test]
fn the_lab_is_answered() {
    let program = Program::new(Trace::Off);
    let ask = |request| program.gpu.ask(request);
    assert_eq!(ask(lab_protocol::Request::Scale { scale: 1 }), lab_protocol::Reply::Done);
    assert!(matches!(
        ask(lab_protocol::Request::Scale { scale: 32 }),
        lab_protocol::Reply::Refused { .. }
    ));
    assert_eq!(ask(lab_protocol::Request::Speeds), lab_protocol::Reply::Speeds(SPEEDS));
    assert!(matches!(ask(lab_protocol::Request::RegionEnd), lab_protocol::Reply::Refused { .. }));
    let clock = || match ask(lab_protocol::Request::Clock) {
        lab_protocol::Reply::Clock { ns } => ns,
        other => panic!("a clock, not {other:?}"),
    };
    let start = clock();
    assert_eq!(
        ask(lab_protocol::Request::HostWork { ns: 300_000, asking_ns: 0 }),
        lab_protocol::Reply::Done
    );
    assert!(clock() - start >= 300_000);
    assert_eq!(ask(lab_protocol::Request::Ready), lab_protocol::Reply::Done);
    let worked = |step: &Step| step.call == Call::HostWork { ns: 300_000, target: None };
    assert_eq!(program.record().program.steps.iter().filter(|step| worked(step)).count(), 1);
}

#[test]
fn what_it_takes_to_ask_for_declared_work_is_part_of_its_time() {
    const ASKING: u64 = 20_000_000;
    let program = Program::new(Trace::Events);
    program.gpu.clock.spin_until(program.gpu.clock.now() + ASKING);
    let work = lab_protocol::Request::HostWork { ns: ASKING / 2, asking_ns: ASKING };
    assert_eq!(program.gpu.ask(work), lab_protocol::Reply::Done);
    let back = program.gpu.clock.now();
    assert_eq!(program.gpu.ask(lab_protocol::Request::Ready), lab_protocol::Reply::Done);
    let record = program.record();
    let worked = |step: &Step| step.call == Call::HostWork { ns: ASKING / 2, target: None };
    let step = record.program.steps.iter().position(worked).expect("it is a step") as u32;
    let span = record.timeline.host.iter().find(|span| span.step == step).expect("and has a span");
    // Had it begun when it was noted, it would have been asked for since it came back.
    assert!(span.start_ns + ASKING <= back, "{span:?}, back at {back}");
    assert!(span.end_ns >= span.start_ns + ASKING / 2, "{span:?}");
}

#[test]
fn a_request_waits_from_its_arrival_to_its_answer_whether_or_not_the_run_is_traced() {
    const ARRIVES: u64 = 3_000_000;
    const SERVED: u64 = 2_000_000;
    for trace in [Trace::Off, Trace::Events] {
        let program = Program::new(trace);
        let ask = |request| program.gpu.ask(request);
        let arrival = || ask(lab_protocol::Request::Arrival { played_ns: Some(ARRIVES) });
        let answer = || ask(lab_protocol::Request::Answer { request: 0 });
        assert_eq!(arrival(), lab_protocol::Reply::Gone);
        assert!(matches!(answer(), lab_protocol::Reply::Refused { .. }));
        assert_eq!(
            ask(lab_protocol::Request::RegionBegin(Region::default())),
            lab_protocol::Reply::Done
        );
        assert!(matches!(answer(), lab_protocol::Reply::Refused { .. }));
        assert_eq!(arrival(), lab_protocol::Reply::Number(0));
        assert_eq!(
            ask(lab_protocol::Request::HostWork { ns: SERVED, asking_ns: 0 }),
            lab_protocol::Reply::Done
        );
        assert_eq!(answer(), lab_protocol::Reply::Done);
        assert!(matches!(answer(), lab_protocol::Reply::Refused { .. }));
        let lab_protocol::Reply::Trial(trial) = ask(lab_protocol::Request::RegionEnd) else {
            panic!("a trial")
        };
        let latency = trial.latency.expect("one was answered");
        assert_eq!(latency.answers, 1);
        assert!(latency.mean_ns >= SERVED, "{latency:?}");
        assert!(trial.makespan_ns >= ARRIVES + latency.mean_ns, "{trial:?}");
        let steps = program.record().program.steps;
        let calls: Vec<_> = steps.iter().map(|step| &step.call).collect();
        let place = |call: &Call| calls.iter().position(|it| *it == call);
        let arrived = place(&Call::Arrival { request: 0, at_ns: ARRIVES });
        assert!(arrived.is_some() && arrived < place(&Call::Answer { request: 0 }), "{calls:?}");
    }
}

#[test]
fn an_answer_counts_only_if_it_was_in_memory_when_it_was_sent() {
    let program = Program::new(Trace::Off);
    let task = Library.task("priorities", &SPEEDS, 1).expect("the lab has it");
    let seed = 7;
    let part = task.answer(0).expect("it has requests");
    let mut right = vec![0; part.elements as usize];
    task.expected(part.array, seed, part.first, &mut right);
    let mut answers: Vec<_> = (0..2).map(|_| vec![0; right.len()]).collect();
    let outputs = (0..2).zip(&answers).map(|(request, answer)| {
        let Part { array, first, elements, .. } = task.answer(request).expect("it has two");
        Buffer { array, first, address: answer.as_ptr().addr() as u64, bytes: elements * 4 }
    });
    let region = Region {
        task: "priorities".to_owned(),
        pass: Pass::WarmUp,
        seed,
        outputs: outputs.collect(),
        ..Region::default()
    };
    assert_eq!(
        program.gpu.ask(lab_protocol::Request::RegionBegin(region)),
        lab_protocol::Reply::Done
    );
    for request in 0..2 {
        let arrival = program.gpu.ask(lab_protocol::Request::Arrival { played_ns: None });
        assert_eq!(arrival, lab_protocol::Reply::Number(request));
    }
    let answer = |request| program.gpu.ask(lab_protocol::Request::Answer { request });
    answers[0].copy_from_slice(&right);
    assert_eq!([answer(0), answer(1)], [lab_protocol::Reply::Done, lab_protocol::Reply::Done]);
    // What becomes of the memory afterwards does not matter.
    answers[0].fill(0);
    let part = task.answer(1).expect("it has two");
    task.expected(part.array, seed, part.first, &mut answers[1]);
    let lab_protocol::Reply::Trial(trial) = program.gpu.ask(lab_protocol::Request::RegionEnd)
    else {
        panic!()
    };
    assert_eq!(trial.latency.map(|it| it.answers), Some(1));
}

#[test]
fn work_that_two_threads_declare_at_once_is_done_one_after_the_other() {
    const NS: u64 = 20_000_000;
    let program = Program::new(Trace::Events);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let work = lab_protocol::Request::HostWork { ns: NS, asking_ns: 0 };
                assert_eq!(program.gpu.ask(work), lab_protocol::Reply::Done);
            });
        }
    });
    assert_eq!(program.gpu.ask(lab_protocol::Request::Ready), lab_protocol::Reply::Done);
    let mut spans = program.record().timeline.host;
    spans.retain(|span| span.end_ns - span.start_ns >= NS);
    spans.sort_by_key(|span| span.start_ns);
    let [first, second] = &spans[..] else { panic!("not two: {spans:?}") };
    assert!(first.start_ns + NS <= second.start_ns, "{spans:?}");
}

#[test]
fn a_region_inside_a_region_or_for_an_unknown_task_is_refused() {
    let program = Program::new(Trace::Off);
    let begin = |task: &str| {
        let region = Region { task: task.to_owned(), ..Region::default() };
        program.gpu.ask(lab_protocol::Request::RegionBegin(region))
    };
    assert!(matches!(begin("unheard_of"), lab_protocol::Reply::Refused { .. }));
    assert_eq!(begin(""), lab_protocol::Reply::Done);
    assert!(matches!(begin(""), lab_protocol::Reply::Refused { .. }));
}

#[test]
fn the_number_of_work_queues_is_in_the_program_of_every_pass() {
    let program = Program::new(Trace::Off);
    program.gpu.note_work_queues(WorkQueues::asked(None, Some("4")));
    program.gpu.note_work_queues(WorkQueues::asked(Some("100"), Some("2")));
    let record = solve_twice(&program);
    let is_number = |step: &&trace::program::Step| matches!(step.call, Call::Connections { .. });
    let found: Vec<_> = record.program.steps.iter().filter(is_number).map(|it| &it.call).collect();
    assert_eq!(
        found,
        [&Call::Connections { count: 32, copies: Some(2) }],
        "the default is not noted"
    );
}

#[test]
fn host_threads_run_side_by_side_and_what_they_tell_one_another_is_noted() {
    let program = Program::new(Trace::Off);
    let ask = |request| program.gpu.ask(lab_protocol::Request::Thread(request));
    let number = |request| match ask(request) {
        lab_protocol::Reply::Number(number) => number as u32,
        other => panic!("a number, not {other:?}"),
    };
    assert_eq!(
        program.gpu.ask(lab_protocol::Request::RegionBegin(Region::default())),
        lab_protocol::Reply::Done
    );
    let channel = number(ThreadRequest::Channel { capacity: Some(1) });
    let thread = number(ThreadRequest::Spawn);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ask(ThreadRequest::Start { thread });
            for token in [11, 12, 13] {
                assert_eq!(ask(ThreadRequest::Send { channel, token }), lab_protocol::Reply::Done);
            }
            ask(ThreadRequest::Close { channel, end: ChannelEnd::Sender });
            ask(ThreadRequest::End);
        });
        assert!(matches!(
            program.gpu.ask(lab_protocol::Request::RegionEnd),
            lab_protocol::Reply::Refused { .. }
        ));
        for token in [11, 12, 13] {
            assert_eq!(ask(ThreadRequest::Receive { channel }), lab_protocol::Reply::Number(token));
        }
        assert_eq!(ask(ThreadRequest::Receive { channel }), lab_protocol::Reply::Gone);
        assert_eq!(ask(ThreadRequest::Join { thread }), lab_protocol::Reply::Done);
    });
    assert!(matches!(
        program.gpu.ask(lab_protocol::Request::RegionEnd),
        lab_protocol::Reply::Trial(_)
    ));
    let steps = program.record().program.steps;
    let mut calls = steps.iter().map(|step| (step.thread == thread, &step.call));
    let channel = ChannelId(channel);
    for message in 0..3 {
        let sends = (true, &Call::ChannelSend { channel, message: Some(message) });
        let receives = (false, &Call::ChannelReceive { channel, message: Some(message) });
        let (sent, received) =
            (calls.clone().position(|it| it == sends), calls.clone().position(|it| it == receives));
        assert!(sent.is_some() && sent < received, "message {message}");
    }
    assert!(calls.clone().any(|it| it == (true, &Call::ThreadEnd)));
    let last = calls.rfind(|(_, call)| !matches!(call, Call::RegionEnd));
    assert_eq!(last, Some((false, &Call::ThreadJoin { thread })));
}

#[test]
fn a_foreign_thread_that_waits_is_not_taken_for_the_last_that_could_go_on() {
    let program = Program::new(Trace::Off);
    let ask = |request| program.gpu.ask(lab_protocol::Request::Thread(request));
    let number = |request| match ask(request) {
        lab_protocol::Reply::Number(number) => number as u32,
        other => panic!("a number, not {other:?}"),
    };
    let channel = number(ThreadRequest::Channel { capacity: None });
    let thread = number(ThreadRequest::Spawn);
    let asks = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ask(ThreadRequest::Start { thread });
            asks.wait();
            // Long enough for both others to wait, if they may.
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert_eq!(ask(ThreadRequest::Send { channel, token: 7 }), lab_protocol::Reply::Done);
            ask(ThreadRequest::End);
        });
        scope.spawn(|| {
            asks.wait();
            for request in [ThreadRequest::Receive { channel }, ThreadRequest::Join { thread }] {
                assert!(matches!(ask(request), lab_protocol::Reply::Refused { .. }), "{request:?}");
            }
        });
        assert_eq!(ask(ThreadRequest::Receive { channel }), lab_protocol::Reply::Number(7));
        assert_eq!(ask(ThreadRequest::Join { thread }), lab_protocol::Reply::Done);
    });
    assert_eq!(
        ask(ThreadRequest::Close { channel, end: ChannelEnd::Sender }),
        lab_protocol::Reply::Done
    );
}

#[test]
fn memory_that_the_host_takes_at_hand_is_held_against_copies_in_flight() {
    let hazards_of = |waits: bool| {
        let program = Program::new(Trace::Events);
        let bytes = program.bytes();
        let take = |address, kind| {
            let request = lab_protocol::Request::HostAccess { address, bytes, kind };
            assert_eq!(program.gpu.ask(request), lab_protocol::Reply::Done);
        };
        program.pass(Pass::Counts, || {
            // Memory that is not pinned is nobody's business.
            take(0x10, AccessKind::Write);
            program.copy(Address::Pageable(program.input), Address::Device(program.device));
            if waits {
                program.synchronize();
            }
            take(program.input, AccessKind::Read);
            take(program.input, AccessKind::Write);
            program.launch();
            program.copy(Address::Device(program.device), Address::Pageable(program.output));
            if waits {
                program.synchronize();
            }
            take(program.output, AccessKind::Read);
            program.synchronize();
        });
        let program = program.record().program;
        let is_access = |call: &Call| matches!(call, Call::HostAccess { .. });
        assert_eq!(program.steps.iter().filter(|step| is_access(&step.call)).count(), 3);
        let found = trace::hazards::find(&program);
        found.iter().map(|hazard| hazard.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(hazards_of(true), <[&str; 0]>::default());
    assert_eq!(hazards_of(false), ["SWIM-H02", "SWIM-H01"]);
}

#[test]
fn what_a_program_does_before_its_regions_is_forgotten_when_it_is_very_much() {
    let program = Program::new(Trace::Off);
    let calls = 100_000;
    for _ in 0..calls {
        program.synchronize();
    }
    let trial = program.pass(Pass::Counts, || program.solve());
    assert_eq!((trial.output, trial.missing_work), (Output::Correct, Vec::new()));
    let record = program.record();
    let is_synchronized = |step: &&Step| matches!(step.call, Call::StreamSynchronize { .. });
    let kept = record.program.steps.iter().filter(is_synchronized).count();
    assert!(kept < calls / 2, "{kept} of {calls} calls are kept");
    // What the program has made is known as ever.
    assert_eq!(record.notes, Vec::<String>::new());
    let made = |step: &&Step| matches!(step.call, Call::StreamCreate { .. } | Call::Alloc { .. });
    assert_eq!(record.program.steps.iter().filter(made).count(), 2);
}
