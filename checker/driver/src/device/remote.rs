//! The student's side of a device in another process.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use serde::{Deserialize, Serialize};
use simulator::machine::{Failure, Guard, NotMapped, Reply, Request, Touch, Turn, code};

use super::mailbox::{CLIENT, Mailbox};
use super::{Mapping, host_function, page_faults, reach};

/// The messages of the student's process.
#[derive(Serialize, Deserialize)]
pub(super) enum ToServer {
    /// A command.
    Request(Request),
    /// The order of the device process is done.
    Answered {
        /// The uses of pinned memory by a host function.
        touches: Vec<Touch>,
    },
    /// It cannot be done: there is no such memory.
    NotMapped,
}

/// The messages of the device process.
#[derive(Serialize, Deserialize)]
pub(super) enum ToClient {
    /// The answer to a command.
    Reply {
        reply: Reply,
        /// Who is to make the next request.
        turn: Turn,
        /// The rights of the student's process to pinned memory from now on.
        guards: Vec<Guard>,
    },
    /// Before it can answer, it needs something done in the student's process.
    Upcall(Upcall),
}

/// The acts that only the student's process can do.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum Upcall {
    /// Copy its memory into the window.
    Read { address: u64, bytes: u64 },
    /// Copy the window into its memory.
    Write { address: u64, bytes: u64 },
    /// Run a host function.
    Call { function: u64, data: u64 },
}

/// A machine in another process.
pub(crate) struct Remote {
    mailbox: Mailbox,
    /// Kept open: the device process is there as long as it has a lock on it.
    memory: OwnedFd,
}

impl Remote {
    /// Opens the mailbox that the starter of this process handed down.
    pub(super) fn open(descriptor: &str) -> Result<(Self, Mapping), String> {
        let number: RawFd = descriptor.parse().map_err(|_| {
            format!("`{}` is `{descriptor}`, but it names a file descriptor", trace::env::MACHINE)
        })?;
        // SAFETY: the starter says that this descriptor is ours.
        let memory = unsafe { OwnedFd::from_raw_fd(number) };
        let (mailbox, pinned) = Mailbox::open(&memory, CLIENT)?;
        Ok((Self { mailbox, memory }, pinned))
    }

    pub(super) fn execute(&mut self, request: &Request) -> (Reply, Turn) {
        let mut next = ToServer::Request(request.clone());
        loop {
            let Self { mailbox, memory } = self;
            let sent = mailbox.send(&next);
            let received = sent.and_then(|()| mailbox.receive(|mailbox| mailbox.is_served(memory)));
            match received {
                Ok(ToClient::Reply { reply, turn, guards }) => {
                    guards.iter().for_each(page_faults::apply);
                    return (reply, turn);
                }
                Ok(ToClient::Upcall(upcall)) => {
                    next = match self.answer(upcall) {
                        Ok(touches) => ToServer::Answered { touches },
                        Err(NotMapped) => ToServer::NotMapped,
                    };
                }
                Err(_) => {
                    let why = "the device process is gone".to_owned();
                    let failed = Reply::Failed(Failure::because(code::UNKNOWN, why));
                    return (failed, Turn::Thread(request.thread));
                }
            }
        }
    }

    fn answer(&mut self, upcall: Upcall) -> Result<Vec<Touch>, NotMapped> {
        let window = self.mailbox.window();
        match upcall {
            // SAFETY: the window is mapped, and the device process keeps to its size.
            Upcall::Read { address, bytes } => unsafe {
                reach::read(address, std::slice::from_raw_parts_mut(window, bytes as usize))?;
            },
            // SAFETY: as above.
            Upcall::Write { address, bytes } => unsafe {
                reach::write(address, std::slice::from_raw_parts(window, bytes as usize))?;
            },
            Upcall::Call { function, data } => {
                return Ok(host_function::run(function, data));
            }
        }
        Ok(Vec::new())
    }
}
