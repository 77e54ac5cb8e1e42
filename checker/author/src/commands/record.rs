//! `checker dev record`: keeps what baseline and solution ask of the simulated device, so that a
//! workspace without solutions can be graded too.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use simulator::Schedule;
use trace::Program;

use checker::attempt::{self, Order, Watched};
use checker::cli::Machine;
use checker::commands::run::{BASELINE, REFERENCE, target};
use checker::compile::{Built, Optimisation, Source};
use checker::exercise::{self, Exercise};
use checker::exit::Exit;
use checker::grade::gate::Demand;
use checker::grade::{Finding, judge};
use checker::print::{self, Style};
use checker::report::Role;
use checker::status::Indicator;
use checker::workspace::Workspace;
use sandbox::process::Limits;

/// Records the exercises that are named, or all.
pub(crate) fn record(wanted: &[String]) -> Result<Exit> {
    let workspace = Workspace::find()?;
    for exercise in &exercise::named_or_all(&workspace, wanted)? {
        for (role, file) in [(Role::Baseline, BASELINE), (Role::Solution, REFERENCE)] {
            let text = text(&workspace, exercise, &role)
                .with_context(|| format!("cannot record {role} of `{}`", exercise.place.id))?;
            let path = exercise.place.folder.join(file);
            write(&path, &text)?;
            print::out(&format!("wrote {}\n", workspace.relative(&path).display()));
        }
        for name in exercise::MANIFESTS {
            let (from, to) = exercise.place.copies(name);
            let text = std::fs::read_to_string(&from)
                .with_context(|| format!("cannot read `{}`", from.display()))?;
            if std::fs::read_to_string(&to).ok().as_ref() != Some(&text) {
                write(&to, &text)?;
                print::out(&format!("wrote {}\n", workspace.relative(&to).display()));
            }
        }
    }
    Ok(Exit::Passed)
}

/// What is kept of a role's program, as it stands in its file.
pub(super) fn text(workspace: &Workspace, exercise: &Exercise, role: &Role) -> Result<String> {
    lines(&program(workspace, exercise, role, Schedule::Exact)?)
}

/// What a role's program asks for, in some legal order of operations; an error where it fails a gate.
pub(super) fn program(
    workspace: &Workspace,
    exercise: &Exercise,
    role: &Role,
    schedule: Schedule,
) -> Result<Program> {
    let target = target(exercise, role)?;
    let source = Source::Cargo(workspace.clone());
    let targets = [target];
    let indicator = Indicator::start();
    let build = match source.build(
        &targets,
        Optimisation::Dev,
        workspace.root(),
        Style::of_stderr(),
        &|stage| indicator.tell(stage),
    )? {
        Built::Ready(build) => build,
        Built::Refused(refusal) => bail!("{}\n\n{}", refusal.summary, refusal.rendered),
    };
    let limit_s = exercise.manifest.time_limit_s;
    let attempt = attempt::run(&Order {
        executable: build.executable(&targets[0].name)?,
        recorded: None,
        folder: &exercise.place.folder,
        driver: build.driver.as_deref(),
        device: Watched::Simulated {
            profile: None,
            schedule,
            watch: None,
            machine: Machine::InProcess,
            demand: None,
        },
        mode: trace::run::MODE_SOLVE,
        limits: Limits { wall: Duration::from_secs_f64(limit_s), output_bytes: 64 * 1024 },
        sandbox: None,
    })?;
    match judge(&attempt, limit_s, Demand::Task { trials: 1 }) {
        Finding::Clear => {}
        Finding::Failed { gate, message } => bail!("gate `{gate}`: {message}"),
        Finding::Trouble { message } => bail!("{message}"),
    }
    Ok(attempt.record?.context("the run left no record")?.program)
}

/// JSON with a line for each step: a change of one call is one line of a diff.
fn lines(program: &Program) -> Result<String> {
    let Program { version, scale, sites, steps } = program;
    let mut text = format!("{{\"version\":{version},\"scale\":{scale},\"sites\":");
    list(&mut text, sites)?;
    text.push_str(",\"steps\":");
    list(&mut text, steps)?;
    text.push_str("}\n");
    Ok(text)
}

fn list<T: serde::Serialize>(text: &mut String, items: &[T]) -> Result<()> {
    text.push('[');
    for (index, item) in items.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma}\n{}", serde_json::to_string(item)?)?;
    }
    text.push(']');
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use trace::program::{Call, Site, Step};

    use super::*;

    #[test]
    fn a_recorded_program_reads_back_as_it_was() {
        let mut program = Program::new(32);
        program.sites.push(Site { file: "src/lib.rs".to_owned(), line: 3, column: None });
        for call in [Call::RegionBegin, Call::HostWork { ns: 5 }, Call::RegionEnd] {
            program.steps.push(Step { call, site: Some(0), thread: 0, gap_ns: 0, result: 0 });
        }
        let text = lines(&program).expect("plain data");
        assert_eq!(text.lines().count(), 1 + program.sites.len() + program.steps.len());
        assert_eq!(serde_json::from_str::<Program>(&text).expect("it is JSON"), program);
    }
}
