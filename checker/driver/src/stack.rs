//! From a frame of the stack to its caller's.
//!
//! The system's unwinder takes some 250 ns a frame (2.6 µs for the ten frames up to `main` of the
//! benchmark `live`, a Xeon, 2026-11-22). At each walk it looks up the object that an address lies
//! in and that object's tables. Here the tables (`.eh_frame`; System V ABI, AMD64, chapter 3.7, and
//! DWARF 5, section 6.4) are read once for an address. Their rule for the place after a call is
//! always the same, and nearly always that the frame ends a number of bytes from `rsp` or `rbp`.
//! Where it is another, or there is none, the way is [`Caller::Unknown`], and the caller takes the
//! system's unwinder instead.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, NativeEndian, Pointer, RegisterRule,
    UnwindContext, UnwindSection, X86_64,
};

/// Bytes of an address.
const WORD: usize = size_of::<usize>();

/// The values that a caller's frame follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Where the frame's function goes on: after the call that it has made.
    pub(crate) address: usize,
    /// `rsp` and `rbp` there.
    stack: usize,
    base: usize,
}

impl Frame {
    /// The frame of the function that this is compiled into; none for a processor that is not known
    /// here.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is the caller's frame that is asked for")]
    pub(crate) fn current() -> Option<Self> {
        let (address, stack, base): (usize, usize, usize);
        // SAFETY: registers are read and nothing else.
        unsafe {
            std::arch::asm!(
                "lea {address}, [rip]",
                "mov {stack}, rsp",
                "mov {base}, rbp",
                address = out(reg) address,
                stack = out(reg) stack,
                base = out(reg) base,
                options(nomem, nostack, preserves_flags),
            );
        }
        Some(Self { address, stack, base })
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn current() -> Option<Self> {
        None
    }

    /// The frame that has called this one.
    ///
    /// # Safety
    ///
    /// The frame is one of this thread's that has not returned, and the step is that of its
    /// address.
    pub(crate) unsafe fn caller(self, step: Step) -> Self {
        let from = if step.from_base { self.base } else { self.stack };
        let top = from.wrapping_add_signed(step.top);
        // SAFETY: what the tables say of this address is where the caller's registers are kept.
        let read = |address: usize| unsafe { (address as *const usize).read() };
        Self {
            address: read(top - WORD),
            stack: top,
            base: step.base.map_or(self.base, |at| read(top.wrapping_add_signed(at))),
        }
    }
}

/// The way to the caller's frame, at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Follows(Step),
    /// There is none: the thread began here.
    Nobody,
    Unknown,
}

/// How a caller's frame follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Whether the top is counted from `rbp`, or from `rsp`.
    from_base: bool,
    /// Bytes from there to the top of the frame, where the caller's stack ends. The return address
    /// lies right below.
    top: isize,
    /// Where the caller's `rbp` is kept, in bytes from the top; none if it is still in `rbp`.
    base: Option<isize>,
}

/// An object that is mapped: the program itself, or a library.
pub(crate) struct Object {
    /// The mapped parts of it, upwards.
    segments: Vec<Range<usize>>,
    /// `.eh_frame_hdr`, which says where `.eh_frame` is.
    header: Option<Range<usize>>,
}

/// The program itself, this library and the C library, which are never unloaded; the program is
/// first.
pub(crate) fn objects() -> Vec<Object> {
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives a valid object with its headers, and `found` is the list below.
        let (object, headers, found) = unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            (object, headers, &mut *found.cast::<Vec<Object>>())
        };
        let start = object.dlpi_addr as usize;
        let range = |header: &libc::Elf64_Phdr| {
            let from = start + header.p_vaddr as usize;
            from..from + header.p_memsz as usize
        };
        let of = |kind| headers.iter().filter(move |it| it.p_type == kind).map(range);
        let segments = of(libc::PT_LOAD).collect();
        let object = Object { segments, header: of(libc::PT_GNU_EH_FRAME).next() };
        let kept = [look as *const () as usize, libc::getpid as *const () as usize];
        // The loader lists the program first.
        if found.is_empty() || kept.into_iter().any(|address| object.contains(address)) {
            found.push(object);
        }
        0 // the next one
    }
    let mut found: Vec<Object> = Vec::new();
    // SAFETY: `look` is called before this returns, with this pointer.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

