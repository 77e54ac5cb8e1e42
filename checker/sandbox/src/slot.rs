//! A number for each process that runs sandboxed commands on this machine, so that no two commands
//! that run at the same time share a user.
//!
//! A slot is reserved by the name of an abstract socket, which the kernel takes back when the
//! process ends, however that comes. Checkers in network namespaces of their own, as containers
//! are, do not see one another's names; neither do their users share limits there, as long as they
//! are mapped apart.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// Slots on one machine. Their users have numbers that no others are given.
const SLOTS: u16 = 990;

/// A slot, for as long as the process lives.
struct Slot {
    number: u16,
    _name: UnixListener,
}

/// This process's slot.
pub(super) fn own() -> Result<u16> {
    static OWN: OnceLock<Slot> = OnceLock::new();
    if OWN.get().is_none() {
        // Where two threads ask at once, the one that comes late gives its slot back.
        _ = OWN.set(take(FAMILY)?);
    }
    OWN.get().map(|slot| slot.number).context("there is no slot for sandboxed commands")
}

/// The prefix of the socket names that reserve slots.
const FAMILY: &str = "swimming-in-streams/slot/";

fn take(family: &str) -> Result<Slot> {
    for number in 0..SLOTS {
        let address = SocketAddr::from_abstract_name(format!("{family}{number}"))
            .context("cannot name a slot")?;
        match UnixListener::bind_addr(&address) {
            Ok(name) => return Ok(Slot { number, _name: name }),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Err(error).context("cannot take a slot for sandboxed commands"),
        }
    }
    bail!("all {SLOTS} slots for sandboxed commands are taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_has_a_slot_while_it_is_held_and_it_is_free_afterwards() {
        // Nobody but this test takes these.
        let family = format!("{FAMILY}test/{}/", std::process::id());
        let taken = || take(&family).expect("a slot");
        let (first, second) = (taken(), taken());
        assert_eq!((first.number, second.number), (0, 1));
        drop(first);
        assert_eq!(taken().number, 0);
        assert_eq!(own().expect("a slot"), own().expect("the same"));
    }
}
