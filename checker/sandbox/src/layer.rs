//! The layers of a sandbox.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::Result;
use serde::{Deserialize, Serialize};

/// One means of the kernel's.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Files and folders by path, TCP, and signals to processes outside.
    Landlock,
    /// System calls that no program of ours needs.
    Seccomp,
    /// Processes, network and IPC of its own.
    Namespaces,
    /// A root folder of its own, in which nothing else lies. Needs namespaces.
    Mounts,
    /// A user of its own for each slot. Needs root.
    Uid,
    /// Memory, processes and CPU time of all together. Needs a control group that may be written
    /// to.
    Cgroup,
    /// Address space, data, CPU time, file size, descriptors, processes.
    Limits,
    /// A look at memory and processes every few milliseconds.
    Watchdog,
    /// Whatever loses its parent becomes the supervisor's, and is ended with it.
    Reaper,
}

impl Layer {
    /// All of them, in the order in which guards are named.
    pub const ALL: [Layer; 9] = [
        Self::Landlock,
        Self::Seccomp,
        Self::Namespaces,
        Self::Mounts,
        Self::Uid,
        Self::Cgroup,
        Self::Limits,
        Self::Watchdog,
        Self::Reaper,
    ];

    /// As [`WITHOUT`] calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Namespaces => "namespaces",
            Self::Mounts => "mounts",
            Self::Uid => "uid",
            Self::Cgroup => "cgroup",
            Self::Limits => "limits",
            Self::Watchdog => "watchdog",
            Self::Reaper => "reaper",
        }
    }
}

/// Layers to do without, by name and with commas between: to see what each is good for. The level
/// goes down by it, and below the floor nothing runs.
pub(crate) const WITHOUT: &str = "SWIM_SANDBOX_WITHOUT";

/// The environment names a layer that there is not.
#[derive(Debug)]
pub struct UnknownLayer(String);

impl fmt::Display for UnknownLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownLayer {}

/// The layers that the environment says to do without.
pub(super) fn left_out() -> Result<BTreeSet<Layer>> {
    let names = std::env::var(WITHOUT).unwrap_or_default();
    let mut left_out = BTreeSet::new();
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some(layer) = Layer::ALL.into_iter().find(|layer| layer.name() == name) else {
            let known = Layer::ALL.map(|layer| format!("`{}`", layer.name())).join(", ");
            let message = format!("`{WITHOUT}` names no layer `{name}`\n\nhint: it is {known}");
            return Err(UnknownLayer(message).into());
        };
        left_out.insert(layer);
    }
    Ok(left_out)
}

/// The layers of one command.
pub type Plan = BTreeSet<Layer>;

/// The version of Landlock that this kernel has; 0 for none.
pub(crate) fn landlock_version() -> i64 {
    /// `LANDLOCK_CREATE_RULESET_VERSION` of `linux/landlock.h`.
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag nothing is read, and the answer is a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        )
    };
    version.max(0)
}
