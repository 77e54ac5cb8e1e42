//! A machine of two devices: the data of copies between them, whose memory is whose, and what one learns of the other's work.

use simulator::Schedule;
use simulator::machine::{
    Address, Command, ContextCommand, Host, Machine, MemoryCommand, ModuleCommand, Protection,
    Reply, Request, StreamCommand, WorkCommand, code,
};
use trace::program::{Mode, StreamKind};

use crate::process::{HEAP, Kernels, Process};
use crate::program::h200;

const BYTES: u64 = 4096;
const MODES: [Mode; 2] = [Mode::Asynchronous, Mode::Synchronous];

struct Session {
    machine: Machine,
    host: Process,
}

impl Session {
    fn new() -> Self {
        let machine = Machine::new(h200(), Schedule::Exact, Box::new(Kernels));
        Self { machine, host: Process::new() }
    }

    fn ask(&mut self, device: u32, command: Command) -> Reply {
        let request = Request { command, site: None, thread: 0, device };
        self.machine.execute(&request, &mut self.host)
    }

    fn number(&mut self, device: u32, command: Command) -> u64 {
        match self.ask(device, command) {
            Reply::Number(number) | Reply::Entry { function: number, .. } => number,
            other => panic!("a number, not {other:?}"),
        }
    }

    fn alloc(&mut self, device: u32) -> u64 {
        self.number(device, Command::Memory(MemoryCommand::Alloc { bytes: BYTES }))
    }

    fn stream(&mut self, device: u32) -> u64 {
        let kind = StreamKind::NonBlocking;
        self.number(device, Command::Stream(StreamCommand::Create { kind, priority: 0 }))
    }

    fn function(&mut self, device: u32, name: &str) -> u64 {
        let module = self.number(
            device,
            Command::Module(ModuleCommand::Load { entries: vec![name.to_owned()] }),
        );
        self.number(
            device,
            Command::Module(ModuleCommand::FunctionGet { module, name: name.to_owned() }),
        )
    }

    fn launch(&mut self, device: u32, name: &str, stream: u64, arguments: &[u64]) -> Reply {
        let function = self.function(device, name);
        let arguments = arguments.iter().flat_map(|it| it.to_le_bytes()).collect();
        let (grid, block, shared_bytes) = ([1, 1, 1], [32, 1, 1], 0);
        let command = Command::Work(WorkCommand::Launch {
            function,
            grid,
            block,
            shared_bytes,
            stream,
            arguments,
        });
        self.ask(device, command)
    }

    /// Keeps a stream busy.
    fn spin(&mut self, device: u32, stream: u64, units: u64) {
        assert_eq!(self.launch(device, "spin", stream, &[units]), Reply::Done);
    }

    fn fill(&mut self, device: u32, target: u64, pattern: u32) {
        let (mode, width, count) = (Mode::Synchronous, 1, BYTES);
        let command =
            Command::Work(WorkCommand::Memset { stream: 0, mode, target, pattern, width, count });
        assert_eq!(self.ask(device, command), Reply::Done);
    }

    /// The first byte of a device's memory, once both devices are idle.
    fn byte(&mut self, device: u32, address: u64) -> u8 {
        for device in 0..2 {
            self.ask(device, Command::Context(ContextCommand::Synchronize));
        }
        let (source, target) = (Address::Device(address), Address::Pageable(HEAP.start));
        let (stream, mode, bytes) = (0, Mode::Synchronous, BYTES);
        let command = Command::Work(WorkCommand::Copy { stream, mode, source, target, bytes });
        assert_eq!(self.ask(device, command), Reply::Done);
        let mut byte = [0];
        self.host.read(HEAP.start, &mut byte).expect("it is there");
        byte[0]
    }
}

#[test]
fn memory_of_cumemalloc_that_is_freed_in_a_streams_order_goes_back_and_not_to_a_pool() {
    let mut session = Session::new();
    let stream = session.stream(0);
    // More than half of what the simulated device can hold.
    let large = Command::Memory(MemoryCommand::Alloc { bytes: 3 << 30 });
    let address = session.number(0, large.clone());
    // The pool knows of blocks that are younger.
    session.number(0, Command::Memory(MemoryCommand::AllocAsync { bytes: BYTES, stream }));
    let free = Command::Memory(MemoryCommand::FreeAsync { address, stream });
    assert_eq!(session.ask(0, free), Reply::Done);
    assert_eq!(session.ask(0, Command::Context(ContextCommand::Synchronize)), Reply::Done);
    assert_ne!(session.number(0, large), address);
}

#[test]
fn a_copy_between_devices_carries_its_data_in_every_stream_and_over_every_way() {
    for access in [false, true] {
        for mode in MODES {
            for in_default in [false, true] {
                let mut session = Session::new();
                let (from, to) = (session.alloc(0), session.alloc(1));
                session.fill(0, from, 5);
                session.fill(1, to, 9);
                if access {
                    let command = Command::Context(ContextCommand::PeerAccess {
                        by: 0,
                        pool: false,
                        enabled: true,
                    });
                    assert_eq!(session.ask(0, command), Reply::Done);
                }
                let stream = if in_default { 0 } else { session.stream(0) };
                // What it is to carry is written behind other work of its stream, and so is the rest of what it waits for.
                session.spin(0, stream, 1 << 30);
                let (pattern, width, count) = (7, 1, BYTES);
                let (target, how) = (from, Mode::Asynchronous);
                let memset = Command::Work(WorkCommand::Memset {
                    stream,
                    mode: how,
                    target,
                    pattern,
                    width,
                    count,
                });
                assert_eq!(session.ask(0, memset), Reply::Done);
                let (source, target) = (Address::Device(from), Address::Device(to));
                let command = Command::Work(WorkCommand::PeerCopy {
                    stream,
                    mode,
                    source,
                    target,
                    bytes: BYTES,
                });
                assert_eq!(session.ask(0, command), Reply::Done);
                let how = format!("access {access}, {mode:?}, default stream {in_default}");
                assert_eq!(session.byte(1, to), 7, "{how}");
            }
        }
    }
}

