//! What cudarc's event tracking does not order: two streams read a buffer, then a third writes it.
//!
//! With tracking on, as cudarc comes, a `CudaSlice` keeps one event for its last read and one for its
//! last write, and a stream that is to write waits for both. The second reader's event takes the place
//! of the first one's, so the writer waits for the second reader only. No line of `program` but the
//! first is unsafe, and it turns on what is on by default.
//!
//! On a GPU, from a bundle (`checker dev bundle`), with a record for `tests/recorded`:
//! `SWIM_DRIVER=driver/libswim_driver.so SWIM_DEVICE=gpu SWIM_TRACE=cupti SWIM_WARMUPS=1
//! SWIM_RECORD=tracking_hole.h200.json dev/tracking_hole`. The warm-up is there since tracing a line of the
//! source for the first time takes longer than the products.

use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Products that keep the first reader's stream busy: 6 ms on an H200, where all that the host asks for
/// after them takes it a tenth of that, watched or not.
const MATMULS: usize = 100;
/// Words of the buffer: 4 MiB.
const WORDS: usize = 1024 * 1024;
/// What the third stream writes, where there were zeros.
const WRITTEN: u32 = 1;

pub(crate) fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    // SAFETY: nothing has been allocated yet, so all memory is tracked from its beginning.
    unsafe { context.enable_event_tracking() };
    let (first, second, third) =
        (context.new_stream()?, context.new_stream()?, context.new_stream()?);
    let words = lab.elements(WORDS);
    let pinned = || HostBlock::new(context, HostMemory::Pinned, words);
    let (mut seen, mut seen_too, mut source) = (pinned()?, pinned()?, pinned()?);
    seen.words_mut()?.fill(u32::MAX);
    seen_too.words_mut()?.fill(u32::MAX);
    source.words_mut()?.fill(WRITTEN);
    let mut buffer = third.alloc_zeros::<u32>(words)?;
    let mut matmul = Matmul::new(lab)?;
    lab.region(|| {
        for _ in 0..MATMULS {
            matmul.launch(&first)?;
        }
        first.memcpy_dtoh(&buffer, &mut seen)?;
        second.memcpy_dtoh(&buffer, &mut seen_too)?;
        third.memcpy_htod(&source, &mut buffer)?;
        context.synchronize()?;
        Ok(())
    })?;
    for (reader, seen) in [("first", &seen), ("second", &seen_too)] {
        let too_late = seen.words()?.iter().filter(|&&word| word == WRITTEN).count();
        say(&format!(
            "the {reader} reader saw {too_late} of {words} words that were written after it"
        ));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "what the program is run for")]
fn say(what: &str) {
    println!("{what}");
}

#[cfg_attr(test, expect(dead_code, reason = "a test calls what it runs"))]
fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
