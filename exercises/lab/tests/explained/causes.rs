//! Programs with a cause of lost overlap.

use std::time::Duration;

use lab::{HostBlock, HostMemory, Lab, Result, host_work};

use crate::Explained;
use crate::bench::{
    Chunk, Kernel, MIB, copy_at_once, device, each, finish, pinned, sized, stream, vast, words,
};

pub(crate) const EXPLAINED: &[Explained] = &[
    Explained { code: "SWIM-C01", wrong: c01::wrong, right: c01::right, also: &[] },
    Explained { code: "SWIM-C02", wrong: c02::wrong, right: c02::right, also: &[] },
    Explained { code: "SWIM-C03", wrong: c03::wrong, right: c03::right, also: &[] },
    Explained { code: "SWIM-C04", wrong: c04::wrong, right: c04::right, also: &[] },
    Explained { code: "SWIM-C05", wrong: c05::wrong, right: c05::right, also: &[] },
    Explained { code: "SWIM-C06", wrong: c06::wrong, right: c06::right, also: &[] },
    Explained { code: "SWIM-C07", wrong: c07::wrong, right: c07::right, also: &[] },
    Explained { code: "SWIM-C08", wrong: c08::wrong, right: c08::right, also: &[] },
    Explained { code: "SWIM-C09", wrong: c09::wrong, right: c09::right, also: &[] },
    Explained { code: "SWIM-C11", wrong: c11::wrong, right: c11::right, also: &[] },
    Explained { code: "SWIM-C12", wrong: c12::wrong, right: c12::right, also: &[] },
    Explained { code: "SWIM-C13", wrong: c13::wrong, right: c13::right, also: &[] },
    Explained { code: "SWIM-C14", wrong: c14::wrong, right: c14::right, also: &[] },
    Explained { code: "SWIM-C15", wrong: c15::wrong, right: c15::right, also: &[] },
    Explained { code: "SWIM-C16", wrong: c16::wrong, right: c16::right, also: &["SWIM-C04"] },
    Explained { code: "SWIM-C17", wrong: c17::wrong, right: c17::right, also: &[] },
    Explained { code: "SWIM-C18", wrong: c18::wrong, right: c18::right, also: &[] },
    Explained { code: "SWIM-C19", wrong: c19::wrong, right: c19::right, also: &[] },
    Explained { code: "SWIM-C20", wrong: c20::wrong, right: c20::right, also: &[] },
];

