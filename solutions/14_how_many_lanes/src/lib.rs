//! The solution of `how_many_lanes`: four streams, 64 tasks in a group, and one launch for all requests.

use lab::Result;
use lab::how_many_lanes::{Plan, Work};

/// Does all tasks, and answers all requests.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let plan = Plan { streams: 1, tasks_per_group: 1 };
    // region: plan
    // The model has half of the device, and a group of 64 blocks has the other half. While one group is mapped, others are
    // uploaded and downloaded. Four streams leave work queues to others.
    let plan = Plan { streams: 4, ..plan };
    // 48 calls in all, and groups so small that the first upload and the last download hardly show.
    let plan = Plan { tasks_per_group: 64, ..plan };
    // endregion
    let streams = (0..plan.streams).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let main = context.new_stream()?;
    let mut tasks = work.allocate(plan.tasks_per_group)?;

    // The clock runs from here to the end of the closure.
    tasks.region(|groups, model| {
        model.update(&main)?;
        // region: requests
        // One kernel waits for the update and takes one work queue. Its blocks start together.
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
