//! The interface of the wasm to the worker of the book's page.
//!
//! The worker gives a name to [`open`], which reads the file piece by piece through the function
//! `read` of the worker's, and then wants parts of it. A worker reads one file: for the next one
//! there is another worker, with memory of its own.

use std::cell::RefCell;
use std::io::Read;

use crate::page::{Chapters, Page, prose};
use crate::source::Source;

/// Text that is read of a file, in bytes: what a gzip of hundreds of megabytes may hold. A wasm has
/// no more memory than this in all.
const LIMIT: u64 = 4 << 30;

/// The beginning of ids on the page.
const ID: &str = "trace";

#[link(wasm_import_module = "file")]
unsafe extern "C" {
    /// Copies at most so many bytes of what comes next in the file to a place, and says how many; 0
    /// at its end.
    fn read(into: *mut u8, bytes: usize) -> usize;
}

/// The file of the worker.
struct File;

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        // SAFETY: the worker writes at most so many bytes there.
        Ok(unsafe { read(buffer.as_mut_ptr(), buffer.len()) })
    }
}

thread_local! {
    /// The file that is open.
    static OPEN: RefCell<Option<Page<'static>>> = const { RefCell::new(None) };
}

/// Where a name of `bytes` bytes is to be written.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn room(bytes: usize) -> *mut u8 {
    Vec::leak(vec![0; bytes]).as_mut_ptr()
}

/// Reads the file with that name. The answer is as long as the high half of the result says, and
/// lies where the low half says: an `=` and HTML, or a `!` and what is wrong with the file.
///
/// # Safety
/// `name` came from [`room`] for as many bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn open(name: *const u8, bytes: usize) -> u64 {
    // SAFETY: see above.
    let name = unsafe { std::slice::from_raw_parts(name, bytes) };
    let name = str::from_utf8(name).unwrap_or_default();
    answer(match opened(name) {
        Ok(html) => format!("={html}"),
        Err(error) => format!("!{}", prose(&format!("{error:#}"))),
    })
}

fn opened(name: &str) -> anyhow::Result<String> {
    let source: &'static Source = Box::leak(Box::new(Source::read(&mut File, name, LIMIT)?));
    // The whole may have too many bars for names; a part of it has not.
    let devices = source.runs(None, true).map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut page = Page::new(source, devices, Chapters::Beside);
    let html = page.html(ID);
    OPEN.set(Some(page));
    Ok(html)
}

/// The part of the axis between two instants in ns: its drawing, a zero byte and its lines. The
/// answer lies as [`open`] says.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn part(from_ns: f64, to_ns: f64) -> u64 {
    OPEN.with_borrow_mut(|page| {
        let Some(page) = page else { return 0 };
        let (drawing, facts) = page.part(ID, from_ns as u64, to_ns as u64);
        answer(format!("{drawing}\0{facts}"))
    })
}

/// The worker copies an answer before it asks again; each goes where the one before lay.
fn answer(text: String) -> u64 {
    thread_local! {
        static LAST: RefCell<String> = const { RefCell::new(String::new()) };
    }
    LAST.with_borrow_mut(|last| {
        *last = text;
        (last.len() as u64) << 32 | last.as_ptr() as u64
    })
}
