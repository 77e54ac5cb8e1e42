//! The student's own uses of pinned memory, noticed by page protection.
//!
//! The machine says which pages copies in flight use; here they are protected in the student's
//! mapping (the machine has one of its own). A use that the protection forbids ends up in the
//! handler of SIGSEGV, which notes it with its return addresses, lifts the protection of those
//! pages and lets the use go on. The next call to the driver takes the notes. Faults that are none
//! of ours go to the handler that was there before. In a measured region the pages that no copy
//! uses are watched as well, since what the host does to them takes it time. A system call that is
//! given such memory gets EFAULT from the kernel instead: no signal is raised then, and nothing can
//! be noted.
//!
//! The handler takes no lock and allocates nothing: all that it needs is in statics.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use simulator::machine::{Guard, PINNED_BYTES, Protection, Touch};
use trace::program::AccessKind;

/// The page size of x86-64, and of arm64 as most systems have it. Where it is another, nothing is
/// protected.
const PAGE: u64 = 4096;
const PAGES: usize = (PINNED_BYTES / PAGE) as usize;

/// For each page the guard that it is under, as [`Entry`] packs it. It takes memory only as it is
/// used.
static ENTRIES: [AtomicU64; PAGES] = [const { AtomicU64::new(0) }; PAGES];
/// The uses of each page by the host function that runs; else those of each timed page since the
/// last call.
static USED: [AtomicU8; PAGES] = [const { AtomicU8::new(0) }; PAGES];
const READ: u8 = 1;
const WRITTEN: u8 = 2;

/// Where the student's mapping is; 0 where none is watched.
static BASE: AtomicU64 = AtomicU64::new(0);
/// The end of the highest block that was ever handed out.
static TOP: AtomicU64 = AtomicU64::new(0);
/// A host function runs: every page is watched.
static IN_FUNCTION: AtomicBool = AtomicBool::new(false);
/// A measured region is open: pages that no copy uses are timed.
static TIMING: AtomicBool = AtomicBool::new(false);
/// The timed pages used since the last call lie from the first of these to before the second.
static TIMED: [AtomicUsize; 2] = [AtomicUsize::new(usize::MAX), AtomicUsize::new(0)];

/// Uses that are noted between two calls; more are let through and counted.
const NOTES: usize = 4096;
/// Return addresses of a use. From a method of the standard library to the student's line it is a
/// dozen.
const FRAMES: usize = 40;
/// The stack that the handler needs: unwinding takes a few KiB, and the kernel saves up to 11 KiB
/// of registers (AMX) on top.
const STACK: usize = 128 << 10;

struct Note {
    entry: AtomicU64,
    kind: AtomicU8,
    frames: [AtomicUsize; FRAMES],
    /// Set last: how many frames there are, plus 1.
    ready: AtomicU32,
}

impl Note {
    const fn empty() -> Self {
        Self {
            entry: AtomicU64::new(0),
            kind: AtomicU8::new(0),
            frames: [const { AtomicUsize::new(0) }; FRAMES],
            ready: AtomicU32::new(0),
        }
    }

    /// Where the use came from, once it is all there; the note is empty then.
    fn take(&self) -> Option<Vec<usize>> {
        let depth = self.ready.swap(0, Ordering::Acquire).checked_sub(1)?;
        let frames = self.frames.iter().take(depth as usize);
        Some(frames.map(|it| it.load(Ordering::Relaxed)).collect())
    }
}

static NOTED: [Note; NOTES] = [const { Note::empty() }; NOTES];
/// The first use of a timed page since the last call.
static FIRST_TIMED: Note = Note::empty();
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A guard, packed: two bits of protection, first page and end in 31 bits each. 0 is no guard.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    const OPEN: Entry = Entry(0);
    const TIMED: Entry = Entry(3);

    fn new(first: u64, end: u64, protection: Protection) -> Self {
        let bits = match protection {
            Protection::Open => return Self::OPEN,
            // Such pages are told one by one.
            Protection::Timed => return Self::TIMED,
            Protection::ReadOnly => 1,
            Protection::NoAccess => 2,
        };
        Self(bits | first << 2 | end << 33)
    }

    fn pages(self) -> (u64, u64) {
        (self.0 >> 2 & 0x7fff_ffff, self.0 >> 33)
    }

    fn protection(self) -> Protection {
        match self.0 & 3 {
            0 => Protection::Open,
            1 => Protection::ReadOnly,
            2 => Protection::NoAccess,
            _ => Protection::Timed,
        }
    }

    /// The same pages under another protection.
    fn with(self, protection: Protection) -> Self {
        let (first, end) = self.pages();
        Self::new(first, end, protection)
    }
}

