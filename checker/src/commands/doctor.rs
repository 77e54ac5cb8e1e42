//! `checker doctor`: what this machine has, and which exercises run on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::Look;
use crate::compile;
use crate::device::{self, Gpu, OldDriver, TWO_GPUS, cuda};
use crate::exercise;
use crate::exit::Exit;
use crate::host_facts::driver_release;
use crate::print::{self, Style};
use crate::workspace::Workspace;
use sandbox::interrupt;
use sandbox::{Layers, Level};
use sandbox::{Required, Sandbox};

#[derive(Serialize)]
struct Object {
    format: u32,
    checks: Vec<Check>,
    exercises: Vec<Runs>,
}

/// Version of the object.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Check {
    name: &'static str,
    state: State,
    says: String,
    /// The next step, where something is missing.
    hint: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It is there.
    Ok,
    /// It is not, and some things do without.
    Absent,
    /// It is not, and nothing runs without.
    Broken,
}

#[derive(Serialize)]
struct Runs {
    exercise: String,
    simulated: bool,
    gpu: bool,
    says: String,
}

/// Looks at everything that a run needs.
pub(super) fn doctor(look: Look) -> Result<Exit> {
    let workspace = Workspace::find();
    let surroundings = Surroundings::look();
    let root = workspace.as_ref().ok().map(Workspace::root);
    let mut checks = vec![surroundings.system(root)];
    checks.extend(surroundings.container());
    checks.push(rust());
    checks.push(match &workspace {
        Ok(workspace) => ok("workspace", workspace.root().display().to_string()),
        Err(error) => broken("workspace", print::chain(error), None),
    });
    if let Ok(workspace) = &workspace {
        checks.push(driver(workspace));
    }
    let gpu = device::gpu();
    interrupt::check()?;
    checks.push(gpu_check(&gpu, &surroundings));
    checks.extend(gpu.as_ref().ok().map(copy_engines));
    checks.push(cupti(gpu.is_ok()));
    checks.push(memory_lock(gpu.is_ok()));
    checks.push(sandbox());

    let broken = checks.iter().find(|check| check.state == State::Broken);
    let mut exercises = Vec::new();
    if let Ok(workspace) = &workspace {
        for place in exercise::all(workspace)? {
            exercises.push(runs(workspace, place, broken, gpu.as_ref().ok()));
        }
    }
    let sound = broken.is_none();
    let object = Object { format: FORMAT, checks, exercises };
    if look.json {
        print::json(&object)?;
    } else {
        let style = if look.plain { Style::Plain } else { Style::of_stdout() };
        print::out(&text(&object, style));
    }
    Ok(if sound { Exit::Passed } else { Exit::Error })
}

fn text(object: &Object, style: Style) -> String {
    let mut text = String::new();
    for Check { name, state, says, hint } in &object.checks {
        let word = match state {
            State::Ok => style.good("ok     "),
            State::Absent => style.unsure("absent "),
            State::Broken => style.bad("broken "),
        };
        text.push_str(&format!("{word} {name}: {says}\n"));
        if let Some(hint) = hint {
            text.push_str(&format!("        hint: {hint}\n"));
        }
    }
    if !object.exercises.is_empty() {
        text.push('\n');
    }
    for Runs { exercise, says, .. } in &object.exercises {
        text.push_str(&format!("{exercise}: {says}\n"));
    }
    text
}

fn runs(
    workspace: &Workspace,
    place: exercise::Location,
    broken: Option<&Check>,
    gpu: Option<&Gpu>,
) -> Runs {
    let id = place.id.clone();
    let refuse = |says: String| Runs { exercise: id.clone(), simulated: false, gpu: false, says };
    let exercise = match place.open(workspace) {
        Ok(exercise) => exercise,
        Err(error) => return refuse(print::chain(&error)),
    };
    if let Some(check) = broken {
        return refuse(format!("needs {}, not run", check.name));
    }
    let needs = &exercise.manifest.needs;
    if needs.iter().any(|need| need == GPU) && gpu.is_none() {
        return refuse("needs a GPU, not run".to_owned());
    }
    let Some(gpu) = gpu else {
        let says = "runs, simulated".to_owned();
        return Runs { exercise: id, simulated: true, gpu: false, says };
    };
    if let Some(why) = gpu.cannot_run(&exercise) {
        let says = format!("runs, simulated; {why}");
        return Runs { exercise: id, simulated: true, gpu: false, says };
    }
    let lacks = |need: &&String| match need.as_str() {
        GPU => false,
        ENGINES => gpu.copy_engines.is_some_and(|engines| engines < 2),
        _ => false,
    };
    let known = |need: &&String| [GPU, ENGINES, TWO_GPUS].contains(&need.as_str());
    let says = match needs.iter().find(lacks) {
        Some(need) => {
            format!("runs, simulated; on this GPU its lesson does not show: it needs {need}")
        }
        None => {
            let wishes: Vec<_> =
                needs.iter().filter(|need| !known(need)).map(String::as_str).collect();
            match wishes[..] {
                [] => "runs, simulated and on the GPU".to_owned(),
                _ => {
                    let wishes = wishes.join(", ");
                    format!("runs, simulated and on the GPU, which should have {wishes}")
                }
            }
        }
    };
    let on_gpu = !needs.iter().any(|need| lacks(&need));
    Runs { exercise: id, simulated: true, gpu: on_gpu, says }
}

