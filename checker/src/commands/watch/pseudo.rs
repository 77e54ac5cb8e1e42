//! A terminal of our own: a pseudo-terminal with a program on it, and what a person would see.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A terminal, and the program that it was started for.
pub(crate) struct Terminal {
    child: Child,
    master: File,
    /// Kept open, so that its settings can be read after the program's end.
    slave: OwnedFd,
    seen: Arc<Mutex<vt100::Parser>>,
    /// Drawings that are complete.
    drawings: Arc<AtomicUsize>,
}

/// Longer than anything here takes on the slowest machine; nothing is decided by it but failure.
const PATIENCE: Duration = Duration::from_secs(120);

/// The end of a drawing: that of a synchronised update.
const END: &[u8] = b"\x1b[?2026l";

impl Terminal {
    /// Starts `command` in a new terminal of this size.
    pub(crate) fn start(mut command: Command, rows: u16, columns: u16) -> Self {
        let (mut master, mut slave) = (-1, -1);
        let mut size = winsize(rows, columns);
        // SAFETY: the two descriptors and the size are written and read in place; the rest may be
        // null.
        let result = unsafe {
            libc::openpty(
                &raw mut master,
                &raw mut slave,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &raw mut size,
            )
        };
        assert_eq!(result, 0, "a terminal");
        // SAFETY: both were made just now and have no other owner.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let end = || slave.try_clone().expect("a descriptor");
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: between fork and exec only system calls on integers are made.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the program starts");
        let seen = Arc::new(Mutex::new(vt100::Parser::new(size_of(rows), size_of(columns), 0)));
        let drawings = Arc::new(AtomicUsize::new(0));
        let (shared, count) = (Arc::clone(&seen), Arc::clone(&drawings));
        let mut reader = master.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let (mut bytes, mut last) = ([0; 4096], Vec::new());
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..read]);
                last.extend_from_slice(&bytes[..read]);
                let ends = last.windows(END.len()).filter(|it| *it == END).count();
                count.fetch_add(ends, Ordering::SeqCst);
                last.drain(..last.len().saturating_sub(END.len() - 1));
            }
        });
        Self { child, master, slave, seen, drawings }
    }

    /// The text on the screen now.
    pub(crate) fn screen(&self) -> String {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.screen().contents()
    }

    /// Waits until `text` is to be seen.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    /// Waits until what is to be seen is as it should be.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_right: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !is_right(&self.screen()) {
            let screen = self.screen();
            assert!(start.elapsed() < PATIENCE, "waited for {what}, and there is\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Does something, and waits until the program has drawn. A key and a new size that came
    /// together would not do: crossterm 0.29 returns with one of them, and hears of the other only
    /// with the next.
    #[track_caller]
    pub(crate) fn and_draws(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.drawings.load(Ordering::SeqCst);
        act(self);
        self.until("a drawing", |_| self.drawings.load(Ordering::SeqCst) > before);
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.screen_mut().set_size(size_of(rows), size_of(columns));
        let size = winsize(rows, columns);
        // SAFETY: the size is read in place.
        unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: no memory is involved; the child has not been waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }

    /// Waits for the program's end.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it goes on, and there is\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// That the terminal is as a shell expects it: it echoes, takes lines, shows its cursor and the
    /// screen that was there before.
    #[track_caller]
    pub(crate) fn is_given_back(&self) {
        let mut settings = std::mem::MaybeUninit::<libc::termios>::zeroed();
        // SAFETY: the settings are written in place, and zeroes are a valid value of theirs.
        let settings = unsafe {
            assert_eq!(libc::tcgetattr(self.slave.as_raw_fd(), settings.as_mut_ptr()), 0);
            settings.assume_init()
        };
        let cooked = libc::ECHO | libc::ICANON | libc::ISIG;
        assert_eq!(settings.c_lflag & cooked, cooked, "it echoes and takes lines");
        let start = Instant::now();
        loop {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let (alternate, hidden) =
                (seen.screen().alternate_screen(), seen.screen().hide_cursor());
            drop(seen);
            if !alternate && !hidden {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "alternate: {alternate}, hidden: {hidden}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed leaves it running.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn winsize(rows: u16, columns: u16) -> libc::winsize {
    libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn size_of(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).expect("at least one cell")
}
