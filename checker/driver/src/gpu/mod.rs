//! The real driver.
//!
//! Every call is forwarded as it came, and noted. A run whose time counts ([`env::TRACE_OFF`]) must
//! not pay for the noting. So a call costs an entry in a log that has its memory already, and no
//! reading of the clock: handles and addresses are put down as they are. Only when a region begins
//! or has ended are they turned into the names of a [`Program`](trace::Program). Device addresses
//! and pinned memory are told from other memory then, too. A launch's arguments cannot wait, since
//! the program may change them at once: they are copied, by sizes that were looked up when the
//! function was.
//!
//! In a run for diagnosis each call is also traced to the student's line, and the device is
//! watched. CUPTI's records are joined to the calls by a number pushed around each; without CUPTI a
//! pair of events goes around each operation.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `real` | the system's library and the calls made on our own account |
//! | `log` | the calls as they come, raw |
//! | `observe` | how the log becomes a program |
//! | `graphs` | what was captured, and what was launched of it |
//! | `numbers` | numbers without gaps, where earlier passes are left out |
//! | `region` | measured regions: clock, idle, record |
//! | `data` | what a task's memory holds before a region, and what it has to hold after |
//! | `threads` | host threads and the channels between them, which really run side by side |
//! | `cupti` | activity records, and which call each belongs to |
//! | `pairs` | event pairs |
//! | `clock` | the host's clock, and how CUPTI's relates to it |

mod clock;
mod cupti;
mod data;
mod graphs;
mod log;
mod numbers;
mod observe;
mod pairs;
mod real;
mod region;
#[cfg(test)]
mod tests;
mod threads;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

use simulator::machine::{self, Command, Library as _, ModuleCommand, Reply, Touch};
use trace::env;
use trace::lab_protocol::{self, Speeds};
use trace::program::{Call, Site, WorkQueues};
use trace::timeline::Method;

use crate::call_sites::CallSites;
use crate::contexts::current_device;
use crate::cuda::{CUresult, Handle, code};
use crate::device;
use crate::library::Library;
use crate::lock::lock;
use crate::say::{StartFailure, say};
use clock::Clock;
use cupti::Cupti;
use log::{Asked, Log, Noted, Times};
use pairs::Pairs;
use real::Real;
use region::Regions;
use threads::{Threads, thread};

pub(crate) use real::{Slot, known};

/// How a run is to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trace {
    Off,
    Cupti,
    Events,
}

impl Trace {
    fn from_environment() -> Result<Self, String> {
        match std::env::var(env::TRACE).as_deref() {
            Err(_) | Ok(env::TRACE_OFF) => Ok(Self::Off),
            Ok(env::TRACE_CUPTI) => Ok(Self::Cupti),
            Ok(env::TRACE_EVENTS) => Ok(Self::Events),
            Ok(other) => Err(format!(
                "`{}` is `{other}`, but it is `{}`, `{}` or `{}`",
                env::TRACE,
                env::TRACE_OFF,
                env::TRACE_CUPTI,
                env::TRACE_EVENTS
            )),
        }
    }
}

/// The places in the student's source that calls came from.
struct Places {
    sites: CallSites,
    list: Vec<Site>,
}

/// The real driver, and what is noted down of the calls to it.
pub(crate) struct Gpu {
    real: Real,
    clock: Clock,
    /// When declared work of the host that is under way ends.
    core_free: Mutex<u64>,
    trace: Trace,
    /// CUPTI, where it was wanted and could be had, and why it could not.
    cupti: Option<Cupti>,
    without_cupti: Option<String>,
    /// CUPTI worked and then did not.
    gave_up_on_cupti: AtomicBool,
    speeds: Result<Speeds, String>,
    /// The device's name and the driver's version.
    identity: OnceLock<(String, u32)>,
    log: Mutex<Log>,
    /// Sizes of arguments, by function, where the library knows the kernel.
    parameters: RwLock<BTreeMap<u64, Vec<u8>>>,
    places: Mutex<Places>,
    pairs: Mutex<Pairs>,
    /// Taken before the log, never after it.
    regions: Mutex<Regions>,
    threads: Threads,
}