#[test]
fn each_device_has_memory_and_a_pool_of_its_own() {
    let mut session = Session::new();
    let free = |session: &mut Session| {
        [0, 1].map(|device| match session.ask(device, Command::Memory(MemoryCommand::Info)) {
            Reply::Memory { free, .. } => free,
            other => panic!("{other:?}"),
        })
    };
    let reserved = |session: &mut Session| {
        [0, 1].map(|device| match session.ask(device, Command::Memory(MemoryCommand::PoolFacts)) {
            Reply::Pool(facts) => facts.reserved,
            other => panic!("{other:?}"),
        })
    };
    let before = free(&mut session);
    session.alloc(1);
    assert_eq!(free(&mut session), [before[0], before[1] - BYTES]);
    assert_eq!(reserved(&mut session), [0, 0]);
    let stream = session.stream(1);
    // In the order of a stream of the second device, whatever is current.
    let address =
        session.number(0, Command::Memory(MemoryCommand::AllocAsync { bytes: BYTES, stream }));
    assert_eq!(reserved(&mut session).map(|bytes| bytes > 0), [false, true]);
    assert_eq!(
        session.ask(0, Command::Memory(MemoryCommand::FreeAsync { address, stream })),
        Reply::Done
    );
    // Waiting for the other device's context gives nothing of this one's back.
    session.ask(0, Command::Context(ContextCommand::Synchronize));
    assert_eq!(reserved(&mut session).map(|bytes| bytes > 0), [false, true]);
    session.ask(1, Command::Context(ContextCommand::Synchronize));
    assert_eq!(reserved(&mut session), [0, 0]);
}

#[test]
fn a_pool_keeps_the_most_that_it_ever_had_and_that_was_ever_in_use() {
    let mut session = Session::new();
    let facts =
        |session: &mut Session| match session.ask(0, Command::Memory(MemoryCommand::PoolFacts)) {
            Reply::Pool(facts) => facts,
            other => panic!("{other:?}"),
        };
    let stream = session.stream(0);
    let allocate = MemoryCommand::AllocAsync { bytes: BYTES, stream };
    let blocks = [(); 2].map(|()| session.number(0, Command::Memory(allocate.clone())));
    let most = facts(&mut session);
    assert_eq!((most.used, most.used_high), (2 * BYTES, 2 * BYTES));
    assert!(most.reserved > 0 && most.reserved_high == most.reserved);
    for address in blocks {
        let free = MemoryCommand::FreeAsync { address, stream };
        assert_eq!(session.ask(0, Command::Memory(free)), Reply::Done);
    }
    session.ask(0, Command::Context(ContextCommand::Synchronize));
    session.number(0, Command::Memory(allocate));
    let now = facts(&mut session);
    assert_eq!((now.used, now.used_high), (BYTES, 2 * BYTES));
    assert_eq!(now.reserved_high, most.reserved_high);
}

#[test]
fn a_kernel_on_the_other_devices_memory_is_lost_without_access_and_not_supported_with_it() {
    for access in [false, true] {
        let mut session = Session::new();
        let (here, there) = (session.alloc(0), session.alloc(1));
        if access {
            let command =
                Command::Context(ContextCommand::PeerAccess { by: 0, pool: false, enabled: true });
            assert_eq!(session.ask(0, command), Reply::Done);
        }
        let launched = session.launch(0, "touch", 0, &[here, there, BYTES]);
        let waited = session.ask(0, Command::Context(ContextCommand::Synchronize));
        let code_of = |reply: &Reply| match reply {
            Reply::Failed(failure) => failure.code,
            _ => code::SUCCESS,
        };
        let expected = match access {
            false => [code::SUCCESS, code::ILLEGAL_ADDRESS],
            true => [code::NOT_SUPPORTED, code::SUCCESS],
        };
        assert_eq!([launched, waited].each_ref().map(code_of), expected, "access {access}");
    }
}

#[test]
fn a_page_that_a_copy_of_one_device_uses_is_not_let_go_by_waiting_for_the_other() {
    let mut session = Session::new();
    let (stream, target) = (session.stream(1), session.alloc(1));
    let offset = session.number(1, Command::Memory(MemoryCommand::AllocHost { bytes: BYTES }));
    assert_eq!(offset, 0);
    session.spin(1, stream, 1 << 30);
    let (source, target) = (Address::Pinned(offset), Address::Device(target));
    let (mode, bytes) = (Mode::Asynchronous, BYTES);
    let command = Command::Work(WorkCommand::Copy { stream, mode, source, target, bytes });
    assert_eq!(session.ask(1, command), Reply::Done);
    assert_ne!(session.host.first_page, Protection::Open);
    session.ask(0, Command::Context(ContextCommand::Synchronize));
    assert_ne!(session.host.first_page, Protection::Open);
    session.ask(1, Command::Context(ContextCommand::Synchronize));
    assert_eq!(session.host.first_page, Protection::Open);
}
