//! What the programs of the miniature tree hand over: prepared records.

use trace::fidelity::{CallCost, Overhead};
use trace::metrics::Bounds;
use trace::program::{
    Access, AccessKind, BlockId, Call, KernelId, Launch, Mode, Place, Range, Site, Step, StreamId,
    StreamKind,
};
use trace::record::{DeviceState, Output as Outputs, Shortfall, Trial};
use trace::timeline::{HostMemory, HostSpan, Interval, Origin, Span, SpanKind};
use trace::{Program, Record, Timeline, record};

use super::Tree;

/// The two ends of every miniature task.
pub(crate) const BOUNDS: Bounds =
    Bounds { serial_ns: 3_000_000, floor_ns: 1_000_000, host_ns: 0, request_ns: 0 };

impl Tree {
    pub(super) fn records(&self) {
        // Of one pass, and of as many as a process makes on a GPU.
        let passes = |name: &str, of: &dyn Fn(u64) -> Trial| {
            self.json_file(&format!("records/{name}.json"), &record_of(of(0)));
            let mut record = record_of(of(0));
            record.trials = (0..3).map(of).collect();
            self.json_file(&format!("records/{name}.3.json"), &record);
        };
        passes("swift", &|_| trial(1_050_000));
        passes("sluggish", &|_| trial(3_000_000));
        for n in 0..5 {
            let noisy = |pass| trial(1_200_000 + 300_000 * ((n + pass) % 5));
            passes(&format!("noisy_{n}"), &noisy);
        }
        let call = "launch".to_owned();
        let (direct_ns, through_ns, mean_added_ns) = (2600.0, 2700.0, 120.0);
        let cost = CallCost { call, direct_ns, through_ns, mean_added_ns, blocks: 300 };
        let overhead = Overhead {
            calls: vec![cost],
            untraced_ns: vec![1_000_000],
            traced_ns: vec![1_010_000],
            shortest_ns: 75_000,
        };
        self.json_file("records/overhead.json", &overhead);
        let wrong = Outputs::Wrong {
            block: 1,
            element: 77,
            expected: 12,
            found: 0xDEAD,
            wrong: 1024,
            of: 65536,
        };
        self.json_file(
            "records/wrong.json",
            &record_of(Trial { output: wrong, ..trial(1_100_000) }),
        );
        self.json_file(
            "records/unchecked.json",
            &record_of(Trial { output: Outputs::Unchecked, bounds: None, ..trial(1_400_000) }),
        );
        let missing_work = vec![
            Shortfall { what: "host to device bytes".to_owned(), needed: 4096, found: 1024 },
            Shortfall { what: "map_b".to_owned(), needed: 10, found: 20 },
        ];
        // Busy too: the gate that comes first is named.
        self.json_file(
            "records/lazy.json",
            &record_of(Trial { missing_work, device: DeviceState::Busy, ..trial(1_100_000) }),
        );
        self.json_file(
            "records/hasty.json",
            &record_of(Trial { device: DeviceState::Busy, ..trial(1_100_000) }),
        );
        let mut twice = record_of(trial(1_100_000));
        twice.trials.push(trial(1_100_000));
        self.json_file("records/twice.json", &twice);
        let mut newer = record_of(trial(1_100_000));
        newer.version = record::VERSION + 1;
        self.json_file("records/newer.json", &newer);
        self.file("records/garbled.json", "{\"version\":1,\"program\":");
        let mut racy = record_of(trial(1_050_000));
        racy.program = racy_program(&[]);
        self.json_file("records/racy.json", &racy);
        racy.program = racy_program(&[Call::ModuleLoad]);
        self.json_file("records/leaning.json", &racy);
        self.json_file("records/held.json", &held());
        let engine = |name: &str, ns| Trial {
            name: name.to_owned(),
            bounds: None,
            output: Outputs::Unchecked,
            ..trial(ns)
        };
        let mut calibration = record_of(engine("kernels", 1_000_000));
        for jitter in [0, 1_000, 900_000] {
            calibration.trials.push(engine("kernels", 1_000_000 + jitter));
            calibration.trials.push(engine("host_to_device", 1_000_000 - 1_000 * (jitter % 2)));
            calibration.trials.push(engine("device_to_host", 1_000_000));
        }
        self.json_file("records/calibration.json", &calibration);
    }
}

/// A program whose replay takes `ns`, and a little for its calls.
pub(crate) fn program(ns: u64) -> Program {
    let mut program = Program::new(1);
    for call in [Call::RegionBegin, Call::HostWork { ns, target: None }, Call::RegionEnd] {
        program.steps.push(Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 });
    }
    program
}

