//! The device process's side: the machine, reached through a mailbox.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use simulator::machine::{Guard, Host, NotMapped, Touch};

use super::Mapping;
use super::mailbox::{Mailbox, SERVER, SIZE, WINDOW};
use super::remote::{ToClient, ToServer, Upcall};

/// How often a device process that has nothing left to do looks for the one that started it.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// Makes the shared memory that both processes map. The descriptor is inherited by children.
pub(crate) fn make_memory() -> Result<OwnedFd, String> {
    let memory = super::shared_memory(SIZE)?;
    // SAFETY: a plain call on a descriptor of our own.
    unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_SETFD, 0) };
    Ok(memory)
}

/// Serves one run, until the student's process or the one that started this one is gone.
pub(crate) fn serve(memory: &OwnedFd) -> Result<(), String> {
    let (mut mailbox, pinned) = Mailbox::open(memory, SERVER)?;
    let mut machine = super::new_machine()?;
    // SAFETY: takes nothing and cannot fail.
    let parent = unsafe { libc::getppid() };
    // SAFETY: as above.
    let is_alive = || unsafe { libc::getppid() } == parent;
    let alive = |_: &Mailbox| is_alive();
    mailbox.serve(memory)?;
    while let Ok(ToServer::Request(request)) = mailbox.receive(alive) {
        let mut host = RemoteHost {
            mailbox: &mut mailbox,
            pinned: &pinned,
            guards: Vec::new(),
            alive,
            gone: false,
        };
        let reply = machine.execute(&request, &mut host);
        if host.gone {
            break;
        }
        let guards = host.guards;
        super::after(&machine, &request, &reply);
        let turn = machine.turn().clone();
        if mailbox.send(&ToClient::Reply { reply, turn, guards }).is_err() {
            break;
        }
    }
    // A message was no request, or came out of turn. That is the program's own doing: its record so
    // far is judged, so this process stays for as long as the checker waits for it.
    drop(mailbox);
    while is_alive() {
        std::thread::sleep(LOOK_AROUND);
    }
    Ok(())
}

/// The student's process, as a machine in this one sees it.
struct RemoteHost<'a, Alive> {
    mailbox: &'a mut Mailbox,
    pinned: &'a Mapping,
    /// The guards that the next reply sets in the student's process.
    guards: Vec<Guard>,
    alive: Alive,
    gone: bool,
}

impl<Alive: Fn(&Mailbox) -> bool> RemoteHost<'_, Alive> {
    fn ask(&mut self, upcall: Upcall) -> Result<Vec<Touch>, NotMapped> {
        if self.gone {
            return Err(NotMapped);
        }
        let asked = self.mailbox.send(&ToClient::Upcall(upcall));
        match asked.and_then(|()| self.mailbox.receive(&self.alive)) {
            Ok(ToServer::Answered { touches }) => return Ok(touches),
            Ok(ToServer::NotMapped) => {}
            Ok(ToServer::Request(_)) | Err(_) => self.gone = true,
        }
        Err(NotMapped)
    }
}

impl<Alive: Fn(&Mailbox) -> bool> Host for RemoteHost<'_, Alive> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped> {
        for (index, part) in bytes.chunks_mut(WINDOW as usize).enumerate() {
            let address = address.checked_add(index as u64 * WINDOW).ok_or(NotMapped)?;
            self.ask(Upcall::Read { address, bytes: part.len() as u64 })?;
            // SAFETY: the window is mapped and at least as long as the part.
            unsafe {
                std::ptr::copy_nonoverlapping(self.mailbox.window(), part.as_mut_ptr(), part.len())
            };
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped> {
        for (index, part) in bytes.chunks(WINDOW as usize).enumerate() {
            let address = address.checked_add(index as u64 * WINDOW).ok_or(NotMapped)?;
            // SAFETY: the window is mapped and at least as long as the part.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), self.mailbox.window(), part.len())
            };
            self.ask(Upcall::Write { address, bytes: part.len() as u64 })?;
        }
        Ok(())
    }

    fn read_pinned(&mut self, offset: u64, bytes: &mut [u8]) {
        self.pinned.read(offset, bytes);
    }

    fn write_pinned(&mut self, offset: u64, bytes: &[u8]) {
        self.pinned.write(offset, bytes);
    }

    fn call(&mut self, function: u64, data: u64) -> Vec<Touch> {
        // Whether it has been run shows in `gone`.
        self.ask(Upcall::Call { function, data }).unwrap_or_default()
    }

    fn guard(&mut self, guard: Guard) {
        self.guards.push(guard);
    }
}