/// A use of pinned memory of the student's.
pub(crate) struct Use {
    pub(crate) touch: Touch,
    /// Return addresses, innermost first, each after the instruction that it stands for.
    pub(crate) frames: Vec<usize>,
}

/// Watches the student's mapping, which starts at `base`.
pub(super) fn start(base: *mut u8) {
    // SAFETY: a plain question.
    if unsafe { libc::sysconf(libc::_SC_PAGESIZE) } != PAGE as libc::c_long {
        return;
    }
    if BASE.swap(base as u64, Ordering::Relaxed) == 0 {
        install();
    }
}

/// A block of pinned memory has been handed out.
pub(crate) fn handed_out(offset: u64, bytes: u64) {
    TOP.fetch_max((offset + bytes).next_multiple_of(PAGE), Ordering::Relaxed);
}

/// Sets a guard of the machine's.
pub(super) fn apply(guard: &Guard) {
    if BASE.load(Ordering::Relaxed) == 0 {
        return;
    }
    match guard.protection {
        Protection::Open => TIMING.store(false, Ordering::Relaxed),
        Protection::Timed => TIMING.store(true, Ordering::Relaxed),
        Protection::ReadOnly | Protection::NoAccess => {}
    }
    let (first, end) = (guard.offset / PAGE, (guard.offset + guard.bytes) / PAGE);
    let Some(entries) = ENTRIES.get(first as usize..end as usize) else { return };
    let entry = Entry::new(first, end, guard.protection);
    if entries.iter().all(|it| it.load(Ordering::Relaxed) == entry.0) {
        return;
    }
    // First the entry, then the protection: a fault in between finds the entry.
    if guard.protection != Protection::Open {
        entries.iter().for_each(|it| it.store(entry.0, Ordering::Release));
    }
    let done = protect(first, end, guard.protection);
    if guard.protection == Protection::Open || !done {
        entries.iter().for_each(|it| it.store(0, Ordering::Release));
    }
}

/// Whether anything is noted.
pub(crate) fn has_uses() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Takes the noted uses since the last time, and the number of those that were not kept.
pub(crate) fn take_uses() -> (Vec<Use>, usize) {
    let count = COUNT.swap(0, Ordering::Acquire);
    let mut uses = Vec::new();
    for note in &NOTED[..count.min(NOTES)] {
        // Another thread may be about to write it: that use is lost.
        let Some(frames) = note.take() else { continue };
        let entry = Entry(note.entry.load(Ordering::Relaxed));
        let (first, end) = entry.pages();
        let kind = match note.kind.load(Ordering::Relaxed) {
            WRITTEN => AccessKind::Write,
            _ => AccessKind::Read,
        };
        let touch = Touch { offset: first * PAGE, bytes: (end - first) * PAGE, kind };
        uses.push(Use { touch, frames });
    }
    (uses, count.saturating_sub(NOTES))
}

/// Takes the uses of timed pages since the last time, and where the first one came from. Pages that
/// are neighbours and were used alike are together. A page that was written counts as written
/// alone.
pub(crate) fn take_timed() -> Option<(Vec<Touch>, Vec<usize>)> {
    let end = TIMED[1].swap(0, Ordering::Acquire);
    let first = TIMED[0].swap(usize::MAX, Ordering::Acquire);
    let frames = FIRST_TIMED.take();
    let mut touches: Vec<Touch> = Vec::new();
    for (page, used) in (0u64..).zip(&USED).take(end).skip(first) {
        let kind = match used.swap(0, Ordering::Relaxed) {
            0 => continue,
            READ => AccessKind::Read,
            _ => AccessKind::Write,
        };
        match touches.last_mut() {
            Some(last) if last.kind == kind && last.offset + last.bytes == page * PAGE => {
                last.bytes += PAGE;
            }
            _ => touches.push(Touch { offset: page * PAGE, bytes: PAGE, kind }),
        }
    }
    (!touches.is_empty()).then(|| (touches, frames.unwrap_or_default()))
}

/// Whether a timed page was used since the last time.
pub(crate) fn has_timed() -> bool {
    TIMED[1].load(Ordering::Relaxed) > 0
}

