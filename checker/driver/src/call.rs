//! What all calls share: the arm that answers them, the lock, and the place in the student's source.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;

use simulator::machine::{
    Address, Command, DEVICE_BASE, DEVICE_END, DeviceFacts, Failure, Reply, Request, Touch, code,
};
use trace::{lab, run};

use crate::abi::CUresult;
use crate::device::watch::{self, Use};
use crate::device::{self, Link};
use crate::gpu::Gpu;
use crate::sites::Sites;

/// `CUDA_ERROR_NOT_PERMITTED`
const NOT_PERMITTED: CUresult = 800;

/// How many work queues lead to each engine (CUDA C++ Programming Guide, environment variables).
const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// Why the driver could not start.
pub(crate) struct StartFailure {
    pub(crate) code: CUresult,
    pub(crate) why: String,
}

enum Arm {
    Simulated(Box<Simulated>),
    Gpu(Box<Gpu>),
}

struct Simulated {
    facts: DeviceFacts,
    state: Mutex<State>,
    /// Sizes of arguments, by function. Apart from the state, since it is needed to make a command.
    parameters: Mutex<BTreeMap<u64, Arc<[u8]>>>,
    pinned: device::Pinned,
}

struct State {
    link: Link,
    sites: Sites,
    /// The thread that is in a measured region.
    in_region: Option<ThreadId>,
}

static ARM: OnceLock<Result<Arm, StartFailure>> = OnceLock::new();

thread_local! {
    /// This thread runs a host function. It must not call the driver, which waits for it.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Says something on standard error, as the driver's.
#[expect(clippy::print_stderr, reason = "a driver has no other way to say why a call was refused")]
pub(crate) fn say(what: &str) {
    eprintln!("swim: {what}");
}

fn arm() -> &'static Result<Arm, StartFailure> {
    ARM.get_or_init(start)
}

fn start() -> Result<Arm, StartFailure> {
    match std::env::var(run::DEVICE).as_deref() {
        Ok(run::DEVICE_GPU) => Gpu::open().map(|it| Arm::Gpu(Box::new(it))),
        Ok(run::DEVICE_SIMULATED) | Err(_) => simulated().map(|it| Arm::Simulated(Box::new(it))),
        Ok(other) => Err(StartFailure {
            code: code::NO_DEVICE,
            why: format!("`{}` is `{other}`, but a device is `sim` or `gpu`", run::DEVICE),
        }),
    }
}

