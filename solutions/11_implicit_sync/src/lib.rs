//! The solution of `implicit_sync`: nothing in the loop waits for more than its own stream.

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
    // Loading a module waits for the whole device, so it is loaded while there is nothing to wait for.
    let kernel = service.load_kernel()?;
    // endregion

    // The clock runs from here to the end of the closure.
    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let worker = request.number % workers.len();
            let worker = &workers[worker];
            let stream = &worker.stream;
            // region: memory of the worker's last request
            // A stream-ordered free comes after the work of its stream, so the host does not have to wait.
            worker.device.clear();
            // endregion
            // region: the kernel
            // endregion
            // region: memory of this request
            // The pool gives out again what this stream freed before.
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
            // region: in use until the stream is done
            worker.device.push(Box::new(data));
            worker.pinned.push(header);
            // endregion
        }
        context.synchronize()?;
        Ok(())
    })?;
    // region: after the clock
    for worker in &workers {
        worker.pinned.clear();
    }
    // endregion
    Ok(())
}
