//! The workers have non-blocking streams, and the clear stays in the NULL stream: nothing orders it any more.

use lab::Result;
use lab::implicit_sync::Service;

/// Answers all requests.
pub fn serve(service: &Service) -> Result<()> {
    let context = service.context();
    let mut workers = service.workers();
    let clears = context.default_stream();
    for worker in &mut workers {
        worker.stream = context.new_stream()?;
    }
    let requests = service.receive()?;
    let kernel = service.load_kernel()?;

    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let worker = request.number % workers.len();
            let worker = &workers[worker];
            let stream = &worker.stream;
            worker.device.clear();
            let memory = stream;
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
    for worker in &workers {
        worker.pinned.clear();
    }
    Ok(())
}
