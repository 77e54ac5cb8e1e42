//! Calls that do not come back in their turn get what they would have got at once.

use simulator::machine::{
    Command, Machine, MemoryCommand, ModuleCommand, Reply, Request, StreamCommand, Turn,
    WorkCommand, code,
};
use simulator::{Profile, Schedule};
use trace::lab_protocol::{self, ThreadRequest};
use trace::program::{Mode, StreamKind};

use crate::process::{Kernels, Process};
use crate::program::h200;

/// A machine, and the process that it serves.
struct Session {
    machine: Machine,
    host: Process,
}

impl Session {
    fn new(profile: Profile) -> Self {
        let machine = Machine::new(profile, Schedule::Exact, Box::new(Kernels));
        Self { machine, host: Process::new() }
    }

    /// Starts a second host thread. The first has its turn for some calls more.
    fn spawn(&mut self) {
        for asked in [ThreadRequest::Spawn, ThreadRequest::Started { thread: Ok(1) }] {
            self.ask(0, Command::Lab(lab_protocol::Request::Thread(asked)));
        }
    }

    fn ask(&mut self, thread: u32, command: Command) -> Reply {
        assert_eq!(self.machine.turn(), &Turn::Thread(thread), "{command:?}");
        self.machine.execute(&Request { command, site: None, thread, device: 0 }, &mut self.host)
    }

    fn number(&mut self, command: Command) -> u64 {
        match self.ask(0, command) {
            Reply::Number(number) | Reply::Entry { function: number, .. } => number,
            other => panic!("a number, not {other:?}"),
        }
    }
}

#[test]
fn a_launch_that_was_held_and_does_not_fit_is_refused() {
    let mut profile = h200();
    profile.chip.queue_depth.value = 1;
    // Enough for 32 threads of `spin`, not for 256.
    profile.chip.registers_per_multiprocessor.value = 8192;
    let mut session = Session::new(profile);
    let kind = StreamKind::NonBlocking;
    let stream = session.number(Command::Stream(StreamCommand::Create { kind, priority: 0 }));
    let module =
        session.number(Command::Module(ModuleCommand::Load { entries: vec!["spin".to_owned()] }));
    let name = "spin".to_owned();
    let function = session.number(Command::Module(ModuleCommand::FunctionGet { module, name }));
    let launch = |threads| {
        Command::Work(WorkCommand::Launch {
            function,
            grid: [1, 1, 1],
            block: [threads, 1, 1],
            shared_bytes: 0,
            stream,
            arguments: 10_000_000_u64.to_le_bytes().to_vec().into(),
        })
    };
    session.spawn();
    let work = |ns| Command::Lab(lab_protocol::Request::HostWork { ns, asking_ns: 0 });
    assert_eq!(session.ask(0, launch(32)), Reply::Done);
    session.ask(0, work(7_000));
    assert_eq!(session.ask(0, launch(32)), Reply::Done);
    // One runs, one waits: there is no room.
    assert_eq!(session.ask(0, launch(256)), Reply::Blocked);
    session.ask(1, work(1_000_000_000_000));
    let Reply::Failed(failure) = session.ask(0, Command::Resume) else {
        panic!("a block that no multiprocessor has room for was launched")
    };
    assert_eq!(failure.code, code::LAUNCH_OUT_OF_RESOURCES);
    let steps = session.machine.record().program.steps;
    let results: Vec<u32> = steps.iter().map(|step| step.result).filter(|&it| it != 0).collect();
    assert_eq!(results, [code::LAUNCH_OUT_OF_RESOURCES]);
}

#[test]
fn a_wait_that_was_held_gives_back_what_was_freed_before_it() {
    let mut session = Session::new(h200());
    let kind = StreamKind::NonBlocking;
    let stream = session.number(Command::Stream(StreamCommand::Create { kind, priority: 0 }));
    session.spawn();
    let pass_the_time = |session: &mut Session| {
        while session.machine.turn() == &Turn::Thread(1) {
            session.ask(
                1,
                Command::Lab(lab_protocol::Request::HostWork { ns: 1_000_000, asking_ns: 0 }),
            );
        }
    };
    // Different sizes, so that none is handed out again: together more than the device holds.
    for turn in 1..=8 {
        pass_the_time(&mut session);
        let address = session.number(Command::Memory(MemoryCommand::AllocAsync {
            bytes: (1 << 30) - turn * 4096,
            stream,
        }));
        pass_the_time(&mut session);
        let count = 16 << 20; // long against the calls after it
        let (mode, target) = (Mode::Asynchronous, address);
        let set = Command::Work(WorkCommand::Memset {
            stream,
            mode,
            target,
            pattern: 0,
            width: 1,
            count,
        });
        assert_eq!(session.ask(0, set), Reply::Done);
        pass_the_time(&mut session);
        assert_eq!(
            session.ask(0, Command::Memory(MemoryCommand::FreeAsync { address, stream })),
            Reply::Done
        );
        pass_the_time(&mut session);
        assert_eq!(
            session.ask(0, Command::Stream(StreamCommand::Synchronize { stream })),
            Reply::Blocked
        );
        pass_the_time(&mut session);
        assert_eq!(session.ask(0, Command::Resume), Reply::Done);
    }
}
