//! Two host threads make the calls, each for half of the tasks, one by one.

use lab::Result;
use lab::how_many_lanes::{TASKS, Work};

const TASKS_PER_GROUP: usize = 1;

/// Does all tasks, and answers all requests.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = (0..128).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let main = context.new_stream()?;
    let mut tasks = work.allocate(TASKS_PER_GROUP)?;

    // The clock runs from here to the end of the closure.
    tasks.region(|groups, model| {
        model.update(&main)?;
        model.answer(&main, model.left())?;
        let halves = groups.chunks_mut(TASKS / TASKS_PER_GROUP / 2).zip(streams.chunks(64));
        lab::thread::scope(|scope| -> Result<()> {
            let mut threads = Vec::new();
            for (half, streams) in halves {
                threads.push(scope.spawn(move || -> Result<()> {
                    for (group, stream) in half.iter_mut().zip(streams.iter().cycle()) {
                        stream.memcpy_htod(&group.input, &mut group.device)?;
                        group.launch(stream)?;
                        stream.memcpy_dtoh(&group.device, &mut group.output)?;
                    }
                    Ok(())
                })?);
            }
            for thread in threads {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(())
        })?;
        context.synchronize()?;
        Ok(())
    })
}