impl Object {
    /// Whether an address lies in what is mapped of the object.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.segment(address).is_some()
    }

    fn segment(&self, address: usize) -> Option<&Range<usize>> {
        self.segments.iter().find(|it| it.contains(&address))
    }

    /// The way to the caller's frame, at a return address of this object's.
    pub(crate) fn caller(&self, address: usize) -> Caller {
        self.look_up(address).unwrap_or(Caller::Unknown)
    }

    /// The same; none where the tables do not say, or say it in a way that is not known here.
    fn look_up(&self, address: usize) -> Option<Caller> {
        if !cfg!(target_arch = "x86_64") {
            return None;
        }
        let bytes = |range: Range<usize>| {
            let (start, length) = (range.start as *const u8, range.len());
            // SAFETY: the object is mapped here, and is never unloaded.
            unsafe { std::slice::from_raw_parts(start, length) }
        };
        let header = self.header.clone()?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(header.start as u64);
        let header = EhFrameHdr::new(bytes(header), NativeEndian).parse(&bases, WORD as u8).ok()?;
        let Pointer::Direct(frames) = header.eh_frame_ptr() else { return None };
        let bases = bases.set_eh_frame(frames);
        // Where it ends is written nowhere; what is looked up lies in it.
        let start = frames as usize;
        let frames = EhFrame::new(bytes(start..self.segment(start)?.end), NativeEndian);
        let mut context = UnwindContext::new();
        let row = header
            .table()?
            .unwind_info_for_address(
                &frames,
                &bases,
                &mut context,
                address as u64 - 1, // in the call, not behind it
                EhFrame::cie_from_offset,
            )
            .ok()?;
        match row.register(X86_64::RA) {
            Some(RegisterRule::Offset(at)) if at == -(WORD as i64) => {}
            Some(RegisterRule::Undefined) => return Some(Caller::Nobody),
            _ => return None,
        }
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
        let from_base = match register {
            X86_64::RSP => false,
            X86_64::RBP => true,
            _ => return None,
        };
        let base = match row.register(X86_64::RBP) {
            Some(RegisterRule::Offset(at)) => Some(at as isize),
            Some(RegisterRule::SameValue | RegisterRule::Undefined) | None => None,
            _ => return None,
        };
        Some(Caller::Follows(Step { from_base, top: offset as isize, base }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(objects: &[Object], address: usize) -> Caller {
        let object = objects.iter().find(|object| object.contains(address));
        object.map_or(Caller::Unknown, |object| object.caller(address))
    }

    /// Return addresses from the caller of this to where the thread began.
    #[inline(never)]
    fn by_steps() -> Vec<usize> {
        let objects = objects();
        let mut frame = Frame::current().expect("this processor is known");
        let mut addresses = Vec::new();
        while let Caller::Follows(step) = caller(&objects, frame.address) {
            // SAFETY: the step is that of the frame's address, and the frames are those below this one.
            frame = unsafe { frame.caller(step) };
            addresses.push(frame.address);
        }
        assert_eq!(caller(&objects, frame.address), Caller::Nobody, "{frame:x?}");
        addresses
    }

    /// The same by the system's unwinder, which starts in functions of its own.
    #[inline(never)]
    fn by_unwinder() -> Vec<usize> {
        let mut addresses = Vec::new();
        backtrace::trace(|frame| {
            addresses.push(frame.ip() as usize);
            true
        });
        // The system's ends with a 0.
        addresses.retain(|&address| address != 0);
        addresses
    }

    /// A frame whose locals lie at such an address that its base is `rbp`: its size is not always the
    /// same.
    #[repr(align(256))]
    struct Aligned([usize; 32]);

    #[inline(never)]
    fn aligned(depth: usize, then: &mut dyn FnMut()) -> usize {
        let kept = std::hint::black_box(Aligned([depth; 32]));
        plain(depth - 1, then) + kept.0[depth]
    }

    #[inline(never)]
    fn plain(depth: usize, then: &mut dyn FnMut()) -> usize {
        if depth == 0 {
            then();
            return std::hint::black_box(0);
        }
        aligned(depth, then) + std::hint::black_box(depth)
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn steps_lead_to_the_return_addresses_that_the_unwinder_finds_up_to_where_the_thread_began() {
        for depth in [0, 1, 9] {
            let (mut steps, mut unwinder) = (Vec::new(), Vec::new());
            plain(depth, &mut || (steps, unwinder) = (by_steps(), by_unwinder()));
            assert!(steps.len() > 2 * depth, "{} frames at depth {depth}", steps.len());
            // Two calls of one function return to two places of it. How many frames the unwinder has of its own is the
            // compiler's choice, which puts functions into others.
            let begin = unwinder.iter().position(|address| *address == steps[1]);
            let begin = begin.expect("both have the caller of what calls them");
            assert!((1..=4).contains(&begin), "{begin} frames at depth {depth}");
            assert_eq!(steps[1..], unwinder[begin..], "depth {depth}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn frames_that_end_by_either_register_are_both_stepped_over() {
        let mut addresses = Vec::new();
        plain(1, &mut || addresses = by_steps());
        let objects = objects();
        let from_base = |&address: &usize| match caller(&objects, address) {
            Caller::Follows(step) => Some(step.from_base),
            _ => None,
        };
        let from_base: Vec<bool> = addresses.iter().filter_map(from_base).collect();
        assert!(from_base.contains(&true) && from_base.contains(&false), "{from_base:?}");
    }

    #[test]
    fn the_way_from_an_address_without_a_table_is_unknown() {
        let objects = objects();
        let header = objects[0].segments[0].start + 1; // the file's own, which is no function
        assert_eq!(caller(&objects, header), Caller::Unknown);
        assert_eq!(caller(&objects, 1), Caller::Unknown);
    }
}
