//! Programs with a hazard.

use lab::{Lab, Result};

use crate::Explained;
use crate::bench::{Kernel, device, finish, pinned, stream, words};

pub(crate) const EXPLAINED: &[Explained] = &[
    Explained { code: "SWIM-H01", wrong: h01::wrong, right: h01::right, also: &[] },
    Explained { code: "SWIM-H02", wrong: h02::wrong, right: h02::right, also: &[] },
    Explained { code: "SWIM-H03", wrong: h03::wrong, right: h03::right, also: &[] },
    Explained { code: "SWIM-H04", wrong: h04::wrong, right: h04::right, also: &[] },
    Explained { code: "SWIM-H05", wrong: h05::wrong, right: h05::right, also: &[] },
    Explained { code: "SWIM-H06", wrong: h06::wrong, right: h06::right, also: &[] },
];

mod h01 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (copy_in, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (host, mut data) = (pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-H01
            copy_in.memcpy_htod(&host, &mut data)?;
            kernel.launch(&compute, &mut data)?; // may start before the copy has landed
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (copy_in, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (host, mut data) = (pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-H01
            copy_in.memcpy_htod(&host, &mut data)?;
            let ready = copy_in.record_event(None)?;
            compute.wait(&ready)?;
            kernel.launch(&compute, &mut data)?;
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod h02 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (copy_in, copy_out) = (stream(lab)?, stream(lab)?);
        let (next, mut data, mut result) = (pinned(lab)?, device(lab)?, pinned(lab)?);
        lab.region(|| {
            // listing: SWIM-H02
            copy_out.memcpy_dtoh(&data, &mut result)?; // reads `data`
            copy_in.memcpy_htod(&next, &mut data)?; // may overwrite it too early
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (copy_in, copy_out) = (stream(lab)?, stream(lab)?);
        let (next, mut data, mut result) = (pinned(lab)?, device(lab)?, pinned(lab)?);
        lab.region(|| {
            // listing: SWIM-H02
            copy_out.memcpy_dtoh(&data, &mut result)?;
            let read = copy_out.record_event(None)?;
            copy_in.wait(&read)?;
            copy_in.memcpy_htod(&next, &mut data)?;
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod h03 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (copy_in, compute) = (stream(lab)?, stream(lab)?);
        let (host, mut data) = (pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-H03
            compute.memset_zeros(&mut data)?;
            copy_in.memcpy_htod(&host, &mut data)?; // the zeros may come last
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let copy_in = stream(lab)?;
        let (host, mut data) = (pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-H03
            copy_in.memset_zeros(&mut data)?;
            copy_in.memcpy_htod(&host, &mut data)?;
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod h04 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (copy_in, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let n = words(lab, 16);
        lab.region(|| {
            // listing: SWIM-H04
            let mut data = copy_in.alloc_zeros::<u32>(n)?;
            let ready = copy_in.record_event(None)?;
            compute.wait(&ready)?;
            kernel.launch(&compute, &mut data)?;
            drop(data); // freed in `copy_in`, which does not wait for `compute`
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (copy_in, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let n = words(lab, 16);
        lab.region(|| {
            let mut data = copy_in.alloc_zeros::<u32>(n)?;
            let ready = copy_in.record_event(None)?;
            compute.wait(&ready)?;
            // listing: SWIM-H04
            kernel.launch(&compute, &mut data)?;
            let used = compute.record_event(None)?;
            copy_in.wait(&used)?;
            drop(data);
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod h05 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (upload, compute) = (stream(lab)?, stream(lab)?);
        let n = words(lab, 16);
        lab.region(|| {
            // listing: SWIM-H05
            // SAFETY: it is written before anything reads it.
            let mut data = unsafe { upload.alloc::<u32>(n)? };
            compute.memset_zeros(&mut data)?; // `compute` does not wait for `upload`
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (upload, compute) = (stream(lab)?, stream(lab)?);
        let n = words(lab, 16);
        lab.region(|| {
            // listing: SWIM-H05
            // SAFETY: it is written before anything reads it.
            let mut data = unsafe { upload.alloc::<u32>(n)? };
            let there = upload.record_event(None)?;
            compute.wait(&there)?;
            compute.memset_zeros(&mut data)?;
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod h06 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (copy_in, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (host, scratch, mut data) = (pinned(lab)?, pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-H06
            copy_in.memcpy_htod(&host, &mut data)?;
            drop(scratch); // pinned memory: `cuMemFreeHost` happens to wait for the copy
            kernel.launch(&compute, &mut data)?;
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (copy_in, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (host, scratch, mut data) = (pinned(lab)?, pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-H06
            copy_in.memcpy_htod(&host, &mut data)?;
            let ready = copy_in.record_event(None)?;
            compute.wait(&ready)?;
            kernel.launch(&compute, &mut data)?;
            drop(scratch);
            // end
            finish(lab)
        })?;
        Ok(())
    }
}
