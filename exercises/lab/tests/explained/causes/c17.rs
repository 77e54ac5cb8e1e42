//! `SWIM-C17`, taken-queue.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (update, other) = (stream(lab)?, stream(lab)?);
    let readers = each(8, || stream(lab))?;
    let (long, short) = (Kernel::sized(lab, 16, 2000)?, Kernel::sized(lab, 16, 200)?);
    let (mut weights, mut own) = (sized(lab, 1)?, sized(lab, 1)?);
    let mut answers = each(8, || sized(lab, 1))?;
    lab.region(|| {
        // listing: SWIM-C17
        long.launch(&update, &mut weights)?;
        let updated = update.record_event(None)?;
        for (reader, answer) in readers.iter().zip(&mut answers) {
            reader.wait(&updated)?; // eight kernels wait, one in each queue
            short.launch_with(reader, &weights, answer)?;
        }
        short.launch(&other, &mut own)?; // waits for no event, and starts with them
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (update, other) = (stream(lab)?, stream(lab)?);
    let readers = each(8, || stream(lab))?;
    let (long, short) = (Kernel::sized(lab, 16, 2000)?, Kernel::sized(lab, 16, 200)?);
    let (mut weights, mut own) = (sized(lab, 1)?, sized(lab, 1)?);
    let mut answers = each(8, || sized(lab, 1))?;
    lab.region(|| {
        // listing: SWIM-C17
        short.launch(&other, &mut own)?;
        long.launch(&update, &mut weights)?;
        let updated = update.record_event(None)?;
        for (reader, answer) in readers.iter().zip(&mut answers) {
            reader.wait(&updated)?;
            short.launch_with(reader, &weights, answer)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
