//! Which layers there are here, and whether they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::canary::{Hole, Outside, Property, Song};
use super::{
    Begun, Confined, Ended, Exceeded, Layer, Limits, Plan, Role, Sandbox, Trouble, begin, cgroup,
    confine, counts_own_processes, layer,
};
use crate::process::Ending;
use crate::scratch::Scratch;
use crate::{Layers, Level};

/// How much a sandbox has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    /// All that keeps others safe.
    Floor,
    /// Every property.
    Full,
    /// Nothing: it is only looked at.
    Nothing,
}

impl Sandbox {
    /// Finds the layers that there are here, and tries each property.
    pub fn probe(required: Required) -> Result<Self> {
        let left_out = layer::left_out()?;
        let mut plan: Plan = Layer::ALL.into_iter().filter(|it| !left_out.contains(it)).collect();
        let mut absent = Vec::new();
        // SAFETY: a plain question.
        if unsafe { libc::geteuid() } != 0 && plan.remove(&Layer::Uid) {
            absent.push((Layer::Uid, "only root can become other users".to_owned()));
        }
        cgroup::sweep();
        let outside = Surroundings::new()?;
        // What is missing shows when it is tried; one layer at a time is given up.
        let holes = loop {
            if !plan.contains(&Layer::Namespaces) && plan.remove(&Layer::Mounts) {
                absent.push((Layer::Mounts, "there are none without namespaces".to_owned()));
            }
            match outside.holes(&plan)? {
                Tried::Holes(holes) => break holes,
                Tried::Without(layer, why) if plan.remove(&layer) => absent.push((layer, why)),
                Tried::Without(layer, why) => {
                    bail!("the sandbox cannot be made (`{}`): {why}", layer.name())
                }
            }
        };
        absent.retain(|(layer, _)| !left_out.contains(layer));
        absent.sort();
        let layers = describe(&plan, &holes, &left_out);
        let sandbox = Self { plan, layers, absent };
        sandbox.check(required, &holes)?;
        Ok(sandbox)
    }

    /// No sandbox. Time, memory and what is left running are looked after all the same.
    pub fn off() -> Self {
        let plan = [Layer::Limits, Layer::Watchdog, Layer::Reaper].into();
        let missing = vec!["everything: somebody accepted the risk".to_owned()];
        let layers = Layers { level: Level::None, guards: Vec::new(), missing };
        Self { plan, layers, absent: Vec::new() }
    }

    /// A way to make it guard more; none where it guards all.
    pub fn remedy(&self) -> Option<&'static str> {
        let open = |property: &&Property| {
            let begins = format!("{}: ", property.name());
            self.layers.missing.iter().any(|missing| missing.starts_with(&begins))
        };
        Property::ALL.iter().find(open).map(|property| remedy(*property))
    }

    fn check(&self, required: Required, holes: &BTreeMap<Property, String>) -> Result<()> {
        let mut open = holes.iter().map(|(property, what)| (*property, what));
        let refused = match required {
            Required::Nothing => None,
            Required::Floor => open.find(|(property, _)| property.is_floor()),
            Required::Full => open.next(),
        };
        if let Some((property, what)) = refused {
            let name = property.name();
            let whether = if property.is_floor() {
                "; `--sandbox off --accept-risk` runs without, and says so in every row"
            } else {
                ""
            };
            let reasons: String = self
                .absent
                .iter()
                .map(|(layer, why)| format!("note: no {}: {why}\n", layer.name()))
                .collect();
            bail!(
                "the sandbox does not hold `{name}`: {what}\n\n{reasons}hint: {}{whether}",
                remedy(property)
            );
        }
        if required == Required::Full && self.layers.level != Level::Full {
            bail!("the sandbox is not whole: {}", self.layers.missing.join("; "));
        }
        Ok(())
    }
}

/// A way to change it.
fn remedy(property: Property) -> &'static str {
    match property {
        Property::Files => {
            "a kernel with Landlock (5.13 or later, `landlock` in `/sys/kernel/security/lsm`), or user \
             namespaces (`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu)"
        }
        Property::Network | Property::Parent => {
            "a kernel with seccomp (`CONFIG_SECCOMP_FILTER`), or user namespaces (`sudo sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu)"
        }
        Property::Survivors => "mount `/proc`, or allow user namespaces",
        Property::Memory => "mount `/proc`",
        Property::Processes => "run as root, allow user namespaces, or mount `/proc`",
    }
}

