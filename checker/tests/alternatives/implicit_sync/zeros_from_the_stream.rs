//! The stream allocates and clears in one call, and frees at the end of the iteration.

use lab::Result;
use lab::implicit_sync::Service;

/// Answers all requests.
pub fn serve(service: &Service) -> Result<()> {
    let context = service.context();
    let workers = service.workers();
    let requests = service.receive()?;
    let kernel = service.load_kernel()?;

    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let worker = request.number % workers.len();
            let worker = &workers[worker];
            let stream = &worker.stream;
            let mut data = stream.alloc_zeros(request.words())?;
            stream.memcpy_htod(&header, &mut request.header_in(&mut data))?;
            stream.memcpy_htod(&request.body, &mut request.body_in(&mut data))?;
            kernel.launch(stream, &mut data)?;
            stream.memcpy_dtoh(&request.answer_in(&data), &mut request.answer)?;
            drop(data);
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
