//! The work of `measuring`: a meter reads traces, and the job is done by the plan that it finds the
//! best.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::Task;
use kernels::task::measuring::{INPUT, OUTPUT, SPEC};
use trace::lab_protocol::{Buffer, Pass, READINGS, Region, Reply, Request};
use trace::meter;

use crate::exercise::Exercise;
use crate::map::Map;
use crate::{Error, HostBlock, HostMemory, Lab, Result, driver};

pub use trace::meter::{Engine, Operation, Readings, Trace};

/// Chunks of the job.
const CHUNKS: usize = 16;
/// Of so many chunks, one is uploaded twice.
const AGAIN: usize = 4;
/// A kernel on a part of the device: of so many blocks that fit on it, one.
const PART: usize = 12;

/// The work, not yet in memory.
pub struct Work {
    lab: Lab,
    task: Task,
    map: Map,
}

/// A way to do the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    InTurn,
    Twice,
    Part,
    Pipeline,
}

impl Plan {
    const ALL: [Self; 4] = [Self::InTurn, Self::Twice, Self::Part, Self::Pipeline];

    fn name(self) -> &'static str {
        match self {
            Self::InTurn => "in turn",
            Self::Twice => "some chunks uploaded twice",
            Self::Part => "kernels on a part of the device",
            Self::Pipeline => "a pipeline",
        }
    }
}

/// A plan that was tried.
pub struct Run {
    /// Its name.
    pub plan: &'static str,
    /// The work of the device.
    pub trace: Trace,
    /// The meter's readings of it.
    pub readings: Readings,
}

impl Work {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Has `measure` read some kept traces and a run of each plan, and does the job by the plan
    /// that `choose` takes: it is given the runs and gives back the index of one. In the end, all
    /// that `measure` said is compared with what it should have said.
    pub fn run(
        &self,
        measure: impl Fn(&Trace) -> Readings,
        choose: impl Fn(&[Run]) -> usize,
    ) -> Result<()> {
        let mut job = self.allocate()?;
        let mut told = Vec::new();
        let mut read = |trace: &Trace| {
            let readings = measure(trace);
            told.push((trace.name.clone(), readings, meter::read(trace)));
            readings
        };
        let kept: Vec<u32> =
            kept(self.lab.seed)?.iter().flat_map(|trace| meter::words(&read(trace))).collect();
        let mut runs = Vec::new();
        for plan in Plan::ALL {
            let region = Region { name: plan.name().to_owned(), ..Region::default() };
            let lab = Lab { pass: Pass::WarmUp, ..self.lab.clone() };
            lab.region_on(region, || job.play(plan))?;
            let trace = traced(plan.name())?;
            runs.push(Run { plan: plan.name(), readings: read(&trace), trace });
        }
        let chosen = choose(&runs);
        let plan = *Plan::ALL.get(chosen).ok_or_else(|| {
            Error::Refused(format!("there are {} runs, and no run {chosen}", runs.len()))
        })?;
        job.region(plan, &kept)?;
        read(&traced("the run that counts")?);
        verdict(&told)
    }

    /// The job in turn, with all that belongs to it: the baseline.
    pub fn in_turn(&self) -> Result<()> {
        self.run(meter::read, |_| 0)
    }

    fn allocate(&self) -> Result<Job<'_>> {
        let stream = || self.context().new_stream();
        let memory = self.context().default_stream();
        let elements = self.task.elements() as usize / CHUNKS;
        let chunk = |_| {
            Ok(Chunk {
                input: self.lab.host_block(HostMemory::Pinned, elements)?,
                // SAFETY: the copy from the host writes it before anything reads it.
                device: unsafe { memory.alloc(elements)? },
                output: self.lab.host_block(HostMemory::Pinned, elements)?,
            })
        };
        Ok(Job {
            work: self,
            chunks: (0..CHUNKS).map(chunk).collect::<Result<_>>()?,
            streams: [stream()?, stream()?, stream()?],
            readings: HostBlock::pageable(meter::KEPT_WORDS),
        })
    }
}

/// The job in memory.
struct Job<'a> {
    work: &'a Work,
    chunks: Vec<Chunk>,
    /// For the uploads, the kernels and the downloads.
    streams: [Arc<CudaStream>; 3],
    /// The meter's readings of the kept traces.
    readings: HostBlock,
}

