//! # Limits of concurrency
//!
//! There are 1024 small tasks. The data of each is uploaded, mapped by one block, and downloaded. The tasks are
//! independent. A block runs on one multiprocessor, and the device has more than a hundred of them.
//!
//! The program takes the tasks in *groups*. A group is uploaded by one copy, mapped by one launch, and downloaded by
//! one copy; its kernel has a block for each task. Streams take the groups in turn. As shipped, a group is a single
//! task and there is one stream, so the device works on one block at a time.
//!
//! **Your task:** choose how many streams there are, and how many tasks are in a group. Run
//! `cargo run -- run how_many_lanes` after each change, and look at the host's row too: each call takes time.
//!
//! - `let plan = Plan { streams: n, ..plan };` changes the number of streams.
//! - `let plan = Plan { tasks_per_group: n, ..plan };` changes the size of a group. If `n` does not divide 1024,
//!   the last group is smaller.
//!
//! Edit between the `region` marks only. Lines are added, none is changed.

use lab::Result;
use lab::how_many_lanes::{Plan, Work};

/// Does all tasks.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let plan = Plan { streams: 1, tasks_per_group: 1 };
    // region: plan
    // endregion
    let streams = (0..plan.streams).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let mut tasks = work.allocate(plan.tasks_per_group)?;

    // The clock runs from here to the end of the closure.
    tasks.region(|groups| {
        for (group, stream) in groups.iter_mut().zip(streams.iter().cycle()) {
            stream.memcpy_htod(&group.input, &mut group.device)?;
            group.launch(stream)?;
            stream.memcpy_dtoh(&group.device, &mut group.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
