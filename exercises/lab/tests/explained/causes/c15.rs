//! `SWIM-C15`, allocation-in-region.

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let (stream, mut blocks) = (stream(lab)?, each(8, || device(lab))?);
    let mut hosts = Vec::new();
    lab.region(|| {
        // listing: SWIM-C15
        for block in &mut blocks {
            let host = HostBlock::new(context, HostMemory::Pinned, block.len())?; // 5 ms
            stream.memcpy_htod(&host, block)?;
            hosts.push(host);
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let (stream, mut blocks) = (stream(lab)?, each(8, || device(lab))?);
    let hosts = each(8, || pinned(lab))?;
    lab.region(|| {
        // listing: SWIM-C15
        for (block, host) in blocks.iter_mut().zip(&hosts) {
            stream.memcpy_htod(host, block)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
