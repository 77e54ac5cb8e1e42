//! # Implicit synchronisation: find the blocker
//!
//! A service answers 32 requests of several sizes. Each is uploaded, goes through a kernel, and its answer is
//! downloaded. There are four lanes, each with a stream of its own, so four requests could be on the device at
//! the same time. They are not: an iteration makes four calls that wait for more than its own lane.
//!
//! **Your task:** get each of them out of the way. Run `cargo run -- run implicit_sync`. The report names one call
//! at a time; when one is gone, the next is just as much in the way.
//!
//! - What every request needs can be made once, before the clock starts. Move its line there.
//! - What is freed in the loop can be kept until the clock has stopped.
//! - Where memory has to be allocated in the loop, because sizes differ, let it be stream-ordered: `stream.alloc` is
//!   `cuMemAllocAsync`, and such a block is freed by `cuMemFreeAsync` when it is dropped. `memory` and `clears` are
//!   names like any other: `let memory = stream;` before a line that uses one gives it another meaning there.
//!
//! Edit between the `region` marks only. Lines are added and moved, none is changed.

use lab::Result;
use lab::implicit_sync::Service;

/// Answers all requests.
pub fn serve(service: &Service) -> Result<()> {
    let context = service.context();
    let mut lanes = service.lanes();
    // In the loop, each of these names may be given another meaning.
    #[allow(unused_variables)]
    let (memory, clears) = (service.synchronous_memory(), context.default_stream());
    let requests = service.receive()?;
    // region: before the clock
    // endregion

    // The clock runs from here to the end of the closure.
    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let lane = request.number % lanes.len();
            let lane = &mut lanes[lane];
            let stream = &lane.stream;
            // region: memory of the lane's last request
            // It is free to go when the lane is done with that request.
            stream.synchronize()?;
            lane.device.clear();
            lane.pinned.clear();
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
            // region: in use until the lane is done
            lane.device.push(Box::new(data));
            lane.pinned.push(header);
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })?;
    // region: after the clock
    // endregion
    Ok(())
}
