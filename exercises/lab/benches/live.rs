//! How many calls a second unmodified cudarc makes of the simulated device:
//! `cargo bench -p lab --bench live`, on one core with `taskset -c 0` in front of the program.
//!
//! What is counted are modelled calls, those that become steps of the program: a pipeline over four
//! streams that uploads, waits, launches, records and downloads, on blocks of 4 KiB, so that little of
//! the time goes into the data. Three arms: with the line of each call and without, in this process,
//! and with lines and the device in another process. The best of several rounds counts, since other
//! programs only ever make it slower. One turn before them is recorded, and is looked at: its
//! calls have their lines, or none has.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError,
    LaunchConfig, PinnedHostSlice, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use kernels::Stage;
use trace::env;
use trace::lab_protocol::{Region, Request};
use trace::record::Record;

/// This process is to measure this arm.
const ARM: &str = "SWIM_BENCH_ARM";
/// This process is to be the device, over this file descriptor.
const SERVE: &str = "SWIM_BENCH_SERVE";

const STREAMS: usize = 4;
const ELEMENTS: usize = 1024;
/// Turns of a round: about a quarter of a second.
const TURNS: usize = 20_000;
/// Modelled calls of a turn.
const CALLS: usize = 5;
/// A turn in so many ends with a synchronisation, so that queues never fill.
const BATCH: usize = 32;
const ROUNDS: usize = 7;

/// Arms: name, whether lines are recorded, whether the device is in another process.
const ARMS: [(&str, bool, bool); 3] = [
    ("in process, with lines", true, false),
    ("in process, without lines", false, false),
    ("in another process, with lines", true, true),
];

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() {
    if let Ok(lines) = std::env::var(ARM) {
        let rates = measure(lines == "lines").expect("the calls succeed");
        let best = rates.iter().copied().fold(0.0, f64::max);
        let worst = rates.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{best:>10.0} calls/s at best, {worst:.0} at worst");
        return;
    }
    lab::driver::load().expect("cargo builds the driver library before this program");
    if let Ok(descriptor) = std::env::var(SERVE) {
        // SAFETY: the process that started this one handed the descriptor down.
        let memory = unsafe { OwnedFd::from_raw_fd(descriptor.parse().expect("it is a number")) };
        lab::driver::serve(memory).expect("the device is served");
        return;
    }
    for (name, lines, remote) in ARMS {
        let program = std::env::current_exe().expect("this program has a path");
        let mut arm = Command::new(&program);
        let folder = tempfile::tempdir().expect("there is room for a record");
        let record = folder.path().join("record.json");
        arm.env(ARM, if lines { "lines" } else { "plain" }).env(env::RECORD, &record);
        let mut device = None;
        let memory;
        if remote {
            memory = lab::driver::device_memory().expect("there is memory to share");
            arm.env(env::MACHINE, memory.as_raw_fd().to_string());
            let mut server = Command::new(&program);
            server.env(SERVE, memory.as_raw_fd().to_string()).env(env::RECORD, &record);
            server.stdin(Stdio::null());
            device = Some(server.spawn().expect("the device process starts"));
        }
        let output = arm.output().expect("the arm runs");
        if let Some(mut device) = device {
            let _ = device.kill();
            let _ = device.wait();
        }
        let (text, error) = (output.stdout, output.stderr);
        print!("{name:<32}{}", String::from_utf8_lossy(&text));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&error));
        let record = std::fs::read(record).expect("the arm wrote a record");
        check_lines(&serde_json::from_slice(&record).expect("it is one"), lines);
    }
}

/// What was measured is what was meant: the calls of a turn have their lines, or none has.
fn check_lines(record: &Record, lines: bool) {
    let sites = record.program.steps.iter().filter_map(|step| record.program.site(step));
    let found = sites.filter(|site| file!().ends_with(&site.file)).count();
    assert_eq!(found >= CALLS, lines, "{found} calls have their line");
}

struct Lane {
    stream: Arc<CudaStream>,
    uploaded: CudaEvent,
    input: PinnedHostSlice<u32>,
    output: PinnedHostSlice<u32>,
    data: CudaSlice<u32>,
    result: CudaSlice<u32>,
}

/// Rates of the rounds, in modelled calls a second.
fn measure(lines: bool) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    lab::driver::load()?;
    let context = CudaContext::new(0)?;
    // SAFETY: a lane's work is in one stream.
    unsafe { context.disable_event_tracking() };
    if lines {
        lab::driver::ask(&Request::Source { directory: env!("CARGO_MANIFEST_DIR").to_owned() })?;
    }
    let module = context.load_module(Ptx::from_src(kernels::map::IMAGE))?;
    let map = module.load_function(Stage::A.name())?;
    let mut lanes = Vec::new();
    for _ in 0..STREAMS {
        let stream = context.new_stream()?;
        // SAFETY: nobody looks at what is in these blocks.
        let (input, output) = unsafe {
            (
                context.alloc_pinned_with_flags(ELEMENTS, 0)?,
                context.alloc_pinned_with_flags(ELEMENTS, 0)?,
            )
        };
        let (data, result) = (stream.alloc_zeros(ELEMENTS)?, stream.alloc_zeros(ELEMENTS)?);
        let uploaded = context.new_event(None)?;
        lanes.push(Lane { stream, uploaded, input, output, data, result });
    }
    lab::driver::ask(&Request::RegionBegin(Region::default()))?;
    one_turn(&mut lanes[0], &map)?;
    context.synchronize()?;
    lab::driver::ask(&Request::RegionEnd)?;
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut calls = 0;
        for turn in 0..TURNS {
            let lane = &mut lanes[turn % STREAMS];
            one_turn(lane, &map)?;
            calls += CALLS;
            if turn % BATCH == BATCH - 1 {
                context.synchronize()?;
                calls += 1;
            }
        }
        rates.push(calls as f64 / start.elapsed().as_secs_f64());
    }
    Ok(rates)
}

fn one_turn(lane: &mut Lane, map: &CudaFunction) -> Result<(), DriverError> {
    let config = LaunchConfig { grid_dim: (4, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let Lane { stream, uploaded, input, output, data, result } = lane;
    stream.memcpy_htod(input, data)?;
    uploaded.record(stream)?;
    stream.wait(uploaded)?;
    let (source, _guard) = data.device_ptr(stream);
    let (n, rounds) = (ELEMENTS as u32, 3_u32);
    let mut launch = stream.launch_builder(map);
    launch.arg(&source).arg(&mut *result).arg(&n).arg(&rounds);
    // SAFETY: the arguments are those of the kernel.
    unsafe { launch.launch(config) }?;
    stream.memcpy_dtoh(result, output)
}