struct Chunk {
    input: HostBlock,
    device: CudaSlice<u32>,
    output: HostBlock,
}

impl Job<'_> {
    fn play(&mut self, plan: Plan) -> Result<()> {
        let Self { work, chunks, streams: [upload, compute, download], .. } = self;
        for (index, Chunk { input, device, output }) in chunks.iter_mut().enumerate() {
            upload.memcpy_htod(input, device)?;
            if plan == Plan::Twice && index % AGAIN == 0 {
                upload.memcpy_htod(input, device)?;
            }
            compute.wait(&upload.record_event(None)?)?;
            match plan {
                Plan::Part => {
                    let blocks = work.map.full_grid(device.len()) / PART as u32;
                    work.map.launch_blocks(compute, &mut device.as_view_mut(), blocks)?;
                }
                _ => work.map.launch(compute, device)?,
            }
            download.wait(&compute.record_event(None)?)?;
            download.memcpy_dtoh(device, output)?;
            if plan == Plan::InTurn {
                download.synchronize()?;
            }
        }
        Ok(work.context().synchronize()?)
    }

    /// The measured region.
    fn region(&mut self, plan: Plan, readings: &[u32]) -> Result<()> {
        let elements = self.work.task.elements() as usize / CHUNKS;
        let buffers = |array, side: fn(&Chunk) -> &HostBlock| -> Result<Vec<Buffer>> {
            let chunks = self.chunks.iter().enumerate();
            chunks.map(|(index, it)| side(it).buffer(array, index * elements)).collect()
        };
        let inputs = buffers(INPUT, |it| &it.input)?;
        let mut outputs = buffers(OUTPUT, |it| &it.output)?;
        outputs.push(self.readings.buffer(READINGS, 0)?);
        let Self { work, .. } = *self;
        work.lab.measure(&work.task, [inputs, outputs], || {
            self.readings.words_mut()?.copy_from_slice(readings);
            self.play(plan)
        })
    }
}

/// The traces that are kept.
fn kept(seed: u64) -> Result<Vec<Trace>> {
    match driver::ask(&Request::KeptTraces { seed })? {
        Reply::KeptTraces(traces) => Ok(traces),
        _ => Err(Error::Refused("there are no traces to try the meter with".to_owned())),
    }
}

/// The work of the device in the last region.
fn traced(name: &str) -> Result<Trace> {
    match driver::ask(&Request::Traced { name: name.to_owned() })? {
        Reply::Traced(trace) => Ok(trace),
        _ => Err(Error::Refused("there is no trace of the last region".to_owned())),
    }
}

/// Whether all that a meter said is right; if not, the first that is wrong, and what else is.
fn verdict(told: &[(String, Readings, Readings)]) -> Result<()> {
    let mut wrong = Vec::new();
    let mut first = None;
    for (index, name) in meter::NAMES.iter().enumerate() {
        let differs = |(trace, found, expected): &(String, Readings, Readings)| {
            let (found, expected) = (found.values()[index], expected.values()[index]);
            (found != expected).then(|| format!("`{name}` of {trace} is {expected}, not {found}"))
        };
        if let Some(said) = told.iter().find_map(differs) {
            wrong.push(*name);
            first.get_or_insert(said);
        }
    }
    let Some(first) = first else { return Ok(()) };
    Err(Error::Refused(format!(
        "the meter is wrong: {first}; of {} numbers, these are wrong in some trace: {}",
        meter::NAMES.len(),
        wrong.join(", ")
    )))
}

impl Exercise for Work {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut job = self.allocate()?;
        let chunks = &mut job.chunks;
        self.lab.alone("host_to_device", |stream| {
            chunks.iter_mut().try_for_each(|it| Ok(stream.memcpy_htod(&it.input, &mut it.device)?))
        })?;
        self.lab.alone("kernels", |stream| {
            chunks.iter_mut().try_for_each(|it| self.map.launch(stream, &mut it.device))
        })?;
        self.lab.alone("device_to_host", |stream| {
            chunks.iter_mut().try_for_each(|it| Ok(stream.memcpy_dtoh(&it.device, &mut it.output)?))
        })
    }
}
