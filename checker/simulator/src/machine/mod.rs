//! The device with memory and handles.
//!
//! A [`Command`] comes in, a [`Reply`] goes out. The machine checks the command, gives what it
//! talks about its number in the [`Program`], and lets the timing core say when things happen. It
//! moves the data when they do: an operation reads at its start, and what it writes lands at its
//! end.

mod command;
mod contexts;
mod data;
mod demand;
mod events;
mod family;
mod graph;
mod guards;
mod handles;
mod library;
mod memory;
mod modules;
mod peers;
mod probe;
mod provenance;
mod region;
mod reply;
mod requests;
mod skipped_call;
mod store;
mod streams;
mod turns;
mod work;

use std::collections::BTreeMap;

use trace::lab_protocol::Request as LabRequest;
use trace::program::{BlockId, Call, DEVICES, Program, Step, WorkQueues};
use trace::record::{self, Record, Trial};
use trace::timeline::HostSpan;

pub use command::{Command, GraphCommand, Request, Touch, Turn};
pub use contexts::ContextCommand;
pub use demand::{Connections, Demand};
pub use events::EventCommand;
pub use guards::{Guard, Protection};
pub use handles::{Address, Handles};
pub use library::{
    Kernel, KernelAccess, KernelStep, KernelWork, Library, Part, Role, Side, SmallGrid, Span, Task,
    Twin,
};
pub use memory::{DEVICE_BASE, DEVICE_END, MemoryCommand, PINNED_BYTES};
pub use modules::ModuleCommand;
pub use probe::Watch;
pub use region::{POISON, answer_of, check_outputs, memory_of, shortfalls, speeds};
pub use reply::{DeviceFacts, Failure, PoolFacts, Reply, code};
pub use requests::Requests;
pub use streams::StreamCommand;
pub use work::{Arguments, WorkCommand};

use crate::device::{Answer, At, Device, Schedule};
use crate::profile::Profile;
use data::{Movement, Moving, World};
use skipped_call::Instead;
use store::Store;

/// Bytes of a step with all that belongs to it: itself, its span on the host, one on the device,
/// and its data on the way.
const STEP_BYTES: u64 = 512;
/// The most bytes that a run may leave: a million steps. A loop that queries an event for as long
/// as a task takes makes 200 000.
const MOST_LEFT_BEHIND: u64 = STEP_BYTES << 20;

/// Bytes of a file's name that are kept, from its end: where a call is made is said in every line
/// about it, and a program may call its files what it likes.
const FILE_BYTES: usize = 256;

fn shorten(file: &mut String) {
    if let Some(mut from) = file.len().checked_sub(FILE_BYTES).filter(|&from| from > 0) {
        while !file.is_char_boundary(from) {
            from += 1;
        }
        file.replace_range(..from, "…");
    }
}

/// The bytes that a request leaves besides its step, roughly, whether or not it is carried out.
fn left_behind(command: &Command) -> u64 {
    let bytes = match command {
        Command::Site(place) => place.file.len() + size_of_val(place),
        Command::Module(ModuleCommand::Load { entries }) => {
            entries.iter().map(|entry| entry.len() + size_of_val(entry)).sum()
        }
        Command::Module(ModuleCommand::FunctionGet { name, .. }) => 2 * name.len(),
        Command::Work(WorkCommand::Launch { arguments, .. }) => arguments.len(),
        // A graph's nodes make no steps, and each launch takes all of them anew.
        Command::Graph(GraphCommand::Launch { .. }) => 0,
        Command::Lab(LabRequest::Thread(_)) => 64,
        _ => 0,
    };
    bytes as u64
}

/// Said where a run that is graded sets another number of work queues.
const OTHER_CONNECTIONS: &str =
    "how many work queues there are is the exercise's, whatever the program asks for";

/// The student's process has no such memory, or must not touch it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMapped;

/// The student's process, as far as the machine can reach into it.
pub trait Host {
    /// Reads pageable memory of the process.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped>;
    /// Writes pageable memory of the process.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped>;
    /// Reads pinned memory, which both sides map.
    fn read_pinned(&mut self, offset: u64, bytes: &mut [u8]);
    /// Writes pinned memory.
    fn write_pinned(&mut self, offset: u64, bytes: &[u8]);
    /// Runs a host function, and says what pinned memory it used.
    fn call(&mut self, function: u64, data: u64) -> Vec<Touch>;
    /// From now on, the process may do no more to these pages than this. What it does beyond that
    /// is noticed, let go on, and told by [`Command::HostAccess`], or by [`Command::HostUse`] where
    /// they are [`Protection::Timed`].
    fn guard(&mut self, guard: Guard);
}

