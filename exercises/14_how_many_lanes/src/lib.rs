//! # Limits of concurrency
//!
//! A server has two kinds of work. There are 1024 small tasks: the data of each is uploaded, mapped by one block, and
//! downloaded. And there is a model on the device. First its weights are updated, by a kernel of 64 blocks that takes half a
//! millisecond. Then 64 requests read them, one block for each. The tasks need nothing of the model.
//!
//! The program takes the tasks in *groups*. A group is uploaded by one copy, mapped by one launch, and downloaded by
//! one copy; its kernel has a block for each task. Streams take the groups in turn. As shipped, a group is a single
//! task and there is one stream for all groups, so the device works on one task at a time. The requests come one by
//! one too.
//!
//! **Your task:** choose how many streams there are, how many tasks are in a group, and how the requests are launched.
//! Run `cargo run -- run how_many_lanes` after each change, and look at the host's row too: each call takes time.
//!
//! - `let plan = Plan { streams: n, ..plan };` changes the number of streams.
//! - `let plan = Plan { tasks_per_group: n, ..plan };` changes the size of a group. If `n` does not divide 1024,
//!   the last group is smaller.
//! - `model.answer(&stream, n)?;` launches the next `n` requests as one kernel, and `model.left()` says how many are
//!   left. `stream.join(&main)?;` makes a stream wait for the update. Streams can be made in the region `plan`.
//!
//! Edit between the `region` marks only. Lines are added, none is changed.

use lab::Result;
use lab::how_many_lanes::{Plan, Work};

/// Does all tasks, and answers all requests.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let plan = Plan { streams: 1, tasks_per_group: 1 };
    // region: plan
    // endregion
    let streams = (0..plan.streams).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let main = context.new_stream()?;
    let mut tasks = work.allocate(plan.tasks_per_group)?;

    // The clock runs from here to the end of the closure.
    tasks.region(|groups, model| {
        model.update(&main)?;
        // region: requests
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
