//! # The default stream
//!
//! The program works through 32 blocks of an array. It uploads a block in the stream `upload`. Then a library
//! changes the block. Then the program downloads it in the stream `download`. The blocks are independent, so
//! the library could work on one block while the next is uploaded and the last is downloaded.
//!
//! That does not happen. The library issues its kernels to the default stream, and both streams are blocking
//! ones, as `cudaStreamCreate` makes them. Each kernel of the library waits for all work that was issued to
//! both streams before, and both streams wait for the kernel.
//!
//! **Your task:** take both streams out of that order, and put back the waits that the data needs. You cannot
//! change the library. Run `cargo run -- run default_stream` and look at when the copies run.
//!
//! - `context.new_stream()?` makes a non-blocking stream.
//! - `context.default_stream()` is the stream of the library.
//! - `stream.record_event(None)?` makes an event and records it, and `stream.wait(&event)?` makes a stream wait
//!   for an event. Both work on the default stream too.
//!
//! Edit between the `region` marks only. Lines are added, none is changed.

use lab::Result;
use lab::default_stream::Work;
use lab::streams::blocking_stream;

/// Sends all blocks through the library.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let library = work.library();
    let streams = [
        // region: streams
        // endregion
        blocking_stream(context)?,
        blocking_stream(context)?,
    ];
    // The first two of the list are used: a stream that you add comes before those that are there.
    let (upload, download) = (&streams[0], &streams[1]);

    let mut array = work.allocate()?;

    // The clock runs from here to the end of the closure.
    array.region(|blocks| {
        for block in blocks {
            upload.memcpy_htod(&block.input, &mut block.device)?;
            // region: before the library
            // endregion
            library.transform(&mut block.device)?;
            // region: after the library
            // endregion
            download.memcpy_dtoh(&block.device, &mut block.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
