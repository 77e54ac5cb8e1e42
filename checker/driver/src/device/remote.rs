//! The student's side of a device in another process.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use serde::{Deserialize, Serialize};
use simulator::machine::{Failure, Reply, Request, code};

use super::Mapping;
use super::mailbox::{CLIENT, Mailbox};

/// What the student's process sends.
#[derive(Serialize, Deserialize)]
pub(super) enum ToServer {
    /// A command.
    Request(Request),
    /// What the device process asked for is done.
    Answered,
}

/// What the device process sends.
#[derive(Serialize, Deserialize)]
pub(super) enum ToClient {
    /// The answer to a command.
    Reply(Reply),
    /// Before it can answer, it needs something done in the student's process.
    Upcall(Upcall),
}

/// What only the student's process can do.
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
}

impl Remote {
    /// Opens the mailbox that the starter of this process handed down.
    pub(super) fn open(descriptor: &str) -> Result<(Self, Mapping), String> {
        let number: RawFd = descriptor.parse().map_err(|_| {
            format!("`{}` is `{descriptor}`, but it names a file descriptor", trace::run::MACHINE)
        })?;
        // SAFETY: the starter says that this descriptor is ours.
        let memory = unsafe { OwnedFd::from_raw_fd(number) };
        let (mailbox, pinned) = Mailbox::open(&memory, CLIENT)?;
        Ok((Self { mailbox }, pinned))
    }

    pub(super) fn execute(&mut self, request: &Request) -> Reply {
        let mut next = ToServer::Request(request.clone());
        loop {
            let received = self.mailbox.send(&next).and_then(|()| self.mailbox.receive(|| true));
            match received {
                Ok(ToClient::Reply(reply)) => return reply,
                Ok(ToClient::Upcall(upcall)) => {
                    self.answer(upcall);
                    next = ToServer::Answered;
                }
                Err(_) => {
                    let why = "the device process is gone".to_owned();
                    return Reply::Failed(Failure::because(code::UNKNOWN, why));
                }
            }
        }
    }

    fn answer(&mut self, upcall: Upcall) {
        let window = self.mailbox.window();
        match upcall {
            // SAFETY: the address is one that the student's program gave to the driver, and the device
            // process keeps to the size of the window.
            Upcall::Read { address, bytes } => unsafe {
                std::ptr::copy_nonoverlapping(address as *const u8, window, bytes as usize);
            },
            // SAFETY: as above.
            Upcall::Write { address, bytes } => unsafe {
                std::ptr::copy_nonoverlapping(window, address as *mut u8, bytes as usize);
            },
            Upcall::Call { function, data } => crate::call::run_host_function(function, data),
        }
    }
}
