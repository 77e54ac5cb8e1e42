//! From a student's file to a program, by `rustc` alone.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use crate::kit::{Kit, open_to_all};
use crate::objects;
use checker::compile::{self, Build, Built, Diagnostic, Optimisation, Refusal, RefusedBecause};
use checker::status::{Status, Tell};
use sandbox::process::Ending;
use sandbox::{Confined, Exceeded, Limits, Role, Sandbox};

/// A student's file in a folder of its own, and what it is compiled against.
#[derive(Clone, Debug)]
pub(crate) struct Apart {
    kit: Arc<Kit>,
    sandbox: Arc<Sandbox>,
    /// Holds `src/lib.rs`, which is the student's, and `src/main.rs`, which is not.
    folder: PathBuf,
    /// The exercise's name, which is its crate's.
    name: String,
}

/// Everything that all files are compiled and run with.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) kit: Arc<Kit>,
    pub(crate) sandbox: Arc<Sandbox>,
}

impl Apart {
    /// Puts the student's file where it is compiled.
    pub(crate) fn lay_out(
        shared: &Shared,
        folder: &Path,
        name: &str,
        file: &[u8],
        main: &[u8],
    ) -> Result<Self> {
        let sources = folder.join(SOURCES);
        for made in [&sources, &folder.join(OUT), &folder.join(TEMPORARY)] {
            std::fs::create_dir_all(made).context("cannot make a folder to compile in")?;
        }
        std::fs::write(sources.join("lib.rs"), file).context("cannot write the student's file")?;
        std::fs::write(sources.join("main.rs"), main)
            .context("cannot write the program's start")?;
        open_to_all(&sources)?;
        Ok(Self {
            kit: Arc::clone(&shared.kit),
            sandbox: Arc::clone(&shared.sandbox),
            folder: folder.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl compile::Apart for Apart {
    fn sandbox(&self) -> Option<&Sandbox> {
        Some(&self.sandbox)
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn build(&self, tell: Tell<'_>) -> Result<Built> {
        tell(Status::Building(String::new()));
        let library = format!("{OUT}/lib{}.rlib", self.name);
        let mut of_student = self.rustc("lib", "src/lib.rs", &library);
        for (name, path) in &self.kit.dependencies {
            of_student.arg("--extern").arg(format!("{name}={}", path.display()));
        }
        let said = self.run(&of_student)?;
        let mut build = Build { driver: Some(self.kit.driver.clone()), ..Build::default() };
        let mut errors = Vec::new();
        for message in said.messages {
            if message.is_error() {
                errors.push(message);
            } else {
                build.warnings.push_str(message.rendered.as_deref().unwrap_or_default());
                build.warned.push(message.complaint());
            }
        }
        if let Some(stopped) = said.stopped {
            return Ok(Built::Refused(stopped));
        }
        if let Some(refusal) = compile::refusal(&errors) {
            return Ok(Built::Refused(refusal));
        }
        let library = self.folder.join(library);
        let bytes = match std::fs::read(&library) {
            Ok(bytes) => bytes,
            // It said nothing and left nothing.
            Err(_) => return Ok(Built::Refused(limit("the compiler left no library".to_owned()))),
        };
        // An optimiser exports names of its own. A caller that compiles for speed has looked at the
        // file before.
        if self.kit.optimisation == Optimisation::Dev
            && let Some(foreign) = objects::foreign(&bytes, &self.name)?.first()
        {
            return Ok(Built::Refused(foreign.refusal()));
        }

        let program = format!("{OUT}/{}", self.name);
        let mut of_program = self.rustc("bin", "src/main.rs", &program);
        of_program.arg("--extern").arg(format!("{}={}", self.name, library.display()));
        of_program.args(["--print", &format!("link-args={LINKED}")]);
        for (name, path) in &self.kit.dependencies {
            of_program.arg("--extern").arg(format!("{name}={}", path.display()));
        }
        let said = self.run(&of_program)?;
        if let Some(stopped) = said.stopped {
            return Ok(Built::Refused(stopped));
        }
        // What the linker was told is looked at whether or not it could do it; nothing has run yet.
        let linked = std::fs::read_to_string(self.folder.join(LINKED)).unwrap_or_default();
        if let Some(foreign) = objects::linked(&linked).first() {
            return Ok(Built::Refused(foreign.refusal()));
        }
        let errors: Vec<_> = said.messages.into_iter().filter(Diagnostic::is_error).collect();
        if let Some(refusal) = compile::refusal(&errors) {
            return Ok(Built::Refused(refusal));
        }
        let program = self.folder.join(program);
        if !program.is_file() {
            return Ok(Built::Refused(limit("the compiler left no program".to_owned())));
        }
        // Some linkers change the mode of what they made, which they may not do in the sandbox.
        std::fs::set_permissions(&program, Permissions::from_mode(0o755))
            .context("cannot let a program be run")?;
        build.executables.insert(self.name.clone(), program);
        Ok(Built::Ready(build))
    }
}

impl Apart {
    /// The compiler, told all but what the crate is compiled against.
    fn rustc(&self, kind: &str, source: &str, output: &str) -> Command {
        let mut command = Command::new(&self.kit.rustc);
        command
            .current_dir(&self.folder)
            .args(compile::crate_arguments(&self.name, kind, self.kit.optimisation))
            .args([source, "-o", output])
            .arg("-L")
            .arg(format!("dependency={}", self.kit.libraries().display()))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TMPDIR", self.folder.join(TEMPORARY))
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_PKG_NAME", &self.name)
            .env("CARGO_CRATE_NAME", &self.name);
        command
    }

    fn run(&self, command: &Command) -> Result<Said> {
        let limits = Limits::of_compiler(compile::WALL, compile::OUTPUT_BYTES);
        let mut confined = Confined::of(command, Role::Compiler, limits);
        confined.readable =
            vec![self.kit.folder.clone(), self.kit.sysroot.clone(), self.folder.join(SOURCES)];
        confined.writable = vec![self.folder.join(OUT), self.folder.join(TEMPORARY)];
        let finished = self.sandbox.run(&confined, None)?;
        let mut messages = Vec::new();
        for line in finished.output.text().lines() {
            if let Ok(message) = serde_json::from_str::<Diagnostic>(line)
                && !message.is_epilogue()
            {
                messages.push(message);
            }
        }
        let stopped = match finished.ending {
            Ending::Exited(0) => None,
            _ if finished.exceeded == Some(Exceeded::Memory) => {
                Some(limit("compiling took more memory than there is".to_owned()))
            }
            _ if finished.exceeded == Some(Exceeded::FileSize) => {
                Some(limit("compiling wrote a file larger than any program".to_owned()))
            }
            // The errors say why.
            Ending::Exited(_) if messages.iter().any(Diagnostic::is_error) => None,
            Ending::Exited(status) => {
                Some(limit(format!("the compiler gave up with status {status}")))
            }
            Ending::Signalled(signal) => {
                Some(limit(format!("the compiler crashed with signal {signal}")))
            }
            Ending::OutOfTime => {
                Some(limit(format!("compiling took more than {} s", compile::WALL.as_secs())))
            }
            Ending::OutOfOutput => Some(limit("the compiler printed without end".to_owned())),
            Ending::Deserted => bail!("the compiler has no companion"),
        };
        Ok(Said { messages, stopped })
    }
}

/// Where the sources are, in the folder.
const SOURCES: &str = "src";
/// Where the compiler writes, in the folder.
const OUT: &str = "out";
/// The arguments of the linker.
const LINKED: &str = "out/linked.txt";
/// Where it keeps what it needs for a while.
const TEMPORARY: &str = "tmp";

/// The words of the compiler.
struct Said {
    messages: Vec<Diagnostic>,
    /// The cause that stopped it, other than an error in what it compiled.
    stopped: Option<Refusal>,
}

fn limit(summary: String) -> Refusal {
    Refusal {
        because: RefusedBecause::Limit,
        rendered: String::new(),
        summary,
        complaints: Vec::new(),
    }
}
