//! The parts that all calls share: the arm that answers them, the lock, and the place in the
//! student's source.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use simulator::machine::{
    Address, Command, DEVICE_BASE, DEVICE_END, DeviceFacts, Failure, Reply, Request, Touch, Turn,
};
use trace::lab_protocol::ThreadRequest;
use trace::program::{AccessKind, Site};
use trace::unsupported::Unsupported;
use trace::{env, lab_protocol};

use crate::call_sites::CallSites;
use crate::callers::{self, Threads};
use crate::contexts::current_device;
use crate::cuda::{CUresult, code};
use crate::device::page_faults::{self, Use};
use crate::device::{self, Link, host_function};
use crate::gpu::Gpu;
use crate::lock::lock;
use crate::say::{StartFailure, say};

enum Arm {
    Simulated(Box<Simulated>),
    Gpu(Box<Gpu>),
}

struct Simulated {
    facts: DeviceFacts,
    state: Mutex<State>,
    /// Host threads wait here for their turn.
    turns: Condvar,
    /// Sizes of arguments, by function. Apart from the state, since it is needed to make a command.
    parameters: Mutex<BTreeMap<u64, Vec<u8>>>,
    pinned: device::Pinned,
}

struct State {
    link: Link,
    sites: CallSites,
    threads: Threads,
}

/// The number of a place in the student's source.
fn number_of(link: &mut Link, place: Site) -> Option<u32> {
    let request =
        Request { command: Command::Site(place), site: None, thread: callers::number(), device: 0 };
    match link.execute(&request).0 {
        Reply::Number(number) => Some(number as u32),
        _ => None,
    }
}

impl State {
    /// Puts a request to the machine, from the host thread that is calling.
    fn execute(&mut self, command: Command, site: Option<u32>) -> Reply {
        self.execute_on(None, command, site)
    }

    fn execute_on(&mut self, device: Option<u32>, command: Command, site: Option<u32>) -> Reply {
        let device = device.unwrap_or_else(current_device);
        let request = Request { command, site, thread: callers::number(), device };
        let (reply, turn) = self.link.execute(&request);
        self.threads.turn = turn;
        reply
    }

    /// Tells the machine which pinned memory the program has used since the last call.
    fn tell_uses(&mut self) {
        if !page_faults::has_uses() {
            return;
        }
        let (uses, lost) = page_faults::take_uses();
        if lost > 0 {
            say(&format!("{lost} uses of pinned memory between two calls were not looked at"));
        }
        let mut by_site: BTreeMap<Option<u32>, Vec<Touch>> = BTreeMap::new();
        for Use { touch, frames } in uses {
            let Self { link, sites, .. } = self;
            let site = sites.of(&frames, |place| number_of(link, place));
            by_site.entry(site).or_default().push(touch);
        }
        for (site, mut touches) in by_site {
            touches.sort();
            touches.dedup();
            self.execute(Command::HostAccess { touches }, site);
        }
    }

    /// Which pinned memory the program has used since the last call where that takes it time,
    /// and where; without what `besides` says of such use.
    fn timed_use(
        &mut self,
        besides: Option<&lab_protocol::Request>,
    ) -> Option<(Command, Option<u32>)> {
        let (mut touches, frames) = page_faults::take_timed()?;
        let declared = match besides {
            Some(lab_protocol::Request::HostCopy { source, target, bytes }) => {
                vec![(*source, *bytes), (*target, *bytes)]
            }
            Some(lab_protocol::Request::Load { place, .. }) => vec![(place.address, place.bytes)],
            // The lab looks at a word of each page of an answer.
            Some(lab_protocol::Request::Answer { .. }) => {
                touches.retain(|it| it.kind == AccessKind::Write);
                Vec::new()
            }
            _ => Vec::new(),
        };
        for (address, bytes) in declared {
            let start = pinned_offset(address);
            touches = touches
                .iter()
                .flat_map(|it| it.outside(start, start.saturating_add(bytes)))
                .collect();
        }
        let Self { link, sites, .. } = self;
        let site = sites.of(&frames, |place| number_of(link, place));
        (!touches.is_empty()).then_some((Command::HostUse { touches }, site))
    }

    /// The place in the student's source that the current call comes from.
    fn here(&mut self) -> Option<u32> {
        let Self { link, sites, .. } = self;
        sites.here(|place| number_of(link, place))
    }
}

static ARM: OnceLock<Result<Arm, StartFailure>> = OnceLock::new();

/// The message about a call that the simulated device does not have.
pub(crate) fn unsupported(name: &str) -> String {
    Unsupported { call: name.to_owned(), place: place() }.to_string()
}

/// File and line in the student's source that the current call comes from, where they are known.
pub(crate) fn place() -> Option<String> {
    if let Some(gpu) = gpu() {
        return gpu.place();
    }
    // Outside of a host function, which may be run while its thread has the state.
    let simulated = simulated_arm().ok().filter(|_| !host_function::is_running())?;
    let mut state = lock(&simulated.state);
    let site = state.here()?;
    state.sites.place(site).map(ToString::to_string)
}