mod c01 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (upload, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, mut own) = (each(8, || device(lab))?, device(lab)?);
        let n = words(lab, MIB);
        lab.region(|| {
            // listing: SWIM-C01
            let host = vec![0u32; n]; // ordinary memory
            for block in &mut blocks {
                kernel.launch(&compute, &mut own)?;
                upload.memcpy_htod(&host, block)?; // blocks the host
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (upload, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, mut own) = (each(8, || device(lab))?, device(lab)?);
        let host = pinned(lab)?;
        lab.region(|| {
            // listing: SWIM-C01
            for block in &mut blocks {
                kernel.launch(&compute, &mut own)?;
                upload.memcpy_htod(&host, block)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c02 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (compute, null) = (lab.context().per_thread_stream(), lab.context().default_stream());
        let (kernel, mut x) = (Kernel::new(lab)?, device(lab)?);
        let (host, mut blocks) = (pinned(lab)?, each(8, || device(lab))?);
        lab.region(|| {
            // listing: SWIM-C02
            // `null` is the default stream, `compute` a blocking one: that of the thread
            for block in &mut blocks {
                kernel.launch(&compute, &mut x)?;
                null.memcpy_htod(&host, block)?; // waits for `compute`, and `compute` for it
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (compute, upload) = (lab.context().per_thread_stream(), stream(lab)?);
        let (kernel, mut x) = (Kernel::new(lab)?, device(lab)?);
        let (host, mut blocks) = (pinned(lab)?, each(8, || device(lab))?);
        lab.region(|| {
            // listing: SWIM-C02
            for block in &mut blocks {
                kernel.launch(&compute, &mut x)?;
                upload.memcpy_htod(&host, block)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c03 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (stream, kernel) = (stream(lab)?, Kernel::new(lab)?);
        let (mut x, y, mut host) = (device(lab)?, device(lab)?, pinned(lab)?);
        lab.region(|| {
            // listing: SWIM-C03
            for _ in 0..8 {
                kernel.launch(&stream, &mut x)?;
                stream.memcpy_dtoh(&y, &mut host)?; // needs nothing from the kernel, and waits for it
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (compute, copy_out, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut x, y, mut host) = (device(lab)?, device(lab)?, pinned(lab)?);
        lab.region(|| {
            // listing: SWIM-C03
            for _ in 0..8 {
                kernel.launch(&compute, &mut x)?;
                copy_out.memcpy_dtoh(&y, &mut host)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c04 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (compute, upload, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
        lab.region(|| {
            // listing: SWIM-C04
            for block in &mut blocks {
                kernel.launch(&compute, &mut x)?;
                compute.synchronize()?; // the next copy is asked for too late
                upload.memcpy_htod(&host, block)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (compute, upload, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
        let context = lab.context();
        lab.region(|| {
            // listing: SWIM-C04
            for block in &mut blocks {
                kernel.launch(&compute, &mut x)?;
                upload.memcpy_htod(&host, block)?;
            }
            context.synchronize()?;
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c05 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
        let scratches = each(8, || pinned(lab))?;
        lab.region(|| {
            // listing: SWIM-C05
            for (block, scratch) in blocks.iter_mut().zip(scratches) {
                kernel.launch(&a, &mut x)?;
                drop(scratch); // pinned memory: `cuMemFreeHost` waits for the kernel
                b.memcpy_htod(&host, block)?; // comes after it
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut x, mut blocks, host) = (device(lab)?, each(8, || device(lab))?, pinned(lab)?);
        let (scratches, context) = (each(8, || pinned(lab))?, lab.context());
        lab.region(|| {
            // listing: SWIM-C05
            for block in &mut blocks {
                kernel.launch(&a, &mut x)?;
                b.memcpy_htod(&host, block)?;
            }
            context.synchronize()?;
            drop(scratches);
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c06 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (streams, kernel) = (each(4, || stream(lab))?, Kernel::new(lab)?);
        let (mut data, host) = (each(32, || device(lab))?, pinned(lab)?);
        let mut results = each(32, || pinned(lab))?;
        lab.region(|| {
            // listing: SWIM-C06
            for i in 0..32 {
                streams[i % 4].memcpy_htod(&host, &mut data[i])?;
            }
            for i in 0..32 {
                kernel.launch(&streams[i % 4], &mut data[i])?;
            }
            for i in 0..32 {
                streams[i % 4].memcpy_dtoh(&data[i], &mut results[i])?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (streams, kernel) = (each(4, || stream(lab))?, Kernel::new(lab)?);
        let (mut data, host) = (each(32, || device(lab))?, pinned(lab)?);
        let mut results = each(32, || pinned(lab))?;
        lab.region(|| {
            // listing: SWIM-C06
            for i in 0..32 {
                streams[i % 4].memcpy_htod(&host, &mut data[i])?;
                kernel.launch(&streams[i % 4], &mut data[i])?;
                streams[i % 4].memcpy_dtoh(&data[i], &mut results[i])?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c07 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (copy_in, compute, copy_out) = (stream(lab)?, stream(lab)?, stream(lab)?);
        let kernel = Kernel::new(lab)?;
        let mut chunks = Chunk::cut(lab, 1, 256 << 10)?;
        lab.region(|| {
            // listing: SWIM-C07
            let chunk = &mut chunks[0]; // all of it
            copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.wait(&copy_in.record_event(None)?)?;
            kernel.launch(&compute, &mut chunk.device)?;
            copy_out.wait(&compute.record_event(None)?)?;
            copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (copy_in, compute, copy_out) = (stream(lab)?, stream(lab)?, stream(lab)?);
        let kernel = Kernel::new(lab)?;
        let mut chunks = Chunk::cut(lab, 32, 8 << 10)?;
        lab.region(|| {
            // listing: SWIM-C07
            for chunk in &mut chunks {
                copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
                compute.wait(&copy_in.record_event(None)?)?;
                kernel.launch(&compute, &mut chunk.device)?;
                copy_out.wait(&compute.record_event(None)?)?;
                copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c08 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (copy_in, compute, copy_out) = (stream(lab)?, stream(lab)?, stream(lab)?);
        let kernel = Kernel::new(lab)?;
        let mut chunks = Chunk::cut(lab, 256, 64)?;
        lab.region(|| {
            // listing: SWIM-C08
            for chunk in &mut chunks {
                // 256 of 64 KiB each
                copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
                compute.wait(&copy_in.record_event(None)?)?;
                kernel.launch(&compute, &mut chunk.device)?;
                copy_out.wait(&compute.record_event(None)?)?;
                copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (copy_in, compute, copy_out) = (stream(lab)?, stream(lab)?, stream(lab)?);
        let kernel = Kernel::new(lab)?;
        let mut chunks = Chunk::cut(lab, 32, 8 << 10)?;
        lab.region(|| {
            // listing: SWIM-C08
            for chunk in &mut chunks {
                copy_in.memcpy_htod(&chunk.input, &mut chunk.device)?;
                compute.wait(&copy_in.record_event(None)?)?;
                kernel.launch(&compute, &mut chunk.device)?;
                copy_out.wait(&compute.record_event(None)?)?;
                copy_out.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c09 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut x, mut y) = (device(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-C09
            for _ in 0..8 {
                kernel.launch(&a, &mut x)?; // enough blocks for the whole device
                kernel.launch(&b, &mut y)?; // ready, and there is no room
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (a, b, small) = (stream(lab)?, stream(lab)?, Kernel::sized(lab, 16, 100)?);
        let (mut x, mut y) = (device(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-C09
            for _ in 0..8 {
                small.launch(&a, &mut x)?;
                small.launch(&b, &mut y)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c11 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-C11
            for block in &mut blocks {
                a.memcpy_htod(&host, block)?;
                let copied = a.record_event(None)?;
                b.wait(&copied)?; // `b` uses nothing of what `a` made
                kernel.launch(&b, &mut own)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-C11
            for block in &mut blocks {
                a.memcpy_htod(&host, block)?;
                kernel.launch(&b, &mut own)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c12 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, mut others, host) =
            (each(8, || device(lab))?, each(8, || device(lab))?, pinned(lab)?);
        lab.region(|| {
            // listing: SWIM-C12
            for (block, other) in blocks.iter_mut().zip(&mut others) {
                a.memcpy_htod(&host, block)?;
                a.memcpy_htod(&host, other)?;
                let copied = a.record_event(None)?; // also stands for the second copy
                b.wait(&copied)?;
                kernel.launch(&b, block)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, mut others, host) =
            (each(8, || device(lab))?, each(8, || device(lab))?, pinned(lab)?);
        lab.region(|| {
            // listing: SWIM-C12
            for (block, other) in blocks.iter_mut().zip(&mut others) {
                a.memcpy_htod(&host, block)?;
                let copied = a.record_event(None)?;
                a.memcpy_htod(&host, other)?;
                b.wait(&copied)?;
                kernel.launch(&b, block)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c13 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (compute, kernel) = (stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-C13
            for block in &mut blocks {
                copy_at_once(&host, block)?; // `cuMemcpyHtoD`: blocks the host
            }
            for _ in 0..8 {
                kernel.launch(&compute, &mut own)?; // could have run beside it
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (upload, compute, kernel) = (stream(lab)?, stream(lab)?, Kernel::new(lab)?);
        let (mut blocks, host, mut own) = (each(8, || device(lab))?, pinned(lab)?, device(lab)?);
        lab.region(|| {
            // listing: SWIM-C13
            for block in &mut blocks {
                upload.memcpy_htod(&host, block)?;
            }
            for _ in 0..8 {
                kernel.launch(&compute, &mut own)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c14 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::sized(lab, 16, 200)?);
        let (mut x, mut blocks, host) = (sized(lab, 1)?, each(4, || sized(lab, 256))?, vast(lab)?);
        lab.region(|| {
            // listing: SWIM-C14
            for _ in 0..1500 {
                kernel.launch(&a, &mut x)?; // the host is blocked from launch 1022 on
            }
            for block in &mut blocks {
                b.memcpy_htod(&host, block)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (a, b, kernel) = (stream(lab)?, stream(lab)?, Kernel::sized(lab, 16, 200)?);
        let (mut x, mut blocks, host) = (sized(lab, 1)?, each(4, || sized(lab, 256))?, vast(lab)?);
        lab.region(|| {
            // listing: SWIM-C14
            for block in &mut blocks {
                b.memcpy_htod(&host, block)?;
            }
            for _ in 0..1500 {
                kernel.launch(&a, &mut x)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c15 {
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
}

mod c16 {
    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (stream, mut blocks, host) = (stream(lab)?, each(8, || device(lab))?, pinned(lab)?);
        let load = Duration::from_micros(300);
        lab.region(|| {
            // listing: SWIM-C16
            for block in &mut blocks {
                host_work(load)?; // the device has nothing to do
                stream.memcpy_htod(&host, block)?;
                stream.synchronize()?; // and only then comes the next load
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (stream, mut blocks, host) = (stream(lab)?, each(8, || device(lab))?, pinned(lab)?);
        let load = Duration::from_micros(300);
        lab.region(|| {
            // listing: SWIM-C16
            for block in &mut blocks {
                stream.memcpy_htod(&host, block)?;
                host_work(load)?;
                stream.synchronize()?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c17 {
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
}

mod c19 {
    use cudarc::driver::CudaGraph;
    use cudarc::driver::sys::{
        CUgraphInstantiate_flags as Flags,
        CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as THREAD_LOCAL,
    };

    use super::*;

    pub(crate) fn wrong(lab: &Lab) -> Result<()> {
        let (stream, kernel) = (stream(lab)?, Kernel::sized(lab, 16, 20)?);
        let (mut data, mode) = (sized(lab, 1)?, THREAD_LOCAL);
        lab.region(|| {
            // listing: SWIM-C19
            for _ in 0..8 {
                stream.begin_capture(mode)?;
                kernel.launch(&stream, &mut data)?;
                let graph = stream.end_capture(Flags(0))?; // a new graph of the same kernel
                graph.iter().try_for_each(CudaGraph::launch)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }

    pub(crate) fn right(lab: &Lab) -> Result<()> {
        let (stream, kernel) = (stream(lab)?, Kernel::sized(lab, 16, 20)?);
        let (mut data, mode) = (sized(lab, 1)?, THREAD_LOCAL);
        lab.region(|| {
            // listing: SWIM-C19
            stream.begin_capture(mode)?;
            kernel.launch(&stream, &mut data)?;
            let graph = stream.end_capture(Flags(0))?;
            for _ in 0..8 {
                graph.iter().try_for_each(CudaGraph::launch)?;
            }
            // end
            finish(lab)
        })?;
        Ok(())
    }
}

mod c20 {
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
}

mod c18 {
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
}
