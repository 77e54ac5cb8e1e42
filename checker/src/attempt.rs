//! One run of one program: its settings, and its results.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::de::DeserializeOwned;
use simulator::Schedule;
use simulator::machine::{Demand, Watch};
use trace::numbers::{self, Numbers};
use trace::version::Header;
use trace::{Program, Record, env, program, record, version};

use crate::device;
use sandbox::process::{self, Ending, Finished, Limits, Output};
use sandbox::scratch::Scratch;
use sandbox::{self, Confined, Ended, Exceeded, Sandbox};

/// Where the simulated device lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Machine {
    /// In the program's own process
    #[default]
    InProcess,
    /// In a process of the checker's
    Process,
}

/// The settings of one run.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The program.
    pub program: Runnable<'a>,
    /// The folder that it is started in.
    pub folder: &'a Path,
    /// The driver library; none for the program's own default.
    pub driver: Option<&'a Path>,
    /// The device and how it is watched.
    pub device: Watched<'a>,
    /// The mode of the program: [`env::MODE_SOLVE`] or [`env::MODE_CALIBRATE`].
    pub mode: &'static str,
    /// Limits of its use.
    pub limits: Limits,
    /// The sandbox that it runs in; none for a program that may do whatever its user may.
    pub sandbox: Option<&'a Sandbox>,
}

/// A program that can be run.
#[derive(Clone, Copy, Debug)]
pub struct Runnable<'a> {
    /// Its own executable, or that of the player.
    pub executable: &'a Path,
    /// The record that the player is to play, of a program that is not here itself.
    pub recorded: Option<&'a Path>,
    /// Numbers that tell it from other programs of the same executable.
    pub numbers: &'a Numbers,
}

impl<'a> Runnable<'a> {
    /// A program that is here, and has its executable to itself.
    pub fn program(executable: &'a Path) -> Self {
        Self { executable, recorded: None, numbers: &NO_NUMBERS }
    }
}

/// Those of a program that has its file to itself.
pub static NO_NUMBERS: Numbers = Numbers::new();

/// A device and how it is watched.
#[derive(Clone, Copy, Debug)]
pub enum Watched<'a> {
    /// The simulated device, whose every run is exact.
    Simulated {
        /// File of the profile; none for the built-in one.
        profile: Option<&'a Path>,
        /// Which legal schedule is played.
        schedule: Schedule,
        /// Two uses of memory to be looked at.
        watch: Option<Watch>,
        /// Where the device lives.
        machine: Machine,
        /// The demand on the measured region; none where it may be anything.
        demand: Option<&'a Demand>,
    },
    /// A GPU.
    Gpu {
        /// [`env::TRACE_OFF`] or [`env::TRACE_CUPTI`].
        trace: &'static str,
        /// Passes before the first that counts.
        warmups: u32,
        /// Passes that count.
        trials: u32,
    },
}

/// Results of one run.
#[derive(Debug)]
pub struct Attempt {
    /// How the program ended.
    pub ending: Ending,
    /// The limit that was the reason, where a sandbox says so.
    pub exceeded: Option<Exceeded>,
    /// Its output.
    pub output: Output,
    /// The driver's record: none where the student's code was never reached, an error where it
    /// cannot be read.
    pub record: Result<Option<Record>>,
}

impl Attempt {
    /// The record, where there is one that can be read.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref().ok()?.as_ref()
    }
}

/// Runs a program as ordered.
pub fn run(order: &Order<'_>) -> Result<Attempt> {
    let scratch = Scratch::new()?;
    let path = scratch.path().join("record.json");
    let mut command = Command::new(order.program.executable);
    command.current_dir(order.folder);
    settings(&mut command, order, &path);

    let mut device = match order.device {
        Watched::Simulated { machine: Machine::Process, .. } => {
            let device = DeviceProcess::start(order, &path, scratch.path())?;
            device.connect(&mut command);
            Some(device)
        }
        _ => None,
    };
    let companion = device.as_ref().map(|device| device.child.id());
    let ended = match order.sandbox {
        Some(sandbox) => {
            let device =
                device.as_ref().context("only a device process is out of a sandbox's reach")?;
            let confined = confined(&command, order, device);
            sandbox.run(&confined, companion)?
        }
        None => {
            let Finished { ending, output } = process::run(command, order.limits, companion)?;
            Ended { ending, exceeded: None, output }
        }
    };
    let Ended { ending, mut exceeded, output } = ended;
    match device.as_mut().and_then(DeviceProcess::end) {
        Some(End::OfItself(how)) => bail!("the device process came to an end: {how}"),
        Some(End::OverTheProgram) => exceeded = exceeded.or(Some(Exceeded::Device)),
        None => {}
    }
    // It is gone before its record is read: the two would hold it at once.
    drop(device);
    Ok(Attempt { ending, exceeded, output, record: read_record(&path) })
}