/// The name of a GPU in an exercise's `needs`.
const GPU: &str = "gpu";
/// Its name for copies in both directions at once.
const ENGINES: &str = "a copy engine for each direction";

/// Surroundings of this machine.
struct Surroundings {
    /// The kernel's release.
    kernel: String,
    /// Words of the container about itself; none outside of one.
    container: Option<String>,
}

impl Surroundings {
    fn look() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let kernel = read("/proc/sys/kernel/osrelease").trim().to_owned();
        // What Docker and Podman leave in each container; systemd names the others.
        let container = match () {
            () if Path::new("/.dockerenv").exists() => Some("docker".to_owned()),
            () if Path::new("/run/.containerenv").exists() => Some("podman".to_owned()),
            () => std::env::var("container").ok().filter(|name| !name.is_empty()),
        };
        Self { kernel, container }
    }

    fn is_wsl(&self) -> bool {
        self.kernel.to_lowercase().contains("microsoft")
    }

    fn system(&self, root: Option<&Path>) -> Check {
        let name = if self.is_wsl() { "WSL2" } else { "Linux" };
        let says = format!("{name}, kernel {}; Linux and WSL2 are supported", self.kernel);
        let on_windows = self.is_wsl() && root.is_some_and(|root| root.starts_with("/mnt"));
        Check { hint: on_windows.then_some(LEAVE_WINDOWS), ..ok("system", says) }
    }

    fn container(&self) -> Option<Check> {
        let name = self.container.as_ref()?;
        let says =
            format!("{name}; a GPU is seen inside only if the container was started with it");
        Some(ok("container", says))
    }
}

const LEAVE_WINDOWS: &str = "move the workspace to WSL's own disk, such as `~`: on a drive of Windows builds take \
                             several times as long, and `watch` has to poll";

fn rust() -> Check {
    let version = |mut command: Command| -> Option<String> {
        let output = command.arg("--version").output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    match (version(compile::cargo_command()), version(Command::new(rustc))) {
        (Some(cargo), Some(rustc)) => ok("rust", format!("{rustc}, {cargo}")),
        _ => broken("rust", "`cargo` or `rustc` cannot be started".to_owned(), Some(INSTALL_RUST)),
    }
}

const INSTALL_RUST: &str = "install Rust from https://rustup.rs, or use `run --prebuilt DIR`";

fn driver(workspace: &Workspace) -> Check {
    let path = match std::env::var_os(trace::env::DRIVER).filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => match built_driver(workspace) {
            Ok(Some(path)) => path,
            Ok(None) => {
                let says = "not built yet".to_owned();
                let hint = Some("`checker run EX` builds it with the exercise");
                return Check { name: "driver", state: State::Absent, says, hint };
            }
            Err(error) => return broken("driver", print::chain(&error), None),
        },
    };
    match device::library(&path) {
        Ok(library) => ok("driver", format!("{}, build {}", path.display(), library.build_id)),
        Err(error) => broken(
            "driver",
            format!("{} cannot be used: {}", path.display(), print::chain(&error)),
            Some("`cargo build --package driver` builds it again"),
        ),
    }
}

/// The driver library where cargo puts it.
fn built_driver(workspace: &Workspace) -> Result<Option<PathBuf>> {
    let output = compile::cargo_command()
        .current_dir(workspace.root())
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .output()
        .context("cannot start `cargo`")?;
    #[derive(serde::Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("cargo failed: {}", String::from_utf8_lossy(&output.stderr).trim_end())
    })?;
    // Beside the programs where it was built by name, below them where one depends on it.
    let folder = metadata.target_directory.join("debug");
    let places = [folder.join("deps"), folder].map(|folder| folder.join(compile::DRIVER_FILE));
    Ok(places.into_iter().find(|path| path.is_file()))
}

