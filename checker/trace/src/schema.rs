//! The schemas in `checker/trace/schema` against the types, and the worked example beside them.

use std::path::Path;

use crate::program::{
    Access, AccessKind, BlockId, Call, ChannelEnd, ChannelId, EventId, Extent, GraphId, GraphNode,
    Items, KernelId, Launch, Loop, Mode, Pipe, Place, Range, Site, Step, StreamId, StreamKind,
    Timing,
};
use crate::{Metrics, Program, Record, Timeline};

/// Set to write the schemas anew instead of comparing them.
const UPDATE: &str = "SWIM_UPDATE_SCHEMA";

fn compare(name: &str, schema: &schemars::Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(name);
    let expected = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "`{}` is not what the types say\nhint: {UPDATE}=1 cargo test -p trace schema, and raise the \
         version if the change is not one that old readers can take",
        path.display()
    );
}

#[test]
fn the_schema_of_programs_is_that_of_the_type() {
    compare("program.v1.json", &schemars::schema_for!(Program));
}

#[test]
fn the_schema_of_timelines_is_that_of_the_type() {
    compare("timeline.v1.json", &schemars::schema_for!(Timeline));
}

#[test]
fn the_schema_of_records_is_that_of_the_type() {
    compare("record.v1.json", &schemars::schema_for!(Record));
}

#[test]
fn the_schema_of_what_is_kept_of_a_gpu_is_that_of_the_type() {
    compare("fidelity.v2.json", &schemars::schema_for!(crate::Fidelity));
}

#[test]
fn the_files_are_named_after_the_versions() {
    use crate::{fidelity, program, record, timeline};
    let versions = [program::VERSION, timeline::VERSION, record::VERSION, fidelity::VERSION];
    assert_eq!(versions, [1, 1, 1, 2], "rename the schemas and their tests with the version");
}

#[test]
fn the_worked_example_is_a_record_with_the_numbers_that_the_text_gives() {
    let text = include_str!("../schema/README.md");
    let (_, rest) = text.split_once("```json\n").unwrap();
    let (json, after) = rest.split_once("```").unwrap();
    let record: Record = serde_json::from_str(json).unwrap();
    record.check_versions().unwrap();

    let metrics = Metrics::of(&record.timeline);
    assert_eq!(record.trials[0].makespan_ns, metrics.makespan_ns);
    assert_eq!((metrics.makespan_ns, metrics.idle_ns), (120_000, 20_000));
    assert_eq!((metrics.copies_ns, metrics.hidden_copy_ns), (60_000, 0));
    assert_eq!(metrics.host_blocked_ns, 100_000);
    for number in ["120 µs", "20 µs", "60 µs", "100 µs"] {
        assert!(after.contains(number), "the text does not mention {number}");
    }
    // Every field of the example is one that the types know and would write the same way.
    let written: serde_json::Value = serde_json::to_value(&record).unwrap();
    assert_eq!(written, serde_json::from_str::<serde_json::Value>(json).unwrap());
}