/// The program of `command` with what it needs, and no more: the driver library, and the memory
/// that it shares with the device. The device writes the record.
fn confined(command: &Command, order: &Order<'_>, device: &DeviceProcess) -> Confined {
    let limits = sandbox::Limits::of_program(order.limits.wall, order.limits.output_bytes);
    let mut confined = Confined::of(command, sandbox::Role::Program, limits);
    let mut readable = vec![order.driver, order.program.recorded];
    if let Watched::Simulated { profile, .. } = order.device {
        readable.push(profile);
    }
    confined.readable.extend(readable.into_iter().flatten().map(Into::into));
    confined.descriptors.push(device.memory.as_raw_fd());
    confined
}

/// Puts `order` into the environment, where nothing that the user set may linger: a run is what it
/// is told to be.
fn settings(command: &mut Command, order: &Order<'_>, record: &Path) {
    for name in [
        env::DRIVER,
        env::DEVICE,
        env::PROFILE,
        env::MACHINE,
        env::RECORD,
        env::SCHEDULE,
        env::SEED,
        env::TRACE,
        env::WARMUPS,
        env::TRIALS,
        env::MODE,
        env::PROGRAM,
        env::NUMBERS,
        env::LEAVE_OUT,
        env::WATCH,
        env::DEMAND,
        // Work queues decide what overlaps: the default is what everybody is graded with.
        env::CONNECTIONS,
        env::COPY_CONNECTIONS,
    ] {
        command.env_remove(name);
    }
    if let Some(driver) = order.driver {
        command.env(env::DRIVER, driver);
    }
    command.env(env::RECORD, record).env(env::MODE, order.mode);
    if let Some(recorded) = order.program.recorded {
        command.env(env::PROGRAM, recorded);
    }
    if !order.program.numbers.is_empty() {
        command.env(env::NUMBERS, numbers::setting(order.program.numbers));
    }
    match order.device {
        Watched::Simulated { profile, schedule, watch, machine, demand } => {
            command.env(env::DEVICE, env::DEVICE_SIMULATED);
            if let Some(profile) = profile {
                command.env(env::PROFILE, profile);
            }
            if schedule != Schedule::Exact {
                command.env(env::SCHEDULE, schedule.to_string());
            }
            if let Some(watch) = watch {
                command.env(env::WATCH, watch.to_string());
            }
            if let Some(demand) = demand {
                command.env(env::DEMAND, demand.to_string());
                command.env(env::SEED, demand.seed.to_string());
            }
            if machine == Machine::InProcess {
                command.env(env::MACHINE, env::MACHINE_IN_PROCESS);
            }
        }
        Watched::Gpu { trace, warmups, trials } => {
            command
                .env(env::DEVICE, env::DEVICE_GPU)
                .env(env::TRACE, trace)
                .env(env::WARMUPS, warmups.to_string())
                .env(env::TRIALS, trials.to_string());
        }
    }
}

fn read_record(path: &Path) -> Result<Option<Record>> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context("cannot read the record of the run"),
    };
    let record: Record =
        read(&text, record::VERSION, "record").context("cannot read the record of the run")?;
    drop(text);
    record.check_versions()?;
    Ok(Some(record))
}

/// Reads a form. Of one that does not parse the version is looked at: another may differ in a way
/// that does not.
fn read<T: DeserializeOwned>(text: &[u8], known: u32, what: &'static str) -> Result<T> {
    serde_json::from_slice(text).or_else(|error| {
        let Header { version: found } = serde_json::from_slice(text)?;
        version::check_version(found, known, what)?;
        Err(error.into())
    })
}

/// Reads a recorded program.
pub fn read_program(path: &Path) -> Result<Program> {
    let text = std::fs::read(path)?;
    let program: Program = read(&text, program::VERSION, "program")?;
    version::check_version(program.version, program::VERSION, "program")?;
    Ok(program)
}

/// Why a device process came to an end while its program ran.
enum End {
    /// No call of a program brings this about.
    OfItself(String),
    /// The program wanted more than the process can do, or may use.
    OverTheProgram,
}

/// Limits of a device process.
struct DeviceLimits {
    /// Bytes of memory of its own: what the machine holds (`simulator::machine`: 4 GiB of device
    /// memory, 1 GiB of data in flight), and the account of a million calls.
    memory_bytes: u64,
    /// Seconds of CPU time.
    cpu_s: u64,
    /// Bytes of the record.
    file_bytes: u64,
}

impl DeviceLimits {
    /// Of a program that has so much time. It has an answer to every call of its program's, so that
    /// it needs no more time than that.
    fn of(wall: Duration) -> Self {
        let cpu_s = wall.as_secs().saturating_add(1).saturating_mul(2);
        Self { memory_bytes: 7 << 30, cpu_s, file_bytes: RECORD_BYTES }
    }
}

