//! What a program cannot get by what it asks for, however it asks: cheaper work, time that does not count,
//! memory without end.

use simulator::Schedule;
use simulator::machine::{
    Address, Command, Connections, Demand, GraphCommand, Machine, MemoryCommand, ModuleCommand,
    Reply, Request, StreamCommand, WorkCommand, code,
};
use trace::lab_protocol::{self, ThreadRequest};
use trace::program::{Mode, Site, StreamKind};

use crate::process::{Kernels, Process};
use crate::program::h200;

struct Run {
    machine: Machine,
    process: Process,
}

impl Run {
    fn new() -> Self {
        let machine = Machine::new(h200(), Schedule::Exact, Box::new(Kernels));
        Self { machine, process: Process::new() }
    }

    fn ask_as(&mut self, thread: u32, command: Command) -> Reply {
        self.machine.execute(&Request { command, site: None, thread, device: 0 }, &mut self.process)
    }

    fn ask(&mut self, command: Command) -> Reply {
        self.ask_as(0, command)
    }

    #[track_caller]
    fn number(&mut self, command: Command) -> u64 {
        match self.ask(command) {
            Reply::Number(number) => number,
            Reply::Lab(lab_protocol::Reply::Number(number)) => number,
            other => panic!("{other:?}"),
        }
    }

    fn stream(&mut self) -> u64 {
        self.number(Command::Stream(StreamCommand::Create {
            kind: StreamKind::NonBlocking,
            priority: 0,
        }))
    }

    fn kernel(&mut self, name: &str) -> u64 {
        let module =
            self.number(Command::Module(ModuleCommand::Load { entries: vec![name.to_owned()] }));
        match self
            .ask(Command::Module(ModuleCommand::FunctionGet { module, name: name.to_owned() }))
        {
            Reply::Entry { function, .. } => function,
            other => panic!("{other:?}"),
        }
    }

    fn now_ns(&mut self) -> u64 {
        match self.ask(Command::Lab(lab_protocol::Request::Clock)) {
            Reply::Lab(lab_protocol::Reply::Clock { ns }) => ns,
            other => panic!("{other:?}"),
        }
    }
}

/// From one end of a block to the other.
fn copy(stream: u64, block: u64, bytes: u64) -> Command {
    let (source, target) = (Address::Device(block), Address::Device(block + bytes));
    Command::Work(WorkCommand::Copy { stream, mode: Mode::Asynchronous, source, target, bytes })
}

fn launch(function: u64, stream: u64, arguments: [u64; 3]) -> Command {
    let (grid, block, shared_bytes) = ([1; 3], [256, 1, 1], 0);
    let arguments = arguments.map(u64::to_le_bytes).concat().into_iter().collect();
    Command::Work(WorkCommand::Launch { function, grid, block, shared_bytes, stream, arguments })
}

#[test]
fn what_is_launched_or_captured_before_the_lab_asks_for_its_scale_costs_what_it_costs_later() {
    const BYTES: u64 = 1 << 20;
    let took_ns = |is_demanded: bool| {
        let mut run = Run::new();
        let scale = Command::Lab(lab_protocol::Request::Scale { scale: 32 });
        if is_demanded {
            let connections = Connections::Any;
            let demand = Demand { task: "fill".to_owned(), seed: 1, scale: 32, connections };
            run.machine.demand(demand).expect("there is such a task");
        } else {
            assert_eq!(run.ask(scale.clone()), Reply::Lab(lab_protocol::Reply::Done));
        }
        let stream = run.stream();
        let block = run.number(Command::Memory(MemoryCommand::Alloc { bytes: 2 * BYTES }));
        let function = run.kernel("touch");
        // What a kernel costs hangs on the scale; what a copy costs does not.
        let began_ns = run.now_ns();
        assert_eq!(run.ask(launch(function, stream, [block, block + BYTES, BYTES])), Reply::Done);
        run.ask(Command::Stream(StreamCommand::Synchronize { stream }));
        let launched_ns = run.now_ns() - began_ns;
        run.ask(Command::Graph(GraphCommand::BeginCapture { stream, mode: 0 }));
        assert_eq!(run.ask(launch(function, stream, [block, block + BYTES, BYTES])), Reply::Done);
        let graph = run.number(Command::Graph(GraphCommand::EndCapture { stream }));
        if is_demanded {
            assert_eq!(run.ask(scale), Reply::Lab(lab_protocol::Reply::Done));
            let other = Command::Lab(lab_protocol::Request::Scale { scale: 1 });
            assert!(matches!(run.ask(other), Reply::Lab(lab_protocol::Reply::Refused { .. })));
        }
        let executable = run.number(Command::Graph(GraphCommand::Instantiate { graph, flags: 0 }));
        let began_ns = run.now_ns();
        run.ask(Command::Graph(GraphCommand::Launch { executable, stream }));
        run.ask(Command::Stream(StreamCommand::Synchronize { stream }));
        (launched_ns, run.now_ns() - began_ns)
    };
    assert_eq!(took_ns(true), took_ns(false));
}

