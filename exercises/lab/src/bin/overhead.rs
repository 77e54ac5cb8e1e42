//! The cost of the library between a program and the real driver: calls made directly against calls
//! made through it, and a pipeline of long operations with and without tracing. Needs a GPU.
//!
//! Prints a table, or with `--json` one `trace::fidelity::Overhead`.

use std::ffi::{CStr, c_void};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUdeviceptr, CUevent, CUfunction, CUresult, CUstream};
use cudarc::driver::{CudaContext, result};
use lab::{Error, Job, Lab, Result};
use trace::fidelity::{CallCost, Operations, Overhead, median};
use trace::{Record, env};

/// Calls that are timed together: few enough for the queue to hold them, so that none waits.
const CALLS: usize = 100;
/// Blocks of calls of each kind, in turn.
const BLOCKS: usize = 300;
/// Chunks of the pipeline: its shortest operation, a copy, takes some 75 µs on an H200.
const CHUNKS: usize = 64;
/// Processes that run the pipeline in each way, in turn.
const PROCESSES: usize = 3;
/// Passes of each that count.
const PASSES: u32 = 5;
/// The argument that makes this program the pipeline.
const PIPELINE: &str = "pipeline";

fn main() -> ExitCode {
    let asked = std::env::args().nth(1).unwrap_or_default();
    if asked == PIPELINE {
        return lab::exercise::run(env!("CARGO_MANIFEST_DIR"), pipeline);
    }
    match measure() {
        Ok(overhead) if asked == "--json" => match serde_json::to_string(&overhead) {
            Ok(text) => say(&text),
            Err(error) => return complain(&error.to_string()),
        },
        Ok(overhead) => table(&overhead),
        Err(error) => return complain(&error.to_string()),
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stdout, reason = "what this program is for")]
fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "the one place where this program's own error is shown")]
fn complain(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(4)
}

fn table(overhead: &Overhead) {
    let Overhead { calls, untraced_ns, traced_ns, shortest_ns } = overhead;
    for cost in calls {
        say(&format!(
            "{:<24} {:>7.0} ns direct, {:>7.0} ns through the library: {:+.0} ns, on average {:+.0} ns",
            cost.call,
            cost.direct_ns,
            cost.through_ns,
            cost.through_ns - cost.direct_ns,
            cost.mean_added_ns
        ));
    }
    if let (Some(without), Some(with)) = (median(untraced_ns), median(traced_ns)) {
        say(&format!(
            "a pipeline     {without} ns without tracing, {with} ns with: {:+.2} % (shortest operation \
             {shortest_ns} ns)",
            (with as f64 / without as f64 - 1.0) * 100.0
        ));
    }
}

fn measure() -> Result<Overhead> {
    let calls = calls()?;
    let mut overhead = Overhead { calls, ..Overhead::default() };
    for process in 0..PROCESSES {
        let record = pipeline_with(env::TRACE_OFF, process)?;
        overhead.untraced_ns.extend(record.trials.iter().map(|trial| trial.makespan_ns));
        let record = pipeline_with(env::TRACE_CUPTI, process)?;
        overhead.traced_ns.extend(record.trials.iter().map(|trial| trial.makespan_ns));
        overhead.shortest_ns = Operations::of(&record.timeline).shortest_ns().unwrap_or(0);
    }
    Ok(overhead)
}

/// Three streams, an event at each handover, as the solution of `chunked_pipeline` has it.
fn pipeline(job: &Job) -> Result<()> {
    let context = job.context();
    let [up, compute, down] = [context.new_stream()?, context.new_stream()?, context.new_stream()?];
    job.whole().cut(CHUNKS).allocate()?.region(|chunks| {
        for chunk in chunks {
            up.memcpy_htod(&chunk.input, &mut chunk.device)?;
            compute.wait(&up.record_event(None)?)?;
            chunk.map(&compute)?;
            down.wait(&compute.record_event(None)?)?;
            down.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
        }
        Ok(context.synchronize()?)
    })
}

