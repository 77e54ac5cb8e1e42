//! An output that several host threads make, part by part.

use std::sync::{Mutex, PoisonError};

/// So many bytes to go over are worth several threads: on a GPU kernels have more, and on the
/// simulated device fewer.
const FOR_THREADS: usize = 8 << 20;

/// Makes an output part by part, each of so many bytes: `make` is given the number of a part, and
/// some parts from there on. `bytes` is how much it goes over, in all.
pub(super) fn shared(
    output: &mut [u8],
    part: usize,
    bytes: usize,
    make: impl Fn(usize, &mut [u8]) + Sync,
) {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let parts = output.len() / part.max(1);
    if threads == 1 || bytes < FOR_THREADS || parts < 2 {
        return make(0, output);
    }
    // Several pieces for each thread: whichever is done first takes the next.
    let each = parts.div_ceil(4 * threads);
    let pieces = Mutex::new(output.chunks_mut(each * part).enumerate());
    let work = || {
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some((number, piece)) = next() {
            make(number * each, piece);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where no more threads are allowed, fewer do it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}