impl Gpu {
    /// Loads the system's driver and, where it is wanted, CUPTI, which has to be there first.
    pub(crate) fn open() -> Result<Self, StartFailure> {
        let failed = |code, why| StartFailure { code, why };
        let real = Real::open().map_err(|why| {
            let why = format!(
                "there is no GPU to be used: no `libcuda.so.1` can be loaded ({why})\n\
                 hint: install NVIDIA's driver, or leave `{}` unset for the simulated device",
                env::DEVICE
            );
            failed(code::NO_DEVICE, why)
        })?;
        let trace = Trace::from_environment().map_err(|why| failed(code::INVALID_VALUE, why))?;
        let cupti = match trace {
            Trace::Cupti => cupti::start(driver_version(&real)).map(Some),
            Trace::Off | Trace::Events => Ok(None),
        };
        let gpu = Self::new(real, trace, cupti);
        gpu.note_work_queues(device::work_queues());
        Ok(gpu)
    }

    fn new(real: Real, trace: Trace, cupti: Result<Option<Cupti>, String>) -> Self {
        let (cupti, without_cupti) = match cupti {
            Ok(cupti) => (cupti, None),
            Err(why) => {
                let why = format!("the timeline comes from event pairs, not from CUPTI: {why}");
                (None, Some(why))
            }
        };
        Self {
            real,
            clock: Clock::start(),
            core_free: Mutex::default(),
            trace,
            cupti,
            without_cupti,
            gave_up_on_cupti: AtomicBool::new(false),
            speeds: device::profile()
                .map(|profile| machine::speeds(&profile, lab_protocol::Device::Gpu)),
            identity: OnceLock::new(),
            log: Mutex::new(Log::new()),
            parameters: RwLock::default(),
            places: Mutex::new(Places { sites: CallSites::from_environment(), list: Vec::new() }),
            pairs: Mutex::default(),
            regions: Mutex::new(Regions::new()),
            threads: Threads::default(),
        }
    }

    /// Initialises the driver.
    pub(crate) fn init(&self) -> CUresult {
        // SAFETY: takes a number.
        let result = unsafe { self.real.init(0) };
        if result != code::SUCCESS {
            say(&format!(
                "the system's driver does not start: {}\n\
                 hint: `nvidia-smi` tells whether it works at all",
                self.real.error(result)
            ));
            return result;
        }
        let mut devices: c_int = 0;
        // SAFETY: writes one number.
        match unsafe { self.real.device_count(&raw mut devices) } {
            code::SUCCESS if devices > 0 => code::SUCCESS,
            code::SUCCESS => {
                say("the driver finds no device\nhint: `CUDA_VISIBLE_DEVICES` may hide it");
                code::NO_DEVICE
            }
            failed => failed,
        }
    }