fn arm() -> &'static Result<Arm, StartFailure> {
    ARM.get_or_init(start)
}

fn start() -> Result<Arm, StartFailure> {
    match std::env::var(env::DEVICE).as_deref() {
        Ok(env::DEVICE_GPU) => Gpu::open().map(|it| Arm::Gpu(Box::new(it))),
        Ok(env::DEVICE_SIMULATED) | Err(_) => simulated().map(|it| Arm::Simulated(Box::new(it))),
        Ok(other) => Err(StartFailure {
            code: code::NO_DEVICE,
            why: format!("`{}` is `{other}`, but a device is `sim` or `gpu`", env::DEVICE),
        }),
    }
}

fn simulated() -> Result<Simulated, StartFailure> {
    let failed = |why: String| StartFailure { code: code::UNKNOWN, why };
    let (mut link, pinned) = device::connect().map_err(failed)?;
    let first = |command| Request { command, site: None, thread: 0, device: 0 };
    let facts = match link.execute(&first(Command::DeviceFacts)).0 {
        Reply::Device(facts) => facts,
        _ => return Err(failed("the simulated device does not say what it is".to_owned())),
    };
    pinned.watch();
    let address = pinned.address(0) as u64;
    link.execute(&first(Command::PinnedBase { address }));
    link.execute(&first(Command::Connections(device::work_queues())));
    Ok(Simulated {
        facts,
        state: Mutex::new(State {
            link,
            sites: CallSites::from_environment(),
            threads: Threads::default(),
        }),
        turns: Condvar::new(),
        parameters: Mutex::default(),
        pinned,
    })
}

/// Starts the driver, once.
pub(crate) fn open() -> Result<(), &'static StartFailure> {
    arm().as_ref().map(|_| ())
}

/// Whether the driver has been started with success.
pub(crate) fn is_open() -> bool {
    matches!(ARM.get(), Some(Ok(_)))
}

/// The real driver, where it answers.
pub(crate) fn gpu() -> Option<&'static Gpu> {
    match ARM.get() {
        Some(Ok(Arm::Gpu(gpu))) => Some(gpu),
        _ => None,
    }
}

fn simulated_arm() -> Result<&'static Simulated, CUresult> {
    match ARM.get() {
        Some(Ok(Arm::Simulated(simulated))) => Ok(simulated),
        _ => Err(code::NOT_INITIALIZED),
    }
}

/// The facts about the simulated device.
pub(crate) fn device_facts() -> Result<&'static DeviceFacts, CUresult> {
    simulated_arm().map(|simulated| &simulated.facts)
}

/// Puts a command to the simulated devices, about this one; none for the one whose context is
/// current.
pub(crate) fn issue(device: Option<u32>, command: Command) -> Result<Reply, CUresult> {
    let simulated = simulated_arm()?;
    if host_function::is_running() {
        say("a host function called the driver, which CUDA does not permit");
        return Err(code::NOT_PERMITTED);
    }
    page_faults::have_stack();
    let state = lock(&simulated.state);
    if !state.threads.may_call() {
        say("a second host thread called the driver inside the measured region");
        say("hint: drive the device from one thread there, or from threads of `lab::thread`");
        return Err(code::NOT_PERMITTED);
    }
    let mut state = simulated.tell_uses(state, None);
    let site = state.here();
    let reply = state.execute_on(device, command, site);
    match simulated.take_turns(state, reply) {
        Reply::Failed(Failure { code, why }) => {
            if let Some(why) = why {
                say(&why);
            }
            Err(code)
        }
        reply => Ok(reply),
    }
}

/// Answers the lab.
pub(crate) fn ask(request: lab_protocol::Request) -> lab_protocol::Reply {
    match arm() {
        Err(failure) => lab_protocol::Reply::Refused { why: failure.why.clone() },
        Ok(Arm::Gpu(gpu)) => gpu.ask(request),
        // Page protection sees what is really used, and when.
        Ok(Arm::Simulated(_)) if matches!(request, lab_protocol::Request::HostAccess { .. }) => {
            lab_protocol::Reply::Done
        }
        Ok(Arm::Simulated(simulated)) => {
            page_faults::have_stack();
            if host_function::is_running() {
                let why = "a host function called the lab, which waits for it".to_owned();
                return lab_protocol::Reply::Refused { why };
            }
            simulated.ask(request)
        }
    }
}

