//! The work of `how_many_lanes`: many small tasks, which are uploaded, mapped and downloaded in
//! groups. And the kernels and uploads of its puzzle.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::task::how_many_lanes::{
    ANSWER, ANSWERS, INPUT, OUTPUT, SPEC, UPDATE, UPDATE_BLOCKS, WEIGHTS,
};
use kernels::{Stage, Task};
use trace::lab_protocol::Buffer;

use crate::exercise::Exercise;
use crate::map::Map;
use crate::memory::device_buffer;
use crate::{HostBlock, HostMemory, Lab, Result};

/// How many tasks there are. Three calls for each of them take the host several times as long as
/// all the work takes the device.
pub const TASKS: usize = 1024;

/// How many requests read the model.
pub const REQUESTS: usize = 64;

/// How the tasks are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many streams take the groups in turn.
    pub streams: usize,
    /// How many tasks are uploaded, launched and downloaded together.
    pub tasks_per_group: usize,
}

/// The work, not yet in memory.
pub struct Work {
    lab: Lab,
    task: Task,
    map: Map,
    update: Map,
    answer: Map,
}

impl Work {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates all tasks, in groups of so many. The last group has what is left over.
    pub fn allocate(&self, tasks_per_group: usize) -> Result<Tasks<'_>> {
        let elements = self.task.elements() as usize / TASKS;
        let stream = self.context().default_stream();
        let tasks_per_group = tasks_per_group.clamp(1, TASKS);
        let group = |first: usize| {
            let tasks = tasks_per_group.min(TASKS - first);
            let elements_of_all = tasks * elements;
            Ok(Group {
                first: first * elements,
                tasks: tasks as u32,
                input: self.lab.host_block(HostMemory::Pinned, elements_of_all)?,
                // SAFETY: any bits are a valid `u32`, and the upload writes it before the kernel
                // reads it.
                device: unsafe { stream.alloc(elements_of_all)? },
                output: self.lab.host_block(HostMemory::Pinned, elements_of_all)?,
                map: self.map.clone(),
            })
        };
        let firsts = (0..TASKS).step_by(tasks_per_group);
        let groups = firsts.map(group).collect::<Result<_>>()?;
        let elements = self.task.elements() as usize;
        let model = Model {
            // SAFETY: any bits are a valid `u32`. The region fills the weights, and each request
            // writes its answer.
            weights: unsafe { stream.alloc(elements)? },
            // SAFETY: as above.
            answers: unsafe { stream.alloc(elements)? },
            update: self.update.clone(),
            answer: self.answer.clone(),
            answered: 0,
        };
        Ok(Tasks { work: self, groups, model })
    }
}

/// All tasks, in memory.
pub struct Tasks<'a> {
    work: &'a Work,
    groups: Vec<Group>,
    model: Model,
}

/// A model on the device, and the requests that read its weights.
pub struct Model {
    weights: CudaSlice<u32>,
    answers: CudaSlice<u32>,
    update: Map,
    answer: Map,
    answered: usize,
}

impl Model {
    /// Launches the kernel that updates all weights. It has 64 blocks.
    pub fn update(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.update.launch_blocks(stream, &mut self.weights.as_view_mut(), UPDATE_BLOCKS)
    }

    /// Launches one kernel for the next `requests` requests, with a block for each of them. It does
    /// nothing if none is left.
    pub fn answer(&mut self, stream: &Arc<CudaStream>, requests: usize) -> Result<()> {
        let requests = requests.min(self.left());
        if requests == 0 {
            return Ok(());
        }
        let of_each = self.weights.len() / REQUESTS;
        let part = self.answered * of_each..(self.answered + requests) * of_each;
        self.answered += requests;
        let weights = self.weights.slice(part.clone());
        let mut answers = self.answers.slice_mut(part);
        self.answer.launch_blocks_between(stream, &weights, &mut answers, requests as u32)
    }

    /// How many requests have not been launched.
    #[must_use]
    pub fn left(&self) -> usize {
        REQUESTS - self.answered
    }
}

/// Tasks that are uploaded, launched and downloaded together. They lie side by side in memory.
pub struct Group {
    first: usize,
    tasks: u32,
    /// The data that are uploaded, in pinned host memory.
    pub input: HostBlock,
    /// The data that the kernel works on, in device memory.
    pub device: CudaSlice<u32>,
    /// Where it is downloaded to, in pinned host memory.
    pub output: HostBlock,
    map: Map,
}

impl Group {
    /// Launches one kernel for all tasks of the group, with a block for each of them.
    pub fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch_blocks(stream, &mut self.device.as_view_mut(), self.tasks)
    }
}

