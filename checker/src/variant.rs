//! A text that lies beside the student's file, compiled against what cargo has built for that.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sandbox::Sandbox;
use sandbox::process::{self, Ending, Limits};
use sandbox::scratch::Scratch;

use crate::compile::{
    self, Apart, Build, Built, DEPENDENCIES, Diagnostic, Optimisation, Refusal, RefusedBecause,
};
use crate::exercise::Location;
use crate::print::Style;
use crate::status::{Status, Tell};
use crate::workspace::Workspace;

/// The libraries that an exercise is compiled against, in the workspace's target folder.
#[derive(Clone, Debug)]
pub(crate) struct Libraries {
    /// `rustc` is started here, so that it is the one that made the libraries.
    root: PathBuf,
    name: String,
    main: String,
    driver: PathBuf,
    all: Vec<(String, PathBuf)>,
}

impl Libraries {
    /// Builds what is missing for an exercise.
    pub(crate) fn of(workspace: &Workspace, place: &Location, tell: Tell<'_>) -> Result<Self> {
        let arguments = ["--lib", "--package", &place.id];
        let built = compile::cargo(
            workspace,
            &arguments,
            Optimisation::Dev,
            workspace.root(),
            Style::Plain,
            tell,
        )?;
        let build = match built {
            Built::Ready(build) => build,
            Built::Refused(refusal) => bail!("{}", refusal.summary),
        };
        let main = place.folder.join("src/main.rs");
        let main = std::fs::read_to_string(&main)
            .with_context(|| format!("cannot read `{}`", main.display()))?;
        Ok(Self {
            root: workspace.root().to_owned(),
            name: place.id.clone(),
            main,
            driver: build.driver.context("cargo built no driver library")?,
            all: build.libraries,
        })
    }
}

/// One text, and where it is compiled.
#[derive(Debug)]
pub(crate) struct Variant {
    libraries: Libraries,
    folder: Scratch,
}

impl Variant {
    /// Lays out a text in a folder of its own, which goes with this value.
    pub(crate) fn of(libraries: &Libraries, text: &str) -> Result<Self> {
        let folder = Scratch::new()?;
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text)
                .with_context(|| format!("cannot write `{name}`"))
        };
        write("lib.rs", text)?;
        write("main.rs", &libraries.main)?;
        Ok(Self { libraries: libraries.clone(), folder })
    }

    fn rustc(&self, kind: &str, source: &str, output: &Path) -> Command {
        let Libraries { root, name, all, .. } = &self.libraries;
        let mut command = Command::new("rustc");
        command.current_dir(root).stdin(Stdio::null());
        command.args(compile::crate_arguments(name, kind, Optimisation::Dev));
        command.arg(self.folder.path().join(source)).arg("-o").arg(output);
        let mut folders: Vec<&Path> = all.iter().filter_map(|(_, path)| path.parent()).collect();
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            command.arg("-L").arg(format!("dependency={}", folder.display()));
        }
        for (name, path) in all.iter().filter(|(name, _)| DEPENDENCIES.contains(&name.as_str())) {
            command.arg("--extern").arg(format!("{name}={}", path.display()));
        }
        // As cargo sets them for a crate.
        command.env("CARGO_PKG_NAME", name).env("CARGO_CRATE_NAME", name);
        command.env("CARGO_MANIFEST_DIR", self.folder.path());
        command
    }
}

/// Runs the compiler; what it objects to.
fn run(command: Command) -> Result<Option<Refusal>> {
    let limits = Limits { wall: compile::WALL, output_bytes: compile::OUTPUT_BYTES };
    let finished = process::run(command, limits, None).context("cannot start `rustc`")?;
    let messages = finished.output.text();
    let messages =
        messages.lines().filter_map(|line| serde_json::from_str::<Diagnostic>(line).ok());
    let errors: Vec<_> = messages.filter(|it| it.is_error() && !it.is_epilogue()).collect();
    Ok(match (compile::refusal(&errors), finished.ending) {
        (Some(refusal), _) => Some(refusal),
        (None, Ending::Exited(0)) => None,
        (None, ending) => Some(Refusal {
            because: RefusedBecause::Limit,
            rendered: String::new(),
            summary: format!("the compiler gave up: {ending:?}"),
            complaints: Vec::new(),
        }),
    })
}

impl Apart for Variant {
    fn build(&self, tell: Tell<'_>) -> Result<Built> {
        tell(Status::Building(String::new()));
        let name = &self.libraries.name;
        let [library, program] =
            [format!("lib{name}.rlib"), name.clone()].map(|file| self.folder.path().join(file));
        if let Some(refusal) = run(self.rustc("lib", "lib.rs", &library))? {
            return Ok(Built::Refused(refusal));
        }
        let mut of_program = self.rustc("bin", "main.rs", &program);
        of_program.arg("--extern").arg(format!("{name}={}", library.display()));
        if let Some(refusal) = run(of_program)? {
            return Ok(Built::Refused(refusal));
        }
        let mut build = Build { driver: Some(self.libraries.driver.clone()), ..Build::default() };
        build.executables.insert(name.clone(), program);
        Ok(Built::Ready(build))
    }

    fn sandbox(&self) -> Option<&Sandbox> {
        None
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}
