//! The baseline of `implicit_sync`: each iteration loads a module, allocates, clears through the NULL stream, and
//! frees. Correct, and no two requests are on the device at once.

use lab::Result;
use lab::implicit_sync::Service;

fn serve(service: &Service) -> Result<()> {
    let context = service.context();
    let workers = service.workers();
    let memory = service.synchronous_memory();
    let clears = context.default_stream();
    let requests = service.receive()?;

    // The clock runs from here to the end of the closure.
    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let worker = request.number % workers.len();
            let worker = &workers[worker];
            let stream = &worker.stream;
            // Nothing uses it any more when the stream has finished that request.
            stream.synchronize()?;
            worker.device.clear();
            worker.pinned.clear();
            let kernel = service.load_kernel()?;
            // SAFETY: it is cleared before anything reads it.
            let mut data = unsafe { memory.alloc(request.words())? };
            clears.memset_zeros(&mut data)?;
            stream.memcpy_htod(&header, &mut request.header_in(&mut data))?;
            stream.memcpy_htod(&request.body, &mut request.body_in(&mut data))?;
            kernel.launch(stream, &mut data)?;
            stream.memcpy_dtoh(&request.answer_in(&data), &mut request.answer)?;
            worker.device.push(Box::new(data));
            worker.pinned.push(header);
        }
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::exercise!(serve)
}
