//! The sandbox: what stands between a student's code and this machine.
//!
//! A student's file is native code, and compiling it can read files too. So the compiler and the
//! program each run under a **supervisor**, this program started anew, which makes a child, lets it
//! restrict itself for good and become the command, and ends whatever is left of it. The device
//! process stays outside: what the sandboxed program shares with it is one piece of memory.
//!
//! # What has to hold
//!
//! | property | what it says | guarded by any of |
//! | --- | --- | --- |
//! | files | nothing is read or written but what the command was given | Landlock, mounts |
//! | network | no socket leads anywhere | seccomp; namespaces with mounts |
//! | parent | no process outside is read, changed or ended | namespaces, seccomp, uid, Landlock 6 |
//! | survivors | when a run is over, nothing of it runs | namespaces, reaper, cgroup, seccomp (for programs) |
//! | memory | memory has a limit | cgroup; limits with watchdog |
//! | processes | processes and threads have a limit | cgroup; limits (with uid or user namespace), watchdog |
//!
//! They are not taken on trust: [`Sandbox::probe`] starts **canaries**, programs of ours that try
//! each of these things in earnest, and a property holds if all of them failed. The first four are
//! the **floor**: without one of them nothing is compiled or run, unless you accept the risk.
//! Without the others the level is `partial`. A layer that is left out by [`layer::WITHOUT`] takes
//! the level down in any case.
//!
//! # The layers
//!
//! | layer | needs | what it does | what it does not |
//! | --- | --- | --- | --- |
//! | Landlock | Linux 5.13 in the kernel's list of security modules | files by path for this process and its children; from version 4 TCP, from 6 signals and abstract sockets | file names and attributes can be read (`stat`) and set; descriptors that are open stay open |
//! | seccomp | Linux 3.17 | refuses sockets, io_uring, tracing, namespaces, mounts, keys, System V objects, changes of modes, owners, times and attributes, watching files; to programs also new processes, signals to others, locks and changes of the folder | does not see paths, or what `clone3` is told, so that is not there at all |
//! | namespaces | root, or user namespaces for everyone | processes outside have no number inside; no network device; everything ends with the first process | the kernel is the same |
//! | mounts | namespaces | a root folder with nothing else in it; also lets a slot's user read what lies below root's home | |
//! | uid | root | a user for each slot, from 61000 on, that owns nothing | |
//! | cgroup | Linux 5.14, `cgroup2` with memory and pids, as root or where systemd delegates them | memory, processes and CPU time of everything together, shared memory too; an end for all at once | |
//! | limits | | address space, data, CPU time, file size, descriptors, core files; processes, where the count is the command's own | memory that is shared and mapped twice |
//! | watchdog | `/proc` | memory and threads of everything below the supervisor, every 10 ms | what happens in between |
//! | reaper | Linux 3.4 | orphans become the supervisor's, which kills them | |
//!
//! With any layers, the environment and the open files are those that the command was given, and
//! no others. Standard input is at its end. There is a session of its own; there are no
//! capabilities, no gain of privileges by `execve`, no core files. Of `/proc` a program sees of
//! itself what the libraries of C and of Rust look at, and not where files are mounted from.
//!
//! # What none of it stops
//!
//! A hole in the kernel. Use of a CPU until time is up, and what that tells about others by the
//! time it takes. What a program does to **itself**: it may rewrite its own code, forge what the
//! harness in its process would say, or speak to the device process by hand. So nothing that a
//! program says is part of a grade (`device`, `grade`). Names of files outside can be guessed one
//! by one by asking for attributes, where there are no mounts. Files that the command was given can
//! be read, and what it was given to write can be filled up to the limit for each file.

mod canary;
mod cgroup;
mod confine;
pub mod interrupt;
mod layer;
mod mounts;
mod probe;
pub mod process;
pub mod scratch;
mod slot;
mod supervise;
mod syscalls;
mod watchdog;

use std::ffi::OsString;
use std::fmt;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

pub use canary::sing;
pub use layer::{Layer, Plan, UnknownLayer};
pub use probe::Required;
pub use supervise::supervise;

use process::{Ending, Output};

