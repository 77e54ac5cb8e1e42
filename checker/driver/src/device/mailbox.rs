//! A mailbox in shared memory: two processes take turns.
//!
//! One word says whose turn it is. The side that waits spins for a bounded time, since the other
//! usually answers within a microsecond, lets others have its core now and then, and at last sleeps
//! on a futex.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use simulator::machine::PINNED_BYTES;

use super::Mapping;

/// The student's process writes, the device process waits.
pub(super) const CLIENT: u32 = 0;
/// The other way round.
pub(super) const SERVER: u32 = 1;
/// One side is gone.
const CLOSED: u32 = 2;

/// Layout of the shared memory, in bytes: the words, a message, a window for data, pinned
/// memory.
const WORDS: u64 = 4096;
const MESSAGE: u64 = 1 << 20;
/// Data that is moved in or out of pageable memory goes through here, a window at a time.
pub(super) const WINDOW: u64 = 1 << 20;
const HEADER: u64 = WORDS + MESSAGE + WINDOW;
/// All of it.
pub(super) const SIZE: u64 = HEADER + PINNED_BYTES;

/// How often the turn is looked at before sleeping: for many times a round trip between two cores
/// (0.5 µs), and for some 80 µs where no answer comes (a Xeon, whose pause is long; 2026-11-22).
const SPINS: u32 = 4000;
/// After so many looks the core is given to another thread, which is the other side where both
/// share one. That gives 130,000 calls a second there, and 6,000 without (two vCPUs of a Xeon,
/// Linux 6.18, 2026-11-22, `taskset -c 0` before the benchmark `live`). Twice as many looks cost
/// half of that; on two cores neither shows.
const LOOKS: u32 = 64;
/// A sleeper looks around this often, so that a lost peer is noticed.
const NAP: Duration = Duration::from_millis(100);

/// One side's view of the mailbox.
pub(super) struct Mailbox {
    header: Mapping,
    me: u32,
    /// The last message: a copy of this side's own, which the other cannot change while it is read.
    message: Vec<u8>,
}

/// The other side is gone.
pub(super) struct Gone;

impl Mailbox {
    /// Maps the mailbox and the pinned memory after it.
    pub(super) fn open(memory: &OwnedFd, me: u32) -> Result<(Self, Mapping), String> {
        let header = Mapping::new(memory, 0, HEADER)?;
        let pinned = Mapping::new(memory, HEADER, PINNED_BYTES)?;
        Ok((Self { header, me, message: Vec::new() }, pinned))
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        // SAFETY: the words are aligned, inside the mapping, and only ever used as atomics.
        unsafe { &*self.header.start.cast::<AtomicU32>().add(index) }
    }

    fn turn(&self) -> &AtomicU32 {
        self.word(0)
    }

    fn length(&self) -> &AtomicU32 {
        self.word(1)
    }

    /// Whether a device process has ever been there.
    fn served(&self) -> &AtomicU32 {
        self.word(2)
    }

    /// The window for data.
    pub(super) fn window(&self) -> *mut u8 {
        // SAFETY: inside the mapping.
        unsafe { self.header.start.add((WORDS + MESSAGE) as usize) }
    }

    /// This process is the device: it holds a lock on the memory from now on, which ends with it,
    /// however that comes about.
    pub(super) fn serve(&self, memory: &OwnedFd) -> Result<(), String> {
        let lock = whole(libc::F_WRLCK);
        // SAFETY: a plain call on a descriptor of our own.
        if unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_SETLK, &raw const lock) } != 0 {
            return Err(format!("cannot lock shared memory: {}", std::io::Error::last_os_error()));
        }
        self.served().store(1, Ordering::Release);
        Ok(())
    }

    /// Whether the device process is there, or still to come.
    pub(super) fn is_served(&self, memory: &OwnedFd) -> bool {
        // Looked at before the lock: a device process that comes between the two looks has not been
        // seen here yet, and so is not taken for one that is gone.
        let was_there = self.served().load(Ordering::Acquire) == 1;
        let mut lock = whole(libc::F_WRLCK);
        // SAFETY: a plain call on a descriptor of our own.
        let asked = unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_GETLK, &raw mut lock) } == 0;
        let unlocked = asked && libc::c_int::from(lock.l_type) == libc::F_UNLCK;
        !(was_there && unlocked)
    }

    /// Writes a message and passes the turn.
    pub(super) fn send<T: Serialize>(&mut self, message: &T) -> Result<(), Gone> {
        let mut room = std::mem::take(&mut self.message);
        room.clear();
        self.message = postcard::to_extend(message, room).map_err(|_| Gone)?;
        if self.message.len() as u64 > MESSAGE {
            return Err(Gone);
        }
        self.header.write(WORDS, &self.message);
        self.length().store(self.message.len() as u32, Ordering::Relaxed);
        let other = 1 - self.me;
        if self
            .turn()
            .compare_exchange(self.me, other, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            return Err(Gone);
        }
        futex_wake(self.turn());
        Ok(())
    }

    /// Waits for the turn and reads the message. `alive` is asked now and then whether to go on.
    pub(super) fn receive<T: DeserializeOwned>(
        &mut self,
        alive: impl Fn(&Self) -> bool,
    ) -> Result<T, Gone> {
        let mut spins = 0;
        loop {
            let turn = self.turn().load(Ordering::Acquire);
            if turn == self.me {
                break;
            }
            if turn == CLOSED {
                return Err(Gone);
            }
            if spins < SPINS {
                spins += 1;
                if spins % LOOKS == 0 {
                    std::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            } else {
                if !alive(self) {
                    return Err(Gone);
                }
                futex_wait(self.turn(), turn, NAP);
            }
        }
        let length = (self.length().load(Ordering::Relaxed) as usize).min(MESSAGE as usize);
        self.message.resize(length, 0);
        // The bytes are the other side's, which may write them at any time: they are taken over
        // first, once, and then parsed and not trusted.
        self.header.read(WORDS, &mut self.message);
        postcard::from_bytes(&self.message).map_err(|_| Gone)
    }
}

impl Drop for Mailbox {
    /// Tells the other side that there will be no more messages.
    fn drop(&mut self) {
        self.turn().store(CLOSED, Ordering::Release);
        futex_wake(self.turn());
    }
}

/// A lock of this kind on all of a file.
fn whole(kind: libc::c_int) -> libc::flock {
    let (l_type, l_whence) = (kind as libc::c_short, libc::SEEK_SET as libc::c_short);
    libc::flock { l_type, l_whence, l_start: 0, l_len: 0, l_pid: 0 }
}

fn futex_wait(word: &AtomicU32, value: u32, at_most: Duration) {
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: at_most.as_nanos() as libc::c_long };
    // SAFETY: the word is mapped for the life of the process.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const timeout)
    };
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}