/// A simulated device and everything that belongs to one run on it.
pub struct Machine {
    device: Device,
    program: Program,
    library: Box<dyn Library>,
    handles: Handles,
    store: Store,
    moving: Moving,
    graphs: graph::Graphs,
    guards: guards::Guards,
    /// Memory that host functions used since the last call, by step and node.
    touched: Vec<((u32, u32), Vec<Touch>)>,
    /// Where the student's process has mapped pinned memory.
    pinned_base: Option<u64>,
    /// A kernel went wrong: every call fails from then on.
    fault: Option<Failure>,
    /// How many handles it has given.
    handed_out: u64,
    /// Of each device.
    device_next: [u64; DEVICES as usize],
    skipped_call: Option<skipped_call::SkippedCall>,
    watching: Option<probe::Watching>,
    demand: Option<Demand>,
    notes: Vec<String>,
    /// The bytes that requests have left beside steps, roughly.
    left_behind: u64,
    /// A request was refused since there was more than is kept account of, and the program was told
    /// why.
    is_full: bool,
    trials: Vec<Trial>,
    open_region: Option<region::Open>,
    threads: turns::Threads,
    /// Stream-ordered memory that was freed and may be handed out again: address and size of each
    /// block.
    freed: BTreeMap<BlockId, (u64, u64)>,
    /// How much dynamic shared memory blocks of a function may have, where it was allowed, in
    /// bytes.
    allowed_shared: BTreeMap<u64, u32>,
}

impl Machine {
    /// A machine at rest.
    pub fn new(profile: Profile, schedule: Schedule, library: Box<dyn Library>) -> Self {
        Self {
            device: Device::new(profile, schedule),
            program: Program::new(1),
            library,
            handles: Handles::default(),
            store: Store::default(),
            moving: Moving::new(),
            graphs: graph::Graphs::default(),
            guards: guards::Guards::default(),
            touched: Vec::new(),
            pinned_base: None,
            fault: None,
            handed_out: 0,
            device_next: std::array::from_fn(|device| memory::addresses_of(device as u32)),
            skipped_call: None,
            watching: None,
            demand: None,
            notes: Vec::new(),
            left_behind: 0,
            is_full: false,
            trials: Vec::new(),
            open_region: None,
            threads: turns::Threads::default(),
            freed: BTreeMap::new(),
            allowed_shared: BTreeMap::new(),
        }
    }

    /// Looks at what two uses of some memory see of it, and leave in it. From now on, memory that
    /// is gone or new holds nothing that anyone wrote.
    pub fn watch(&mut self, watch: Watch) {
        self.watching = Some(probe::Watching::new(watch));
    }

    /// The record so far.
    pub fn record(&self) -> Record {
        let mut timeline = self.device.timeline().clone();
        timeline.spans.sort_by_key(|span| (span.start_ns, span.step));
        timeline.host.sort_by_key(|call| call.step);
        Record {
            version: record::VERSION,
            program: self.program.clone(),
            timeline,
            trials: self.trials.clone(),
            watched: self.watching.as_ref().map(|it| it.seen(self.device.is_reversed())),
            notes: {
                let skipped_call = self.skipped_call.as_ref().map(|it| it.note());
                skipped_call.into_iter().chain(self.notes.iter().cloned()).collect()
            },
        }
    }

    /// Carries out one command.
    pub fn execute(&mut self, request: &Request, host: &mut dyn Host) -> Reply {
        if !self.threads.may_ask(request) {
            return Reply::Failed(turns::out_of_turn());
        }
        self.store.provenance.settle(request.thread);
        self.handles.set_current(request.device);
        self.left_behind += left_behind(&request.command);
        if self.program.steps.len() as u64 * STEP_BYTES + self.left_behind > MOST_LEFT_BEHIND {
            // Destructors make requests too, so the reason is given only once.
            if std::mem::replace(&mut self.is_full, true) {
                return Reply::Failed(Failure::bare(code::OUT_OF_MEMORY));
            }
            let why = "the program has asked for more than the simulated device keeps account of\n\
                       hint: does a loop of calls come to its end? There is room for a million of them";
            return Reply::Failed(Failure::because(code::OUT_OF_MEMORY, why.to_owned()));
        }
        if self.device.asked_ns() > region::LAST_NS && asks_for_work(&request.command) {
            return Reply::Failed(takes_too_long());
        }
        self.settle_connections(&request.command, host);
        let steps = self.program.steps.len();
        let reply = self.try_execute(request, host).unwrap_or_else(Reply::Failed);
        if !self.device.is_alone() {
            let made_a_call = self.program.steps.len() > steps;
            if self.threads.is_over(request, made_a_call) {
                self.next_turn(host);
            }
        }
        reply
    }

    /// Who is to make the next request.
    pub fn turn(&self) -> &Turn {
        &self.threads.turn
    }