/// Limits of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time on the wall clock.
    pub wall: Duration,
    /// Seconds of CPU time, of all threads together.
    pub cpu_s: u64,
    /// Bytes of memory of its own.
    pub memory_bytes: u64,
    /// Bytes of the largest file that it may write.
    pub file_bytes: u64,
    /// Files that may be open at once.
    pub files: u64,
    /// Processes and threads that may be there at once.
    pub processes: u64,
    /// Bytes of output that are kept.
    pub output_bytes: usize,
}

impl Limits {
    /// Limits of a student's program on the simulated device within `wall`: the largest exercise
    /// takes a quarter of the memory, and one thread or two.
    pub fn of_program(wall: Duration, output_bytes: usize) -> Self {
        Self {
            wall,
            cpu_s: wall.as_secs().saturating_add(1).saturating_mul(4),
            memory_bytes: 2 << 30,
            file_bytes: 1 << 20, // it has nowhere to write
            files: 256,
            processes: 64,
            output_bytes,
        }
    }

    /// Limits of the compiler and its linker within `wall`: ten times what they need for a
    /// solution.
    pub fn of_compiler(wall: Duration, output_bytes: usize) -> Self {
        Self {
            wall,
            cpu_s: wall.as_secs().saturating_add(1).saturating_mul(2),
            memory_bytes: 3 << 30,
            file_bytes: 512 << 20,
            files: 1024,
            processes: 128,
            output_bytes,
        }
    }
}

/// A limit that a command exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exceeded {
    /// Time, on the wall clock or of the CPU.
    Time,
    /// Memory.
    Memory,
    /// Bytes of output.
    Output,
    /// Processes and threads.
    Processes,
    /// Bytes in one file.
    FileSize,
    /// Anything of its calls that can be judged.
    Judging,
    /// Limits of the simulated device for one program.
    Device,
}

/// Whose code a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The compiler and its linker: code that is not the student's, at work on files that are.
    Compiler,
    /// The student's. It makes threads and no processes.
    Program,
}

/// One command in a sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Confined {
    /// Whose code it runs.
    pub role: Role,
    /// The program, as an absolute path. It may be read.
    pub program: PathBuf,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Files and folders that it may read, beside the system's libraries. Where the command runs as
    /// another user, that user has to be able to read them: a file open to others, in a folder of
    /// any kind, or a folder that is open to others itself.
    pub readable: Vec<PathBuf>,
    /// Folders that it may write in. As root they are given to the slot's user.
    pub writable: Vec<PathBuf>,
    /// The folder that it starts in. That alone does not make it readable.
    pub folder: PathBuf,
    /// Descriptors that stay open, by their numbers.
    pub descriptors: Vec<RawFd>,
    /// Its limits.
    pub limits: Limits,
    /// Which of those that run at the same time it is; [`Sandbox::run`] fills it in.
    pub slot: u16,
    /// The layers; [`Sandbox::run`] fills them in.
    pub plan: Plan,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The last that was seen of it.
    pub ending: Ending,
    /// The limit that was the reason.
    pub exceeded: Option<Exceeded>,
    /// The text that it printed.
    pub output: Output,
}

/// The use that may be made of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// It is read, and run where it is a program.
    Read,
    /// Files are made in it.
    Write,
    /// A device, which is read and written.
    Device,
}

/// Where a path comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It is part of every system like this, or is not there.
    System,
    /// The command needs it.
    Order,
}

/// Libraries that every program is linked with, where systems keep it.
const LIBRARIES: &[&str] =
    &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/nix/store", "/gnu/store"];

/// Folders that a linker needs beside that.
const TOOLS: &[&str] = &["/bin", "/usr/bin", "/usr/libexec", "/usr/local/bin", "/etc/alternatives"];

impl Confined {
    /// `command` with its arguments, its folder, and of its environment what was set for it. It may
    /// read its program and nothing else yet.
    pub fn of(command: &Command, role: Role, limits: Limits) -> Self {
        let environment = command.get_envs();
        let set =
            environment.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
        Self {
            role,
            program: command.get_program().into(),
            arguments: command.get_args().map(Into::into).collect(),
            environment: set.collect(),
            readable: Vec::new(),
            writable: Vec::new(),
            folder: command.get_current_dir().unwrap_or("/".as_ref()).to_owned(),
            descriptors: Vec::new(),
            limits,
            slot: 0,
            plan: Plan::new(),
        }
    }

