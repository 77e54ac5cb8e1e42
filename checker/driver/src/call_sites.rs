//! From a call to the line of the student's that made it.
//!
//! The stack is walked at each call; an address is looked up in the debug information once, and
//! remembered. The innermost frame whose source lies in the exercise's folder is the one that
//! counts, functions that the compiler inlined included. The filter is by source file, not by
//! crate: generic code of cudarc is compiled into the student's crate.

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};

use trace::program::Site;

use crate::stack::{self, Caller, Frame, Object};

/// The folder that calls are attributed to, for programs that do not say so themselves.
const SOURCE: &str = "SWIM_SOURCE";

/// Files of an exercise's folder that are not the student's: the lines that start it.
const NOT_THE_STUDENTS: &str = "src/main.rs";

/// No stack of a sane program is deeper between the student's code and the driver.
const MOST_FRAMES: usize = 128;

/// The known facts of a return address.
#[derive(Clone, Copy)]
struct Known {
    /// The number of its site, or none if it is not the student's.
    site: Option<u32>,
    caller: Caller,
}

/// Hashes a return address. Each call looks up a handful of them, and the standard library's hasher
/// took a tenth of it. Addresses are not chosen so that they collide.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write_usize(&mut self, address: usize) {
        // 2^64 divided by the golden ratio: neighbours end far apart in the upper bits too.
        self.0 = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(self.0 as usize ^ usize::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The places that calls come from.
pub(crate) struct CallSites {
    folder: Option<PathBuf>,
    /// The program and what is always with it. Debug information is read for addresses in the
    /// program only: the student's code is in no library, and reading that of libraries takes
    /// longer than a whole run.
    objects: Vec<Object>,
    /// By return address. Only looked up, never iterated.
    known: HashMap<usize, Known, BuildHasherDefault<AddressHasher>>,
    /// By place, since several addresses can belong to one.
    numbers: HashMap<Site, u32>,
}

impl CallSites {
    /// Calls are attributed to the folder that the environment names, or to none.
    pub(crate) fn from_environment() -> Self {
        Self::new(std::env::var_os(SOURCE).map(PathBuf::from))
    }

    /// Calls are attributed to files under this folder.
    pub(crate) fn under(folder: &str) -> Self {
        Self::new(Some(PathBuf::from(folder)))
    }

    fn new(folder: Option<PathBuf>) -> Self {
        let objects = stack::objects();
        Self { folder, objects, known: HashMap::default(), numbers: HashMap::new() }
    }

    /// The place that the current call comes from; `number` gives a new place its number.
    pub(crate) fn here(&mut self, mut number: impl FnMut(Site) -> Option<u32>) -> Option<u32> {
        self.folder.as_deref()?;
        let Some(mut frame) = Frame::current() else { return self.here_by_unwinder(number) };
        for _ in 0..MOST_FRAMES {
            let known = self.known(frame.address, &mut number);
            if known.site.is_some() {
                return known.site;
            }
            match known.caller {
                // SAFETY: the step is that of the frame's address, and the frames are those below
                // this.
                Caller::Follows(step) => frame = unsafe { frame.caller(step) },
                Caller::Nobody => return None,
                Caller::Unknown => return self.here_by_unwinder(number),
            }
        }
        None
    }

    /// The place of a number.
    pub(crate) fn place(&self, site: u32) -> Option<&Site> {
        self.numbers.iter().find_map(|(place, &number)| (number == site).then_some(place))
    }

    /// The same by the system's unwinder, which finds its way wherever there is one.
    fn here_by_unwinder(&mut self, mut number: impl FnMut(Site) -> Option<u32>) -> Option<u32> {
        let mut found = None;
        let mut depth = 0;
        let mut visit = |frame: &backtrace::Frame| {
            depth += 1;
            found = self.known(frame.ip() as usize, &mut number).site;
            found.is_none() && depth < MOST_FRAMES
        };
        // SAFETY: the library is used under the driver's lock only.
        unsafe { backtrace::trace_unsynchronized(&mut visit) };
        found
    }

    /// The same for return addresses that were kept, innermost first.
    pub(crate) fn of(
        &mut self,
        addresses: &[usize],
        mut number: impl FnMut(Site) -> Option<u32>,
    ) -> Option<u32> {
        addresses.iter().find_map(|&address| self.known(address, &mut number).site)
    }

    fn known(&mut self, address: usize, number: impl FnOnce(Site) -> Option<u32>) -> Known {
        match self.known.get(&address) {
            Some(&known) => known,
            None => self.learn(address, number),
        }
    }

    /// Apart from the lookup, of which each call makes a handful.
    #[cold]
    fn learn(&mut self, address: usize, number: impl FnOnce(Site) -> Option<u32>) -> Known {
        let Self { folder, objects, known, numbers } = self;
        let learnt = match objects.iter().position(|it| it.contains(address)) {
            None => Known { site: None, caller: Caller::Unknown },
            Some(object) => {
                let place = match folder {
                    Some(folder) if object == 0 => resolve(address, folder),
                    _ => None,
                };
                let site = place.and_then(|place| {
                    let before = numbers.get(&place).copied();
                    before.or_else(|| {
                        let site = number(place.clone())?;
                        numbers.insert(place, site);
                        Some(site)
                    })
                });
                Known { site, caller: objects[object].caller(address) }
            }
        };
        known.insert(address, learnt);
        learnt
    }
}

/// The place of a return address, if it is the student's. It belongs to the instruction before it.
fn resolve(address: usize, folder: &Path) -> Option<Site> {
    let mut place = None;
    // SAFETY: the library is used under the driver's lock only.
    unsafe {
        backtrace::resolve_unsynchronized(address as *mut c_void, |symbol| {
            // Innermost first: functions inlined here, then the function itself.
            if place.is_some() {
                return;
            }
            let Some(relative) = symbol.filename().and_then(|file| file.strip_prefix(folder).ok())
            else {
                return;
            };
            let file = relative.to_string_lossy().replace('\\', "/");
            if let (Some(line), false) = (symbol.lineno(), file == NOT_THE_STUDENTS) {
                place = Some(Site { file, line, column: symbol.colno() });
            }
        });
    }
    place
}
