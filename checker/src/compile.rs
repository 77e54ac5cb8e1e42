//! From an exercise's programs to executables: by cargo, or out of a folder of prebuilt ones.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use sandbox::Sandbox;
use serde::{Deserialize, Serialize};

use crate::exercise::Location;
use crate::print::Style;
use crate::regions;
use crate::status::{Status, Tell};
use crate::workspace::Workspace;
use sandbox::interrupt::{self, Superseded};

/// The file name of the driver library, whichever way it was built.
pub const DRIVER_FILE: &str = "libswim_driver.so";

/// The lab's program that plays recorded programs.
pub const PLAYER: &str = "replay";
/// The lab's program that measures what the driver library costs.
pub const OVERHEAD: &str = "overhead";

/// How programs are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Optimisation {
    /// The student's code as written, so that each call has its line.
    Dev,
    /// For times on a GPU.
    Release,
}

impl Optimisation {
    /// The folder of a bundle that holds such programs.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Release => "release",
        }
    }
}

/// One program of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The package.
    pub package: String,
    /// Whether it is the package's program or one of its examples.
    pub kind: TargetKind,
    /// Its name, which no other target of the workspace has.
    pub name: String,
}

/// Where cargo finds a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A program of the package.
    Bin,
    /// One of its examples.
    Example,
}

/// Where programs come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Compiled in the workspace.
    Cargo(Workspace),
    /// Lying in a folder that `checker dev bundle` made.
    Prebuilt(PathBuf),
    /// A student's file that lies apart from the workspace.
    Apart(Arc<dyn Apart>),
}

/// A student's file in a folder of its own, with what compiles it.
pub trait Apart: fmt::Debug + Send + Sync {
    /// Compiles it, if it can be.
    fn build(&self, tell: Tell<'_>) -> Result<Built>;

    /// The sandbox that it is compiled and run in; none where it may do whatever its user may.
    fn sandbox(&self) -> Option<&Sandbox>;

    /// Where it is compiled and its program started.
    fn folder(&self) -> &Path;
}

/// Executables, and what they load.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The driver library; none where no program that was built depends on it.
    pub driver: Option<PathBuf>,
    /// Executables by the name of their target.
    pub executables: BTreeMap<String, PathBuf>,
    /// Libraries that programs are compiled against, by the name of their target: `rlib`s, and the
    /// shared ones of procedural macros.
    pub libraries: Vec<(String, PathBuf)>,
    /// Warnings of the compiler in the student's package, as it renders them.
    pub warnings: String,
    /// The same, one by one.
    pub warned: Vec<Complaint>,
}

impl Build {
    /// The executable of a target that was to be built.
    pub fn executable(&self, target: &str) -> Result<&Path> {
        let found = self.executables.get(target).map(PathBuf::as_path);
        found.ok_or_else(|| anyhow!("cargo built no program `{target}`"))
    }
}

/// Outcomes of a build.
#[derive(Debug)]
pub enum Built {
    /// Everything is there.
    Ready(Build),
    /// The student's package does not compile.
    Refused(Refusal),
}

/// Something that the compiler says about a line.
#[derive(Clone, Debug)]
pub struct Complaint {
    /// The file, from the workspace's folder, and the line; none where it names no place.
    pub place: Option<(String, u32)>,
    /// What, on one line.
    pub message: String,
}

/// Why there is no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBecause {
    /// The compiler found errors.
    Errors,
    /// It exceeded a limit, or did not end.
    Limit,
    /// There is something in the binary that no exercise needs.
    Forbidden,
}

/// The compiler's objections.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Of what kind they are.
    pub because: RefusedBecause,
    /// In its own words.
    pub rendered: String,
    /// On one line.
    pub summary: String,
    /// One by one.
    pub complaints: Vec<Complaint>,
}