#[test]
fn a_thread_that_has_had_its_turn_is_not_abandoned_and_its_time_counts() {
    let thread_request = |asked| Command::Lab(lab_protocol::Request::Thread(asked));
    let mut run = Run::new();
    let thread = run.number(thread_request(ThreadRequest::Spawn)) as u32;
    assert_eq!(
        run.ask(thread_request(ThreadRequest::Started { thread: Ok(thread) })),
        Reply::Lab(lab_protocol::Reply::Done)
    );
    // The first thread waits so long that the other one has its turn.
    let work = |ns| Command::Lab(lab_protocol::Request::HostWork { ns, asking_ns: 0 });
    run.ask(work(1_000_000));
    run.ask_as(thread, work(6_000_000));
    let abandoned = run.ask(thread_request(ThreadRequest::Started { thread: Err(thread) }));
    assert!(matches!(abandoned, Reply::Lab(lab_protocol::Reply::Refused { .. })), "{abandoned:?}");
    assert!(matches!(
        run.ask(Command::Lab(lab_protocol::Request::RegionEnd)),
        Reply::Lab(lab_protocol::Reply::Refused { .. })
    ));
    run.ask(thread_request(ThreadRequest::Join { thread }));
    run.ask_as(thread, thread_request(ThreadRequest::End));
    run.ask(Command::Resume);
    assert!(run.now_ns() > 6_000_000);

    // Nor is the first thread, whoever says so, nor its time.
    let thread = run.number(thread_request(ThreadRequest::Spawn)) as u32;
    run.ask(thread_request(ThreadRequest::Started { thread: Ok(thread) }));
    run.ask(work(6_000_000));
    let abandoned = run.ask_as(thread, thread_request(ThreadRequest::Started { thread: Err(0) }));
    assert!(matches!(abandoned, Reply::Lab(lab_protocol::Reply::Refused { .. })), "{abandoned:?}");
    run.ask_as(thread, thread_request(ThreadRequest::End));

    // One that the system could not start is another matter.
    let thread = run.number(thread_request(ThreadRequest::Spawn)) as u32;
    assert_eq!(
        run.ask(thread_request(ThreadRequest::Started { thread: Err(thread) })),
        Reply::Lab(lab_protocol::Reply::Done)
    );
}

#[test]
fn operations_hold_no_more_data_together_than_there_is_room_for() {
    const BYTES: u64 = 320 << 20;
    let mut run = Run::new();
    let block = run.number(Command::Memory(MemoryCommand::Alloc { bytes: 2 * BYTES }));
    // One after the other they have room.
    let stream = run.stream();
    for _ in 0..4 {
        assert_eq!(run.ask(copy(stream, block, BYTES)), Reply::Done);
        assert_eq!(run.ask(Command::Stream(StreamCommand::Synchronize { stream })), Reply::Done);
    }
    let function = run.kernel("touch");
    let large = run.number(Command::Memory(MemoryCommand::Alloc { bytes: (1 << 30) + 512 }));
    run.ask(launch(function, stream, [large, large, (1 << 30) + 512]));
    match run.ask(Command::Stream(StreamCommand::Synchronize { stream })) {
        Reply::Failed(failure) => {
            assert_eq!(failure.code, code::OUT_OF_MEMORY);
            let why = failure.why.unwrap_or_default();
            assert!(why.contains("more than 1024 MiB of data together"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_region_is_ended_by_the_thread_that_began_it() {
    let thread_request = |asked| Command::Lab(lab_protocol::Request::Thread(asked));
    let mut run = Run::new();
    run.ask(Command::Lab(lab_protocol::Request::RegionBegin(lab_protocol::Region::default())));
    let thread = run.number(thread_request(ThreadRequest::Spawn)) as u32;
    run.ask(thread_request(ThreadRequest::Started { thread: Ok(thread) }));
    run.ask(thread_request(ThreadRequest::End));
    match run.ask_as(thread, Command::Lab(lab_protocol::Request::RegionEnd)) {
        Reply::Lab(lab_protocol::Reply::Refused { why }) => {
            assert_eq!(why, "a measured region is ended by the host thread that began it");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_s_name_is_kept_by_its_end() {
    let mut run = Run::new();
    let site = |file: &str| Command::Site(Site { file: file.to_owned(), line: 1, column: None });
    for file in ["src/lib.rs".to_owned(), format!("{}/src/lib.rs", "é".repeat(1 << 20))] {
        run.number(site(&file));
    }
    let sites = run.machine.record().program.sites;
    assert_eq!(sites[0].file, "src/lib.rs");
    assert!(
        sites[1].file.len() < 300 && sites[1].file.ends_with("é/src/lib.rs"),
        "{}",
        sites[1].file.len()
    );
}
