//! Commands that few people need are programs of their own. Each is built when it is first called,
//! so no other user waits for it.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use anyhow::{Context, Result, bail};

use crate::compile::{self, Built, Optimisation};
use crate::exit::Exit;
use crate::print::{self, Style};
use crate::status::{Indicator, Status};
use crate::workspace::Workspace;

/// A program with more commands.
pub(crate) struct Companion {
    /// Its purpose, in words.
    name: &'static str,
    /// Its package, which is also its folder's name below `checker`.
    package: &'static str,
    /// The program's name.
    program: &'static str,
}

/// The program that grades a class.
pub(crate) const CLASS: Companion =
    Companion { name: "class", package: "class", program: "checker-class" };
/// The program that makes exercises and measures devices.
pub(crate) const AUTHOR: Companion =
    Companion { name: "authors'", package: "author", program: "checker-author" };

/// Becomes the program that has this command, with the same arguments.
pub(crate) fn call(companion: &Companion) -> Result<Exit> {
    let this = std::env::current_exe().context("cannot find this program")?;
    let beside = this.with_file_name(companion.program);
    let program = match companion.sources() {
        Some(workspace) if workspace.root() == own_sources() || !beside.is_file() => {
            companion.build(&workspace)?
        }
        _ if beside.is_file() => beside,
        _ => {
            bail!("there is no `{}` beside `{}`{HOW_TO_GET_IT}", companion.program, this.display())
        }
    };
    let error = Command::new(&program).args(std::env::args_os().skip(1)).exec();
    Err(error).with_context(|| format!("cannot start `{}`", program.display()))
}

const HOW_TO_GET_IT: &str = "

hint: in a clone of the repository it is built when it is first called; `cargo install --path checker/class` \
                             and `cargo install --path checker/author` put it there for good";

/// The workspace that this program was built from, wherever that is now.
fn own_sources() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

impl Companion {
    /// The workspace that they can be built in.
    fn sources(&self) -> Option<Workspace> {
        let workspace = Workspace::find().ok()?;
        let manifest = workspace.root().join("checker").join(self.package).join("Cargo.toml");
        manifest.is_file().then_some(workspace)
    }

    /// Builds them, which takes a moment once they are.
    fn build(&self, workspace: &Workspace) -> Result<PathBuf> {
        let name = self.name;
        let once = Once::new();
        let announce = |status: &Status| {
            if matches!(status, Status::Building(said) if said.starts_with("Compiling")) {
                once.call_once(|| {
                    print::err(&format!(
                        "building the {name} tools, once; this takes about a minute\n"
                    ))
                });
            }
        };
        let indicator = Indicator::start();
        let arguments = ["--package", self.package, "--bin", self.program];
        let own = workspace.root().join("checker").join(self.package);
        let built = compile::cargo(
            workspace,
            &arguments,
            Optimisation::Dev,
            &own,
            Style::of_stderr(),
            &|status| {
                announce(&status);
                indicator.tell(status);
            },
        )?;
        match built {
            Built::Ready(build) => Ok(build.executable(self.program)?.to_owned()),
            Built::Refused(refusal) => bail!("{}\n\n{}", refusal.summary, refusal.rendered),
        }
    }
}
