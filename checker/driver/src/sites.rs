//! From a call to the line of the student's that made it.
//!
//! The stack is walked at each call; an address is looked up in the debug information once, and
//! remembered. The innermost frame whose source lies in the exercise's folder is the one that counts,
//! functions that the compiler inlined included. The filter is by source file, not by crate: generic
//! code of cudarc is compiled into the student's crate.

use std::collections::HashMap;
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
    /// By return address: the number of its site, or none if it is not the student's. Only looked up,
    /// never iterated.
    known: HashMap<usize, Option<u32>>,
    /// By place, since several addresses can belong to one.
    numbers: HashMap<Site, u32>,
}

impl Sites {
    /// Calls are attributed to the folder that the environment names, or to none.
    pub(crate) fn from_environment() -> Self {
        Self {
            folder: std::env::var_os(SOURCE).map(PathBuf::from),
            known: HashMap::new(),
            numbers: HashMap::new(),
        }
    }

    /// Calls are attributed to files under this folder.
    pub(crate) fn under(folder: &str) -> Self {
        Self { folder: Some(PathBuf::from(folder)), known: HashMap::new(), numbers: HashMap::new() }
    }

    /// The place that the current call comes from; `number` gives a new place its number.
    pub(crate) fn here(&mut self, mut number: impl FnMut(Site) -> Option<u32>) -> Option<u32> {
        let folder = self.folder.as_deref()?;
        let (known, numbers) = (&mut self.known, &mut self.numbers);
        let mut found = None;
        let mut depth = 0;
        let mut visit = |frame: &backtrace::Frame| {
            depth += 1;
            let address = frame.ip() as usize;
            let site = *known.entry(address).or_insert_with(|| {
                let place = resolve(frame, folder)?;
                if let Some(&site) = numbers.get(&place) {
                    return Some(site);
                }
                let site = number(place.clone())?;
                numbers.insert(place, site);
                Some(site)
            });
            found = site;
            site.is_none() && depth < MOST_FRAMES
        };
        // SAFETY: the library is used under the driver's lock only.
        unsafe { backtrace::trace_unsynchronized(&mut visit) };
        found
    }
}

/// The place of a frame, if it is the student's.
fn resolve(frame: &backtrace::Frame, folder: &Path) -> Option<Site> {
    let mut place = None;
    // SAFETY: the library is used under the driver's lock only.
    unsafe {
        backtrace::resolve_frame_unsynchronized(frame, |symbol| {
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