/// The pipeline in a process of its own, watched in this way.
fn pipeline_with(trace: &str, process: usize) -> Result<Record> {
    let refused = |why: String| Error::Refused(format!("the pipeline: {why}"));
    let name = format!("overhead-{}-{trace}-{process}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    let program = std::env::current_exe().map_err(|error| refused(error.to_string()))?;
    let output = Command::new(program)
        .arg(PIPELINE)
        .env(env::RECORD, &path)
        .env(env::TRACE, trace)
        .env(env::WARMUPS, "3")
        .env(env::TRIALS, PASSES.to_string())
        .output()
        .map_err(|error| refused(error.to_string()))?;
    let read = read(&path);
    _ = std::fs::remove_file(&path); // nobody minds one that is not there
    if !output.status.success() {
        return Err(refused(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    read.map_err(refused)
}

fn read(path: &Path) -> std::result::Result<Record, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

/// The functions that are compared, of one library.
struct Functions {
    launch: LaunchKernel,
    record: unsafe extern "C" fn(CUevent, CUstream) -> CUresult,
    wait: unsafe extern "C" fn(CUstream, CUevent, u32) -> CUresult,
    copy: unsafe extern "C" fn(CUdeviceptr, *const c_void, usize, CUstream) -> CUresult,
}

type LaunchKernel = unsafe extern "C" fn(
    CUfunction,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    CUstream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> CUresult;

impl Functions {
    /// Those of the library that is loaded under this name.
    fn of(library: &CStr) -> Result<Self> {
        let missing =
            |what: &CStr| Error::Refused(format!("`{}` cannot be had", what.to_string_lossy()));
        // SAFETY: a C string; both libraries are meant to be loaded.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(missing(library));
        }
        let find = |name: &CStr| {
            // SAFETY: the handle is that of a loaded library.
            let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if symbol.is_null() { Err(missing(name)) } else { Ok(symbol) }
        };
        // SAFETY: the types are those of `cuda.h`.
        unsafe {
            Ok(Self {
                launch: std::mem::transmute::<*mut c_void, LaunchKernel>(find(c"cuLaunchKernel")?),
                record: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(CUevent, CUstream) -> CUresult,
                >(find(c"cuEventRecord")?),
                wait: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(CUstream, CUevent, u32) -> CUresult,
                >(find(c"cuStreamWaitEvent")?),
                copy: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(CUdeviceptr, *const c_void, usize, CUstream) -> CUresult,
                >(find(c"cuMemcpyHtoDAsync_v2")?),
            })
        }
    }
}

/// The cost of each call, directly and through the library.
fn calls() -> Result<Vec<CallCost>> {
    let lab = Lab::open(env!("CARGO_MANIFEST_DIR"))?;
    // The system's driver has this name, and ours has the other: see `driver`.
    let direct = Functions::of(c"libcuda.so.1")?;
    let through = Functions::of(c"libcuda.so")?;
    let things = Things::new(lab.context())?;
    let mut costs = Vec::new();
    for (call, make) in [
        ("launch", Things::launch as fn(&Things, &Functions) -> CUresult),
        ("event record", Things::record),
        ("stream wait", Things::wait),
        ("copy", Things::copy),
    ] {
        let block = |functions: &Functions| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..CALLS {
                make(&things, functions).result()?;
            }
            let ns = start.elapsed().as_nanos() as f64 / CALLS as f64;
            lab.context().synchronize()?;
            Ok(ns)
        };
        // The first loads what is loaded at first use.
        block(&direct)?;
        block(&through)?;
        let (mut plain, mut ours) = (Vec::new(), Vec::new());
        for index in 0..BLOCKS {
            if index % 2 == 0 {
                plain.push(block(&direct)?);
                ours.push(block(&through)?);
            } else {
                ours.push(block(&through)?);
                plain.push(block(&direct)?);
            }
        }
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        costs.push(CallCost {
            call: call.to_owned(),
            direct_ns: median(&plain).unwrap_or(0.0),
            through_ns: median(&ours).unwrap_or(0.0),
            mean_added_ns: mean(&ours) - mean(&plain),
            blocks: BLOCKS as u32,
        });
    }
    costs.push(declared_work()?);
    Ok(costs)
}

/// Work that the host declares takes as long as it says, and what lies around it.
fn declared_work() -> Result<CallCost> {
    const WORK: Duration = Duration::from_micros(20);
    let mut times = Vec::new();
    for _ in 0..BLOCKS {
        let start = Instant::now();
        lab::host_work(WORK)?;
        times.push(start.elapsed().as_nanos() as f64);
    }
    let direct_ns = WORK.as_nanos() as f64;
    Ok(CallCost {
        call: "20 µs of declared work".to_owned(),
        direct_ns,
        through_ns: median(&times).unwrap_or(0.0),
        mean_added_ns: times.iter().sum::<f64>() / times.len() as f64 - direct_ns,
        blocks: BLOCKS as u32,
    })
}

/// The objects of the calls, for the life of the process.
struct Things {
    stream: CUstream,
    other: CUstream,
    event: CUevent,
    function: CUfunction,
    device: CUdeviceptr,
    host: *mut c_void,
}

/// Elements of the array that is mapped and copied: one block of the kernel.
const ELEMENTS: usize = 256;

impl Things {
    fn new(context: &std::sync::Arc<CudaContext>) -> Result<Self> {
        context.bind_to_thread()?;
        let image = std::ffi::CString::new(kernels::map::IMAGE)
            .map_err(|error| Error::Refused(error.to_string()))?;
        // SAFETY: handles are used as they were made, and never freed.
        unsafe {
            let module = result::module::load_data(image.as_ptr().cast())?;
            let function = result::module::get_function(module, std::ffi::CString::from(c"map_a"))?;
            let flags = cudarc::driver::sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
            let stream = || result::stream::create(result::stream::StreamKind::NonBlocking);
            Ok(Self {
                stream: stream()?,
                other: stream()?,
                event: result::event::create(flags)?,
                function,
                device: result::malloc_sync(ELEMENTS * 4)?,
                host: result::malloc_host(ELEMENTS * 4, 0)?,
            })
        }
    }

    fn launch(&self, functions: &Functions) -> CUresult {
        let (mut from, mut to) = (self.device, self.device);
        let (mut elements, mut rounds) = (ELEMENTS as u32, 1_u32);
        let mut arguments: [*mut c_void; 4] = [
            (&raw mut from).cast(),
            (&raw mut to).cast(),
            (&raw mut elements).cast(),
            (&raw mut rounds).cast(),
        ];
        let arguments = arguments.as_mut_ptr();
        // SAFETY: the kernel takes two pointers to this many elements, and two numbers.
        unsafe {
            (functions.launch)(
                self.function,
                1,
                1,
                1,
                ELEMENTS as u32,
                1,
                1,
                0,
                self.stream,
                arguments,
                null_mut(),
            )
        }
    }

    fn record(&self, functions: &Functions) -> CUresult {
        // SAFETY: the handles are live.
        unsafe { (functions.record)(self.event, self.stream) }
    }

    fn wait(&self, functions: &Functions) -> CUresult {
        // SAFETY: the handles are live.
        unsafe { (functions.wait)(self.other, self.event, 0) }
    }

    fn copy(&self, functions: &Functions) -> CUresult {
        // SAFETY: both ends are this long.
        unsafe { (functions.copy)(self.device, self.host, ELEMENTS * 4, self.stream) }
    }
}
