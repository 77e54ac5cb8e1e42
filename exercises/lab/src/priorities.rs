//! The work of `priorities`: a job that keeps the device busy, and a server whose requests arrive
//! meanwhile.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::task::priorities::{
    ANSWERS, ARRIVALS_US, FRESH, QUESTIONS, REQUEST_BLOCKS, REQUESTS, SPEC, STEPS, WORKED,
};
use kernels::{Stage, Task};
use trace::lab_protocol::{Reply, Request as Asked};
use trace::program::AccessKind;

use crate::exercise::Exercise;
use crate::map::{MOST_BLOCKS, Map};
use crate::memory::device_buffer;
use crate::{Error, HostBlock, HostMemory, Lab, Result, driver};

pub use cudarc::driver::result::stream::get_priority_range;

/// A step of the job has no more parts than this, and a grid no more waves.
const MOST: usize = 1024;

/// Words of a page of host memory, which is what the simulated device sees a program touch.
const PAGE_WORDS: usize = 1024;

/// The job and the requests, not yet in memory.
pub struct Server {
    lab: Lab,
    task: Task,
    work: Map,
    answer: Map,
    /// Words of the questions of all requests.
    questions: usize,
}

impl Server {
    /// The same for the puzzle.
    pub fn of(lab: &Lab) -> Result<Self> {
        let (task, work) = lab.mapped(&SPEC)?;
        let requests = lab.task(&REQUESTS);
        let answer = Map::load(lab.context(), Stage::B, requests.rounds(), lab.scale)?;
        Ok(Self { lab: lab.clone(), task, work, answer, questions: requests.elements() as usize })
    }

    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates the job's array, and memory for each of the requests.
    pub fn allocate(&self) -> Result<Service<'_>> {
        let requests = (0..ARRIVALS_US.len() as u32).map(|number| self.request(number));
        Ok(Service { server: self, job: self.job()?, requests: requests.collect::<Result<_>>()? })
    }

    /// The job.
    pub fn job(&self) -> Result<Job> {
        let array = self.device(self.task.elements() as usize)?;
        Ok(Job { array, work: self.work.clone(), launched: 0 })
    }

    /// A request that is not waited for.
    pub fn request(&self, number: u32) -> Result<Request> {
        let words = self.questions / ARRIVALS_US.len();
        let answer = self.lab.host_block(HostMemory::Pinned, words)?;
        Ok(Request {
            number,
            question: self.lab.host_block(HostMemory::Pinned, words)?,
            memory: self.device(words)?,
            map: self.answer.clone(),
            answer_at: answer.address()?,
            answer,
        })
    }

    /// Memory of the device.
    fn device(&self, words: usize) -> Result<CudaSlice<u32>> {
        Ok(self.context().default_stream().alloc_zeros(words)?)
    }
}

/// The job and the requests, in memory.
pub struct Service<'a> {
    server: &'a Server,
    job: Job,
    requests: Vec<Request>,
}

/// Work that keeps the device busy: 32 steps, each of which takes the same array through a map.
pub struct Job {
    array: CudaSlice<u32>,
    work: Map,
    /// Words that have been launched, over all steps.
    launched: usize,
}

impl Job {
    /// How many steps have not been launched as a whole.
    pub fn left(&self) -> usize {
        STEPS - self.launched / self.array.len()
    }

    /// Launches the next part of the job, of `parts` that make a step, as a grid of `waves` times
    /// as many blocks as the device has room for. The blocks share the work evenly, and each has at
    /// least four words for each of its 256 threads. It does nothing if nothing is left.
    pub fn launch(&mut self, stream: &Arc<CudaStream>, parts: usize, waves: usize) -> Result<()> {
        for (what, number) in [("part", parts), ("wave", waves)] {
            if !(1..=MOST).contains(&number) {
                let why = format!("there are from 1 to {MOST} {what}s, and not {number}");
                return Err(Error::Refused(why));
            }
        }
        if self.left() == 0 {
            return Ok(());
        }
        let words = self.array.len();
        let first = self.launched % words;
        let end = words.min(first + words.div_ceil(parts));
        self.launched += end - first;
        let blocks = self.work.grid(end - first, waves * MOST_BLOCKS);
        self.work.launch_blocks(stream, &mut self.array.slice_mut(first..end), blocks)
    }
}

