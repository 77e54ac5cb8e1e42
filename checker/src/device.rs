//! Which device a run takes, and whether there is a GPU at all.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use simulator::Profile;
use simulator::profile::BuiltIn;

use crate::exercise::Exercise;
use crate::exit::Usage;
use sandbox::interrupt;
use sandbox::process::{self, Ending, Limits};
use sandbox::scratch::Scratch;

/// Which device to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// A GPU where there is a usable one, else the simulated device
    #[default]
    Auto,
    /// The simulated device
    Sim,
    /// A GPU
    Gpu,
}

/// The device of a run.
#[derive(Clone, Debug)]
pub enum Device {
    /// The simulated one.
    Simulated(Box<Simulated>),
    /// A real one.
    Gpu(Gpu),
}

/// A simulated device.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Its profile.
    pub profile: Profile,
    /// The file of the profile, or its name if it is built in; none for the default.
    pub file: Option<PathBuf>,
}

/// A GPU that answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// The device's own name.
    pub name: String,
    /// The driver's version, as `cuDriverGetVersion` counts it.
    pub driver: u32,
    /// Copies that can run at once; none where the driver does not say.
    pub copy_engines: Option<u32>,
    /// How many GPUs the driver finds.
    pub count: u32,
}

/// The name of a second GPU in an exercise's `needs`.
pub const TWO_GPUS: &str = "two GPUs";

impl Gpu {
    /// Why an exercise cannot run here at all; none where it can.
    pub fn cannot_run(&self, exercise: &Exercise) -> Option<String> {
        let takes_two = exercise.manifest.needs.iter().any(|need| need == TWO_GPUS);
        let id = &exercise.place.id;
        (self.count < 2 && takes_two)
            .then(|| format!("`{id}` takes {TWO_GPUS}, and this machine has one"))
    }
}

impl Simulated {
    /// The device of a profile that is called so, or of the one that is taken where none is named.
    pub fn named(profile: Option<&str>) -> Result<Self> {
        simulated(profile)
    }
}

/// The device that `choice` comes to on this machine.
pub fn choose(choice: DeviceChoice, profile: Option<&str>) -> Result<Device> {
    let simulated = || simulated(profile).map(|device| Device::Simulated(Box::new(device)));
    match choice {
        DeviceChoice::Sim => simulated(),
        // A profile selects the simulated device, the only one that has profiles.
        DeviceChoice::Auto if profile.is_some() => simulated(),
        DeviceChoice::Gpu if profile.is_some() => {
            Err(Usage("`--profile` is for the simulated device, not for `--device gpu`".into())
                .into())
        }
        DeviceChoice::Auto | DeviceChoice::Gpu => {
            let gpu = gpu();
            // If the user interrupted the probe, nothing is known about a GPU.
            interrupt::check()?;
            match gpu {
                Ok(gpu) => Ok(Device::Gpu(gpu)),
                Err(_) if choice == DeviceChoice::Auto => simulated(),
                Err(error) => Err(anyhow!("no usable GPU: {error}{WITHOUT_GPU}")),
            }
        }
    }
}

const WITHOUT_GPU: &str = "\n\nhint: `--device sim` runs every exercise without one";