/// Bytes of the largest record: as much as the device keeps account of (`simulator::machine`: 512
/// bytes for each of a million calls). A solution's is 138 KB at the most; that of `how_many_lanes`
/// as shipped, 2.3 MB.
const RECORD_BYTES: u64 = 512 << 20;

/// A device process that had so many bytes when it was killed was killed for that, and not by a
/// person.
const MUCH_BYTES: u64 = 1 << 30;

/// The simulated device in a process of the checker's: it computes the times and writes the record.
/// The two processes share one piece of memory, through which each call goes.
struct DeviceProcess {
    child: Child,
    memory: OwnedFd,
    /// Its output.
    said: PathBuf,
    /// It has been waited for.
    is_over: bool,
}

impl DeviceProcess {
    fn start(order: &Order<'_>, record: &Path, scratch: &Path) -> Result<Self> {
        let driver = order.driver.context("there is no driver library to host the device")?;
        let memory = device::memory(driver)?;
        let said = scratch.join("device.txt");
        let output = std::fs::File::create(&said).context("cannot make a file")?;
        let this = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(this);
        settings(&mut command, order, record);
        command.arg("device-process").arg(driver).arg("--fd").arg(memory.as_raw_fd().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        process::inherit(&mut command, memory.as_raw_fd());
        end_with_the_checker(&mut command);
        limit(&mut command, &DeviceLimits::of(order.limits.wall));
        let child = command.spawn().context("cannot start the device process")?;
        Ok(Self { child, memory, said, is_over: false })
    }

    /// Lets the program of `command` talk to the device.
    fn connect(&self, command: &mut Command) {
        command.env(env::MACHINE, self.memory.as_raw_fd().to_string());
        process::inherit(command, self.memory.as_raw_fd());
        // The device writes the record. The program is told that there is one, and not where; nor
        // what its inputs are made from, or what is looked at.
        command.env(env::RECORD, "/dev/null");
        for name in [env::SEED, env::DEMAND, env::WATCH, env::SCHEDULE, env::PROFILE] {
            command.env_remove(name);
        }
    }

    /// How it ended, if it has.
    fn end(&mut self) -> Option<End> {
        let mut status = 0;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        let pid = self.child.id() as libc::pid_t; // Linux numbers processes below 2^22
        // SAFETY: the child has not been waited for; status and usage are written in place, and
        // zeroed both are valid.
        let (found, usage) = unsafe {
            let found = libc::wait4(pid, &raw mut status, libc::WNOHANG, usage.as_mut_ptr());
            (found, usage.assume_init())
        };
        if found != pid {
            return None;
        }
        self.is_over = true;
        let peak_bytes = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
        let how = process::ending(ExitStatus::from_raw(status));
        Some(match how {
            Ending::Exited(PANICKED) => End::OverTheProgram,
            Ending::Signalled(libc::SIGKILL) if peak_bytes > MUCH_BYTES => End::OverTheProgram,
            Ending::Signalled(signal) if OWN_DOING.contains(&signal) => End::OverTheProgram,
            _ => End::OfItself(format!("{how:?}: {}", self.last_words())),
        })
    }

    fn last_words(&self) -> String {
        let said = std::fs::read_to_string(&self.said).unwrap_or_default();
        let said = said.trim();
        if said.is_empty() { "it said nothing".to_owned() } else { said.to_owned() }
    }
}

impl Drop for DeviceProcess {
    fn drop(&mut self) {
        if self.is_over {
            return; // its number may be another's
        }
        // It wrote its record before the program's last region ended. Both fail for a process that
        // has already been waited for, as they should.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The exit status of a panic.
const PANICKED: i32 = 101;

/// Signals that a process gets for what it does itself: memory that there is not, a limit, a
/// mistake.
const OWN_DOING: [i32; 7] = [
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

fn limit(command: &mut Command, limits: &DeviceLimits) {
    let limits = [
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_DATA, limits.memory_bytes),
        (libc::RLIMIT_CPU, limits.cpu_s),
        (libc::RLIMIT_FSIZE, limits.file_bytes),
    ];
    // SAFETY: between fork and exec only system calls are made, on structures that live until they
    // return.
    unsafe {
        command.pre_exec(move || {
            for (what, most) in limits {
                // Where less is allowed already, that holds.
                let mut present = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::getrlimit(what, &raw mut present);
                let most = most.min(present.rlim_max);
                let wanted = libc::rlimit { rlim_cur: most, rlim_max: most };
                libc::setrlimit(what, &raw const wanted);
            }
            Ok(())
        });
    }
}

fn end_with_the_checker(command: &mut Command) {
    // SAFETY: between fork and exec only a system call on integers is made.
    unsafe {
        command.pre_exec(|| {
            // If the checker itself is killed, nothing else would end the child.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
}