/// The outcome of all canaries with a plan.
enum Tried {
    /// Everything that got through.
    Holes(BTreeMap<Property, String>),
    /// A layer cannot be had.
    Without(Layer, String),
}

/// The things that canaries try to get at.
struct Surroundings {
    scratch: Scratch,
    outside: Outside,
    /// The canary's folder.
    nest: PathBuf,
    bystander: Child,
    segment: Option<Segment>,
    _tcp: TcpListener,
    _udp: UdpSocket,
    _name: UnixListener,
    _socket: UnixListener,
}

impl Surroundings {
    fn new() -> Result<Self> {
        const SET_UP: &str = "cannot set up the test of the sandbox";
        let scratch = Scratch::new()?;
        // Open to everyone: what is tested is not who owns a file.
        let open_to_all =
            |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o777));
        open_to_all(scratch.path()).context(SET_UP)?;
        let folder = scratch.path().join("outside");
        let nest = scratch.path().join("nest");
        for folder in [&folder, &nest] {
            std::fs::create_dir(folder).context(SET_UP)?;
            open_to_all(folder).context(SET_UP)?;
        }
        let (secret, ledger) = (folder.join("secret"), folder.join("ledger"));
        let socket = folder.join("socket");
        for file in [&secret, &ledger] {
            std::fs::write(file, "a canary must not see this\n").context(SET_UP)?;
            open_to_all(file).context(SET_UP)?;
        }
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context(SET_UP)?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context(SET_UP)?;
        let name = format!("{}/name", scratch.path().display());
        let address = SocketAddr::from_abstract_name(&name).context(SET_UP)?;
        let abstract_socket = UnixListener::bind_addr(&address).context(SET_UP)?;
        let socket_file = UnixListener::bind(&socket).context(SET_UP)?;
        open_to_all(&socket).context(SET_UP)?;
        let this = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(this);
        command.arg("canary").arg(serde_json::to_string(&Song::Bystander)?);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let bystander = command.spawn().context(SET_UP)?;
        let segment = Segment::new();
        let outside = Outside {
            secret,
            ledger,
            segment: segment.as_ref().map(|segment| segment.0),
            tcp: tcp.local_addr().context(SET_UP)?.port(),
            udp: udp.local_addr().context(SET_UP)?.port(),
            name,
            socket,
            bystander: bystander.id() as i32, // Linux numbers processes below 2^22
        };
        Ok(Self {
            scratch,
            outside,
            nest,
            bystander,
            segment,
            _tcp: tcp,
            _udp: udp,
            _name: abstract_socket,
            _socket: socket_file,
        })
    }

    fn holes(&self, plan: &Plan) -> Result<Tried> {
        let mut found: BTreeMap<Property, String> = BTreeMap::new();
        let lock = self.nest.join("lock");
        let songs = [
            (Role::Program, Song::Escape(self.outside.clone())),
            (Role::Compiler, Song::Escape(self.outside.clone())),
            (Role::Program, Song::Daemon { lock: lock.clone() }),
            (Role::Compiler, Song::Daemon { lock: lock.clone() }),
            (Role::Compiler, Song::Fork { processes: 4 * PROCESSES as u32 }),
            (Role::Program, Song::Hoard { bytes: 4 * MEMORY_BYTES as usize }),
        ];
        for (role, song) in songs {
            let ended = match begin(&self.confined(role, &song, plan)?, None)? {
                Begun::Ended(ended) => ended,
                Begun::Not(Trouble { layer: Some(layer), why }) => {
                    return Ok(Tried::Without(layer, why));
                }
                Begun::Not(Trouble { layer: None, why }) => bail!(why),
            };
            for Hole { property, what } in through(&song, &ended)? {
                found.entry(property).or_insert(what);
            }
            if matches!(song, Song::Daemon { .. }) && is_locked(&lock)? {
                let what = "a process was left behind".to_owned();
                found.entry(Property::Survivors).or_insert(what);
            }
        }
        Ok(Tried::Holes(found))
    }

    fn confined(&self, role: Role, song: &Song, plan: &Plan) -> Result<Confined> {
        let this = std::env::current_exe().context("cannot find this program")?;
        Ok(Confined {
            role,
            program: this.canonicalize().context("cannot find this program")?,
            arguments: vec!["canary".into(), serde_json::to_string(song)?.into()],
            environment: Vec::new(),
            readable: Vec::new(),
            writable: vec![self.nest.clone()],
            folder: self.nest.clone(),
            descriptors: Vec::new(),
            limits: LIMITS,
            slot: 0,
            plan: plan.clone(),
        })
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        // It may have been ended already: that was the test.
        _ = self.bystander.kill();
        _ = self.bystander.wait();
        _ = (&self.scratch, &self.segment);
    }
}

