//! cudarc's own examples and driver tests, from the crate's source, on the simulated device.
//!
//! The crate is where cargo has put it: it is copied into a scratch folder with a manifest that names
//! no more than is needed here, and built there without asking any registry. Each test and example runs
//! in a process of its own, twice: with the device in that process and in another. `kept.txt` says which
//! pass and why the others do not; a new failure and a new pass are both failures here.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Failed, Trial};
use trace::env;

const KEPT: &str = include_str!("kept.txt");

/// This process is to be the device, over this file descriptor.
const SERVE: &str = "SWIM_TEST_SERVE";

/// What the workspace asks of cudarc, and so what its tests are built with.
const FEATURES: [&str; 5] = ["std", "driver", "nvrtc", "dynamic-loading", "cuda-12080"];

/// One test or example, and what is expected of it.
struct Row {
    name: &'static str,
    expected: Expected,
}

#[derive(Clone)]
enum Expected {
    Passes,
    Fails { why: &'static str, says: Vec<&'static str> },
    NotRun,
}

/// The rows of the kept table.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut expected = Expected::NotRun;
    for line in KEPT.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let text = line.trim();
        if line.starts_with("passes") {
            expected = Expected::Passes;
        } else if let Some(why) = line.strip_prefix("fails: ") {
            expected = Expected::Fails { why, says: Vec::new() };
        } else if line.starts_with("not run: ") {
            expected = Expected::NotRun;
        } else if let (Some(text), Expected::Fails { says, .. }) =
            (text.strip_prefix("says "), &mut expected)
        {
            says.push(text);
        } else {
            rows.push(Row { name: text, expected: expected.clone() });
        }
    }
    rows
}

fn main() -> ExitCode {
    lab::driver::load().expect("cargo builds the driver library before this test");
    if let Ok(descriptor) = std::env::var(SERVE) {
        // SAFETY: the process that started this one handed the descriptor down.
        let memory = unsafe { OwnedFd::from_raw_fd(descriptor.parse().expect("it is a number")) };
        lab::driver::serve(memory).expect("the device is served");
        return ExitCode::SUCCESS;
    }
    let mut trials = vec![Trial::test("the_table_names_every_test_and_example", || {
        let built = Built::get()?;
        let kept: Vec<&str> = rows().iter().map(|row| row.name).collect();
        let there: Vec<&String> = built.names.iter().collect();
        let missing: Vec<_> = there.iter().filter(|name| !kept.contains(&name.as_str())).collect();
        let gone: Vec<_> =
            kept.iter().filter(|name| !built.names.iter().any(|it| it == *name)).collect();
        match (missing.is_empty(), gone.is_empty()) {
            (true, true) => Ok(()),
            _ => Err(format!("not in the table: {missing:?}\nno longer there: {gone:?}").into()),
        }
    })];
    for row in rows() {
        let Row { name, expected } = row;
        if matches!(expected, Expected::NotRun) {
            continue;
        }
        let again = expected.clone();
        trials.push(Trial::test(format!("in_process::{name}"), move || {
            check(&Built::get()?.run(name, None)?, &expected)
        }));
        trials.push(Trial::test(format!("in_another_process::{name}"), move || {
            let memory = lab::driver::device_memory()?;
            let mut device = Command::new(std::env::current_exe()?)
                .env(SERVE, memory.as_raw_fd().to_string())
                .stdin(Stdio::null())
                .spawn()?;
            let output = Built::get().and_then(|built| built.run(name, Some(&memory)));
            device.kill()?;
            device.wait()?;
            check(&output?, &again)
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn check(output: &Output, expected: &Expected) -> Result<(), Failed> {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    match expected {
        Expected::Passes if output.status.success() => Ok(()),
        Expected::Passes | Expected::NotRun => Err(format!("{}\n{text}", output.status).into()),
        Expected::Fails { why, .. } if output.status.success() => {
            Err(format!("it passes now, but the table says: {why}").into())
        }
        Expected::Fails { says, .. } if says.iter().any(|part| text.contains(part)) => Ok(()),
        Expected::Fails { why, says } => {
            Err(format!("it fails, but not because {why}: it does not say {says:?}\n{text}").into())
        }
    }
}

/// cudarc's tests and examples, built.
struct Built {
    /// The crate's copy: the examples look for files there.
    source: PathBuf,
    /// The folder with our library under the name that cudarc asks for.
    library: PathBuf,
    tests: PathBuf,
    target: PathBuf,
    names: Vec<String>,
}

impl Built {
    fn get() -> Result<&'static Built, Failed> {
        static BUILT: OnceLock<Result<Built, String>> = OnceLock::new();
        BUILT
            .get_or_init(|| Self::new().map_err(|why| why.to_string()))
            .as_ref()
            .map_err(Failed::from)
    }

    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cudarc");
        let (source, library) = (scratch.join("source"), scratch.join("library"));
        let target = scratch.join("target");
        let packages = packages()?;
        copy(&packages.cudarc, &source)?;
        let examples = examples(&packages.cudarc)?;
        let not_run = |name: &str| {
            let name = format!("example {name}");
            rows().iter().any(|row| row.name == name && matches!(row.expected, Expected::NotRun))
        };
        let mut manifest = manifest(&packages.libloading);
        for name in examples.iter().filter(|name| !not_run(name)) {
            manifest += &format!("[[example]]\nname = \"{name}\"\n");
        }
        write_if_new(&source.join("Cargo.toml"), manifest.as_bytes())?;

        std::fs::create_dir_all(&library)?;
        let ours = std::env::current_exe()?.with_file_name("libswim_driver.so");
        let link = library.join("libcuda.so");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(ours, link)?;

        let build = |what: &[&str]| {
            let mut cargo = cargo();
            cargo.args(what).args(["--message-format", "json", "--manifest-path"]);
            cargo.arg(source.join("Cargo.toml")).env("CARGO_TARGET_DIR", &target);
            succeeded(cargo.output()?)
        };
        build(&["build", "--offline", "--examples"])?;
        let messages = build(&["test", "--offline", "--lib", "--no-run"])?;
        let tests = messages.lines().find_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            message["executable"].as_str().map(PathBuf::from)
        });
        let tests = tests.ok_or("cargo does not say where it put the tests")?;
        let listed = Command::new(&tests).arg("--list").output()?;
        let listed = succeeded(listed)?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        let mut names: Vec<String> =
            names.filter(|name| name.starts_with("driver::")).map(str::to_owned).collect();
        names.extend(examples.iter().map(|name| format!("example {name}")));
        Ok(Self { source, library, tests, target, names })
    }

    fn run(&self, name: &str, memory: Option<&OwnedFd>) -> Result<Output, Failed> {
        let mut command = match name.strip_prefix("example ") {
            Some(example) => Command::new(self.target.join("debug/examples").join(example)),
            None => {
                let mut tests = Command::new(&self.tests);
                tests.args(["--exact", name, "--include-ignored"]);
                tests
            }
        };
        command.current_dir(&self.source).stdin(Stdio::null());
        command.env("LD_LIBRARY_PATH", &self.library).env("RUST_BACKTRACE", "0");
        for name in [env::RECORD, env::MACHINE, env::DEVICE, env::PROFILE, env::SCHEDULE] {
            command.env_remove(name);
        }
        if let Some(memory) = memory {
            command.env(env::MACHINE, memory.as_raw_fd().to_string());
        }
        Ok(command.output()?)
    }
}

fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What a build of the workspace sets for its own crates is not meant for this one.
    cargo.env_remove("RUSTFLAGS").env("CARGO_NET_OFFLINE", "true").env("RUSTFLAGS", "-Awarnings");
    cargo
}

