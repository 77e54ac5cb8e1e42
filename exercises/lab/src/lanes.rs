//! The lanes of `three_lanes`: three independent arrays. One is copied to the device, one is copied
//! from it, and one is mapped where it is.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::task::three_lanes::{self, SPEC};
use kernels::{Stage, Task};
use trace::lab::{Buffer, Region};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::pipeline::device_address;
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
        let stream = lanes.context().default_stream();
        let elements = lanes.task.elements() / BLOCKS as u64;
        let host = |array, (index, block): (usize, &Transfer)| -> Result<Buffer> {
            let (first, bytes) = (index as u64 * elements, elements * 4);
            Ok(Buffer { array, first, address: block.host.address()?, bytes })
        };
        let device = |array, (index, data): (usize, &CudaSlice<u32>)| {
            let (first, bytes) = (index as u64 * elements, elements * 4);
            Buffer { array, first, address: device_address(data, &stream), bytes }
        };
        let Blocks { resident, upload, download } = &self.blocks;
        let of = |blocks: &'_ [Transfer], array| -> Result<Vec<Buffer>> {
            blocks.iter().enumerate().map(|block| host(array, block)).collect()
        };
        let on = |array, data: Vec<&CudaSlice<u32>>| -> Vec<Buffer> {
            data.into_iter().enumerate().map(|data| device(array, data)).collect()
        };
        let inputs = [
            of(upload, three_lanes::UPLOAD)?,
            on(three_lanes::DOWNLOAD, download.iter().map(|block| &block.device).collect()),
            on(three_lanes::RESIDENT, resident.iter().map(|block| &block.device).collect()),
        ];
        let outputs = [
            on(three_lanes::UPLOADED, upload.iter().map(|block| &block.device).collect()),
            of(download, three_lanes::DOWNLOADED)?,
            on(three_lanes::MAPPED, resident.iter().map(|block| &block.device).collect()),
        ];
        let region = Region {
            task: lanes.task.name().to_owned(),
            inputs: inputs.concat(),
            outputs: outputs.concat(),
            ..Region::default()
        };
        let blocks = &mut self.blocks;
        lanes.lab.region_on(region, || body(blocks)).map(drop)
    }
}

impl Exercise for Lanes {
    fn open(lab: &Lab) -> Result<Self> {
        let task = lab.task(&SPEC);
        let map = Map::load(lab.context(), Stage::A, task.rounds(), lab.scale)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut pool = self.plan().pin_upload().pin_download().allocate()?;
        let Blocks { resident, upload, download } = &mut pool.blocks;
        let stream = self.context().new_stream()?;
        let alone = |name: &str| Region { name: name.to_owned(), ..Region::default() };
        self.lab.region_on(alone("host_to_device"), || {
            for block in upload {
                stream.memcpy_htod(&block.host, &mut block.device)?;
            }
            Ok(stream.synchronize()?)
        })?;
        self.lab.region_on(alone("kernels"), || {
            for block in resident {
                block.map(&stream)?;
            }
            Ok(stream.synchronize()?)
        })?;
        self.lab.region_on(alone("device_to_host"), || {
            for block in download {
                stream.memcpy_dtoh(&block.device, &mut block.host)?;
            }
            Ok(stream.synchronize()?)
        })?;
        Ok(())
    }
}
