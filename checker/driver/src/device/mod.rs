//! The simulated device, in this process or in another.
//!
//! Either way the machine sees the student's process through [`Host`] alone: pinned memory is
//! a memfd that both sides map, pageable memory is reached by address here and by asking back
//! there.

pub(crate) mod host_function;
mod mailbox;
pub(crate) mod page_faults;
mod reach;
mod remote;
mod serve;

use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use simulator::machine::{
    Command, Guard, Host, Machine, NotMapped, PINNED_BYTES, Reply, Request, Touch, Turn,
};
use simulator::profile::BuiltIn;
use simulator::{Profile, Schedule};
use trace::env;
use trace::lab_protocol;
use trace::program::WorkQueues;

pub(crate) use serve::{make_memory, serve};

use crate::library::Library;
use crate::record_file::write_record;

/// The way to the machine.
pub(crate) enum Link {
    /// In this process.
    Local(Box<Local>),
    /// In another.
    Remote(remote::Remote),
}

impl Link {
    /// The reply, and who is to make the next request.
    pub(crate) fn execute(&mut self, request: &Request) -> (Reply, Turn) {
        match self {
            Link::Local(local) => {
                let reply = local.machine.execute(request, &mut local.host);
                after(&local.machine, request, &reply);
                (reply, local.machine.turn().clone())
            }
            Link::Remote(remote) => remote.execute(request),
        }
    }
}

/// A machine in this process.
pub(crate) struct Local {
    machine: Machine,
    host: LocalHost,
}

/// Connects to the machine that the environment names.
pub(crate) fn connect() -> Result<(Link, Pinned), String> {
    match std::env::var(env::MACHINE).as_deref() {
        Err(_) | Ok(env::MACHINE_IN_PROCESS) => {
            let memory = shared_memory(PINNED_BYTES)?;
            let pinned = Pinned(Mapping::new(&memory, 0, PINNED_BYTES)?);
            // The machine uses a mapping of its own, here as in another process.
            let host = LocalHost { pinned: Mapping::new(&memory, 0, PINNED_BYTES)? };
            let machine = new_machine()?;
            Ok((Link::Local(Box::new(Local { machine, host })), pinned))
        }
        Ok(descriptor) => {
            let (remote, pinned) = remote::Remote::open(descriptor)?;
            Ok((Link::Remote(remote), Pinned(pinned)))
        }
    }
}

/// A machine with the settings of the environment.
fn new_machine() -> Result<Machine, String> {
    let schedule = setting::<Schedule>(env::SCHEDULE)?.unwrap_or_default();
    let mut machine = Machine::new(profile()?, schedule, Box::new(Library));
    if let Some(index) = setting(env::LEAVE_OUT)? {
        machine.leave_out(index);
    }
    if let Some(demand) = setting(env::DEMAND)? {
        machine.demand(demand)?;
    }
    if let Some(watch) = setting(env::WATCH)? {
        machine.watch(watch);
    }
    Ok(machine)
}

/// A setting of the environment, if it is there.
fn setting<T: std::str::FromStr>(name: &str) -> Result<Option<T>, String> {
    let Ok(text) = std::env::var(name) else { return Ok(None) };
    let wrong = || format!("`{name}` is `{text}`, which it cannot be");
    text.parse().map(Some).map_err(|_| wrong())
}

/// The profile that the environment names, or the H200's.
pub(crate) fn profile() -> Result<Profile, String> {
    let named = std::env::var(env::PROFILE).ok();
    let built_in = named.as_deref().map_or(Some(BuiltIn::H200), BuiltIn::find);
    let (name, text) = match (built_in, named) {
        (None, Some(path)) => {
            let text = std::fs::read_to_string(Path::new(&path))
                .map_err(|error| format!("cannot read the profile `{path}`: {error}"))?;
            (format!("`{path}`"), text)
        }
        _ => {
            let measured = built_in.unwrap_or(BuiltIn::H200).measured();
            ("the built-in profile".to_owned(), measured.to_owned())
        }
    };
    let profile = toml::from_str(&text)
        .map_err(|error| format!("{name} is not a device profile: {error}"))?;
    Ok(match built_in {
        Some(built_in) => built_in.profile(profile),
        None => profile,
    })
}