fn gpu_check(gpu: &Result<Gpu>, surroundings: &Surroundings) -> Check {
    match gpu {
        Ok(gpu) => {
            let release = match driver_release() {
                release if release.is_empty() => String::new(),
                release => format!(", release {release}"),
            };
            ok("gpu", format!("{}, driver for CUDA {}{release}", gpu.name, cuda(gpu.driver)))
        }
        Err(error) => Check {
            name: "gpu",
            state: State::Absent,
            says: format!("{}; every exercise runs on the simulated device", print::chain(error)),
            hint: Some(match surroundings {
                _ if error.is::<OldDriver>() => NEW_DRIVER,
                _ if surroundings.is_wsl() => DRIVER_IN_WSL,
                Surroundings { container: Some(_), .. } => DRIVER_IN_CONTAINER,
                _ if !driver_release().is_empty() => DRIVER_SLEEPS,
                _ => NO_DRIVER,
            }),
        },
    }
}

const NEW_DRIVER: &str = "install a driver of release 525 or later";
const NO_DRIVER: &str = "nothing is missing; where there is an NVIDIA GPU, its driver (release 525 or later) makes \
                         `--device gpu` work";
const DRIVER_IN_WSL: &str = "install NVIDIA's driver in Windows, and none inside of WSL: `/usr/lib/wsl/lib` then \
                             holds `libcuda.so.1`";
const DRIVER_IN_CONTAINER: &str = "start the container with `--gpus all`, which needs NVIDIA's container toolkit \
                                   on the host";
const DRIVER_SLEEPS: &str = "the kernel module is loaded: `nvidia-smi` says more; after an update of the driver the \
                             machine has to be restarted";

/// Copies in both directions at once need two.
fn copy_engines(gpu: &Gpu) -> Check {
    let name = "copy engines";
    match gpu.copy_engines {
        Some(engines @ 2..) => {
            ok(name, format!("{engines}: copies in both directions run at once"))
        }
        Some(engines) => Check {
            state: State::Absent,
            hint: Some(ONE_ENGINE),
            ..ok(name, format!("{engines}: copies in both directions take turns"))
        },
        None => ok(name, "the driver does not say".to_owned()),
    }
}

const ONE_ENGINE: &str = "`run` with `--device sim` simulates a GPU that has one for each direction; `--profile \
                          one_engine` one that is like yours";

fn cupti(has_gpu: bool) -> Check {
    let found = cupti_folders().into_iter().find_map(|folder| {
        let entries = std::fs::read_dir(&folder).ok()?;
        let is_cupti = |name: &str| name.starts_with("libcupti.so");
        let mut names: Vec<_> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_cupti(name))
            .collect();
        names.sort();
        names.first().map(|name| folder.join(name))
    });
    match found {
        Some(path) => ok("cupti", path.display().to_string()),
        None => Check {
            name: "cupti",
            state: State::Absent,
            says: "not found; timelines of a GPU come from pairs of events instead".to_owned(),
            hint: Some(if has_gpu { GET_CUPTI } else { NO_CUPTI }),
        },
    }
}

const GET_CUPTI: &str =
    "`pip install nvidia-cuda-cupti-cu12` brings it, and so does the CUDA toolkit";
const NO_CUPTI: &str = "nothing is missing; it is for runs on a GPU";

/// How much memory a process may lock.
fn memory_lock(has_gpu: bool) -> Check {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is written in place.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    let bytes = if result == 0 { limit.rlim_cur } else { libc::RLIM_INFINITY };
    let check = memory_lock_of(bytes);
    Check { hint: check.hint.filter(|_| has_gpu), ..check }
}

fn memory_lock_of(bytes: libc::rlim_t) -> Check {
    let name = "memory lock";
    match bytes {
        libc::RLIM_INFINITY => ok(name, "unlimited".to_owned()),
        // With a limit of 0 a context and an allocation worked on an H200 (driver 580). Whether
        // pinned memory does has not been tried, so a limit is no fault, and there is only a hint.
        bytes => Check {
            hint: Some(MORE_LOCKED),
            ..ok(name, format!("{} KiB a process; the simulated device needs none", bytes / 1024))
        },
    }
}