fn simulated(profile: Option<&str>) -> Result<Simulated> {
    let named = profile.map_or(Some(BuiltIn::H200), BuiltIn::find);
    if let Some(named) = named {
        // The driver knows the names too.
        let file = profile.map(PathBuf::from).filter(|_| named != BuiltIn::H200);
        return Ok(Simulated { profile: built_in(named)?, file });
    }
    let path = profile.unwrap_or_default();
    let file = Path::new(path);
    if !file.is_file() {
        let names = BuiltIn::ALL.map(|it| format!("`{}`", it.name())).join(", ");
        let message = format!(
            "there is no profile `{path}`\n\nhint: it is one of {names}, or the path of a TOML file"
        );
        return Err(Usage(message).into());
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{path}`"))?;
    let profile = toml::from_str(&text).map_err(|error| {
        let hint = "hint: `checker calibrate` writes one with all figures that this version knows";
        Usage(format!("`{path}` is not a device profile: {error}\n{hint}"))
    })?;
    let file = file.canonicalize().with_context(|| format!("cannot resolve `{path}`"))?;
    Ok(Simulated { profile, file: Some(file) })
}

/// A profile that comes with the simulator.
pub fn built_in(named: BuiltIn) -> Result<Profile> {
    let measured = toml::from_str(named.measured()).context("the built-in profile is broken")?;
    Ok(named.profile(measured))
}

/// How long a driver may take to say whether there is a GPU. A cold one needs seconds; one that
/// hangs hangs for ever.
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// The GPU of this machine, or why there is none that can be used. Asked in a process of its own:
/// `cuInit` of a broken driver may crash or never return.
pub fn gpu() -> Result<Gpu> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.arg("probe-gpu");
    usable(answer(command)?)
}

/// The GPU, unless its driver is too old.
pub fn usable(gpu: Gpu) -> Result<Gpu> {
    if gpu.driver < OLDEST { Err(OldDriver(gpu).into()) } else { Ok(gpu) }
}

/// CUDA 12.0, which releases from 525 on support: what the exercises' kernels are built for.
const OLDEST: u32 = 12_000;

/// The driver of a GPU is older than any that the exercises run on.
#[derive(Debug)]
pub struct OldDriver(Gpu);

impl fmt::Display for OldDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gpu { name, .. } = &self.0;
        write!(
            f,
            "the driver of {name} is for CUDA {}, and the oldest that works is for {}",
            cuda(self.0.driver),
            cuda(OLDEST)
        )
    }
}

impl std::error::Error for OldDriver {}

/// A version as `cuDriverGetVersion` counts it, as people write it.
pub fn cuda(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// A driver library of ours, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// The build that it is of.
    pub build_id: String,
}

/// Facts of the driver library at `path` about itself.
pub fn library(path: &Path) -> Result<Library> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.arg("probe-driver").arg(path);
    answer(command)
}

/// Runs a probe, which writes `{"Ok": …}` or `{"Err": "…"}` to the file that it is told.
fn answer<T: serde::de::DeserializeOwned>(mut command: Command) -> Result<T> {
    let scratch = Scratch::new()?;
    let path = scratch.path().join("answer.json");
    command.env(ANSWER, &path);
    let limits = Limits { wall: PROBE_LIMIT, output_bytes: 16 * 1024 };
    let finished = process::run(command, limits, None)?;
    match finished.ending {
        Ending::Exited(0) => {}
        Ending::Exited(code) => return Err(anyhow!("the driver ended the process with {code}")),
        Ending::Signalled(signal) => {
            return Err(anyhow!("the driver crashed with signal {signal}"));
        }
        Ending::OutOfTime | Ending::Deserted | Ending::OutOfOutput => {
            return Err(anyhow!("the driver did not answer within {PROBE_LIMIT:?}"));
        }
    }
    let text = std::fs::read_to_string(&path).context("the driver left no answer")?;
    let answer: Result<T, String> =
        serde_json::from_str(&text).context("the driver's answer cannot be read")?;
    answer.map_err(|why| anyhow!(why))
}

/// Where a probe writes its answer: the driver may print what it likes.
const ANSWER: &str = "SWIM_ANSWER";

/// The body of a probe's process.
pub fn write_answer<T: Serialize>(answer: Result<T>) -> Result<()> {
    let answer: Result<T, String> = answer.map_err(|error| format!("{error:#}"));
    let path = std::env::var_os(ANSWER).context("a probe is started by the checker alone")?;
    std::fs::write(path, serde_json::to_string(&answer)?).context("cannot write the answer")
}

/// Asks the system's driver for the first GPU. May crash; may not return.
pub fn probe_gpu() -> Result<Gpu> {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Count = unsafe extern "C" fn(*mut c_int) -> c_int;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
    type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    /// `CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT` of `cuda.h`.
    const ASYNC_ENGINE_COUNT: c_int = 40;

    let library = Loaded::open(Path::new("libcuda.so.1"))?;
    let check = |name: &str, result: c_int| match result {
        0 => Ok(()),
        code => Err(anyhow!("`{name}` fails with CUresult {code}")),
    };
    // SAFETY: the types are those of `cuda.h`; every pointer is to a local that outlives its call.
    unsafe {
        let init: Init = library.function(c"cuInit")?;
        check("cuInit", init(0))?;
        let count: Count = library.function(c"cuDeviceGetCount")?;
        let mut devices = 0;
        check("cuDeviceGetCount", count(&raw mut devices))?;
        if devices < 1 {
            return Err(anyhow!("the driver finds no device"));
        }
        let get: Get = library.function(c"cuDeviceGet")?;
        let mut device = 0;
        check("cuDeviceGet", get(&raw mut device, 0))?;
        let name: Name = library.function(c"cuDeviceGetName")?;
        let mut buffer: [c_char; 256] = [0; 256];
        check("cuDeviceGetName", name(buffer.as_mut_ptr(), 255, device))?;
        let version: Count = library.function(c"cuDriverGetVersion")?;
        let mut driver = 0;
        check("cuDriverGetVersion", version(&raw mut driver))?;
        let name = CStr::from_ptr(buffer.as_ptr()).to_string_lossy().into_owned();
        let mut engines = 0;
        let attribute = library.function::<Attribute>(c"cuDeviceGetAttribute");
        let asked = attribute.map(|get| get(&raw mut engines, ASYNC_ENGINE_COUNT, device));
        let copy_engines = asked.is_ok_and(|result| result == 0).then_some(engines.unsigned_abs());
        let count = devices.unsigned_abs();
        Ok(Gpu { name, driver: driver.unsigned_abs(), copy_engines, count })
    }
}

/// Asks a driver library of ours what it was built from.
pub fn probe_library(path: &Path) -> Result<Library> {
    let library = Loaded::open(path)?;
    // SAFETY: the export's type, as the driver declares it.
    let build_id: unsafe extern "C" fn() -> *const c_char =
        unsafe { library.function(c"swim_build_id")? };
    // SAFETY: it returns a NUL-terminated string that lives as long as the library.
    let build_id = unsafe { CStr::from_ptr(build_id()) };
    Ok(Library { build_id: build_id.to_string_lossy().into_owned() })
}

/// Makes the memory that a device process and the program share. It is inherited by no one yet.
pub fn memory(driver: &Path) -> Result<OwnedFd> {
    let library = Loaded::open(driver)?;
    // SAFETY: the export's type, as the driver declares it.
    let make: unsafe extern "C" fn() -> c_int = unsafe { library.function(c"swim_device_memory")? };
    // SAFETY: it makes a new descriptor and hands it over.
    let memory = unsafe {
        match make() {
            descriptor @ 0.. => OwnedFd::from_raw_fd(descriptor),
            _ => return Err(anyhow!("the driver cannot make memory for a device process")),
        }
    };
    // SAFETY: a plain call on a descriptor of our own.
    unsafe { libc::fcntl(memory.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    Ok(memory)
}

/// Hosts the simulated device on the far side of `memory` until the program at the other end is
/// gone.
pub fn serve(driver: &Path, memory: c_int) -> Result<()> {
    let library = Loaded::open(driver)?;
    // SAFETY: the export's type, as the driver declares it.
    let serve: unsafe extern "C" fn(c_int) -> c_int = unsafe { library.function(c"swim_serve")? };
    // SAFETY: the descriptor was inherited for this call alone.
    match unsafe { serve(memory) } {
        0 => Ok(()),
        _ => Err(anyhow!("the device could not be made")),
    }
}

/// A shared library that stays loaded until the process ends.
struct Loaded {
    handle: *mut c_void,
}

impl Loaded {
    fn open(path: &Path) -> Result<Self> {
        let name = CString::new(path.as_os_str().as_bytes()).context("a path holds a NUL")?;
        // SAFETY: `name` is NUL-terminated; the library's initialisers are what the caller wants.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() { Err(anyhow!(last_error())) } else { Ok(Self { handle }) }
    }

    /// The function called `name`.
    ///
    /// # Safety
    /// `F` is a pointer to a function of the type that the library defines under that name.
    unsafe fn function<F: Copy>(&self, name: &CStr) -> Result<F> {
        // SAFETY: the handle is that of a loaded library, the name is NUL-terminated.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if symbol.is_null() {
            return Err(anyhow!("it has no function `{}`", name.to_string_lossy()));
        }
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: `F` is a function pointer by this function's contract, and of a pointer's size.
        Ok(unsafe { std::mem::transmute_copy(&symbol) })
    }
}

fn last_error() -> String {
    // SAFETY: `dlerror` returns null or a NUL-terminated string, valid until the next call of the
    // same family; this process has one thread here.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "the library cannot be loaded".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