/// The number of work queues that the environment sets. As in the real driver: read once, at the
/// start, and left alone if it is no number.
pub(crate) fn work_queues() -> WorkQueues {
    let asked = |name| std::env::var(name).ok();
    let (connections, copies) = (asked(env::CONNECTIONS), asked(env::COPY_CONNECTIONS));
    WorkQueues::asked(connections.as_deref(), copies.as_deref())
}

/// Writes the run down after a command, when it is about to start and whenever a region has ended.
fn after(machine: &Machine, request: &Request, reply: &Reply) {
    let ready = matches!(request.command, Command::Lab(lab_protocol::Request::Ready));
    let ended = matches!(reply, Reply::Lab(lab_protocol::Reply::Trial(_)));
    if (ready || ended)
        && let Some(path) = std::env::var_os(env::RECORD)
    {
        write_record(Path::new(&path), &machine.record());
    }
}

/// Pinned memory, as this process maps it.
pub(crate) struct Pinned(Mapping);

impl Pinned {
    /// From now on the student's uses of what copies in flight use are noticed.
    pub(crate) fn watch(&self) {
        page_faults::start(self.0.start);
    }

    /// The address of what lies at `offset`.
    pub(crate) fn address(&self, offset: u64) -> *mut c_void {
        // SAFETY: the machine gives offsets inside the mapping.
        unsafe { self.0.start.add(offset as usize).cast() }
    }

    /// The offset of what lies at `address`; none if it is not in here.
    pub(crate) fn offset(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.0.start as u64).filter(|&offset| offset < PINNED_BYTES)
    }
}

/// Shared memory, mapped for the life of the process.
pub(crate) struct Mapping {
    start: *mut u8,
}

// SAFETY: the mapping is never unmapped, and the driver's lock orders what goes through it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(memory: &OwnedFd, offset: u64, bytes: u64) -> Result<Self, String> {
        // SAFETY: a new mapping of a file of our own, at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                memory.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(format!("cannot map shared memory: {}", std::io::Error::last_os_error()));
        }
        Ok(Self { start: start.cast() })
    }

    /// Copies what lies at `offset`, which the machine has given out.
    fn read(&self, offset: u64, bytes: &mut [u8]) {
        // SAFETY: the machine checks that the range is in what it gave out.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.start.add(offset as usize),
                bytes.as_mut_ptr(),
                bytes.len(),
            );
        }
    }

    /// Writes to `offset`, which the machine has given out.
    fn write(&self, offset: u64, bytes: &[u8]) {
        // SAFETY: as above.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.start.add(offset as usize),
                bytes.len(),
            );
        }
    }
}

/// Memory that two processes can map, of a size that neither can change.
fn shared_memory(bytes: u64) -> Result<OwnedFd, String> {
    let failed =
        |what: &str| format!("cannot {what} shared memory: {}", std::io::Error::last_os_error());
    // SAFETY: the name is a C string; the descriptor is ours if it is one.
    let memory = unsafe {
        let descriptor = libc::memfd_create(
            c"swim-pinned".as_ptr(),
            libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING,
        );
        if descriptor < 0 {
            return Err(failed("make"));
        }
        OwnedFd::from_raw_fd(descriptor)
    };
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: plain calls on a descriptor of our own.
    let done = unsafe {
        libc::ftruncate(memory.as_raw_fd(), bytes as libc::off_t) == 0
            && libc::fcntl(memory.as_raw_fd(), libc::F_ADD_SEALS, seals) == 0
    };
    if done { Ok(memory) } else { Err(failed("size")) }
}

/// This process, as a machine inside it sees it.
struct LocalHost {
    pinned: Mapping,
}

impl Host for LocalHost {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped> {
        reach::read(address, bytes)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped> {
        reach::write(address, bytes)
    }

    fn read_pinned(&mut self, offset: u64, bytes: &mut [u8]) {
        self.pinned.read(offset, bytes);
    }

    fn write_pinned(&mut self, offset: u64, bytes: &[u8]) {
        self.pinned.write(offset, bytes);
    }

    fn call(&mut self, function: u64, data: u64) -> Vec<Touch> {
        host_function::run(function, data)
    }

    fn guard(&mut self, guard: Guard) {
        page_faults::apply(&guard);
    }
}