fn simulated() -> Result<Simulated, StartFailure> {
    let failed = |why: String| StartFailure { code: code::UNKNOWN, why };
    let (mut link, pinned) = device::connect().map_err(failed)?;
    let facts = match link.execute(&Request { command: Command::DeviceFacts, site: None }) {
        Reply::Device(facts) => facts,
        _ => return Err(failed("the simulated device does not say what it is".to_owned())),
    };
    pinned.watch();
    let address = pinned.address(0) as u64;
    link.execute(&Request { command: Command::PinnedBase { address }, site: None });
    // As the real driver does: read once, at the start, and left alone if it is no number.
    let connections = std::env::var(CONNECTIONS).ok().and_then(|text| text.trim().parse().ok());
    if let Some(count) = connections {
        link.execute(&Request { command: Command::Connections { count }, site: None });
    }
    Ok(Simulated {
        facts,
        state: Mutex::new(State { link, sites: Sites::from_environment(), in_region: None }),
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

/// What the simulated device says about itself.
pub(crate) fn device_facts() -> Result<&'static DeviceFacts, CUresult> {
    simulated_arm().map(|simulated| &simulated.facts)
}

/// Locks, whoever may have panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic in here is a bug of ours that has been reported; the state is still worth reading.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a command to the simulated device.
pub(crate) fn issue(command: Command) -> Result<Reply, CUresult> {
    let simulated = simulated_arm()?;
    if IN_HOST_FUNCTION.get() {
        say("a host function called the driver, which CUDA does not permit");
        return Err(NOT_PERMITTED);
    }
    watch::have_stack();
    let mut state = lock(&simulated.state);
    if state.in_region.is_some_and(|thread| thread != std::thread::current().id()) {
        say("a second host thread called the driver inside the measured region");
        say("hint: drive the device from one thread there");
        return Err(NOT_PERMITTED);
    }
    let State { link, sites, .. } = &mut *state;
    tell_uses(link, sites);
    let site = sites.here(|place| {
        match link.execute(&Request { command: Command::Site(place), site: None }) {
            Reply::Number(number) => Some(number as u32),
            _ => None,
        }
    });
    match link.execute(&Request { command, site }) {
        Reply::Failed(Failure { code, why }) => {
            if let Some(why) = why {
                say(&why);
            }
            Err(code)
        }
        reply => Ok(reply),
    }
}

/// Tells the machine how the host itself used page-locked memory since the last call. In what order it
/// did is the processor's affair, so they are told by place.
fn tell_uses(link: &mut Link, sites: &mut Sites) {
    if !watch::has_uses() {
        return;
    }
    let (uses, lost) = watch::take_uses();
    if lost > 0 {
        say(&format!("{lost} uses of page-locked memory between two calls were not looked at"));
    }
    let mut by_site: BTreeMap<Option<u32>, Vec<Touch>> = BTreeMap::new();
    for Use { touch, frames } in uses {
        let site = sites.of(&frames, |place| {
            match link.execute(&Request { command: Command::Site(place), site: None }) {
                Reply::Number(number) => Some(number as u32),
                _ => None,
            }
        });
        by_site.entry(site).or_default().push(touch);
    }
    for (site, mut touches) in by_site {
        touches.sort();
        touches.dedup();
        link.execute(&Request { command: Command::HostAccess { touches }, site });
    }
}

/// Answers the lab.
pub(crate) fn ask(request: lab::Request) -> lab::Reply {
    match arm() {
        Err(failure) => lab::Reply::Refused { why: failure.why.clone() },
        Ok(Arm::Gpu(gpu)) => gpu.ask(request),
        Ok(Arm::Simulated(simulated)) => {
            watch::have_stack();
            let mut state = lock(&simulated.state);
            match &request {
                lab::Request::Source { directory } => {
                    state.sites = Sites::under(directory);
                    return lab::Reply::Done;
                }
                lab::Request::RegionBegin(_) => state.in_region = Some(std::thread::current().id()),
                lab::Request::RegionEnd => state.in_region = None,
                _ => {}
            }
            let State { link, sites, .. } = &mut *state;
            tell_uses(link, sites);
            let site = match request {
                lab::Request::HostWork { .. } => sites.here(|place| {
                    match link.execute(&Request { command: Command::Site(place), site: None }) {
                        Reply::Number(number) => Some(number as u32),
                        _ => None,
                    }
                }),
                _ => None,
            };
            match link.execute(&Request { command: Command::Lab(request), site }) {
                Reply::Lab(reply) => reply,
                _ => lab::Reply::Refused { why: "the simulated device is gone".to_owned() },
            }
        }
    }
}

/// Whether a call is refused for its flags. On a GPU the real driver decides.
pub(crate) fn refuses_flags(flags: u32, known: u32) -> bool {
    flags & !known != 0 && gpu().is_none()
}

/// Runs a host function of the student's.
pub(crate) fn run_host_function(function: u64, data: u64) -> Vec<Touch> {
    IN_HOST_FUNCTION.set(true);
    // SAFETY: the caller of `cuLaunchHostFunc` vouches for both.
    let touches = watch::watch_function(|| unsafe {
        let function: unsafe extern "C" fn(u64) = std::mem::transmute(function);
        function(data);
    });
    IN_HOST_FUNCTION.set(false);
    touches
}

/// The sizes of a kernel's arguments, from the reply that gave its handle.
pub(crate) fn remember_parameters(function: u64, sizes: Vec<u8>) {
    if let Ok(simulated) = simulated_arm() {
        lock(&simulated.parameters).insert(function, sizes.into());
    }
}

/// The sizes of a kernel's arguments; none for a handle that nobody gave.
pub(crate) fn parameter_sizes(function: u64) -> Option<Arc<[u8]>> {
    match gpu() {
        Some(gpu) => gpu.parameter_sizes(function),
        None => lock(&simulated_arm().ok()?.parameters).get(&function).cloned(),
    }
}

/// Where page-locked memory is in this process, by its offset.
pub(crate) fn pinned_address(offset: u64) -> *mut std::ffi::c_void {
    simulated_arm().map_or(std::ptr::null_mut(), |simulated| simulated.pinned.address(offset))
}

/// The offset of page-locked memory, by its address in this process; the address itself on a GPU.
pub(crate) fn pinned_offset(address: u64) -> u64 {
    let offset = simulated_arm().ok().and_then(|simulated| simulated.pinned.offset(address));
    // An address that is not page-locked memory is no offset either: it is refused as such.
    offset.unwrap_or(address)
}

/// A host address, as a command names it. On a GPU what it is gets found out later: no time is lost in
/// the call.
pub(crate) fn host_address(address: u64) -> Address {
    let offset = simulated_arm().ok().and_then(|simulated| simulated.pinned.offset(address));
    offset.map_or(Address::Pageable(address), Address::Pinned)
}

/// An address of either kind, as a command names it.
pub(crate) fn address(address: u64) -> Address {
    let on_device = gpu().is_none() && (DEVICE_BASE..DEVICE_END).contains(&address);
    if on_device { Address::Device(address) } else { host_address(address) }
}