impl Source {
    /// Builds `targets`, or finds them. Errors in files under `own` are the student's, others are
    /// not.
    pub fn build(
        &self,
        targets: &[Target],
        optimisation: Optimisation,
        own: &Path,
        style: Style,
        tell: Tell<'_>,
    ) -> Result<Built> {
        match self {
            Self::Cargo(workspace) => {
                let mut arguments: Vec<&str> = Vec::new();
                for target in targets {
                    let kind = match target.kind {
                        TargetKind::Bin => "--bin",
                        TargetKind::Example => "--example",
                    };
                    arguments.extend(["--package", &target.package, kind, &target.name]);
                }
                cargo(workspace, &arguments, optimisation, own, style, tell)
            }
            Self::Prebuilt(folder) => prebuilt(folder, targets, optimisation).map(Built::Ready),
            Self::Apart(apart) => apart.build(tell),
        }
    }
}

impl Source {
    /// Whether the solution of an exercise is there.
    pub fn has_solution(&self, place: &Location) -> bool {
        match self {
            Self::Cargo(workspace) => {
                let folder = workspace.root().join("solutions").join(place.name());
                folder.join("Cargo.toml").is_file()
            }
            Self::Prebuilt(folder) => {
                let name = format!("{}-solution", place.id);
                folder.join(Optimisation::Dev.folder()).join(name).is_file()
            }
            Self::Apart(_) => false,
        }
    }
}

impl Source {
    /// Whether the lab's player is there: an older bundle has none.
    pub fn has_player(&self) -> bool {
        match self {
            Self::Cargo(_) => true,
            Self::Prebuilt(folder) => {
                folder.join(Optimisation::Release.folder()).join(PLAYER).is_file()
            }
            Self::Apart(_) => false,
        }
    }
}

fn prebuilt(folder: &Path, targets: &[Target], optimisation: Optimisation) -> Result<Build> {
    let existing = |path: PathBuf| {
        if !path.is_file() {
            bail!("there is no `{}`{BUNDLE_AGAIN}", path.display());
        }
        path.canonicalize().with_context(|| format!("cannot resolve `{}`", path.display()))
    };
    let mut build = Build::default();
    if driver_override().is_none() {
        build.driver = Some(existing(folder.join("driver").join(DRIVER_FILE))?);
    } else {
        build.driver = driver_override();
    }
    for Target { name, .. } in targets {
        let path = existing(folder.join(optimisation.folder()).join(name))?;
        build.executables.insert(name.clone(), path);
    }
    Ok(build)
}

const BUNDLE_AGAIN: &str = "\n\nhint: make the folder again with `checker dev bundle`";