    fn try_execute(&mut self, request: &Request, host: &mut dyn Host) -> Result<Reply, Failure> {
        let site = request.site;
        if let Command::HostAccess { touches } = &request.command {
            self.host_access(touches, site, host);
            return Ok(Reply::Done);
        }
        if let Command::HostUse { touches } = &request.command {
            self.host_use(touches, site, host);
            return Ok(Reply::Done);
        }
        if self.fault.is_some() && needs_context(&request.command) {
            return Err(self.lost());
        }
        let skipped_call = match self.without(&request.command, site)? {
            Instead::Nothing => None,
            Instead::Reply(reply) => return Ok(reply),
            Instead::Command(command) => Some(Request { command, ..*request }),
        };
        let request = skipped_call.as_ref().unwrap_or(request);
        let clamped = self.clamped(request);
        let request = clamped.as_ref().unwrap_or(request);
        self.check_devices(&request.command)?;
        if let Command::Graph(asked) = &request.command {
            return self.graph(asked, site, host);
        }
        if let Some(captured) = self.capture(&request.command, site)? {
            return Ok(captured);
        }
        if let Some(reply) = self.answer(request, host)? {
            return Ok(reply);
        }
        let movement = match &request.command {
            Command::Work(work) => Some(self.movement(work)?),
            _ => None,
        };
        let reply = self.reply(&request.command, host)?;
        self.perform(request, movement, reply, host)
    }

    /// Answers requests that are no driver call; none for those that are.
    fn answer(&mut self, request: &Request, host: &mut dyn Host) -> Result<Option<Reply>, Failure> {
        let site = request.site;
        let reply = match &request.command {
            Command::Site(place) => {
                let mut place = place.clone();
                shorten(&mut place.file);
                self.program.sites.push(place);
                Reply::Number(self.program.sites.len() as u64 - 1)
            }
            Command::PinnedBase { address } => {
                self.pinned_base = Some(*address);
                Reply::Done
            }
            Command::Lab(LabRequest::Thread(asked)) => self.thread(*asked, site, host)?,
            Command::Lab(asked) => Reply::Lab(self.lab(asked, site, host)),
            Command::Resume => self.resume(request.thread)?,
            Command::DeviceFacts => Reply::Device(DeviceFacts::of(self.device.profile())),
            Command::Connections(queues) => {
                self.connect(queues.within_limits(), site, host);
                Reply::Done
            }
            _ => return Ok(None),
        };
        Ok(Some(reply))
    }

    /// Sets the number of work queues. The default is not worth a step, and later it would change
    /// nothing.
    fn connect(&mut self, queues: WorkQueues, site: Option<u32>, host: &mut dyn Host) {
        if let Some(Demand { connections: Connections::Exactly(exactly), .. }) = self.demand {
            if queues != exactly && self.notes.is_empty() {
                self.notes.push(OTHER_CONNECTIONS.to_owned());
            }
        } else if let Some(call) = queues.call()
            && self.program.steps.is_empty()
        {
            self.make(call, site, host);
        }
    }

    /// The reply to a call of the program's, with what it makes or takes away.
    fn reply(&mut self, command: &Command, host: &mut dyn Host) -> Result<Reply, Failure> {
        command.family().map_or(Ok(Reply::Done), |family| family.reply(self, host))
    }

    /// Makes the call, with the data that it moves.
    fn perform(
        &mut self,
        request: &Request,
        movement: Option<Movement>,
        reply: Reply,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
        let movement = match movement {
            None if self.watching.is_some() => self.poisoning(&request.command, &reply),
            known => known,
        };
        let library = self.library.as_ref();
        let call = match (&request.command, &movement) {
            // It is accepted, and goes wrong when it runs.
            (Command::Work(work), Some(Movement::Fault(_))) => {
                Some(self.handles.faulty_launch(work, library)?)
            }
            (command, _) => command.call(&mut self.handles, &reply, library)?,
        };
        let Some(call) = call else { return Ok(reply) };
        if let Some(mut movement) = movement {
            movement.check_target(host)?;
            if let Movement::Copy { source: Address::Pageable(_), .. } = movement {
                // The driver has taken the data when the call returns, however late the copy runs.
                let step = self.program.steps.len() as u32;
                movement.read(&mut self.store, host, step).map_err(|fault| match fault.code {
                    code::OUT_OF_MEMORY => fault,
                    _ => Failure { code: code::INVALID_VALUE, ..fault },
                })?;
            }
            self.moving.insert((self.program.steps.len() as u32, 0), movement);
        }
        let Some(answer) = self.make(call, request.site, host) else {
            self.guard(Some(&request.command), host);
            return Ok(self.hold(turns::Pending::Call(request.command.clone(), reply)));
        };
        let step = self.program.steps.len() as u32 - 1;
        let result = self.returned(step, &request.command, reply, answer);
        self.guard(Some(&request.command), host);
        result
    }

