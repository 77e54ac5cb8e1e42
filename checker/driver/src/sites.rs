//! From a call to the line of the student's that made it.
//!
//! The stack is walked at each call; an address is looked up in the debug information once, and
//! remembered. The innermost frame whose source lies in the exercise's folder is the one that counts,
//! functions that the compiler inlined included. The filter is by source file, not by crate: generic
//! code of cudarc is compiled into the student's crate.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::path::{Path, PathBuf};

use trace::program::Site;

/// The folder that calls are attributed to, for programs that do not say so themselves.
const SOURCE: &str = "SWIM_SOURCE";

/// Files of an exercise's folder that are not the student's: the lines that start it.
const NOT_THE_STUDENTS: &str = "src/main.rs";

/// No stack of a sane program is deeper between the student's code and the driver.
const MOST_FRAMES: usize = 128;

/// The places that calls come from.
pub(crate) struct Sites {
    folder: Option<PathBuf>,
    /// Where the program itself is mapped. Debug information is read for addresses in here only: the
    /// student's code is in no library, and reading that of libraries takes longer than a whole run.
    program: Range<usize>,
    /// By return address: the number of its site, or none if it is not the student's. Only looked up,
    /// never iterated.
    known: HashMap<usize, Option<u32>>,
    /// By place, since several addresses can belong to one.
    numbers: HashMap<Site, u32>,
}

impl Sites {
    /// Calls are attributed to the folder that the environment names, or to none.
    pub(crate) fn from_environment() -> Self {
        Self::new(std::env::var_os(SOURCE).map(PathBuf::from))
    }

    /// Calls are attributed to files under this folder.
    pub(crate) fn under(folder: &str) -> Self {
        Self::new(Some(PathBuf::from(folder)))
    }

    fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, program: program(), known: HashMap::new(), numbers: HashMap::new() }
    }

    /// The place that the current call comes from; `number` gives a new place its number.
    pub(crate) fn here(&mut self, mut number: impl FnMut(Site) -> Option<u32>) -> Option<u32> {
        self.folder.as_deref()?;
        let mut found = None;
        let mut depth = 0;
        let mut visit = |frame: &backtrace::Frame| {
            depth += 1;
            found = self.at(frame.ip() as usize, &mut number);
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
        addresses.iter().find_map(|&address| self.at(address, &mut number))
    }

    /// The site of a return address, if it is the student's.
    fn at(&mut self, address: usize, number: impl FnOnce(Site) -> Option<u32>) -> Option<u32> {
        let folder = self.folder.as_deref()?;
        if !self.program.contains(&address) {
            return None;
        }
        let numbers = &mut self.numbers;
        *self.known.entry(address).or_insert_with(|| {
            let place = resolve(address, folder)?;
            if let Some(&site) = numbers.get(&place) {
                return Some(site);
            }
            let site = number(place.clone())?;
            numbers.insert(place, site);
            Some(site)
        })
    }
}

/// Where the program itself is mapped: the first object that the loader lists.
fn program() -> Range<usize> {
    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _size: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives a valid object with its headers, and `found` is the range below.
        unsafe {
            let (object, found) = (&*object, &mut *found.cast::<Range<usize>>());
            let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
            let ends = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let end = ends.map(|header| header.p_vaddr + header.p_memsz).max().unwrap_or(0);
            let start = object.dlpi_addr as usize;
            *found = start..start + end as usize;
        }
        1 // enough
    }
    let mut found = 0..0;
    // SAFETY: `look` is called before this returns, with this pointer.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
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