fn driver_override() -> Option<PathBuf> {
    std::env::var_os(trace::env::DRIVER).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// One line of `cargo build --message-format=json`.
#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-message")]
    Compiler { target: MessageTarget, message: Diagnostic },
    #[serde(rename = "compiler-artifact")]
    Artifact { target: MessageTarget, filenames: Vec<PathBuf>, executable: Option<PathBuf> },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageTarget {
    name: String,
    src_path: PathBuf,
}

/// One of the compiler's messages, as `--error-format=json` has it.
#[derive(Deserialize)]
pub struct Diagnostic {
    level: String,
    message: String,
    code: Option<Code>,
    spans: Vec<DiagnosticSpan>,
    /// In the words of the compiler.
    pub rendered: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    line_start: u32,
    column_start: u32,
    is_primary: bool,
}

impl Diagnostic {
    /// Whether nothing comes of a build that says it.
    pub fn is_error(&self) -> bool {
        self.level.starts_with("error")
    }

    /// `aborting due to 2 previous errors` and the like, which say nothing new.
    pub fn is_epilogue(&self) -> bool {
        self.spans.is_empty()
            && (self.message.starts_with("aborting due to")
                || self.message.contains("warnings emitted")
                || self.message.contains("warning emitted"))
    }

    fn on_one_line(&self) -> String {
        let code = self.code.as_ref().map(|c| format!("[{}]", c.code)).unwrap_or_default();
        let place = self
            .primary()
            .map(|span| format!(" ({}:{}:{})", span.file_name, span.line_start, span.column_start));
        let message = self.message.lines().next().unwrap_or_default();
        format!("error{code}: {message}{}", place.unwrap_or_default())
    }

    /// Whether all that it points at is outside of the regions of the student's file.
    fn is_outside(&self, file: &Path) -> bool {
        let mut primary = self.spans.iter().filter(|span| span.is_primary).peekable();
        let Ok(text) = std::fs::read_to_string(file) else { return false };
        primary.peek().is_some()
            && primary.all(|span| {
                file.ends_with(&span.file_name)
                    && regions::is_outside(&text, span.line_start as usize)
            })
    }

    fn primary(&self) -> Option<&DiagnosticSpan> {
        self.spans.iter().find(|span| span.is_primary)
    }

    /// The place and the first line.
    pub fn complaint(&self) -> Complaint {
        Complaint {
            place: self.primary().map(|span| (span.file_name.clone(), span.line_start)),
            message: self.message.lines().next().unwrap_or_default().to_owned(),
        }
    }
}

/// Runs `cargo build` once.
pub fn cargo(
    workspace: &Workspace,
    arguments: &[&str],
    optimisation: Optimisation,
    own: &Path,
    style: Style,
    tell: Tell<'_>,
) -> Result<Built> {
    tell(Status::Building(String::new()));
    let mut command = cargo_command();
    let format = match style {
        Style::Plain => "--message-format=json",
        Style::Colour => "--message-format=json,json-diagnostic-rendered-ansi",
    };
    command.current_dir(workspace.root()).args(["build", format]).args(arguments);
    if optimisation == Optimisation::Release {
        command.arg("--release");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: cargo and its compilers are ended together.
    command.process_group(0);
    // SAFETY: between fork and exec only a system call on integers is made.
    unsafe {
        command.pre_exec(|| {
            // A checker that is killed leaves no cargo running.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            Ok(())
        });
    }
    let guard = interrupt::guard();
    interrupt::check()?; // a build that nobody waits for need not begin
    let mut child = command.spawn().context(NO_CARGO)?;
    guard.kills(-(child.id() as libc::pid_t), Superseded::Finishes);
    let stderr = child.stderr.take().context("cargo has no standard error")?;
    let stdout = child.stdout.take().context("cargo has no standard output")?;
    let (messages, said) = std::thread::scope(|scope| {
        let said = scope.spawn(move || follow(stderr, tell));
        (collect(stdout, own), said.join().unwrap_or_default())
    });
    let status = child.wait().context("cannot wait for cargo")?;
    drop(guard);
    interrupt::check()?;
    let Messages { build, own_errors, other_errors } = messages?;
    if status.success() {
        return Ok(Built::Ready(build));
    }
    if let Some(refusal) = refusal(&own_errors) {
        return Ok(Built::Refused(refusal));
    }
    match refusal(&other_errors) {
        Some(Refusal { rendered, summary, .. }) => {
            bail!("what the exercises are built on does not compile: {summary}\n\n{rendered}")
        }
        None => bail!("cargo failed\n\n{}", said.trim_end()),
    }
}

/// Facts from cargo's messages.
struct Messages {
    build: Build,
    own_errors: Vec<Diagnostic>,
    other_errors: Vec<Diagnostic>,
}

fn collect(stdout: impl Read, own: &Path) -> Result<Messages> {
    let mut build = Build { driver: driver_override(), ..Build::default() };
    let mut own_errors: Vec<Diagnostic> = Vec::new();
    let mut other_errors: Vec<Diagnostic> = Vec::new();
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read what cargo reports")?;
        // Anything else that a build script or a wrapper prints there is none of our business.
        let Ok(message) = serde_json::from_str(&line) else { continue };
        match message {
            Message::Artifact { target, filenames, executable } => {
                let driver = filenames.iter().find(|path| path.ends_with(DRIVER_FILE));
                build.driver = build.driver.or(driver.cloned());
                let library = |path: &PathBuf| {
                    path.extension().is_some_and(|it| it == "rlib" || it == "so")
                        && !path.ends_with(DRIVER_FILE)
                };
                let libraries = filenames.into_iter().filter(library);
                build.libraries.extend(libraries.map(|path| (target.name.clone(), path)));
                if let Some(executable) = executable {
                    build.executables.insert(target.name, executable);
                }
            }
            Message::Compiler { target, message } => {
                let is_own = target.src_path.starts_with(own);
                match (message.is_error(), is_own) {
                    _ if message.is_epilogue() => {}
                    (true, true) => own_errors.push(message),
                    (true, false) => other_errors.push(message),
                    (false, true) if message.is_outside(&target.src_path) => {}
                    (false, true) => {
                        build.warnings.push_str(message.rendered.as_deref().unwrap_or_default());
                        build.warned.push(message.complaint());
                    }
                    (false, false) => {}
                }
            }
            Message::Other => {}
        }
    }
    Ok(Messages { build, own_errors, other_errors })
}

/// Reads what cargo says beside its messages, and passes on what it is at.
fn follow(stderr: impl Read, tell: Tell<'_>) -> String {
    let mut said = String::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        // `Compiling cudarc v0.19.10 (/a/long/path)`
        let words = line.trim().split(" (").next().unwrap_or_default();
        tell(Status::Building(words.to_owned()));
        said.push_str(&line);
        said.push('\n');
    }
    said
}