/// The requests, in the order in which they arrive.
pub struct Requests<'a>(std::slice::IterMut<'a, Request>);

impl<'a> Requests<'a> {
    /// Waits until the next request has arrived; none if there are no more.
    #[expect(clippy::should_implement_trait, reason = "it can fail, and it waits")]
    pub fn next(&mut self) -> Result<Option<&'a mut Request>> {
        let Some(request) = self.0.next() else { return Ok(None) };
        Ok(match driver::ask(&Asked::Arrival { played_ns: None })? {
            Reply::Number(number) if number == request.number.into() => Some(request),
            _ => None,
        })
    }
}

/// A request, with memory of its own.
pub struct Request {
    number: u32,
    question: HostBlock,
    memory: CudaSlice<u32>,
    map: Map,
    answer: HostBlock,
    answer_at: u64,
}

impl Request {
    /// Its number, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Queues all that it takes to answer it: a copy to the device, a small kernel, and a copy
    /// back.
    pub fn queue(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        stream.memcpy_htod(&self.question, &mut self.memory)?;
        self.map.launch_blocks(stream, &mut self.memory.as_view_mut(), REQUEST_BLOCKS)?;
        stream.memcpy_dtoh(&self.memory, &mut self.answer)?;
        Ok(())
    }

    /// Sends the answer that is in host memory now. It does not wait for anything.
    pub fn send(&self) -> Result<()> {
        let (address, bytes) = (self.answer_at, self.answer.len() as u64 * 4);
        driver::ask(&Asked::HostAccess { address, bytes, kind: AccessKind::Read })?;
        // A word of each page: more take as long as the request itself. Cudarc's own way to them
        // would wait for the copy.
        let words = address as *const u32;
        for word in (0..self.answer.len()).step_by(PAGE_WORDS) {
            // SAFETY: the words are there as long as `answer`, and no word is ever invalid.
            unsafe { words.add(word).read_volatile() };
        }
        driver::ask(&Asked::Answer { request: self.number }).map(drop)
    }
}

impl Service<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns. The first request arrives 0.43 ms later, and all of them while the job is at work.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut Job, &mut Requests<'_>) -> Result<()>,
    ) -> Result<()> {
        let Self { server, job, requests } = self;
        job.launched = 0;
        let mut inputs = vec![device_buffer(FRESH, 0, &job.array)];
        let mut outputs = vec![device_buffer(WORKED, 0, &job.array)];
        for request in &*requests {
            let first = request.number as usize * request.question.len();
            inputs.push(request.question.buffer(QUESTIONS, first)?);
            outputs.push(request.answer.buffer(ANSWERS, first)?);
        }
        let mut requests = Requests(requests.iter_mut());
        server.lab.measure(&server.task, [inputs, outputs], || body(job, &mut requests))
    }
}

impl Exercise for Server {
    fn open(lab: &Lab) -> Result<Self> {
        Self::of(lab)
    }

    fn calibrate(&self) -> Result<()> {
        let mut service = self.allocate()?;
        let Service { job, requests, .. } = &mut service;
        self.lab.alone("host_to_device", |stream| {
            for Request { question, memory, .. } in requests.iter_mut() {
                stream.memcpy_htod(question, memory)?;
            }
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            while job.left() > 0 {
                job.launch(stream, 1, 1)?;
            }
            for Request { map, memory, .. } in requests.iter_mut() {
                map.launch_blocks(stream, &mut memory.as_view_mut(), REQUEST_BLOCKS)?;
            }
            Ok(())
        })?;
        job.launched = 0;
        self.lab.alone("device_to_host", |stream| {
            for Request { memory, answer, .. } in requests.iter_mut() {
                stream.memcpy_dtoh(memory, answer)?;
            }
            Ok(())
        })?;
        self.lab.alone("request", |stream| requests[0].queue(stream))
    }
}