/// A kernel that does not wait for the copy of its data, and what the host calls between the two.
fn racy_program(between: &[Call]) -> Program {
    let mut program = Program::new(1);
    let file = "src/lib.rs".to_owned();
    program.sites = [4, 5].map(|line| Site { file: file.clone(), line, column: Some(9) }).to_vec();
    let mut push = |call, site| {
        program.steps.push(Step { call, site, thread: 0, gap_ns: 0, result: 0, device: 0 });
    };
    let [upload, compute] = [2, 3].map(StreamId);
    for stream in [upload, compute] {
        push(Call::StreamCreate { stream, kind: StreamKind::NonBlocking, priority: 0 }, None);
    }
    let range = Range { block: BlockId(0), offset: 0, bytes: 64 };
    push(Call::Alloc { block: range.block, bytes: 64 }, None);
    push(Call::RegionBegin, None);
    push(
        Call::Copy {
            stream: upload,
            mode: Mode::Asynchronous,
            source: Place::Pageable,
            target: Place::Device(range),
            bytes: 64,
        },
        Some(0),
    );
    between.iter().for_each(|call| push(call.clone(), None));
    push(
        Call::Launch(Launch {
            kernel: KernelId(0),
            stream: compute,
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            units: 1,
            bytes: 1,
            accesses: vec![Access { kind: AccessKind::Read, range }],
        }),
        Some(1),
    );
    push(Call::ContextSynchronize, None);
    push(Call::RegionEnd, None);
    program
}

/// Uploads from pageable memory, and kernels that do not need them but come later.
fn held() -> Record {
    let mut program = Program::new(1);
    let file = "src/lib.rs".to_owned();
    program.sites = [3, 4].map(|line| Site { file: file.clone(), line, column: Some(9) }).to_vec();
    let mut push = |call, site| {
        program.steps.push(Step { call, site, thread: 0, gap_ns: 0, result: 0, device: 0 });
    };
    let [upload, compute] = [2, 3].map(StreamId);
    for stream in [upload, compute] {
        push(Call::StreamCreate { stream, kind: StreamKind::NonBlocking, priority: 0 }, None);
    }
    let kernel = KernelId(0);
    let (name, rate) = ("map_a".to_owned(), "map".to_owned());
    push(
        Call::FunctionGet {
            kernel,
            name,
            rate,
            registers: 32,
            shared_bytes: 0,
            items: None,
            inner_loop: None,
        },
        None,
    );
    push(Call::RegionBegin, None);
    let part = |block| Range { block: BlockId(block), offset: 0, bytes: 16 << 20 };
    for block in 0..4 {
        let (source, target) = (Place::Pageable, Place::Device(part(block)));
        let mode = Mode::Asynchronous;
        push(Call::Copy { stream: upload, mode, source, target, bytes: 16 << 20 }, Some(0));
    }
    for block in 4..8 {
        let range = part(block);
        push(
            Call::Launch(Launch {
                kernel,
                stream: compute,
                grid: [1056, 1, 1],
                block: [256, 1, 1],
                shared_bytes: 0,
                units: 5_000_000_000,
                bytes: 1,
                accesses: vec![Access { kind: AccessKind::Write, range }],
            }),
            Some(1),
        );
    }
    push(Call::ContextSynchronize, None);
    push(Call::RegionEnd, None);
    let profile = toml::from_str(simulator::Profile::H200).expect("the built-in profile");
    let timeline = simulator::replay(&program, &profile, simulator::Schedule::Exact);
    let makespan_ns = timeline.extent().ns();
    let bounds = Some(Bounds {
        serial_ns: makespan_ns,
        floor_ns: makespan_ns / 4,
        host_ns: 0,
        request_ns: 0,
    });
    let trials = vec![Trial { bounds, ..trial(makespan_ns) }];
    Record { version: record::VERSION, program, timeline, trials, watched: None, notes: Vec::new() }
}

fn trial(makespan_ns: u64) -> Trial {
    Trial {
        name: String::new(),
        makespan_ns,
        bounds: Some(BOUNDS),
        output: Outputs::Correct,
        device: DeviceState::Idle,
        missing_work: Vec::new(),
        memory: None,
        misled: None,
        latency: None,
    }
}

/// A record whose timeline has a copy, half of it hidden behind a kernel.
fn record_of(trial: Trial) -> Record {
    let ns = trial.makespan_ns;
    let origin = Origin::Simulated { profile: "h200".to_owned() };
    let mut timeline = Timeline::new(origin);
    timeline.region = Some(Interval::new(0, ns));
    let span = |kind, name: &str, stream, start_ns, end_ns| Span {
        step: 1,
        kind,
        name: Some(name.into()),
        stream: StreamId(stream),
        start_ns,
        end_ns,
        bytes: 0,
        host_memory: Some(HostMemory::Pinned),
    };
    timeline.spans = vec![
        span(SpanKind::HostToDevice, "", 2, 0, ns / 2),
        span(SpanKind::Kernel, "map_a", 3, ns / 4, ns),
    ];
    timeline.host = vec![HostSpan { step: 1, start_ns: 0, end_ns: ns, blocked_ns: ns / 2 }];
    let version = record::VERSION;
    Record {
        version,
        program: program(ns),
        timeline,
        trials: vec![trial],
        watched: None,
        notes: Vec::new(),
    }
}
