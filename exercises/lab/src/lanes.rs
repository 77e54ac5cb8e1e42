//! The lanes of `three_lanes`: three independent arrays. One is copied to the device, one is copied
//! from it, and one is mapped where it is.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::Task;
use kernels::task::three_lanes::{self, SPEC};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::memory::device_buffer;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Blocks of each lane: enough for the lanes to interleave, few enough for each copy to be long
/// against its call.
const BLOCKS: usize = 16;

/// The three lanes, not yet in memory.
pub struct Lanes {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Lanes {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// The lanes with their host memory pageable.
    pub fn plan(&self) -> Plan<'_> {
        Plan { lanes: self, upload: HostMemory::Pageable, download: HostMemory::Pageable }
    }
}

/// Which memory the lanes are to have.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    lanes: &'a Lanes,
    upload: HostMemory,
    download: HostMemory,
}

impl<'a> Plan<'a> {
    /// The same, with pinned memory on the host's side of the upload.
    pub fn pin_upload(self) -> Self {
        Self { upload: HostMemory::Pinned, ..self }
    }

    /// The same, with pinned memory on the host's side of the download.
    pub fn pin_download(self) -> Self {
        Self { download: HostMemory::Pinned, ..self }
    }

    /// Allocates the lanes.
    pub fn allocate(self) -> Result<Pool<'a>> {
        let Self { lanes, upload, download } = self;
        let context = lanes.lab.context();
        let stream = context.default_stream();
        let elements = lanes.task.elements() as usize / BLOCKS;
        // SAFETY: all of it is written before any of it is read: by the lab or by a copy.
        let device = || unsafe { stream.alloc(elements) };
        let mut pool =
            Pool { lanes, blocks: Blocks { resident: vec![], upload: vec![], download: vec![] } };
        for _ in 0..BLOCKS {
            pool.blocks.resident.push(Resident { device: device()?, map: lanes.map.clone() });
            let host = lanes.lab.host_block(upload, elements)?;
            pool.blocks.upload.push(Transfer { host, device: device()? });
            let host = lanes.lab.host_block(download, elements)?;
            pool.blocks.download.push(Transfer { host, device: device()? });
        }
        Ok(pool)
    }
}

/// The lanes in memory.
pub struct Pool<'a> {
    lanes: &'a Lanes,
    blocks: Blocks,
}

/// The blocks of each lane.
pub struct Blocks {
    /// To be mapped where they are.
    pub resident: Vec<Resident>,
    /// To be copied from the host to the device.
    pub upload: Vec<Transfer>,
    /// To be copied from the device to the host.
    pub download: Vec<Transfer>,
}

/// A block that stays on the device.
pub struct Resident {
    device: CudaSlice<u32>,
    map: Map,
}

impl Resident {
    /// Queues the map over this block, in place.
    pub fn map(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch(stream, &mut self.device)
    }
}

/// A block that crosses over.
pub struct Transfer {
    /// Its side on the host.
    pub host: HostBlock,
    /// Its side on the device.
    pub device: CudaSlice<u32>,
}

impl Pool<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(&mut self, body: impl FnOnce(&mut Blocks) -> Result<()>) -> Result<()> {
        let lanes = self.lanes;
        let Blocks { resident, upload, download } = &self.blocks;
        let [mut inputs, mut outputs] = [Vec::new(), Vec::new()];
        for (index, block) in upload.iter().enumerate() {
            let first = index * block.host.len();
            inputs.push(block.host.buffer(three_lanes::UPLOAD, first)?);
            outputs.push(device_buffer(three_lanes::UPLOADED, first, &block.device));
        }
        for (index, block) in download.iter().enumerate() {
            let first = index * block.host.len();
            inputs.push(device_buffer(three_lanes::DOWNLOAD, first, &block.device));
            outputs.push(block.host.buffer(three_lanes::DOWNLOADED, first)?);
        }
        for (index, block) in resident.iter().enumerate() {
            let first = index * block.device.len();
            inputs.push(device_buffer(three_lanes::RESIDENT, first, &block.device));
            outputs.push(device_buffer(three_lanes::MAPPED, first, &block.device));
        }
        let blocks = &mut self.blocks;
        lanes.lab.measure(&lanes.task, [inputs, outputs], || body(blocks))
    }
}

impl Exercise for Lanes {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut pool = self.plan().pin_upload().pin_download().allocate()?;
        let Blocks { resident, upload, download } = &mut pool.blocks;
        self.lab.alone("host_to_device", |stream| {
            for block in upload {
                stream.memcpy_htod(&block.host, &mut block.device)?;
            }
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            for block in resident {
                block.map(stream)?;
            }
            Ok(())
        })?;
        self.lab.alone("device_to_host", |stream| {
            for block in download {
                stream.memcpy_dtoh(&block.device, &mut block.host)?;
            }
            Ok(())
        })
    }
}