/// Runs a host function, and says which pinned memory it used: page by page, since nothing
/// else says where one use ends and the next begins.
pub(crate) fn watch_function(function: impl FnOnce()) -> Vec<Touch> {
    let top = TOP.load(Ordering::Relaxed) / PAGE;
    if BASE.load(Ordering::Relaxed) == 0 || top == 0 {
        function();
        return Vec::new();
    }
    have_stack();
    IN_FUNCTION.store(true, Ordering::Release);
    protect(0, top, Protection::NoAccess);
    function();
    IN_FUNCTION.store(false, Ordering::Release);
    protect(0, top, Protection::Open);
    let entries = &ENTRIES[..top as usize];
    let mut page = 0;
    for run in entries.chunk_by(|a, b| a.load(Ordering::Relaxed) == b.load(Ordering::Relaxed)) {
        let entry = Entry(run[0].load(Ordering::Relaxed));
        let end = page + run.len() as u64;
        if entry != Entry::OPEN {
            protect(page, end, entry.protection());
        }
        page = end;
    }
    let mut touches = Vec::new();
    for (bit, kind) in [(READ, AccessKind::Read), (WRITTEN, AccessKind::Write)] {
        for (page, used) in (0u64..).zip(&USED[..top as usize]) {
            if used.load(Ordering::Relaxed) & bit != 0 {
                touches.push(Touch { offset: page * PAGE, bytes: PAGE, kind });
            }
        }
    }
    USED[..top as usize].iter().for_each(|used| used.store(0, Ordering::Relaxed));
    touches
}

/// Changes what the student's process may do to some pages.
fn protect(first: u64, end: u64, protection: Protection) -> bool {
    let protection = match protection {
        Protection::Open => libc::PROT_READ | libc::PROT_WRITE,
        Protection::ReadOnly => libc::PROT_READ,
        Protection::NoAccess | Protection::Timed => libc::PROT_NONE,
    };
    let start = BASE.load(Ordering::Relaxed) + first * PAGE;
    // SAFETY: the pages are in the student's mapping, which is never unmapped; taking away
    // permission makes uses of it end in the handler, which gives it back.
    unsafe {
        libc::mprotect(start as *mut c_void, ((end - first) * PAGE) as usize, protection) == 0
    }
}

/// The handler that was there before.
static mut BEFORE: libc::sigaction = libc::sigaction {
    sa_sigaction: libc::SIG_DFL,
    // SAFETY: a signal set is plain bits.
    sa_mask: unsafe { std::mem::zeroed() },
    sa_flags: 0,
    sa_restorer: None,
};

fn install() {
    let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_fault;
    // SAFETY: called once; the one before is kept before ours can run.
    unsafe {
        libc::sigaction(libc::SIGSEGV, std::ptr::null(), &raw mut BEFORE);
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = handler as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        libc::sigaction(libc::SIGSEGV, &raw const ours, std::ptr::null_mut());
    }
}

/// A stack for the handler that is large enough to unwind on. That of the standard library is not.
struct Stack(*mut c_void);

impl Drop for Stack {
    fn drop(&mut self) {
        let off =
            libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: the stack is not in use: this is no signal handler.
        unsafe {
            libc::sigaltstack(&raw const off, std::ptr::null_mut());
            libc::munmap(self.0, STACK);
        }
    }
}

thread_local! {
    static STACK_OF_THREAD: Cell<Option<Stack>> = const { Cell::new(None) };
    static HAS_STACK: Cell<bool> = const { Cell::new(false) };
}

/// Gives this thread a stack for the handler, once.
pub(crate) fn have_stack() {
    if HAS_STACK.replace(true) || BASE.load(Ordering::Relaxed) == 0 {
        return;
    }
    // SAFETY: a new mapping, which nothing else knows; it becomes the stack only if it is there.
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
            -1,
            0,
        );
        if memory == libc::MAP_FAILED {
            return;
        }
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: STACK };
        if libc::sigaltstack(&raw const stack, std::ptr::null_mut()) == 0 {
            STACK_OF_THREAD.set(Some(Stack(memory)));
        } else {
            libc::munmap(memory, STACK);
        }
    }
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives valid pointers to a handler with SA_SIGINFO. The error number is the
    // interrupted code's.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        if !is_ours((*info).si_addr() as u64, (*info).si_code, context) {
            pass_on(signal, info, context);
        }
        *errno = kept;
    }
}

