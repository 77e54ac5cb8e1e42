//! `checker doctor`: what this machine has, and which exercises run on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::Look;
use crate::compile;
use crate::device;
use crate::exercise;
use crate::exit::Exit;
use crate::print::{self, Style};
use crate::workspace::Workspace;

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
    #[serde(skip_serializing_if = "Option::is_none")]
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
    let mut checks = vec![system(), rust()];
    checks.push(match &workspace {
        Ok(workspace) => ok("workspace", workspace.root().display().to_string()),
        Err(error) => broken("workspace", print::chain(error), None),
    });
    if let Ok(workspace) = &workspace {
        checks.push(driver(workspace));
    }
    let gpu = gpu();
    let has_gpu = gpu.state == State::Ok;
    checks.push(gpu);
    checks.push(cupti());

    let broken = checks.iter().find(|check| check.state == State::Broken);
    let mut exercises = Vec::new();
    if let Ok(workspace) = &workspace {
        for place in exercise::all(workspace)? {
            exercises.push(runs(workspace, place, broken, has_gpu));
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
    place: exercise::Place,
    broken: Option<&Check>,
    has_gpu: bool,
) -> Runs {
    let id = place.id.clone();
    let refuse = |says: String| Runs { exercise: id.clone(), simulated: false, gpu: false, says };
    let exercise = match place.open(workspace) {
        Ok(exercise) => exercise,
        Err(error) => return refuse(print::chain(&error)),
    };
    if let Some(check) = broken {
        return refuse(format!("needs {}", check.name));
    }
    let needs = &exercise.manifest.needs;
    if needs.iter().any(|need| need == GPU) && !has_gpu {
        return refuse(format!("needs {GPU}"));
    }
    let wishes: Vec<_> = needs.iter().filter(|need| *need != GPU).map(String::as_str).collect();
    let mut says =
        if has_gpu { "runs, simulated and on the GPU" } else { "runs, simulated" }.to_owned();
    if has_gpu && !wishes.is_empty() {
        says.push_str(&format!(", which should have {}", wishes.join(", ")));
    }
    Runs { exercise: id, simulated: true, gpu: has_gpu, says }
}

/// What an exercise's `needs` calls a GPU.
const GPU: &str = "gpu";

fn system() -> Check {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let name = if release.to_lowercase().contains("microsoft") { "WSL2" } else { "Linux" };
    ok("system", format!("{name}, kernel {}; Linux and WSL2 are supported", release.trim()))
}

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
    let path = match std::env::var_os(trace::run::DRIVER).filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => match built_driver(workspace) {
            Ok(Some(path)) => path,
            Ok(None) => {
                let says = "not built yet; the first `run` builds it".to_owned();
                return Check { name: "driver", state: State::Absent, says, hint: None };
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
    // Beside the programs where it was asked for by name, below them where one depends on it.
    let folder = metadata.target_directory.join("debug");
    let places = [folder.join("deps"), folder].map(|folder| folder.join(compile::DRIVER_FILE));
    Ok(places.into_iter().find(|path| path.is_file()))
}

fn gpu() -> Check {
    match device::gpu() {
        Ok(gpu) => {
            let (major, minor) = (gpu.driver / 1000, gpu.driver % 1000 / 10);
            ok("gpu", format!("{}, driver for CUDA {major}.{minor}", gpu.name))
        }
        Err(error) => Check {
            name: "gpu",
            state: State::Absent,
            says: format!("{}; every exercise runs on the simulated device", print::chain(&error)),
            hint: None,
        },
    }
}

fn cupti() -> Check {
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
            hint: None,
        },
    }
}

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
