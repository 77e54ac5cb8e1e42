//! From a frame of the stack to its caller's, for code of the program and of this library.
//!
//! The system's unwinder takes some 300 ns a frame, since it looks up at each walk which object an
//! address lies in and what that object's tables say. Here the tables (`.eh_frame`; System V ABI, AMD64,
//! chapter 3.7, and DWARF 5, section 6.4) are read once for an address, and what they say of a function
//! between two instructions is always the same: the frame's base is `rsp` or `rbp` and a number. A frame
//! that is found in another way, or in another library, has no [`Step`]; the caller of this module takes
//! the system's unwinder then.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, NativeEndian, Pointer, RegisterRule,
    UnwindContext, UnwindSection, X86_64,
};

/// Bytes of an address.
const WORD: usize = size_of::<usize>();

/// What a caller's frame follows from.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Where the frame's function goes on: behind the call that it has made.
    pub(crate) address: usize,
    /// `rsp` and `rbp` there.
    stack: usize,
    base: usize,
}

impl Frame {
    /// The frame of the function that this is compiled into; none for a processor that is not known here.
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
    /// The frame is one of this thread's that has not returned, and the step is that of its address.
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

/// How a caller's frame follows, at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Whether the top is counted from `rbp`, or from `rsp`.
    from_base: bool,
    /// Bytes from there to the top of the frame, where the caller's stack ends. The return address lies
    /// right below.
    top: isize,
    /// Where the caller's `rbp` is kept, in bytes from the top; none if it is still in `rbp`.
    base: Option<isize>,
}

/// An object that is mapped: the program itself, or a library.
pub(crate) struct Object {
    /// What is mapped of it, upwards.
    segments: Vec<Range<usize>>,
    /// `.eh_frame_hdr`, which says where `.eh_frame` is; empty if the object has none.
    header: Range<usize>,
}

/// The program itself, the first object that the loader lists, and this library.
pub(crate) fn program_and_driver() -> Vec<Object> {
    struct Found {
        objects: Vec<Object>,
        /// An address in this library.
        driver: usize,
    }
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives a valid object with its headers, and `found` is the one below.
        let (object, headers, found) = unsafe {
            let object = &*object;
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            (object, headers, &mut *found.cast::<Found>())
        };
        let start = object.dlpi_addr as usize;
        let range = |header: &libc::Elf64_Phdr| {
            let from = start + header.p_vaddr as usize;
            from..from + header.p_memsz as usize
        };
        let of = |kind| headers.iter().filter(move |it| it.p_type == kind).map(range);
        let segments = of(libc::PT_LOAD).collect();
        let header = of(libc::PT_GNU_EH_FRAME).next().unwrap_or_default();
        let object = Object { segments, header };
        if found.objects.is_empty() || object.contains(found.driver) {
            found.objects.push(object);
        }
        0 // the next one
    }
    let mut found = Found { objects: Vec::new(), driver: look as *const () as usize };
    // SAFETY: `look` is called before this returns, with this pointer.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found.objects
}

impl Object {
    /// Whether an address lies in what is mapped of the object.
    pub(crate) fn contains(&self, address: usize) -> bool {
        self.segment(address).is_some()
    }

    fn segment(&self, address: usize) -> Option<&Range<usize>> {
        self.segments.iter().find(|it| it.contains(&address))
    }

    /// How a caller's frame follows at a return address of this object; none if its tables do not say,
    /// or say it in a way that is not known here.
    pub(crate) fn step(&self, address: usize) -> Option<Step> {
        if !cfg!(target_arch = "x86_64") || self.header.is_empty() {
            return None;
        }
        let bytes = |range: Range<usize>| {
            let (start, length) = (range.start as *const u8, range.len());
            // SAFETY: the object is mapped here, and neither the program nor this library is unloaded.
            unsafe { std::slice::from_raw_parts(start, length) }
        };
        let bases = BaseAddresses::default().set_eh_frame_hdr(self.header.start as u64);
        let header = EhFrameHdr::new(bytes(self.header.clone()), NativeEndian);
        let header = header.parse(&bases, WORD as u8).ok()?;
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
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
        let from_base = match register {
            X86_64::RSP => false,
            X86_64::RBP => true,
            _ => return None,
        };
        if row.register(X86_64::RA) != Some(RegisterRule::Offset(-(WORD as i64))) {
            return None;
        }
        let base = match row.register(X86_64::RBP) {
            Some(RegisterRule::Offset(at)) => Some(at as isize),
            Some(RegisterRule::SameValue | RegisterRule::Undefined) | None => None,
            _ => return None,
        };
        Some(Step { from_base, top: offset as isize, base })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return addresses outwards from the caller of this, as far as steps are known.
    #[inline(never)]
    fn by_steps() -> Vec<usize> {
        let objects = program_and_driver();
        let mut frame = Frame::current();
        let mut addresses = Vec::new();
        while let Some(of) = frame {
            addresses.push(of.address);
            let step = objects.iter().find_map(|object| object.step(of.address));
            // SAFETY: the step is that of the frame's address, and the frames are those below this one.
            frame = step.map(|step| unsafe { of.caller(step) });
        }
        addresses.split_off(1) // behind this function's own
    }

    /// The same by the system's unwinder, which starts in a function of its own.
    #[inline(never)]
    fn by_unwinder() -> Vec<usize> {
        let mut addresses = Vec::new();
        backtrace::trace(|frame| {
            addresses.push(frame.ip() as usize);
            true
        });
        addresses.split_off(2)
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
    fn steps_lead_to_the_return_addresses_that_the_unwinder_finds() {
        let (mut steps, mut unwinder) = (Vec::new(), Vec::new());
        for depth in [0, 1, 9] {
            plain(depth, &mut || (steps, unwinder) = (by_steps(), by_unwinder()));
            // Two calls of one function return to two places of it.
            let [steps, unwinder] = [&steps[1..], &unwinder[1..]];
            assert!(steps.len() > 2 * depth, "{} frames at depth {depth}", steps.len());
            assert_eq!(steps, &unwinder[..steps.len()], "depth {depth}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn frames_with_a_base_of_their_own_and_without_one_are_both_stepped_over() {
        let mut addresses = Vec::new();
        plain(1, &mut || addresses = by_steps());
        let objects = program_and_driver();
        let steps = addresses.iter().filter_map(|&it| objects.iter().find_map(|o| o.step(it)));
        let from_base: Vec<bool> = steps.map(|step| step.from_base).collect();
        assert!(from_base.contains(&true) && from_base.contains(&false), "{from_base:?}");
    }

    #[test]
    fn an_address_without_a_table_has_no_step() {
        let objects = program_and_driver();
        let of_libc = libc::getpid as *const () as usize;
        assert!(objects.iter().all(|object| object.step(of_libc).is_none()));
        let start = objects[0].segments[0].start;
        assert_eq!(objects[0].step(start + 1), None, "the file's header is no function");
    }
}