/// A page of System V memory, which every process of this machine can be told the number of.
struct Segment(i32);

impl Segment {
    /// None where the kernel has no such memory.
    fn new() -> Option<Self> {
        // SAFETY: no memory is involved yet.
        let number = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o666) };
        (number >= 0).then_some(Self(number))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: nothing is read or written. It fails where a canary has done it: that was the
        // test.
        unsafe { libc::shmctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// A canary is small: this is twice of what it needs, and little to fill.
const MEMORY_BYTES: u64 = 64 << 20;
/// More than a canary and what stands above it, and few enough to be made in no time.
const PROCESSES: u64 = 16;

const LIMITS: Limits = Limits {
    wall: Duration::from_secs(20), // a busy machine takes its time
    cpu_s: 20,
    memory_bytes: MEMORY_BYTES,
    file_bytes: 1 << 20,
    files: 64,
    processes: PROCESSES,
    output_bytes: 64 * 1024,
};

/// The report of a canary on what got through; nothing, where it was stopped by the limit that it
/// was to exceed.
fn through(song: &Song, ended: &Ended) -> Result<Vec<Hole>> {
    match (song, ended.exceeded) {
        (Song::Fork { .. }, Some(Exceeded::Processes))
        | (Song::Hoard { .. }, Some(Exceeded::Memory)) => return Ok(Vec::new()),
        _ => {}
    }
    if ended.ending != Ending::Exited(0) {
        let said = ended.output.text();
        bail!("a test of the sandbox came to nothing: {:?}\n\n{}", ended.ending, said.trim_end());
    }
    serde_json::from_str(&ended.output.text()).context("a test of the sandbox cannot be read")
}

fn is_locked(path: &Path) -> Result<bool> {
    let Ok(file) = File::open(path) else { return Ok(false) };
    // SAFETY: a plain call on a descriptor of our own.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0;
    Ok(locked)
}

/// The row's block: what guards what, and what is missing.
fn describe(plan: &Plan, holes: &BTreeMap<Property, String>, left_out: &BTreeSet<Layer>) -> Layers {
    let mut guards = Vec::new();
    let mut missing = Vec::new();
    for property in Property::ALL {
        match holes.get(&property) {
            Some(what) => missing.push(format!("{}: {what}", property.name())),
            None => guards.push(format!("{}: {}", property.name(), guards_of(property, plan))),
        }
    }
    for layer in left_out {
        missing.push(format!("{}: left out by `{}`", layer.name(), layer::WITHOUT));
    }
    let below = holes.keys().any(|property| property.is_floor());
    let level = match () {
        () if below => Level::None,
        () if missing.is_empty() => Level::Full,
        () => Level::Partial,
    };
    Layers { level, guards, missing }
}

fn guards_of(property: Property, plan: &Plan) -> String {
    let landlock = format!("landlock {}", layer::landlock_version());
    let uid = format!("uid {}", confine::FIRST_UID);
    let candidates: &[(Layer, &str)] = match property {
        Property::Files => &[(Layer::Landlock, &landlock), (Layer::Mounts, "mounts")],
        Property::Network => &[(Layer::Seccomp, "seccomp"), (Layer::Namespaces, "namespace")],
        Property::Parent => &[
            (Layer::Landlock, &landlock),
            (Layer::Seccomp, "seccomp"),
            (Layer::Namespaces, "namespace"),
            (Layer::Uid, &uid),
        ],
        Property::Survivors => &[
            (Layer::Namespaces, "namespace"),
            (Layer::Cgroup, "cgroup"),
            (Layer::Reaper, "reaper"),
        ],
        // What counts all of it together comes first.
        Property::Memory | Property::Processes => {
            &[(Layer::Cgroup, "cgroup"), (Layer::Limits, "limits"), (Layer::Watchdog, "watchdog")]
        }
    };
    // The kernel counts a user's processes together, from wherever they started.
    let counts = |layer| {
        property != Property::Processes || layer != Layer::Limits || counts_own_processes(plan)
    };
    let there = candidates.iter().filter(|(layer, _)| plan.contains(layer) && counts(*layer));
    let names: Vec<_> = there.map(|(_, name)| *name).collect();
    names.join(", ")
}
