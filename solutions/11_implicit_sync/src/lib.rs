//! The solution of `implicit_sync`: nothing in the loop waits for more than its own lane.

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
    // Loading a module waits for the whole device, so it is loaded while there is nothing to wait for.
    let kernel = service.load_kernel()?;
    // endregion

    // The clock runs from here to the end of the closure.
    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let lane = request.number % lanes.len();
            let lane = &mut lanes[lane];
            let stream = &lane.stream;
            // region: memory of the lane's last request
            // Freed in the stream that used it, so that the host need not wait: the stream gets there in time.
            lane.device.clear();
            // endregion
            // region: the kernel
            // endregion
            // region: memory of this request
            // Stream-ordered. What the lane's last request had is used again.
            let memory = stream;
            // endregion
            // SAFETY: it is cleared before anything reads it.
            let mut data = unsafe { memory.alloc(request.words())? };
            // region: the clear
            let clears = stream;
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
    for lane in &mut lanes {
        lane.pinned.clear();
    }
    // endregion
    Ok(())
}
