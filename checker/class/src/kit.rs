//! The kit of every submission: the instructor's copy of all but the student's file.
//!
//! Cargo builds the libraries once, in the workspace. They are then put into a folder of their own,
//! in which there is nothing else. That folder is what a student's code can read while it is
//! compiled and run, and no solution is in it. A submission is compiled by `rustc` itself: there is
//! no build script, no `Cargo.toml` and no lock that students share.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use checker::compile::{self, Build, Built, DEPENDENCIES, DRIVER_FILE, Optimisation, Refusal};
use checker::exercise::{Exercise, Location, MANIFEST, graded_part};
use checker::print::Style;
use checker::status::Tell;
use checker::workspace::Workspace;

/// Libraries, driver and compiler.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kit {
    /// The folder that holds nothing else.
    pub(crate) folder: PathBuf,
    /// The compiler, not the shim that chooses one.
    pub(crate) rustc: PathBuf,
    /// Its folder.
    pub(crate) sysroot: PathBuf,
    /// `rustc -V`.
    pub(crate) version: String,
    /// The files of [`DEPENDENCIES`].
    pub(crate) dependencies: BTreeMap<String, PathBuf>,
    /// The driver library.
    pub(crate) driver: PathBuf,
    /// How the libraries are compiled, and submissions are.
    pub(crate) optimisation: Optimisation,
    /// SHA-256 of all of it.
    pub(crate) sha256: String,
}

impl Kit {
    /// Builds what is missing in `workspace`, and puts all of it into `folder`.
    pub(crate) fn stage(
        workspace: &Workspace,
        places: &[Location],
        optimisation: Optimisation,
        folder: &Path,
        tell: Tell<'_>,
    ) -> Result<Self> {
        let build = libraries(workspace, places, optimisation, tell)?;
        let sysroot = PathBuf::from(rustc(&["--print", "sysroot"])?.trim());
        let version = rustc(&["-vV"])?;
        let folder = &folder.join("kit");
        let place = folder.join("libraries");
        std::fs::create_dir_all(&place).context("cannot make a folder for libraries")?;
        let mut prints = BTreeMap::new();
        let mut dependencies = BTreeMap::new();
        let own: Vec<&str> = places.iter().map(|place| place.id.as_str()).collect();
        for (name, from) in &build.libraries {
            // A chapter's own library is the file as shipped.
            if own.contains(&name.as_str()) {
                continue;
            }
            let to = put(from, &place)?;
            prints.insert(file_name(&to), sha256_of_file(&to)?);
            if DEPENDENCIES.contains(&name.as_str()) {
                dependencies.insert(name.clone(), to);
            }
        }
        for name in DEPENDENCIES {
            if !dependencies.contains_key(name) {
                bail!("cargo built no library `{name}`");
            }
        }
        let driver =
            put(build.driver.as_deref().context("cargo built no driver library")?, folder)?;
        prints.insert(file_name(&driver), sha256_of_file(&driver)?);
        open_to_all(folder)?;
        prints.insert("rustc".to_owned(), version.clone());
        let sha256 = sha256(serde_json::to_string(&prints)?.as_bytes());
        Ok(Self {
            folder: folder.to_owned(),
            rustc: sysroot.join("bin/rustc"),
            sysroot,
            version: version.lines().next().unwrap_or_default().to_owned(),
            dependencies,
            driver,
            optimisation,
            sha256,
        })
    }

    /// Where the libraries are.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.folder.join("libraries")
    }
}

/// Builds each exercise's library as shipped, which brings all that it depends on.
fn libraries(
    workspace: &Workspace,
    places: &[Location],
    optimisation: Optimisation,
    tell: Tell<'_>,
) -> Result<Build> {
    let mut arguments = vec!["--lib"];
    for place in places {
        arguments.extend(["--package", &place.id]);
    }
    let root = workspace.root();
    match compile::cargo(workspace, &arguments, optimisation, root, Style::Plain, tell)? {
        Built::Ready(build) => Ok(build),
        Built::Refused(Refusal { summary, rendered, .. }) => {
            bail!("the exercises as shipped do not compile: {summary}\n\n{rendered}")
        }
    }
}

fn rustc(arguments: &[&str]) -> Result<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("cannot start `rustc`\n\nhint: install Rust from https://rustup.rs")?;
    if !output.status.success() {
        bail!("`rustc` cannot say what it is: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("`rustc` does not answer in UTF-8")
}

/// Lets every user read a folder and what lies in it, whatever the file mode mask: sandboxed
/// programs run as users of their own.
pub(crate) fn open_to_all(path: &Path) -> Result<()> {
    let failed = || format!("cannot open `{}` to all", path.display());
    let is_folder = path.is_dir();
    let mode = if is_folder { 0o755 } else { 0o644 };
    std::fs::set_permissions(path, Permissions::from_mode(mode)).with_context(failed)?;
    if is_folder {
        for entry in std::fs::read_dir(path).with_context(failed)? {
            open_to_all(&entry.with_context(failed)?.path())?;
        }
    }
    Ok(())
}

/// Copies a file into `folder`: cargo may replace the one that it built at any time.
fn put(file: &Path, folder: &Path) -> Result<PathBuf> {
    let to = folder.join(file.file_name().unwrap_or(DRIVER_FILE.as_ref()));
    std::fs::copy(file, &to).with_context(|| format!("cannot copy `{}`", file.display()))?;
    Ok(to)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// SHA-256 of everything of the instructor's that a grade of `exercise` depends on, in its own
/// folder.
pub(crate) fn sha256_of_exercise(exercise: &Exercise) -> Result<String> {
    let mut hash = Sha256::new();
    for file in PARTS {
        let path = exercise.place.folder.join(file);
        let mut bytes =
            std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        if file == MANIFEST {
            bytes = graded_part(&String::from_utf8_lossy(&bytes)).into_bytes();
        }
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// The files of an exercise's folder that a grade depends on.
const PARTS: [&str; 4] =
    [MANIFEST, "src/main.rs", checker::commands::run::BASELINE, checker::commands::run::REFERENCE];

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// SHA-256 of a file, in hexadecimal.
pub(crate) fn sha256_of_file(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(sha256(&bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}"); // a String takes everything
        text
    })
}
