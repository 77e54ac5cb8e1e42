//! The changes that a process makes to itself before it becomes the command.

use std::ffi::{CString, OsStr};
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope, make_bitflags,
};

use super::{Access, Confined, Layer, Origin, Role, Unavailable, syscalls};

/// The first of the users that slots have, one each: above what people and services are given,
/// below what containers map.
pub(super) const FIRST_UID: libc::uid_t = 61_000;

/// The user of a slot.
pub(super) fn uid(slot: u16) -> libc::uid_t {
    FIRST_UID + libc::uid_t::from(slot)
}

/// Becomes the command of `confined`. Returns only where that fails.
pub(super) fn become_command(confined: &Confined) -> Result<std::convert::Infallible> {
    // SAFETY: no memory is involved. A session of its own is also a group of its own.
    if unsafe { libc::setsid() } < 0 {
        bail!("cannot make a session: {}", std::io::Error::last_os_error());
    }
    empty_input()?;
    close_others(&confined.descriptors)?;
    std::env::set_current_dir(&confined.folder)
        .with_context(|| format!("cannot change to `{}`", confined.folder.display()))?;
    limits(confined)?;
    let has = |layer| confined.plan.contains(&layer);
    if has(Layer::Uid) {
        become_user(uid(confined.slot)).map_err(Unavailable::of(Layer::Uid))?;
        reach(confined)?;
    }
    drop_capabilities();
    // SAFETY: no memory is involved. A change of user takes it back, so it comes after that.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let program = c_string(confined.program.as_os_str())?;
    let mut arguments = vec![program.clone()];
    for argument in &confined.arguments {
        arguments.push(c_string(argument)?);
    }
    let mut environment = Vec::new();
    for (name, value) in &confined.environment {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        environment.push(c_string(&pair)?);
    }
    // SAFETY: no memory is involved.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        bail!("cannot do without new privileges: {}", std::io::Error::last_os_error());
    }
    if has(Layer::Landlock) {
        landlock(confined).map_err(Unavailable::of(Layer::Landlock))?;
    }
    if has(Layer::Seccomp) {
        syscalls::apply(confined.role).map_err(Unavailable::of(Layer::Seccomp))?;
    }
    let pointers = |strings: &[CString]| {
        let mut pointers: Vec<_> = strings.iter().map(|it| it.as_ptr()).collect();
        pointers.push(std::ptr::null());
        pointers
    };
    let (arguments, environment) = (pointers(&arguments), pointers(&environment));
    // SAFETY: NUL-terminated strings in arrays that end with null.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    let error = std::io::Error::last_os_error();
    Err(anyhow!("cannot start `{}`: {error}", confined.program.display()))
}

fn c_string(text: &OsStr) -> Result<CString> {
    CString::new(text.as_bytes()).context("a text for the command holds a NUL")
}

/// Standard input is at its end at once.
fn empty_input() -> Result<()> {
    // SAFETY: NUL-terminated strings and descriptors of our own.
    let done = unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        null >= 0 && libc::dup2(null, 0) == 0
    };
    if done {
        Ok(())
    } else {
        bail!("cannot open `/dev/null`: {}", std::io::Error::last_os_error())
    }
}

