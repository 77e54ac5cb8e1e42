//! Each task has a stream of its own: 1024 streams, and three calls for each of them.

use lab::Result;
use lab::how_many_lanes::{Plan, Work};

/// Does all tasks, and answers all requests.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let plan = Plan { streams: 1, tasks_per_group: 1 };
    // region: plan
    let plan = Plan { streams: lab::how_many_lanes::TASKS, ..plan };
    // endregion
    let streams = (0..plan.streams).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let main = context.new_stream()?;
    let mut tasks = work.allocate(plan.tasks_per_group)?;

    // The clock runs from here to the end of the closure.
    tasks.region(|groups, model| {
        model.update(&main)?;
        // region: requests
        model.answer(&main, model.left())?;
        // endregion
        while model.left() > 0 {
            model.answer(&main, 1)?;
        }
        for (group, stream) in groups.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_htod(&group.input, &mut group.device)?;
            group.launch(stream)?;
            stream.memcpy_dtoh(&group.device, &mut group.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
