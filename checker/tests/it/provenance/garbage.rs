//! exercise: two_streams
//! gate: output
//! says: before the measured region came to its end
//! cases: length enum order turn closed torn sites touches events
//!
//! No driver at all: the words in the memory that is shared with the device process.

use std::sync::atomic::{AtomicU32, Ordering};

use lab::two_streams::Jobs;
use lab::{Error, HostBlock, HostMemory, Result};

const CASE: &str = "__CASE__";

unsafe extern "C" {
    fn mmap(at: *mut u8, bytes: usize, access: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
    fn syscall(number: i64, word: *const u32, operation: i32, value: u32, at_most: *const [i64; 2]) -> i64;
}

const FUTEX: i64 = if cfg!(target_arch = "x86_64") { 202 } else { 98 };
const FUTEX_WAIT: i32 = 0;
const FUTEX_WAKE: i32 = 1;
/// A wait ends after 10 ms, in seconds and nanoseconds: a device process that was killed wakes nobody.
const NAP: [i64; 2] = [0, 10_000_000];

/// The mailbox: whose turn it is, the length of the message, and 4096 bytes on, the message.
struct Mailbox(*mut u8);

impl Mailbox {
    fn open() -> Self {
        let fd = std::env::var("SWIM_MACHINE").unwrap().parse().unwrap();
        Self(unsafe { mmap(std::ptr::null_mut(), 4096 + (2 << 20), 3, 1, fd, 0) })
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        unsafe { &*self.0.cast::<AtomicU32>().add(index) }
    }

    fn write(&self, message: &[u8]) {
        let room = message.len().min(1 << 20);
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), self.0.add(4096), room) };
        self.word(1).store(message.len() as u32, Ordering::Relaxed);
    }

    /// Passes the turn, and waits for it.
    fn pass(&self) -> bool {
        self.word(0).store(1, Ordering::Release);
        unsafe { syscall(FUTEX, self.word(0).as_ptr(), FUTEX_WAKE, 1, std::ptr::null()) };
        // On a busy machine, a wait that only looks and yields takes milliseconds for each of the many messages.
        loop {
            match self.word(0).load(Ordering::Acquire) {
                0 => return true,
                1 => _ = unsafe { syscall(FUTEX, self.word(0).as_ptr(), FUTEX_WAIT, 1, &NAP) },
                _ => return false,
            }
        }
    }
}

/// A request from the first host thread, of no place: the command's own bytes between.
fn request(command: tools::Words) -> Vec<u8> {
    [&[0][..], &command.0, &[0, 0]].concat()
}

/// The most memory that the device process ever had, in MiB.
fn device_mib() -> u64 {
    let of = |path: &std::path::Path| -> Option<u64> {
        let line = std::fs::read(path.join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let fd = std::env::var("SWIM_MACHINE").unwrap();
        let is_ours = words.contains(&&b"device-process"[..]) && words.contains(&fd.as_bytes());
        // Others run at the same time, which have other memory.
        let inode = |path: std::path::PathBuf| {
            use std::os::unix::fs::MetadataExt;
            std::fs::metadata(path).ok().map(|it| it.ino())
        };
        let same = inode(path.join("fd").join(&fd)) == inode(format!("/proc/self/fd/{fd}").into());
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        (is_ours && same).then(|| peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| of(&entry.path())).max().unwrap()
}

pub fn swim(jobs: &Jobs) -> Result<()> {
    let mut blocks = Vec::new();
    for _ in 0..100 {
        blocks.push(HostBlock::new(jobs.context(), HostMemory::Pinned, 1)?);
    }
    let mailbox = Mailbox::open();
    let flood = |message: &[u8], times: u32| {
        let passed = (0..times).take_while(|_| {
            mailbox.write(message);
            mailbox.pass()
        });
        println!("{} requests", passed.count());
    };
    match CASE {
        "length" => {
            mailbox.word(1).store(u32::MAX, Ordering::Relaxed);
            mailbox.pass();
        }
        "enum" => {
            mailbox.write(&[0xff; 64]);
            mailbox.pass();
        }
        // An answer to nothing.
        "order" => {
            mailbox.write(&[2]);
            mailbox.pass();
        }
        "turn" => {
            for turn in (0..100_000).chain([7]) {
                mailbox.word(0).store(turn % 5, Ordering::Release);
            }
        }
        "closed" => mailbox.word(0).store(2, Ordering::Release),
        // Another thread writes over the message while it is read.
        "torn" => {
            let address = mailbox.0 as usize;
            std::thread::spawn(move || {
                let mailbox = Mailbox(address as *mut u8);
                for round in 0u32.. {
                    mailbox.word(1).store(round % 600, Ordering::Relaxed);
                    unsafe { mailbox.0.add(4096 + (round as usize % 64)).write_volatile(round as u8) };
                    std::thread::yield_now();
                }
            });
            let site = tools::Words::default().number(0).text(&"é".repeat(100)).number(1).number(0);
            let message = request(site);
            for _ in 0..2000 {
                mailbox.write(&message);
                if !mailbox.pass() {
                    break;
                }
            }
        }
        "sites" => {
            let site = tools::Words::default().number(0).text(&"a".repeat(100_000));
            flood(&request(site.number(1).number(0)), 20_000);
        }
        // Each of them uses a hundred blocks.
        "touches" => {
            let touches = tools::Words::default().number(6).number(1000);
            let touch = tools::Words::default().number(0).number(1 << 30).number(1).0;
            flood(&request(tools::Words([touches.0, touch.repeat(1000)].concat())), 1000);
        }
        // `EventCreate`: each makes a step.
        "events" => flood(&request(tools::Words::default().number(14).number(1)), 1_000_000),
        other => panic!("{other}"),
    }
    let most = device_mib();
    println!("the device process had {most} MiB");
    assert!(most < 1024, "too much");
    std::mem::forget(blocks); // nobody answers any more
    Err(Error::Refused("that was all".to_owned()))
}