    /// Every path, and what may be done with it.
    fn paths(&self) -> Vec<(PathBuf, Access)> {
        self.all_paths().into_iter().map(|(path, access, _)| (path, access)).collect()
    }

    fn all_paths(&self) -> Vec<(PathBuf, Access, Origin)> {
        let tools = match self.role {
            Role::Compiler => TOOLS,
            Role::Program => &[],
        };
        let system = LIBRARIES.iter().chain(tools);
        let system = system.map(|path| (PathBuf::from(path), Access::Read, Origin::System));
        let readable = self.readable.iter().chain([&self.program]);
        let readable = readable.map(|path| (path.clone(), Access::Read, Origin::Order));
        let writable = self.writable.iter();
        let writable = writable.map(|path| (path.clone(), Access::Write, Origin::Order));
        let null = (PathBuf::from("/dev/null"), Access::Device, Origin::System);
        system.chain(readable).chain(writable).chain([null]).collect()
    }
}

/// Whether the kernel counts the processes of a command apart from all others: by user, and by user
/// namespace.
fn counts_own_processes(plan: &Plan) -> bool {
    // SAFETY: a plain question.
    let is_root = unsafe { libc::geteuid() } == 0;
    plan.contains(if is_root { &Layer::Uid } else { &Layer::Namespaces })
}

/// A message of a supervisor to the checker.
#[derive(Debug, Serialize, Deserialize)]
enum Told {
    /// The command came to its end, with this status of `waitpid`.
    Ended { status: i32, exceeded: Option<Exceeded> },
    /// It never began.
    Trouble(Trouble),
}

/// Why a command never began.
#[derive(Debug, Serialize, Deserialize)]
struct Trouble {
    /// The layer that cannot be had; none where it is something else.
    layer: Option<Layer>,
    why: String,
}

impl Trouble {
    fn of(error: &anyhow::Error) -> Self {
        let layer = error.downcast_ref::<Unavailable>().map(|it| it.layer);
        Self { layer, why: crate::chain(error) }
    }
}

/// A layer that this machine does not have.
#[derive(Debug)]
struct Unavailable {
    layer: Layer,
    why: String,
}