    /// The reply to a driver call that returns, at once or after a wait.
    fn returned(
        &mut self,
        step: u32,
        command: &Command,
        reply: Reply,
        answer: Answer,
    ) -> Result<Reply, Failure> {
        let waited = |call: &HostSpan| call.step == step && call.blocked_ns > 0;
        if self.fault.is_some() && self.device.timeline().host.iter().rev().any(waited) {
            // The kernel went wrong while the host was waiting.
            let lost = self.lost();
            self.refuse(step, lost.code);
            return Err(lost);
        }
        self.follow_pool();
        match command {
            Command::Event(EventCommand::Elapsed { .. }) => match answer.elapsed_ns {
                Some(ns) => Ok(Reply::Elapsed { ns }),
                None => Err(self.refuse(step, code::NOT_READY)),
            },
            Command::Stream(StreamCommand::Query { .. })
            | Command::Event(EventCommand::Query { .. })
                if !answer.yes =>
            {
                Err(self.refuse(step, code::NOT_READY))
            }
            Command::Work(WorkCommand::Launch { .. }) if !answer.yes => {
                Err(self.refuse(step, code::LAUNCH_OUT_OF_RESOURCES))
            }
            _ => Ok(reply),
        }
    }

    /// Makes a call of the program: notes it down and lets its time pass. None if it has not
    /// returned.
    fn make(&mut self, call: Call, site: Option<u32>, host: &mut dyn Host) -> Option<Answer> {
        let step = self.program.steps.len() as u32;
        if let Some(watching) = &mut self.watching {
            watching.look_for(&self.handles);
            if probe::is_done_by_the_call(&call) {
                watching.starts(At { step, node: 0 }, &self.store, host);
                watching.ends(At { step, node: 0 }, &self.store, host);
            }
        }
        let mut world = World {
            store: &mut self.store,
            moving: &mut self.moving,
            fault: &mut self.fault,
            touched: &mut self.touched,
            watching: &mut self.watching,
            host,
        };
        let answer = self.device.call_on(self.handles.current(), step, &call, &mut world);
        let device = self.handles.device_of_call(&call);
        if let Call::ThreadSpawn { .. } = call {
            self.guards.alone = false;
        }
        let thread = self.threads.running();
        self.program.steps.push(Step { call, site, thread, gap_ns: 0, result: 0, device });
        self.note_touched();
        if self.device.is_idle() {
            self.store.forget_freed();
        }
        answer
    }

    /// The failure of every call once a kernel has gone wrong. The reason is said once.
    fn lost(&mut self) -> Failure {
        let fault = self.fault.as_mut().expect("only called after a fault");
        Failure { code: fault.code, why: fault.why.take() }
    }

    /// The call of this step returned with this code.
    fn refuse(&mut self, step: u32, result: u32) -> Failure {
        self.program.steps[step as usize].result = result;
        if result == code::LAUNCH_OUT_OF_RESOURCES {
            self.moving.remove(&(step, 0));
        }
        Failure::bare(result)
    }

    /// A priority out of range is clamped, as the driver does.
    fn clamped(&self, request: &Request) -> Option<Request> {
        let Command::Stream(StreamCommand::Create { kind, priority }) = request.command else {
            return None;
        };
        let highest = -(self.device.profile().chip.highest_priority.value as i32);
        let priority = priority.clamp(highest, 0);
        let command = Command::Stream(StreamCommand::Create { kind, priority });
        Some(Request { command, ..*request })
    }

    /// Handles look like addresses and are never given twice, so one that is kept beyond the
    /// destruction of its object is known as such.
    fn new_handle(&mut self) -> Reply {
        const BASE: u64 = 0x5700_0000;
        const STRIDE: u64 = 0x10;
        self.handed_out += 1;
        Reply::Number(BASE + self.handed_out * STRIDE)
    }
}

/// Why a command is refused after what would take longer than any run does.
fn takes_too_long() -> Failure {
    let why = "no run takes longer than an hour on the simulated device, and what this program has asked for \
               does\nhint: how large are the grids, and how many rounds does each kernel make?";
    Failure::because(code::LAUNCH_TIMEOUT, why.to_owned())
}

/// Whether a command gives the device work that takes time.
fn asks_for_work(command: &Command) -> bool {
    matches!(command, Command::Work(_) | Command::Graph(GraphCommand::Launch { .. }))
}

/// Whether a command is a call that fails once the context is lost.
fn needs_context(command: &Command) -> bool {
    !matches!(
        command,
        Command::Site(_)
            | Command::Lab(_)
            | Command::Resume
            | Command::DeviceFacts
            | Command::Connections(_)
            | Command::PinnedBase { .. }
    )
}