/// The libraries that a student's file is compiled against.
pub const DEPENDENCIES: [&str; 2] = ["cudarc", "lab"];

/// The most time of one run of the compiler: five hundred times what it needs for a solution.
pub const WALL: Duration = Duration::from_secs(60);

/// The most that is read of the compiler's messages, in bytes: many screens of them, and no more
/// than a report can hold.
pub const OUTPUT_BYTES: usize = 4 << 20;

/// Arguments of `rustc` for a crate, but for where it is and what it is compiled against.
pub fn crate_arguments<'a>(
    name: &'a str,
    kind: &'a str,
    optimisation: Optimisation,
) -> impl Iterator<Item = &'a str> {
    let whole = ["--edition", "2024", "--crate-name", name, "--crate-type", kind];
    let how: &[&str] = match optimisation {
        // As cargo compiles a student's own crate.
        Optimisation::Dev => {
            &["-C", "opt-level=0", "-C", "debuginfo=line-tables-only", "-C", "debug-assertions=on"]
        }
        Optimisation::Release => &["-C", "opt-level=3"],
    };
    // Names that say which crate each thing is of.
    let format = ["--error-format=json", "-C", "symbol-mangling-version=v0"];
    whole.into_iter().chain(format).chain(how.iter().copied())
}

/// The compiler's objections, of all its messages that are errors.
pub fn refusal(errors: &[Diagnostic]) -> Option<Refusal> {
    let first = errors.first()?;
    let rendered = errors.iter().filter_map(|e| e.rendered.as_deref()).collect();
    let more = match errors.len() - 1 {
        0 => String::new(),
        1 => ", and 1 more error".to_owned(),
        more => format!(", and {more} more errors"),
    };
    let complaints = errors.iter().map(Diagnostic::complaint).collect();
    Some(Refusal {
        because: RefusedBecause::Errors,
        rendered,
        summary: format!("{}{more}", first.on_one_line()),
        complaints,
    })
}

/// Cargo, without what an outer `cargo run` left in the environment: it describes the checker's own
/// package, and build scripts that look at it would run again. `RUSTC_BOOTSTRAP` goes too: with it
/// everything would be compiled again, and unstable features would be allowed.
pub fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.env_remove("RUSTC_BOOTSTRAP");
    command
}

const NO_CARGO: &str = "cannot start `cargo`

hint: install Rust from https://rustup.rs, or run what was built elsewhere with `--prebuilt DIR`";
