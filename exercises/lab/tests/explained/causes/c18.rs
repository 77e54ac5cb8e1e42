//! `SWIM-C18`, waiting-request.

use lab::priorities::{Server, get_priority_range};

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let (server, work) = (Server::of(lab)?, stream(lab)?);
    server.allocate()?.region(|job, requests| {
        // listing: SWIM-C18
        while job.left() > 0 {
            job.launch(&work, 1, 1)?; // one long block in each place
        }
        while let Some(request) = requests.next()? {
            request.queue(&work)?; // comes after the whole job
            work.synchronize()?;
            request.send()?;
        }
        // end
        finish(lab)
    })
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (server, work, context) = (Server::of(lab)?, stream(lab)?, lab.context());
    // listing: SWIM-C18
    let (_least, highest) = get_priority_range()?;
    let fast = context.new_stream_with_priority(highest)?;
    // end
    server.allocate()?.region(|job, requests| {
        // listing: SWIM-C18
        while job.left() > 0 {
            job.launch(&work, 1, 16)?; // many short blocks
        }
        while let Some(request) = requests.next()? {
            request.queue(&fast)?;
            fast.synchronize()?;
            request.send()?;
        }
        // end
        finish(lab)
    })
}
