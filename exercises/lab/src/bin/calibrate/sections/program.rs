//! Calls as a program makes them: with cudarc, through the driver library, in a region. What they
//! take longer than the driver's own functions is what passes between two calls.

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg as _};
use cudarc::nvrtc::Ptx;
use trace::lab_protocol::{Region, Request};

use crate::arm::Arm;
use crate::arm::Outcome;
use crate::gpu::{Gpu, MS, REPETITIONS};
use crate::samples::Samples;

/// After a kernel: well below the 1021 operations after which a launch blocks.
const CALLS: usize = 200;
/// Longer than so many calls take.
const AHEAD: u64 = 8 * MS;

/// A call as cudarc makes it.
type Made<'a> = dyn Fn() -> Result<(), DriverError> + 'a;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    if gpu.arm == Arm::Real {
        return Err("a program's calls pass through the driver library".to_owned());
    }
    let driver = |error: DriverError| error.to_string();
    let context = CudaContext::new(0).map_err(driver)?;
    let stream = context.new_stream().map_err(driver)?;
    let event = context.new_event(None).map_err(driver)?;
    let module = context.load_module(Ptx::from_src(kernels::map::IMAGE)).map_err(driver)?;
    let function = module.load_function("map_a").map_err(driver)?;
    let nothing = || {
        let config =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        let (none, elements, rounds) = (0_u64, 0_u32, 0_u32);
        let mut launch = stream.launch_builder(&function);
        launch.arg(&none).arg(&none).arg(&elements).arg(&rounds);
        // SAFETY: the kernel takes two pointers and two numbers, and touches nothing for no
        // elements.
        unsafe { launch.launch(config) }.map(drop)
    };
    let calls: [(&str, &Made<'_>); 3] = [
        ("launch", &nothing),
        ("event_record", &|| event.record(&stream)),
        ("stream_wait", &|| stream.wait(&event)),
    ];
    for (name, call) in calls {
        samples.take(format!("program_{name}_ns"), gpu.arm.repetitions(REPETITIONS), || {
            gpu.idle()?;
            let region = Region { name: "program".to_owned(), ..Region::default() };
            ask(Request::RegionBegin(region))?;
            let total = gpu.spin(stream.cu_stream(), AHEAD).and_then(|()| {
                call().map_err(driver)?; // the first takes longer
                gpu.held(|| (0..CALLS).try_for_each(|_| call()).map_err(driver))
            });
            gpu.idle()?;
            ask(Request::RegionEnd)?;
            Ok(total? / CALLS as i64)
        });
    }
    Ok(())
}

fn ask(request: Request) -> Outcome<()> {
    lab::driver::ask(&request).map(drop).map_err(|error| error.to_string())
}
