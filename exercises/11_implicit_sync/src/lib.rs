//! # Implicit synchronisation: find the blocker
//!
//! A service answers 32 requests of several sizes. Each is uploaded, goes through a kernel, and its answer is
//! downloaded. There are four workers, each with a stream of its own, so four requests could be on the device at
//! the same time. They are not: every iteration makes calls that wait for more than its own stream.
//!
//! **Your task:** get each of them out of the way. Run `cargo run -- run implicit_sync` after each change. While one
//! such call is left, the requests still take turns.
//!
//! - What every request needs can be made once, before the clock starts: move its line there.
//! - What is freed in the loop can be freed after the clock has stopped.
//! - The sizes differ, so `data` is allocated in the loop. Let its memory be stream-ordered: `stream.alloc` is
//!   `cuMemAllocAsync`, and a block from there is freed by `cuMemFreeAsync` when it is dropped.
//!
//! `memory` and `clears` are only names. `let memory = stream;` in a region gives the name another meaning from there to
//! the end of the iteration. Edit between the `region` marks only; lines are added and moved, none is changed.

use lab::Result;
use lab::implicit_sync::Service;

/// Answers all requests.
pub fn serve(service: &Service) -> Result<()> {
    let context = service.context();
    let workers = service.workers();
    // In the loop, each of these names may be given another meaning.
    #[allow(unused_variables)]
    let (memory, clears) = (service.synchronous_memory(), context.default_stream());
    let requests = service.receive()?;
    // region: before the clock
    // endregion

    // The clock runs from here to the end of the closure.
    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let worker = request.number % workers.len();
            let worker = &workers[worker];
            let stream = &worker.stream;
            // region: memory of the worker's last request
            // Nothing uses it any more when the stream has finished that request.
            stream.synchronize()?;
            worker.device.clear();
            worker.pinned.clear();
            // endregion
            // region: the kernel
            let kernel = service.load_kernel()?;
            // endregion
            // region: memory of this request
            // endregion
            // SAFETY: it is cleared before anything reads it.
            let mut data = unsafe { memory.alloc(request.words())? };
            // region: the clear
            // endregion
            clears.memset_zeros(&mut data)?;
            stream.memcpy_htod(&header, &mut request.header_in(&mut data))?;
            stream.memcpy_htod(&request.body, &mut request.body_in(&mut data))?;
            kernel.launch(stream, &mut data)?;
            stream.memcpy_dtoh(&request.answer_in(&data), &mut request.answer)?;
            // region: in use until the stream is done
            worker.device.push(Box::new(data));
            worker.pinned.push(header);
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })?;
    // region: after the clock
    // endregion
    Ok(())
}
