//! Facts that one process tells another about a run: names of environment variables and their
//! values.
//!
//! The checker sets them, the lab and the driver read them. A program that is started by hand gets
//! the defaults and needs none of them.

/// Absolute path of the driver library. Default: the one that cargo built beside the program.
pub const DRIVER: &str = "SWIM_DRIVER";

/// Which device: [`DEVICE_SIMULATED`] (the default) or [`DEVICE_GPU`].
pub const DEVICE: &str = "SWIM_DEVICE";
/// The simulated device.
pub const DEVICE_SIMULATED: &str = "sim";
/// A real one, through the system's `libcuda.so.1`.
pub const DEVICE_GPU: &str = "gpu";

/// Path of a device profile (TOML), or the name of a built-in one. Default: the built-in `h200`.
pub const PROFILE: &str = "SWIM_PROFILE";

/// Where the simulated device lives: [`MACHINE_IN_PROCESS`] (the default), or the number of an
/// inherited file descriptor that holds the ring to a device process.
pub const MACHINE: &str = "SWIM_MACHINE";
/// In the program's own process.
pub const MACHINE_IN_PROCESS: &str = "in-process";

/// How the last line begins that a program of the lab prints when it gives up.
pub const GAVE_UP: &str = "error: ";

/// Path to write the run's [`Record`](crate::Record) to, as JSON, each time a region ends. Default:
/// none is written.
pub const RECORD: &str = "SWIM_RECORD";

/// Which legal schedule the simulated device plays. A number is the seed of a perturbed one: every
/// duration of the device is changed, which gives another order of operations. With `in-order`,
/// each operation is over before the next call; with `STEP.NODE<STEP.NODE`, the operation that is
/// named first is over before the other one starts, which the host issued earlier. Default: nothing
/// is changed.
pub const SCHEDULE: &str = "SWIM_SCHEDULE";

/// Two uses of memory on the simulated device that are looked at, and which memory, for
/// [`Record::watched`](crate::Record::watched): `STEP.NODE,STEP.NODE,BLOCK,OFFSET,BYTES`, in
/// nominal bytes. Default: none.
pub const WATCH: &str = "SWIM_WATCH";

/// Leaves out one synchronisation on the simulated device, to see what it is good for: its number,
/// from 0, among all of the program. The call is answered with success and not carried out, and a
/// note in the record says which it was. Where there are not so many, it names all of them.
/// Default: none is left out.
pub const LEAVE_OUT: &str = "SWIM_LEAVE_OUT";

/// Path of a recorded [`Program`](crate::Program), for the lab's program that plays one.
pub const PROGRAM: &str = "SWIM_PROGRAM";

/// The [`numbers`](crate::numbers) of a program that shares its file with others. Default: each
/// number is what the file says.
pub const NUMBERS: &str = "SWIM_NUMBERS";

/// Seed of the workload's inputs. Default: [`PUBLIC_SEED`].
pub const SEED: &str = "SWIM_SEED";
/// The seed where no other is given: public, so that anyone gets the same run.
pub const PUBLIC_SEED: u64 = 0x5717_2026;

/// The demand on the measured region of a run on the simulated device: `TASK,SEED,SCALE,QUEUES`,
/// where work queues are `KERNELS/COPIES` or `any`. Another region is refused. Default: it may be
/// anything.
pub const DEMAND: &str = "SWIM_DEMAND";

/// CUDA's own: how many work queues lead to each engine. Read when the driver starts.
pub const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
/// CUDA's own: the same for copies alone.
pub const COPY_CONNECTIONS: &str = "CUDA_DEVICE_MAX_COPY_CONNECTIONS";

/// How a run on a GPU obtains its timeline: [`TRACE_OFF`] (the default), [`TRACE_CUPTI`] or
/// [`TRACE_EVENTS`].
pub const TRACE: &str = "SWIM_TRACE";
/// No spans: only the host is timed.
pub const TRACE_OFF: &str = "off";
/// CUPTI activity records; falls back to event pairs, with a note in the record.
pub const TRACE_CUPTI: &str = "cupti";
/// A pair of events around each operation.
pub const TRACE_EVENTS: &str = "events";

/// How many passes through the region come before the first that counts. Default 0.
pub const WARMUPS: &str = "SWIM_WARMUPS";
/// How many passes count. Default 1.
pub const TRIALS: &str = "SWIM_TRIALS";

/// The mode of the program: [`MODE_SOLVE`] (the default) or [`MODE_CALIBRATE`].
pub const MODE: &str = "SWIM_MODE";
/// Runs the exercise.
pub const MODE_SOLVE: &str = "solve";
/// Runs the work of each engine alone, one region each; [`Trial::name`](crate::record::Trial) says
/// which.
pub const MODE_CALIBRATE: &str = "calibrate";