/// Whatever else is open ends with this program; `kept` goes on.
fn close_others(kept: &[RawFd]) -> Result<()> {
    // SAFETY: plain calls on numbers.
    unsafe {
        let flags = libc::CLOSE_RANGE_CLOEXEC as libc::c_int;
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags) != 0 {
            bail!("cannot close descriptors: {}", std::io::Error::last_os_error());
        }
        for &descriptor in kept {
            if libc::fcntl(descriptor, libc::F_SETFD, 0) < 0 {
                bail!("cannot keep descriptor {descriptor}: {}", std::io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// Address space beside what is wanted: the program itself, its libraries, and what the C
/// library reserves for each thread and never uses.
const BESIDE_BYTES: u64 = 512 << 20;

fn limits(confined: &Confined) -> Result<()> {
    // A core file is written by the kernel, wherever it is told to.
    limit(libc::RLIMIT_CORE, 0, 0)?;
    if !confined.plan.contains(&Layer::Limits) {
        return Ok(());
    }
    let limits = &confined.limits;
    // The device's memory is mapped whole, whatever of it is used.
    let shared: u64 = confined.descriptors.iter().map(|&descriptor| size(descriptor)).sum();
    let space = limits.memory_bytes.saturating_add(shared).saturating_add(BESIDE_BYTES);
    limit(libc::RLIMIT_AS, space, space)?;
    limit(libc::RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes)?;
    // The first is a signal, the second is the end of a program that does not listen.
    limit(libc::RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1)?;
    limit(libc::RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes)?;
    limit(libc::RLIMIT_NOFILE, limits.files, limits.files)?;
    limit(libc::RLIMIT_MSGQUEUE, 0, 0)?;
    if super::counts_own_processes(&confined.plan) {
        limit(libc::RLIMIT_NPROC, limits.processes, limits.processes)?;
    }
    Ok(())
}

fn limit(what: libc::__rlimit_resource_t, soft: u64, hard: u64) -> Result<()> {
    let mut present = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limits are read and written in place.
    let done = unsafe {
        libc::getrlimit(what, &raw mut present);
        // Where less is allowed already, that holds.
        let hard = hard.min(present.rlim_max);
        let wanted = libc::rlimit { rlim_cur: soft.min(hard), rlim_max: hard };
        libc::setrlimit(what, &raw const wanted)
    };
    if done != 0 {
        let error = std::io::Error::last_os_error();
        return Err(Unavailable::of(Layer::Limits)(anyhow!("cannot set a limit: {error}")));
    }
    Ok(())
}

fn size(descriptor: RawFd) -> u64 {
    let mut found = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `found` is written in place, and valid if it is not.
    let found = unsafe {
        libc::fstat(descriptor, found.as_mut_ptr());
        found.assume_init()
    };
    u64::try_from(found.st_size).unwrap_or(0)
}

fn become_user(uid: libc::uid_t) -> Result<()> {
    // SAFETY: no memory is involved: the list of groups is empty.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(uid, uid, uid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    };
    if done {
        return Ok(());
    }
    bail!("cannot become user {uid}: {}", std::io::Error::last_os_error())
}

/// Says which path another user cannot get at, rather than let a program fail over it.
fn reach(confined: &Confined) -> Result<()> {
    for (path, _, origin) in confined.all_paths() {
        if origin == Origin::System {
            continue;
        }
        let text = c_string(path.as_os_str())?;
        // SAFETY: a NUL-terminated string.
        if unsafe { libc::access(text.as_ptr(), libc::R_OK) } != 0 {
            let error = std::io::Error::last_os_error();
            let why = anyhow!(
                "user {} cannot read `{}`: {error}{OPEN}",
                uid(confined.slot),
                path.display()
            );
            return Err(Unavailable::of(Layer::Uid)(why));
        }
    }
    Ok(())
}

const OPEN: &str = "\n\nhint: let everyone read it; rustup keeps compilers where `RUSTUP_HOME` says, such as `/opt/rustup`";

/// Root without capabilities is a user like any other, but for the files that it owns.
fn drop_capabilities() {
    /// More than there are; the kernel refuses numbers that it does not know.
    const CAPABILITIES: libc::c_ulong = 64;
    /// `_LINUX_CAPABILITY_VERSION_3` of `linux/capability.h`.
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    let none = [0_u32; 6];
    // All of them fail where there is nothing to drop.
    // SAFETY: the header and the data are as the kernel reads them; the rest is numbers.
    unsafe {
        for capability in 0..CAPABILITIES {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr());
    }
}

/// The version that the rules are written against; an older kernel enforces what it knows.
const NEWEST: ABI = ABI::V9;

fn landlock(confined: &Confined) -> Result<()> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    // Its own files there, which are others for each process: what the libraries of C and of Rust
    // look at, and not where everything is mounted from. What a compiler reads can be printed by
    // what it compiles: it does without.
    let own = match confined.role {
        Role::Program => &["maps", "mem", "status", "stat", "statm"][..],
        Role::Compiler => &[],
    };
    let own = own.iter().map(|file| (Path::new("/proc/self").join(file), Access::Read));
    for (path, access) in confined.paths().into_iter().chain(own) {
        // A path that is not there needs no rule.
        let Ok(there) = PathFd::new(&path) else { continue };
        let is_folder = path.is_dir();
        rules = rules.add_rule(PathBeneath::new(there, rights(access, is_folder)))?;
    }
    let status = rules.restrict_self()?;
    match status.ruleset {
        RulesetStatus::NotEnforced => bail!("this kernel has no Landlock"),
        _ => Ok(()),
    }
}

fn rights(access: Access, is_folder: bool) -> BitFlags<AccessFs> {
    let rights = match access {
        Access::Read => AccessFs::from_read(NEWEST),
        Access::Write => {
            make_bitflags!(AccessFs::{
                ReadFile | WriteFile | ReadDir | MakeReg | MakeDir | MakeSym | RemoveFile | RemoveDir
                    | Refer | Truncate
            })
        }
        Access::Device => make_bitflags!(AccessFs::{ReadFile | WriteFile}),
    };
    if is_folder { rights } else { rights & AccessFs::from_file(NEWEST) }
}
