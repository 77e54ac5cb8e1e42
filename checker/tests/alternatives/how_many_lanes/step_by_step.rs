//! Eight streams and groups of 32 tasks, but all uploads are issued first, then all launches, then all downloads.

use lab::Result;
use lab::how_many_lanes::Work;

/// Does all tasks, and answers all requests.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = (0..8).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let main = context.new_stream()?;
    let mut tasks = work.allocate(32)?;

    // The clock runs from here to the end of the closure.
    tasks.region(|groups, model| {
        model.update(&main)?;
        model.answer(&main, model.left())?;
        for (group, stream) in groups.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_htod(&group.input, &mut group.device)?;
        }
        for (group, stream) in groups.iter_mut().zip(streams.iter().cycle()) {
            group.launch(stream)?;
        }
        for (group, stream) in groups.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_dtoh(&group.device, &mut group.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