const MORE_LOCKED: &str = "if pinned memory cannot be allocated on a GPU, `ulimit -l unlimited` first, or `--ulimit \
                           memlock=-1` of a container";

/// The sandbox that would stand between a student's program and this machine when a class is
/// graded.
fn sandbox() -> Check {
    let name = "sandbox";
    let sandbox = match Sandbox::probe(Required::Nothing) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            return Check {
                name,
                state: State::Absent,
                says: print::chain(&error),
                hint: Some(NO_SANDBOX),
            };
        }
    };
    let Layers { level, guards, missing } = sandbox.layers();
    let (state, word) = match level {
        Level::Full => (State::Ok, "full"),
        Level::Partial => (State::Ok, "partial"),
        Level::None => (State::Absent, "none that holds"),
    };
    let missing = missing.iter().map(|it| format!("not {it}"));
    let absent = sandbox.absent().iter().map(|(layer, why)| format!("no {}: {why}", layer.name()));
    let parts: Vec<_> = guards.iter().cloned().chain(missing).chain(absent).collect();
    let says = format!("{word}; {}", parts.join("; "));
    Check { name, state, says, hint: sandbox.remedy() }
}

const NO_SANDBOX: &str = "only `checker grade` needs one; yours is the code that `run` runs";

/// Where CUPTI is looked for: the loader's path, toolkits, and the packages of pip.
fn cupti_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("LD_LIBRARY_PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    for toolkit in children(Path::new("/usr/local"), "cuda") {
        folders.push(toolkit.join("targets/x86_64-linux/lib"));
        folders.push(toolkit.join("extras/CUPTI/lib64"));
    }
    let mut prefixes = vec![PathBuf::from("/usr"), PathBuf::from("/usr/local")];
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        prefixes.extend(std::env::var_os(variable).map(PathBuf::from));
    }
    prefixes.extend(std::env::var_os("HOME").map(|home| Path::new(&home).join(".local")));
    for prefix in prefixes {
        for python in children(&prefix.join("lib"), "python") {
            for packages in ["site-packages", "dist-packages"] {
                folders.push(python.join(packages).join("nvidia/cuda_cupti/lib"));
            }
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// The folders in `folder` whose names begin with `prefix`, the highest version first.
fn children(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths.reverse();
    paths
}

fn ok(name: &'static str, says: String) -> Check {
    Check { name, state: State::Ok, says, hint: None }
}

fn broken(name: &'static str, says: String, hint: Option<&'static str>) -> Check {
    Check { name, state: State::Broken, says, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_works_on_a_drive_of_windows_is_told_to_leave_it() {
        let wsl = Surroundings {
            kernel: "5.15.153.1-microsoft-standard-WSL2".to_owned(),
            container: None,
        };
        assert_eq!(wsl.system(Some(Path::new("/mnt/c/swim"))).hint, Some(LEAVE_WINDOWS));
        assert_eq!(wsl.system(Some(Path::new("/home/me/swim"))).hint, None);
        assert!(wsl.system(None).says.starts_with("WSL2, "));
        let none = Err(anyhow::anyhow!("no library"));
        assert_eq!(gpu_check(&none, &wsl).hint, Some(DRIVER_IN_WSL));
    }

    #[test]
    fn each_thing_that_is_missing_has_a_next_step() {
        let boxed = Surroundings { kernel: "6.1".to_owned(), container: Some("docker".to_owned()) };
        let none = Err(anyhow::anyhow!("no library"));
        assert_eq!(gpu_check(&none, &boxed).hint, Some(DRIVER_IN_CONTAINER));
        assert!(boxed.container().is_some_and(|check| check.says.starts_with("docker; ")));
        let gpu =
            |driver, copy_engines| Gpu { name: "A GPU".to_owned(), driver, copy_engines, count: 1 };
        let bare = Surroundings { kernel: "6.1".to_owned(), container: None };
        let checked = |driver| gpu_check(&device::usable(gpu(driver, None)), &bare);
        assert_eq!(checked(11_080).hint, Some(NEW_DRIVER));
        assert_eq!((checked(12_000).state, checked(12_000).hint), (State::Ok, None));
        assert_eq!(copy_engines(&gpu(12_000, Some(1))).hint, Some(ONE_ENGINE));
        assert_eq!(copy_engines(&gpu(12_000, Some(3))).hint, None);
        assert_eq!(memory_lock_of(64 * 1024).hint, Some(MORE_LOCKED));
        assert_eq!(memory_lock_of(libc::RLIM_INFINITY).hint, None);
    }
}
