//! `SWIM-C20`, staged-peer-copy.

use lab::peers;

use super::*;

pub(crate) fn wrong(lab: &Lab) -> Result<()> {
    let [_, second] = peers::contexts(lab)?;
    let far = second.default_stream().alloc_zeros::<u32>(words(lab, MIB))?;
    let (stream, kernel, mut near) = (stream(lab)?, Kernel::new(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C20
        // `far` is on the second device, `near` and `stream` are on the first
        for _ in 0..8 {
            stream.memcpy_dtod(&far, &mut near)?; // through the host
            kernel.launch(&stream, &mut near)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}

pub(crate) fn right(lab: &Lab) -> Result<()> {
    let [first, second] = peers::contexts(lab)?;
    peers::allow_access([&first, &second])?;
    let far = second.default_stream().alloc_zeros::<u32>(words(lab, MIB))?;
    let (stream, kernel, mut near) = (stream(lab)?, Kernel::new(lab)?, device(lab)?);
    lab.region(|| {
        // listing: SWIM-C20
        for _ in 0..8 {
            stream.memcpy_dtod(&far, &mut near)?; // over the link, after `cuMemPoolSetAccess`
            kernel.launch(&stream, &mut near)?;
        }
        // end
        finish(lab)
    })?;
    Ok(())
}