impl Tasks<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut [Group], &mut Model) -> Result<()>,
    ) -> Result<()> {
        let Self { work, groups, model } = self;
        model.answered = 0;
        let buffers = |array, side: fn(&Group) -> &HostBlock| -> Result<Vec<Buffer>> {
            groups.iter().map(|group| side(group).buffer(array, group.first)).collect()
        };
        let mut inputs = buffers(INPUT, |group| &group.input)?;
        inputs.push(device_buffer(WEIGHTS, 0, &model.weights));
        let mut outputs = buffers(OUTPUT, |group| &group.output)?;
        outputs.push(device_buffer(ANSWERS, 0, &model.answers));
        work.lab.measure(&work.task, [inputs, outputs], || body(groups, model))
    }
}

impl Exercise for Work {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        let load = |stage| Map::load(lab.context(), stage, task.rounds(), lab.scale);
        let (update, answer) = (load(UPDATE)?, load(ANSWER)?);
        Ok(Self { lab: lab.clone(), task, map, update, answer })
    }

    fn calibrate(&self) -> Result<()> {
        let Tasks { groups, model, .. } = &mut self.allocate(TASKS)?;
        let group = &mut groups[0];
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&group.input, &mut group.device)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            self.map.launch(stream, &mut group.device)?;
            self.update.launch(stream, &mut model.weights)?;
            self.answer.launch(stream, &mut model.answers)
        })?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&group.device, &mut group.output)?;
            Ok(())
        })
    }
}

/// The time of a long kernel of the puzzle that is alone, in ns: long against the calls that
/// launch 160 of them.
const LONG_NS: u64 = 10_000_000;
/// The work of a short one, in ns: with all that a kernel costs the device, it takes no longer than
/// its launch.
const SHORT_NS: u64 = 50;
/// Elements of a block of a long kernel: 128 for each of its threads.
const LONG_ELEMENTS: usize = 32_768;
/// Elements of a block of a short kernel: four for each of its threads, which it works on together.
const SHORT_ELEMENTS: usize = 1024;

/// A kernel of the puzzle. Each of its blocks has the same work, so with more blocks it does more.
pub struct Kernel {
    map: Map,
    data: CudaSlice<u32>,
    blocks: u32,
}

impl Kernel {
    /// So many kernels of one block each, which take 10 ms.
    pub fn long(lab: &Lab, kernels: usize) -> Result<Vec<Self>> {
        Self::several(lab, [kernels, 1, LONG_ELEMENTS], LONG_NS)
    }

    /// A kernel of so many blocks, each with the work of a long kernel.
    pub fn wide(lab: &Lab, blocks: usize) -> Result<Self> {
        Ok(Self::several(lab, [1, blocks, LONG_ELEMENTS], LONG_NS)?.remove(0))
    }

    /// So many kernels of so many blocks each, which take no longer than their launch.
    pub fn short(lab: &Lab, kernels: usize, blocks: usize) -> Result<Vec<Self>> {
        Self::several(lab, [kernels, blocks, SHORT_ELEMENTS], SHORT_NS)
    }

    fn several(
        lab: &Lab,
        [kernels, blocks, elements]: [usize; 3],
        block_ns: u64,
    ) -> Result<Vec<Self>> {
        let map = Map::load(lab.context(), Stage::A, 1, lab.scale)?;
        let units = lab.speeds.map_units_per_us / map.multiprocessors() as u64 * block_ns / 1000;
        let map = map.with_rounds((units / elements as u64) as u32);
        let stream = lab.context().default_stream();
        let kernel = |_| {
            let data = stream.alloc_zeros(lab.elements(elements) * blocks)?;
            Ok(Self { map: map.clone(), data, blocks: blocks as u32 })
        };
        (0..kernels).map(kernel).collect()
    }

    /// Launches it.
    pub fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch_blocks(stream, &mut self.data.as_view_mut(), self.blocks)
    }

    /// Launches it to read what the kernel `weights` has written.
    pub fn launch_with(&mut self, weights: &Self, stream: &Arc<CudaStream>) -> Result<()> {
        let (from, to) = (&weights.data.as_view(), &mut self.data.as_view_mut());
        self.map.launch_blocks_between(stream, from, to, self.blocks)
    }
}

/// Elements of an upload of the puzzle: 16 MiB.
const UPLOAD_ELEMENTS: usize = 4 << 20;

/// An upload of the puzzle, from pinned memory.
pub struct Upload {
    /// Where it is.
    pub host: HostBlock,
    /// Where it goes.
    pub device: CudaSlice<u32>,
}

impl Upload {
    /// So many of them. Each has memory of its own.
    pub fn several(lab: &Lab, uploads: usize) -> Result<Vec<Self>> {
        let elements = lab.elements(UPLOAD_ELEMENTS);
        let upload = |_| {
            let mut host = HostBlock::new(lab.context(), HostMemory::Pinned, elements)?;
            // The first touch of a page costs more than copying it.
            host.words_mut()?.fill(1);
            Ok(Self { host, device: lab.context().default_stream().alloc_zeros(elements)? })
        };
        (0..uploads).map(upload).collect()
    }
}
