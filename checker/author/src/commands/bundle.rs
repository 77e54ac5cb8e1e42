//! `checker dev bundle`: everything that a machine without Rust needs to run the exercises.
//!
//! ```text
//! DIR/checker                    this program
//! DIR/driver/libswim_driver.so   the driver library
//! DIR/dev/NAME, DIR/release/NAME each program of each exercise and solution
//! DIR/dev/replay, DIR/dev/overhead, DIR/dev/calibrate, DIR/dev/tracking_hole
//!                                the lab's own programs; the same in release
//! DIR/exercises/NN_name/         exercise.toml and recorded/
//! DIR/book/measured, chapters    what is kept of GPUs, and what pages show: `checker dev measure`
//!                                adds to it
//! ```

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::calibrate;
use checker::commands::run::{player, target};
use checker::compile::{Built, OVERHEAD, Optimisation, Source, Target, TargetKind};
use checker::exercise::{self, Exercise};
use checker::exit::{Exit, Usage};
use checker::print::{self, Style};
use checker::report::Role;
use checker::status::Indicator;
use checker::workspace::Workspace;

/// The lab's example of what cudarc's event tracking does not order, of which a GPU's record is
/// kept.
const TRACKING_HOLE: &str = "tracking_hole";

/// Builds the bundle in `folder`, of the exercises that are named, or of all.
pub(crate) fn bundle(folder: &Path, wanted: &[String]) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let occupied = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if occupied && !folder.join("exercises").is_dir() {
        let message = format!("`{}` is not empty and no bundle", folder.display());
        return Err(Usage(message).into());
    }
    let source = Source::Cargo(workspace.clone());
    let exercises = exercise::named_or_all(&workspace, wanted)?;
    let mut targets = Vec::new();
    for exercise in &exercises {
        targets.extend(all_targets(exercise, &source)?);
    }
    // Programs that differ in a number are one.
    let mut names = BTreeSet::new();
    targets.retain(|target: &Target| names.insert(target.name.clone()));
    targets.push(calibrate::program());
    let tracking_hole = TRACKING_HOLE.to_owned();
    targets.push(Target { name: tracking_hole, kind: TargetKind::Example, ..player() });
    targets.push(player());
    targets.push(Target { name: OVERHEAD.to_owned(), ..player() });
    let mut driver = None;
    for optimisation in [Optimisation::Dev, Optimisation::Release] {
        let indicator = Indicator::start();
        let built = source.build(
            &targets,
            optimisation,
            workspace.root(),
            Style::of_stderr(),
            &|stage| indicator.tell(stage),
        )?;
        let build = match built {
            Built::Ready(build) => build,
            Built::Refused(refusal) => bail!("{}\n\n{}", refusal.summary, refusal.rendered),
        };
        for Target { name, .. } in &targets {
            let to = folder.join(optimisation.folder()).join(name);
            copy(build.executable(name)?, &to)?;
            match optimisation {
                // Lines of the student's file are read from it.
                Optimisation::Dev => shrink("objcopy", COMPRESS, &to),
                Optimisation::Release => shrink("strip", &[], &to),
            }
        }
        driver = build.driver; // that of the last build, the release
    }
    if let Some(driver) = driver {
        copy(&driver, &folder.join("driver/libswim_driver.so"))?;
    }
    let this = std::env::current_exe().context("cannot find this program")?;
    copy(&this, &folder.join("checker"))?;
    shrink("strip", &[], &folder.join("checker"));
    for exercise in &exercises {
        let to = folder.join("exercises").join(exercise.place.name());
        for file in
            ["exercise.toml", checker::commands::run::BASELINE, checker::commands::run::REFERENCE]
        {
            let from = exercise.place.folder.join(file);
            if from.is_file() {
                copy(&from, &to.join(file))?;
            }
        }
    }
    kept(&workspace, folder)?;
    let mib = size(folder)? as f64 / f64::from(1 << 20);
    print::out(&format!(
        "{}: {} programs, built twice, {mib:.1} MiB\n",
        folder.display(),
        targets.len()
    ));
    Ok(Exit::Passed)
}

/// Copies what is kept of GPUs, and the pages, which say what runs on them are shown.
fn kept(workspace: &Workspace, folder: &Path) -> Result<()> {
    for (part, ending) in [("book/measured", ".json"), ("book/chapters", ".md")] {
        let entries =
            std::fs::read_dir(workspace.root().join(part)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        for name in names.filter(|name| name.ends_with(ending)) {
            copy(&workspace.root().join(part).join(&name), &folder.join(part).join(&name))?;
        }
    }
    Ok(())
}

fn all_targets(exercise: &Exercise, source: &Source) -> Result<Vec<Target>> {
    let mut roles = vec![Role::Student, Role::Baseline];
    if source.has_solution(&exercise.place) {
        roles.push(Role::Solution);
    }
    roles.extend(exercise.manifest.programs.iter().map(|p| Role::Puzzle(p.name.clone())));
    roles.iter().map(|role| target(exercise, role)).collect()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let context = || format!("cannot copy `{}` to `{}`", from.display(), to.display());
    let folder = to.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder).with_context(context)?;
    // A program that is running cannot be written to, but its name can be given to another.
    _ = std::fs::remove_file(to);
    std::fs::copy(from, to).with_context(context)?;
    Ok(())
}

/// Keeps the debug information in a third of the room. Symbols stay: without them, calls lose their
/// lines.
const COMPRESS: &[&str] = &["--compress-debug-sections=zlib"];

/// Runs one of binutils' programs on a copy. Where it is missing the copy is larger, and that is
/// all.
fn shrink(tool: &str, arguments: &[&str], path: &Path) {
    _ = Command::new(tool).args(arguments).arg(path).output();
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).context("cannot list the bundle")? {
        let entry = entry.context("cannot list the bundle")?;
        let data = entry.metadata().context("cannot look at a file of the bundle")?;
        bytes += if data.is_dir() { size(&entry.path())? } else { data.len() };
    }
    Ok(bytes)
}
