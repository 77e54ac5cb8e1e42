//! The batch of `pinned_memory`: for each of its parts, labels and images are uploaded, a kernel
//! computes the losses, and these are downloaded.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};
use kernels::Task;
use kernels::task::pinned_memory::{self as task, INPUT, OUTPUT, SPEC};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::memory::device_buffer;
use crate::{HostBlock, HostMemory, Lab, Result};

/// The batch, not yet in memory.
pub struct Batch {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Batch {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        task::PARTS as usize
    }

    /// Ordinary host memory for the labels of a part: 64 KiB.
    pub fn labels(&self) -> HostBlock {
        HostBlock::pageable(self.lab.elements(task::LABELS as usize))
    }

    /// Ordinary host memory for the images of a part: on an H200 16 MB.
    pub fn images(&self) -> HostBlock {
        HostBlock::pageable(self.elements() - self.lab.elements(task::LABELS as usize))
    }

    /// Ordinary host memory for the losses of a part: 4 KiB.
    pub fn losses(&self) -> HostBlock {
        HostBlock::pageable(self.lab.elements(task::SAMPLES as usize))
    }

    /// A part of the batch with this host memory, and device memory for the rest of the way.
    pub fn part(&self, labels: HostBlock, images: HostBlock, losses: HostBlock) -> Result<Part> {
        let stream = self.context().default_stream();
        // SAFETY: the copies of labels and images write all of it before anything reads it.
        let data = unsafe { stream.alloc(self.elements())? };
        let device = OnDevice { data, labels: labels.len(), losses: losses.len() };
        Ok(Part { labels, images, losses, device, map: self.map.clone() })
    }

    /// Elements of a part.
    fn elements(&self) -> usize {
        self.task.elements() as usize / self.parts()
    }

    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &self,
        parts: &mut [Part],
        body: impl FnOnce(&mut [Part]) -> Result<()>,
    ) -> Result<()> {
        let [mut inputs, mut outputs] = [Vec::new(), Vec::new()];
        for (index, part) in parts.iter().enumerate() {
            let first = index * self.elements();
            let behind_labels = first + part.labels.len();
            inputs.push(part.labels.buffer(INPUT, first)?);
            inputs.push(part.images.buffer(INPUT, behind_labels)?);
            outputs.push(part.losses.buffer(OUTPUT, behind_labels)?);
            outputs.push(device_buffer(OUTPUT, first, &part.device.data));
        }
        self.lab.measure(&self.task, [inputs, outputs], || body(parts))
    }
}

/// A part of the batch.
pub struct Part {
    /// On the host: a label for each sample.
    pub labels: HostBlock,
    /// On the host: an image for each sample.
    pub images: HostBlock,
    /// On the host: room for a loss for each sample.
    pub losses: HostBlock,
    /// Its place on the device.
    pub device: OnDevice,
    map: Map,
}

impl Part {
    /// Queues the kernel that makes losses of labels and images.
    pub fn evaluate(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch(stream, &mut self.device.data)
    }
}

/// The place of a part on the device.
pub struct OnDevice {
    data: CudaSlice<u32>,
    labels: usize,
    losses: usize,
}

impl OnDevice {
    /// Where the labels go.
    pub fn labels(&mut self) -> CudaViewMut<'_, u32> {
        self.data.slice_mut(..self.labels)
    }

    /// Where the images go.
    pub fn images(&mut self) -> CudaViewMut<'_, u32> {
        self.data.slice_mut(self.labels..)
    }

    /// Where the losses are, once the kernel has made them.
    pub fn losses(&self) -> CudaView<'_, u32> {
        self.data.slice(self.labels..self.labels + self.losses)
    }
}

impl Exercise for Batch {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut parts = Vec::new();
        for _ in 0..self.parts() {
            let block = |words: usize| self.lab.host_block(HostMemory::Pinned, words);
            let (mut labels, mut images) =
                (block(self.labels().len())?, block(self.images().len())?);
            labels.words_mut()?.fill(1);
            images.words_mut()?.fill(1);
            parts.push(self.part(labels, images, self.losses())?);
        }
        self.lab.alone("host_to_device", |stream| {
            for part in &mut parts {
                stream.memcpy_htod(&part.labels, &mut part.device.labels())?;
                stream.memcpy_htod(&part.images, &mut part.device.images())?;
            }
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            for part in &mut parts {
                part.evaluate(stream)?;
            }
            Ok(())
        })
    }
}