    /// The address of the real function called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.real.find(name)
    }

    /// The real driver's name of an error; none where it has none.
    pub(crate) fn error_name(&self, error: CUresult) -> Option<String> {
        self.real.error_name(error)
    }

    /// The context that is current in this thread, and its device.
    pub(crate) fn current_context(&self) -> Option<(Handle, u32)> {
        let (mut context, mut device) = (0, 0);
        // SAFETY: each writes one number, which there is room for.
        let results = unsafe {
            [self.real.current_context(&raw mut context), self.real.current_device(&raw mut device)]
        };
        let is_there = results == [code::SUCCESS; 2] && context != 0;
        is_there.then_some((context, device.unsigned_abs()))
    }

    /// The address of the real function called `name`, kept in `slot`.
    pub(crate) fn symbol(&self, slot: &Slot, name: &str) -> Option<usize> {
        slot.address(&self.real, name)
    }

    /// Forwards a call and notes it.
    pub(crate) fn call(
        &self,
        command: Command,
        real: impl FnOnce() -> CUresult,
        reply: impl FnOnce() -> Reply,
    ) -> CUresult {
        if !log::is_noted(&command) {
            return known(real());
        }
        if log::gives_a_name(&command) {
            return self.call_that_gives_a_name(command, real, reply);
        }
        if self.trace == Trace::Off {
            return self.untraced(command, real);
        }
        let entered = self.clock.now();
        let site = self.site();
        let work = log::stream_of_work(&command);
        let noted = Noted {
            asked: Asked::Command(command),
            given: 0,
            site,
            thread: thread(),
            device: current_device(),
            times: Times { entered, start: entered, end: entered },
            result: None,
        };
        let (number, is_full) = lock(&self.log).note(noted);
        let mut times = Times { entered, start: entered, end: entered };
        let run = || {
            times.start = self.clock.now(); // what it takes to note a call is no time of the program's
            let result = known(real());
            times.end = self.clock.now();
            result
        };
        let result = match (self.method(), work) {
            (Method::Cupti, Some(_)) => match &self.cupti {
                Some(cupti) => cupti.numbered(number, run),
                None => run(),
            },
            (Method::EventPairs, Some(stream)) => self.paired(number, stream, run),
            _ => run(),
        };
        lock(&self.log).returned(number, times, result);
        if is_full {
            self.make_room();
        }
        result
    }

    /// Forwards a call where only its place among the others is to be known.
    fn untraced(&self, command: Command, real: impl FnOnce() -> CUresult) -> CUresult {
        // Taken to succeed, which nearly all do: to say so later would take the lock once more.
        let (number, is_full) = self.note(Asked::Command(command), None, Times::default());
        let result = known(real());
        if result != code::SUCCESS {
            lock(&self.log).returned(number, Times::default(), result);
        }
        if is_full {
            self.make_room();
        }
        result
    }

    /// Forwards a call that gives a handle or an address, and notes it with that when it returns.
    fn call_that_gives_a_name(
        &self,
        command: Command,
        real: impl FnOnce() -> CUresult,
        reply: impl FnOnce() -> Reply,
    ) -> CUresult {
        let entered = self.clock.now();
        let site = self.site();
        let start = self.clock.now();
        let result = known(real());
        let times = match self.trace {
            Trace::Off => Times::default(),
            _ => Times { entered, start, end: self.clock.now() },
        };
        let mut given = 0;
        if result == code::SUCCESS
            && let Reply::Number(number) | Reply::Entry { function: number, .. } = reply()
        {
            given = number;
            if let Command::Module(ModuleCommand::FunctionGet { name, .. }) = &command {
                self.remember_parameters(given, name);
            }
        }
        let thread = thread();
        let asked = Asked::Command(command);
        lock(&self.log).note(Noted {
            asked,
            given,
            site,
            thread,
            device: current_device(),
            times,
            result: Some(result),
        });
        result
    }

    /// Takes up a log that is full, unless that would take time in a region. A program that calls
    /// this often outside of its regions does not want a record of that, which would only grow.
    #[cold]
    fn make_room(&self) {
        if let Ok(mut regions) = self.regions.try_lock()
            && regions.open.is_none()
        {
            let now_ns = self.clock.now();
            regions.observed.take_up_what_stays(&mut lock(&self.log), now_ns);
        }
    }

    /// Makes a call between two events in its stream.
    fn paired(&self, number: u64, stream: Handle, run: impl FnOnce() -> CUresult) -> CUresult {
        let before = lock(&self.pairs).before(&self.real, stream);
        let result = run();
        if let Some(before) = before {
            lock(&self.pairs).after(&self.real, stream, number, before, result);
        }
        result
    }

    /// Answers the lab.
    pub(crate) fn ask(&self, request: lab_protocol::Request) -> lab_protocol::Reply {
        match request {
            lab_protocol::Request::Source { directory } => {
                lock(&self.places).sites = CallSites::under(&directory);
                lab_protocol::Reply::Done
            }
            lab_protocol::Request::Scale { scale: 1 } => lab_protocol::Reply::Done,
            lab_protocol::Request::Scale { .. } => {
                let why = "a GPU moves every byte: the scale is 1 there".to_owned();
                lab_protocol::Reply::Refused { why }
            }
            lab_protocol::Request::Ready => {
                let mut regions = lock(&self.regions);
                self.take_up(&mut regions);
                self.write_record(&regions);
                lab_protocol::Reply::Done
            }
            lab_protocol::Request::Speeds => match &self.speeds {
                Ok(speeds) => lab_protocol::Reply::Speeds(*speeds),
                Err(why) => lab_protocol::Reply::Refused { why: why.clone() },
            },
            lab_protocol::Request::HostAccess { address, bytes, kind } => {
                self.note_host_access(Touch { offset: address, bytes, kind });
                lab_protocol::Reply::Done
            }
            lab_protocol::Request::KeptTraces { seed } => {
                lab_protocol::Reply::KeptTraces(trace::meter::kept(seed))
            }
            lab_protocol::Request::Traced { name } => {
                let record = self.record(&lock(&self.regions));
                lab_protocol::Reply::Traced(trace::meter::Trace::of(&name, &record.timeline))
            }
            lab_protocol::Request::Clock => lab_protocol::Reply::Clock { ns: self.clock.now() },
            // It has taken its time; the other is answered before it comes here.
            lab_protocol::Request::HostCopy { .. } | lab_protocol::Request::FailedCall { .. } => {
                lab_protocol::Reply::Done
            }
            lab_protocol::Request::HostWork { ns, asking_ns } => {
                self.host_work(ns, self.clock.now().saturating_sub(asking_ns))
            }
            lab_protocol::Request::Load { ns, began_ns, .. } => {
                self.host_work(ns, began_ns.min(self.clock.now()))
            }
            lab_protocol::Request::Arrival { played_ns } => self.take_request(played_ns),
            lab_protocol::Request::Answer { request } => self.answer_request(request),
            lab_protocol::Request::Thread(asked) => self.ask_thread(asked),
            lab_protocol::Request::RegionBegin(_) | lab_protocol::Request::RegionEnd
                if self.threads.are_left() =>
            {
                let why = "the measured region begins and ends with one host thread, but others are \
                     still at work\nhint: join them inside the region";
                lab_protocol::Reply::Refused { why: why.to_owned() }
            }
            lab_protocol::Request::RegionBegin(region) => self.begin_region(region),
            lab_protocol::Request::RegionEnd => self.end_region(),
        }
    }

    /// Notes how many work queues there are, as the simulated device does: where they are not the
    /// default.
    fn note_work_queues(&self, queues: WorkQueues) {
        if let Some(call) = queues.call() {
            let now = self.clock.now();
            let times = Times { entered: now, start: now, end: now };
            self.note_lab(call, None, times);
        }
    }

    /// Works on the host until `ns` have gone by since it `began`, or since its core had nothing
    /// else to do: all threads have one for the work that they declare, as on the simulated device.
    /// What it takes to find out who asks, and to note it, is part of the time.
    fn host_work(&self, ns: u64, began: u64) -> lab_protocol::Reply {
        let site = self.site();
        let mut core_free = lock(&self.core_free);
        let began = began.max(*core_free);
        let mut times = Times { entered: began, start: began, end: began };
        let (number, _) = self.note_lab(Call::HostWork { ns, target: None }, site, times);
        *core_free = began.saturating_add(ns);
        self.clock.spin_until(*core_free);
        drop(core_free);
        if self.trace != Trace::Off {
            times.end = self.clock.now();
            lock(&self.log).returned(number, times, code::SUCCESS);
        }
        lab_protocol::Reply::Done
    }

    /// Notes that the host takes memory at hand. It is no call, and takes no time: a run whose time
    /// counts goes without.
    fn note_host_access(&self, touch: Touch) {
        if self.trace == Trace::Off {
            return;
        }
        let site = self.site();
        let now = self.clock.now();
        self.note(Asked::HostAccess(touch), site, Times { entered: now, start: now, end: now });
    }

    /// Notes a call to the lab that has returned.
    fn note_lab(&self, call: Call, site: Option<u32>, times: Times) -> (u64, bool) {
        self.note(Asked::Lab(call), site, times)
    }

    /// Notes what has succeeded, or is taken to; its number, and whether the log is full.
    fn note(&self, asked: Asked, site: Option<u32>, times: Times) -> (u64, bool) {
        let result = Some(code::SUCCESS);
        let (thread, device) = (thread(), current_device());
        let noted = Noted { asked, given: 0, site, thread, device, times, result };
        lock(&self.log).note(noted)
    }

    fn remember_parameters(&self, function: u64, name: &str) {
        let mut parameters = self.parameters.write().unwrap_or_else(PoisonError::into_inner);
        match Library.kernel(name) {
            Some(kernel) => drop(parameters.insert(function, kernel.parameter_sizes())),
            None => drop(parameters.remove(&function)),
        }
    }

    /// Applies `then` to the sizes of the arguments of a kernel that the lab knows.
    pub(crate) fn with_parameter_sizes<T>(
        &self,
        function: u64,
        then: impl FnOnce(&[u8]) -> T,
    ) -> Option<T> {
        let parameters = self.parameters.read().unwrap_or_else(PoisonError::into_inner);
        parameters.get(&function).map(|sizes| then(sizes))
    }

    /// The place in the student's source that the current call comes from. Walking the stack takes
    /// longer than most calls, so a run whose time counts goes without.
    fn site(&self) -> Option<u32> {
        if self.trace == Trace::Off {
            return None;
        }
        let mut places = lock(&self.places);
        let Places { sites, list } = &mut *places;
        sites.here(|place| {
            list.push(place);
            Some(list.len() as u32 - 1)
        })
    }

    /// The same, as file and line.
    pub(crate) fn place(&self) -> Option<String> {
        let site = self.site()?;
        lock(&self.places).list.get(site as usize).map(ToString::to_string)
    }

    /// How the device is watched now.
    fn method(&self) -> Method {
        match self.trace {
            Trace::Off => Method::Untraced,
            Trace::Events => Method::EventPairs,
            Trace::Cupti if self.cupti.is_none() => Method::EventPairs,
            Trace::Cupti if self.gave_up_on_cupti.load(Ordering::Relaxed) => Method::EventPairs,
            Trace::Cupti => Method::Cupti,
        }
    }

    /// From now on, event pairs; the note that says why.
    fn give_up_on_cupti(&self, why: &str) -> String {
        if let Some(cupti) = &self.cupti {
            cupti.stop();
        }
        self.gave_up_on_cupti.store(true, Ordering::Relaxed);
        format!("CUPTI cannot be relied on here: {why}")
    }

    /// The device's name and the driver's version.
    fn identity(&self) -> &(String, u32) {
        self.identity.get_or_init(|| {
            const ROOM: usize = 256;
            let mut name: [c_char; ROOM] = [0; ROOM];
            // SAFETY: writes at most the room, the last byte of which stays 0.
            let result = unsafe { self.real.device_name(name.as_mut_ptr(), ROOM as c_int - 1, 0) };
            let name = if result == code::SUCCESS {
                // SAFETY: ends with a 0 at the last.
                unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
            } else {
                "a GPU without a name".to_owned()
            };
            (name, driver_version(&self.real))
        })
    }
}

/// The version of the API that the driver answers for; 0 if it does not say.
fn driver_version(real: &Real) -> u32 {
    let mut version: c_int = 0;
    // SAFETY: writes one number; needs no initialisation.
    match unsafe { real.driver_version(&raw mut version) } {
        code::SUCCESS => version.unsigned_abs(),
        _ => 0,
    }
}