/// A program with every call, and every alternative inside of calls.
fn every_call() -> Vec<Call> {
    let (stream, event, block) = (StreamId(2), EventId(0), BlockId(0));
    let range = Range { block, offset: 4, bytes: 8 };
    let copy = |mode, source, target| Call::Copy { stream, mode, source, target, bytes: 8 };
    vec![
        Call::RegionBegin,
        Call::RegionEnd,
        Call::Connections { count: 1, copies: None },
        Call::Connections { count: 8, copies: Some(2) },
        Call::ThreadSpawn { thread: 1 },
        Call::ThreadEnd,
        Call::ThreadJoin { thread: 1 },
        Call::ChannelCreate { channel: ChannelId(0), capacity: None },
        Call::ChannelCreate { channel: ChannelId(1), capacity: Some(2) },
        Call::ChannelSend { channel: ChannelId(0), message: Some(0) },
        Call::ChannelReceive { channel: ChannelId(0), message: Some(0) },
        Call::ChannelReceive { channel: ChannelId(0), message: None },
        Call::ChannelClose { channel: ChannelId(0), end: ChannelEnd::Sender, left: 1 },
        Call::HostWork { ns: 5, target: None },
        Call::Arrival { request: 0, at_ns: 5 },
        Call::Answer { request: 0 },
        Call::StreamCreate { stream, kind: StreamKind::Blocking, priority: 0 },
        Call::StreamCreate { stream, kind: StreamKind::NonBlocking, priority: -5 },
        Call::StreamDestroy { stream },
        Call::StreamSynchronize { stream: StreamId::LEGACY },
        Call::StreamQuery { stream: StreamId::PER_THREAD },
        Call::StreamWait { stream, event },
        Call::ContextSynchronize,
        Call::PeerAccess { by: 0, pool: false, enabled: true },
        Call::PeerAccess { by: 1, pool: true, enabled: false },
        Call::EventCreate { event, timing: Timing::Enabled },
        Call::EventCreate { event, timing: Timing::Disabled },
        Call::EventDestroy { event },
        Call::EventRecord { event, stream },
        Call::EventSynchronize { event },
        Call::EventQuery { event },
        Call::EventElapsed { start: event, end: EventId(1) },
        Call::Alloc { block, bytes: u64::MAX },
        Call::Free { block },
        Call::AllocAsync { block, bytes: 8, stream },
        Call::FreeAsync { block, stream },
        Call::PoolKeep { bytes: u64::MAX },
        Call::PoolTrim { bytes: 0 },
        Call::AllocHost { block, bytes: 8 },
        Call::FreeHost { block },
        copy(Mode::Asynchronous, Place::Pinned(range), Place::Device(range)),
        copy(Mode::Synchronous, Place::Device(range), Place::Pageable),
        Call::Memset { stream, mode: Mode::Asynchronous, target: range },
        Call::ModuleLoad,
        Call::ModuleUnload,
        Call::FunctionGet {
            kernel: KernelId(0),
            name: "mix".into(),
            rate: "lcg".into(),
            registers: 16,
            shared_bytes: 0,
            items: Some(Items { bytes: 8, together: 4, waits: 17 }),
            inner_loop: Some(Loop { pipe: Pipe::Floats, each_turn: 128, chains: 8, others: 3 }),
        },
        Call::Launch(Launch {
            kernel: KernelId(0),
            stream,
            grid: [132, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 1024,
            units: 1 << 40,
            bytes: 1 << 30,
            accesses: vec![
                Access { kind: AccessKind::Read, range },
                Access { kind: AccessKind::Write, range },
            ],
        }),
        Call::HostFunction { stream, accesses: vec![Access { kind: AccessKind::Write, range }] },
        Call::HostAccess {
            accesses: vec![Access { kind: AccessKind::Read, range }],
            extent: Extent::Part,
        },
        Call::GraphCreate {
            graph: GraphId(0),
            nodes: vec![
                GraphNode {
                    call: Call::HostFunction { stream, accesses: vec![] },
                    after: vec![],
                    site: Some(1),
                },
                GraphNode {
                    call: Call::HostFunction { stream, accesses: vec![] },
                    after: vec![0],
                    site: None,
                },
            ],
        },
        Call::GraphInstantiate { graph: GraphId(0), updates: None },
        Call::GraphInstantiate { graph: GraphId(0), updates: Some((GraphId(0), 0)) },
        Call::GraphLaunch { graph: GraphId(0), copy: 1, stream, accesses: Vec::new() },
    ]
}

#[test]
fn a_program_with_every_call_survives_json() {
    let mut program = Program::new(32);
    program.sites = vec![
        Site { file: "src/lib.rs".into(), line: 42, column: Some(9) },
        Site { file: "src/lib.rs".into(), line: 43, column: None },
    ];
    for (index, call) in (0..).zip(every_call()) {
        let site = (index % 3 < 2).then_some(index % 3);
        let gap_ns = u64::from(index % 2) * 900;
        let (thread, result, device) = (index % 2, index % 5 * 150, index / 2 % 2);
        program.steps.push(Step { call, site, thread, gap_ns, result, device });
    }
    let json = serde_json::to_string(&program).unwrap();
    assert_eq!(serde_json::from_str::<Program>(&json).unwrap(), program);
}

#[test]
fn the_program_of_that_test_has_every_call_of_the_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(Call)).unwrap();
    let mut known = Vec::new();
    for alternative in schema["oneOf"].as_array().unwrap() {
        known.extend(alternative["const"].as_str().map(str::to_owned));
        known.extend(alternative["properties"].as_object().iter().flat_map(|p| p.keys().cloned()));
        let listed = alternative["enum"].as_array().into_iter().flatten();
        known.extend(listed.filter_map(|name| name.as_str().map(str::to_owned)));
    }
    let mut tried: Vec<String> = every_call()
        .iter()
        .map(|call| match serde_json::to_value(call).unwrap() {
            serde_json::Value::String(name) => name,
            serde_json::Value::Object(object) => object.keys().next().unwrap().clone(),
            other => panic!("a call is neither a word nor an object: {other}"),
        })
        .collect();
    tried.sort_unstable();
    tried.dedup();
    known.sort_unstable();
    assert_eq!(tried, known);
}