impl Unavailable {
    /// Makes an error one about `layer`.
    fn of(layer: Layer) -> impl Fn(anyhow::Error) -> anyhow::Error {
        move |error| match error.downcast::<Self>() {
            Ok(already) => already.into(),
            Err(error) => Self { layer, why: crate::chain(&error) }.into(),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unavailable {}

/// A sandbox whose properties have been tried. A process that is told of it need not try them
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    plan: Plan,
    layers: Layers,
    /// Layers that there are none of here, and why.
    absent: Vec<(Layer, String)>,
}

impl Sandbox {
    /// The layers that it has, for every report.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Layers that this machine does not have, and why.
    pub fn absent(&self) -> &[(Layer, String)] {
        &self.absent
    }

    /// Runs a command to its end. Its companion is another child of the checker, without which it
    /// cannot go on. One at a time in a process: they have one user.
    pub fn run(&self, confined: &Confined, companion: Option<u32>) -> Result<Ended> {
        let confined = Confined { plan: self.plan.clone(), ..confined.clone() };
        match begin(&confined, companion)? {
            Begun::Ended(ended) => Ok(ended),
            Begun::Not(Trouble { layer: None, why }) => bail!(why),
            Begun::Not(Trouble { layer: Some(layer), why }) => {
                bail!("the sandbox cannot be made (`{}`): {why}", layer.name())
            }
        }
    }
}

/// The outcome of an order.
enum Begun {
    Ended(Ended),
    Not(Trouble),
}

/// How much longer than its command a supervisor may take: it has to end what is left.
const MARGIN: Duration = Duration::from_secs(15);

/// Starts a supervisor with an order, and waits for its answer.
fn begin(confined: &Confined, companion: Option<u32>) -> Result<Begun> {
    let confined = &Confined { slot: slot::own()?, ..confined.clone() };
    let order = serde_json::to_vec(confined).context("cannot write the order of a command")?;
    let (mut near, far) = UnixStream::pair().context("cannot make a pair of sockets")?;
    let this = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(this);
    command.env_clear();
    command.arg("supervise").arg("--fd").arg(far.as_raw_fd().to_string());
    for &descriptor in &confined.descriptors {
        process::inherit(&mut command, descriptor);
    }
    let far = OwnedFd::from(far);
    process::inherit(&mut command, far.as_raw_fd());
    // It has to be read before the supervisor begins, so that neither waits for the other.
    let writer = std::thread::spawn(move || -> std::io::Result<UnixStream> {
        near.write_all(&order)?;
        near.shutdown(std::net::Shutdown::Write)?;
        Ok(near)
    });
    let limits = process::Limits {
        wall: confined.limits.wall + MARGIN,
        output_bytes: confined.limits.output_bytes,
    };
    let finished = process::supervised(command, limits, companion, Some(far))?;
    let written = writer.join().map_err(|_| anyhow::anyhow!("the order was not written"))?;
    let mut answer = Vec::new();
    let read = written.and_then(|mut near| near.read_to_end(&mut answer));
    let output = finished.output;
    match finished.ending {
        Ending::Exited(0) => {}
        ending @ (Ending::OutOfTime | Ending::Deserted) => {
            let exceeded = (ending == Ending::OutOfTime).then_some(Exceeded::Time);
            return Ok(Begun::Ended(Ended { ending, exceeded, output }));
        }
        Ending::OutOfOutput => {
            let (ending, exceeded) = (Ending::OutOfOutput, Some(Exceeded::Output));
            return Ok(Begun::Ended(Ended { ending, exceeded, output }));
        }
        Ending::Exited(_) | Ending::Signalled(_) => {
            bail!("the supervisor of a command gave up: {}", output.end().trim())
        }
    }
    read.context("cannot read what became of a command")?;
    let told = serde_json::from_slice(&answer).context("cannot read what became of a command")?;
    Ok(match told {
        Told::Trouble(trouble) => Begun::Not(trouble),
        Told::Ended { status, exceeded } => {
            let status = ExitStatus::from_raw(status);
            let (ending, exceeded) = ending(process::ending(status), exceeded, &output);
            Begun::Ended(Ended { ending, exceeded, output })
        }
    })
}

/// The words of Rust's allocator before it aborts.
const OUT_OF_MEMORY: &str = "memory allocation of ";

fn ending(
    ending: Ending,
    exceeded: Option<Exceeded>,
    output: &Output,
) -> (Ending, Option<Exceeded>) {
    match (ending, exceeded) {
        (_, Some(Exceeded::Time)) => (Ending::OutOfTime, exceeded),
        // Only the reason's name depends on what the program printed.
        (Ending::Signalled(libc::SIGABRT), None) if output.end().contains(OUT_OF_MEMORY) => {
            (ending, Some(Exceeded::Memory))
        }
        _ => (ending, exceeded),
    }
}

/// The sandbox that a run had, by property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Layers {
    /// How much it holds.
    pub level: Level,
    /// The guard of each property, such as `files: landlock 7`; in a fixed order.
    pub guards: Vec<String>,
    /// Properties that are not guarded, and what would change that.
    pub missing: Vec<String>,
}

/// How much a sandbox holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing, which was accepted.
    None,
    /// A limit is missing, and every property that keeps others safe holds.
    Partial,
    /// Every property holds.
    Full,
}

/// An error with its causes, on one line as far as they are; what to do about it comes last.
pub fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut hints = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let (cause, hint) = match cause.split_once(HINT) {
            Some((cause, hint)) => (cause, Some(hint)),
            None => (cause.as_str(), None),
        };
        hints.extend(hint.map(|hint| format!("{HINT}{}", hint.trim_end())));
        // A cause often repeats what it caused; said once is enough.
        if text.contains(cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(cause.trim_end());
    }
    text + &hints
}

/// The words between an error and the next step.
const HINT: &str = "\n\nhint: ";

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn the_next_step_comes_after_all_causes() {
        let error = Err::<(), _>(anyhow!("no such file"))
            .context("cannot read `a`\n\nhint: make it")
            .context("cannot start")
            .unwrap_err();
        assert_eq!(chain(&error), "cannot start: cannot read `a`: no such file\n\nhint: make it");
    }
}