/// Deals with a fault, if it comes from protection of ours.
fn is_ours(address: u64, reason: c_int, context: *mut c_void) -> bool {
    /// The page is there and does not permit the use (`asm-generic/siginfo.h`).
    const SEGV_ACCERR: c_int = 2;
    let base = BASE.load(Ordering::Relaxed);
    let Some(offset) = address.checked_sub(base).filter(|&at| base != 0 && at < PINNED_BYTES)
    else {
        return false;
    };
    if reason != SEGV_ACCERR {
        return false;
    }
    let page = offset / PAGE;
    if IN_FUNCTION.load(Ordering::Acquire) {
        let used = &USED[page as usize];
        let written = is_write(context).unwrap_or(used.load(Ordering::Relaxed) & READ != 0);
        let (bit, now) =
            if written { (WRITTEN, Protection::Open) } else { (READ, Protection::ReadOnly) };
        used.fetch_or(bit, Ordering::Relaxed);
        return protect(page, page + 1, now);
    }
    let entry = Entry(ENTRIES[page as usize].load(Ordering::Acquire));
    if entry == Entry::TIMED {
        return is_timed(page as usize, context);
    }
    // Another thread was here just before: the use is free now.
    if entry.protection() == Protection::Open {
        return true;
    }
    let written = is_write(context).unwrap_or(entry.protection() == Protection::ReadOnly);
    let now = match (written, TIMING.load(Ordering::Relaxed)) {
        (true, false) => Protection::Open,
        (true, true) => Protection::Timed,
        (false, _) => Protection::ReadOnly,
    };
    if let Some(note) = NOTED.get(COUNT.fetch_add(1, Ordering::Relaxed)) {
        fill(note, entry, if written { WRITTEN } else { READ }, context);
    }
    lift(entry, now)
}

/// Deals with the use of a timed page. What is read first may still be written, which is told too.
fn is_timed(page: usize, context: *mut c_void) -> bool {
    let used = &USED[page];
    let written = is_write(context).unwrap_or(used.load(Ordering::Relaxed) & READ != 0);
    used.fetch_or(if written { WRITTEN } else { READ }, Ordering::Relaxed);
    TIMED[0].fetch_min(page, Ordering::Relaxed);
    if TIMED[1].fetch_max(page + 1, Ordering::Release) == 0 {
        fill(&FIRST_TIMED, Entry::TIMED, 0, context);
    }
    if written {
        ENTRIES[page].store(Entry::OPEN.0, Ordering::Release);
    }
    let now = if written { Protection::Open } else { Protection::ReadOnly };
    protect(page as u64, page as u64 + 1, now)
}

/// The pages that are still under this guard get another protection.
fn lift(entry: Entry, protection: Protection) -> bool {
    let (first, end) = entry.pages();
    let now = entry.with(protection);
    let mut page = first;
    let mut done = true;
    while page < end {
        let from = page;
        let under = |page: u64| ENTRIES[page as usize].load(Ordering::Relaxed) == entry.0;
        while page < end && under(page) {
            page += 1;
        }
        if from < page {
            done &= protect(from, page, protection);
            let lifted = &ENTRIES[from as usize..page as usize];
            lifted.iter().for_each(|it| it.store(now.0, Ordering::Release));
        } else {
            page += 1;
        }
    }
    done
}

fn fill(note: &Note, entry: Entry, kind: u8, context: *mut c_void) {
    note.entry.store(entry.0, Ordering::Relaxed);
    note.kind.store(kind, Ordering::Relaxed);
    let mut depth = 0;
    // On the small stack of a thread that never called the driver there is no room to unwind.
    if HAS_STACK.get() {
        let faulted = instruction(context);
        // SAFETY: only the stack is walked; nothing is looked up in debug information.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                let address = frame.ip() as usize;
                // A return address points after its call; the address of a fault does not.
                let behind = if Some(address) == faulted { address + 1 } else { address };
                note.frames[depth].store(behind, Ordering::Relaxed);
                depth += 1;
                depth < FRAMES
            });
        }
    }
    note.ready.store(depth as u32 + 1, Ordering::Release);
}

/// Hands a fault on to the handler that was there before, or to the kernel.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: `BEFORE` was written before this handler was installed, and never since. The handler
    // in it has the type that its flags say.
    unsafe {
        let before = BEFORE;
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // The use is tried again, and ends the process as it would have without us.
                libc::signal(signal, libc::SIG_DFL);
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: unsafe extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Whether the fault was a write; none where this processor is not known to say so.
#[cfg(target_arch = "x86_64")]
fn is_write(context: *mut c_void) -> Option<bool> {
    /// Bit 1 of the page fault's error code (Intel SDM, volume 3, interrupt 14).
    const WRITE: libc::greg_t = 2;
    // SAFETY: the kernel gives a valid context.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    Some(context.uc_mcontext.gregs[libc::REG_ERR as usize] & WRITE != 0)
}

#[cfg(not(target_arch = "x86_64"))]
fn is_write(_context: *mut c_void) -> Option<bool> {
    None
}

/// The instruction at which the fault was.
#[cfg(target_arch = "x86_64")]
fn instruction(context: *mut c_void) -> Option<usize> {
    // SAFETY: the kernel gives a valid context.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    Some(context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize)
}

#[cfg(target_arch = "aarch64")]
fn instruction(context: *mut c_void) -> Option<usize> {
    // SAFETY: the kernel gives a valid context.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    Some(context.uc_mcontext.pc as usize)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn instruction(_context: *mut c_void) -> Option<usize> {
    None
}
