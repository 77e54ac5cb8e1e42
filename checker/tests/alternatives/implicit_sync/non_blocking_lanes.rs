//! The lanes have non-blocking streams, and the clear stays in the NULL stream: nothing orders it any more.

use lab::Result;
use lab::implicit_sync::Service;

/// Answers all requests.
pub fn serve(service: &Service) -> Result<()> {
    let context = service.context();
    let mut lanes = service.lanes();
    let clears = context.default_stream();
    for lane in &mut lanes {
        lane.stream = context.new_stream()?;
    }
    let requests = service.receive()?;
    let kernel = service.load_kernel()?;

    requests.region(|requests, headers| {
        for (request, header) in requests.iter_mut().zip(headers) {
            let lane = request.number % lanes.len();
            let lane = &mut lanes[lane];
            let stream = &lane.stream;
            lane.device.clear();
            let memory = stream;
            // SAFETY: it is cleared before anything reads it.
            let mut data = unsafe { memory.alloc(request.words())? };
            clears.memset_zeros(&mut data)?;
            stream.memcpy_htod(&header, &mut request.header_in(&mut data))?;
            stream.memcpy_htod(&request.body, &mut request.body_in(&mut data))?;
            kernel.launch(stream, &mut data)?;
            stream.memcpy_dtoh(&request.answer_in(&data), &mut request.answer)?;
            lane.device.push(Box::new(data));
            lane.pinned.push(header);
        }
        context.synchronize()?;
        Ok(())
    })?;
    for lane in &mut lanes {
        lane.pinned.clear();
    }
    Ok(())
}