impl Simulated {
    fn ask(&self, request: lab_protocol::Request) -> lab_protocol::Reply {
        let mut state = lock(&self.state);
        match &request {
            lab_protocol::Request::Source { directory } => {
                state.sites = CallSites::under(directory);
                return lab_protocol::Reply::Done;
            }
            lab_protocol::Request::Thread(ThreadRequest::Start { thread }) => {
                callers::become_number(*thread);
                return match self.take_turns(state, Reply::Done) {
                    Reply::Done => lab_protocol::Reply::Done,
                    _ => gone(),
                };
            }
            lab_protocol::Request::Thread(_)
            | lab_protocol::Request::HostWork { .. }
            | lab_protocol::Request::Load { .. }
            | lab_protocol::Request::HostCopy { .. }
            | lab_protocol::Request::Arrival { .. }
            | lab_protocol::Request::Answer { .. }
                if !state.threads.may_call() =>
            {
                return lab_protocol::Reply::Refused { why: callers::FOREIGN.to_owned() };
            }
            _ => {}
        }
        let mut state = self.tell_uses(state, Some(&request));
        state.threads.follow(&request);
        let site = match request {
            lab_protocol::Request::HostWork { .. }
            | lab_protocol::Request::Load { .. }
            | lab_protocol::Request::HostCopy { .. }
            | lab_protocol::Request::Arrival { .. }
            | lab_protocol::Request::Answer { .. }
            | lab_protocol::Request::Thread(_) => state.here(),
            _ => None,
        };
        let reply = state.execute(Command::Lab(request), site);
        match self.take_turns(state, reply) {
            Reply::Lab(reply) => reply,
            Reply::Failed(Failure { why: Some(why), .. }) => lab_protocol::Reply::Refused { why },
            _ => gone(),
        }
    }

    /// Tells what the program has used of pinned memory since the last call. What takes the
    /// host time is a call by itself, after which it may be another thread's turn.
    fn tell_uses<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        besides: Option<&lab_protocol::Request>,
    ) -> MutexGuard<'a, State> {
        state.tell_uses();
        if !page_faults::has_timed() {
            return state;
        }
        let Some((command, site)) = state.timed_use(besides) else { return state };
        let reply = state.execute(command, site);
        self.take_turns(state, reply);
        lock(&self.state)
    }

    /// Waits until it is the calling thread's turn, then gives its reply: `reply`, or the result of
    /// resuming the call if it had to wait.
    fn take_turns(&self, mut state: MutexGuard<'_, State>, reply: Reply) -> Reply {
        let me = callers::number();
        loop {
            match &state.threads.turn {
                Turn::Thread(thread) if *thread == me => break,
                Turn::Thread(_) => {}
                Turn::Nobody(why) => {
                    say(why);
                    // It would be so for ever: the exercise is over.
                    std::process::exit(callers::STUCK);
                }
            }
            if state.threads.has_ended(me) {
                self.turns.notify_all();
                return reply;
            }
            self.turns.notify_all();
            state = self.turns.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match reply {
            Reply::Blocked => state.execute(Command::Resume, None),
            reply => reply,
        }
    }
}

fn gone() -> lab_protocol::Reply {
    lab_protocol::Reply::Refused { why: "the simulated device is gone".to_owned() }
}

/// Whether a call is refused for its flags. On a GPU the real driver decides.
pub(crate) fn refuses_flags(flags: u32, known: u32) -> bool {
    flags & !known != 0 && gpu().is_none()
}

/// The sizes of a kernel's arguments, from the reply that gave its handle.
pub(crate) fn remember_parameters(function: u64, sizes: Vec<u8>) {
    if let Ok(simulated) = simulated_arm() {
        lock(&simulated.parameters).insert(function, sizes);
    }
}

/// Calls `then` with the sizes of a kernel's arguments; none for a handle that was never given out.
pub(crate) fn with_parameter_sizes<T>(function: u64, then: impl FnOnce(&[u8]) -> T) -> Option<T> {
    match gpu() {
        Some(gpu) => gpu.with_parameter_sizes(function, then),
        None => lock(&simulated_arm().ok()?.parameters).get(&function).map(|sizes| then(sizes)),
    }
}

/// Where pinned memory is in this process, by its offset.
pub(crate) fn pinned_address(offset: u64) -> *mut std::ffi::c_void {
    simulated_arm().map_or(std::ptr::null_mut(), |simulated| simulated.pinned.address(offset))
}

/// The offset of pinned memory, by its address in this process; the address itself on a GPU.
pub(crate) fn pinned_offset(address: u64) -> u64 {
    let offset = simulated_arm().ok().and_then(|simulated| simulated.pinned.offset(address));
    // An address that is not pinned memory is no offset either: it is refused as such.
    offset.unwrap_or(address)
}

/// A host address, as a command names it. On a GPU what it is gets found out later: no time is lost
/// in the call.
pub(crate) fn host_address(address: u64) -> Address {
    let offset = simulated_arm().ok().and_then(|simulated| simulated.pinned.offset(address));
    offset.map_or(Address::Pageable(address), Address::Pinned)
}

/// An address of either kind, as a command names it.
pub(crate) fn address(address: u64) -> Address {
    let on_device = gpu().is_none() && (DEVICE_BASE..DEVICE_END).contains(&address);
    if on_device { Address::Device(address) } else { host_address(address) }
}
