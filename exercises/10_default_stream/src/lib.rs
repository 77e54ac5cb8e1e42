//! # The default stream
//!
//! The program works through 32 blocks of an array. It uploads a block in the stream `upload`. Then a library
//! changes the block. Then the program downloads it in the stream `download`. The blocks are independent, so
//! the library could work on one block while the next is uploaded and the last is downloaded. That does not
//! happen.
//!
//! **Your task:** let the copies of other blocks run while the library works on one. The array has to be right in every
//! order that CUDA allows. You cannot change the library, nor the stream that it uses.
//!
//! Run `cargo run -- run default_stream`, and look at what each kernel waits for. Which of these waits does the data of
//! its block need? `cargo run -- hint default_stream` helps, a step at a time.
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
