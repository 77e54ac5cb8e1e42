//! A stream for each step, joined by events. Each kernel nearly fills the device, so one at a time is enough.

use lab::Result;
use lab::how_many_lanes::Work;

/// Does all tasks, and answers all requests.
pub fn process(work: &Work) -> Result<()> {
    let context = work.context();
    let upload = context.new_stream()?;
    let compute = context.new_stream()?;
    let download = context.new_stream()?;
    let main = context.new_stream()?;
    let mut tasks = work.allocate(128)?;

    // The clock runs from here to the end of the closure.
    tasks.region(|groups, model| {
        model.update(&main)?;
        model.answer(&main, model.left())?;
        for group in groups {
            upload.memcpy_htod(&group.input, &mut group.device)?;
            compute.join(&upload)?;
            group.launch(&compute)?;
            download.join(&compute)?;
            download.memcpy_dtoh(&group.device, &mut group.output)?;
        }
        context.synchronize()?;
        Ok(())
    })
}