fn succeeded(output: Output) -> Result<String, Box<dyn std::error::Error>> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// What cargo has already fetched for the workspace.
struct Packages {
    /// The folder of cudarc's source.
    cudarc: PathBuf,
    /// The version of the only library that it needs here.
    libloading: String,
}

fn packages() -> Result<Packages, Box<dyn std::error::Error>> {
    // Without a platform, cargo wants the packages of all of them, which no build here fetches.
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let platform = succeeded(Command::new(rustc).args(["--print", "host-tuple"]).output()?)?;
    let mut metadata = cargo();
    metadata.args(["metadata", "--offline", "--locked", "--format-version", "1"]);
    metadata.args(["--filter-platform", platform.trim_end()]);
    let metadata = succeeded(metadata.current_dir(env!("CARGO_MANIFEST_DIR")).output()?)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let find = |name: &str, field: &str| {
        let found = packages.iter().find(|package| package["name"] == name);
        let text = found.and_then(|package| package[field].as_str());
        text.map(str::to_owned).ok_or(format!("`{name}` is not among the packages"))
    };
    let cudarc = Path::new(&find("cudarc", "manifest_path")?).with_file_name("");
    Ok(Packages { cudarc, libloading: find("libloading", "version")? })
}

/// A manifest without the crate's optional and development dependencies: cargo has not fetched them.
fn manifest(libloading: &str) -> String {
    let default = FEATURES.map(|name| format!("\"{name}\"")).join(", ");
    let features = FEATURES.map(|name| format!("{name} = []\n")).concat();
    format!(
        "[package]\nname = \"cudarc\"\nversion = \"0.19.10\"\nedition = \"2021\"\nautoexamples = false\n\n\
         [features]\ndefault = [{default}]\n{features}\n\
         [dependencies]\nlibloading = \"={libloading}\"\n\n[workspace]\n\n\
         [profile.dev]\ndebug = false\n\n"
    )
}

fn examples(cudarc: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(cudarc.join("examples"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(name) = path.file_stem()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Copies a folder. Files that are the same already keep their time, so that cargo builds nothing anew.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&path, &target)?;
        } else if !["Cargo.toml", "Cargo.toml.orig", "Cargo.lock"]
            .iter()
            .any(|it| path.ends_with(it))
        {
            write_if_new(&target, &std::fs::read(path)?)?;
        }
    }
    Ok(())
}

fn write_if_new(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    match std::fs::read(path) {
        Ok(found) if found == contents => Ok(()),
        _ => std::fs::write(path, contents),
    }
}
