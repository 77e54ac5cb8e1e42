//! The next step after a run: it follows the first thing that went wrong, from the compiler to the
//! score.

use trace::failed_call::FailedCall;
use trace::hazards::{self, CallAt, Hazard, Severity};
use trace::record::Output;
use trace::unsupported::Unsupported;

use super::{Run, Task};
use crate::book;
use crate::compile::{RefusedBecause, Source};
use crate::exercise::{self, Location};
use crate::grade::{Gate, Verdict};
use crate::progress::Progress;
use crate::report::{Planned, Role};
use crate::workspace::Workspace;
use sandbox::process::Ending;

/// How the lines of `next:` after the first begin.
const MARGIN: &str = "\n      ";

impl Run<'_> {
    /// The student's next step; none for other programs than the student's.
    pub(super) fn next(&self, task: &Task) -> Option<String> {
        if task.role != Role::Student {
            return None;
        }
        match self.report.verdict? {
            Verdict::Passed => Some(self.after_a_pass(task)),
            Verdict::Failed => Some(match self.report.gate {
                Some(gate) => self.after_a_gate(task, gate),
                None => self.after_a_score(task),
            }),
            Verdict::Inconclusive => Some(RUN_AGAIN.to_owned()),
            Verdict::Error | Verdict::Rejected => Some(NOT_YOURS.to_owned()),
        }
    }

    fn after_a_gate(&self, task: &Task, gate: Gate) -> String {
        let id = &task.exercise.place.id;
        let file = file(task);
        let what = match gate {
            Gate::Builds => self.after_the_compiler(&file),
            Gate::Time if self.output.is_none() && self.profile.is_some() => format!(
                "look in `{file}` for a loop without an end, or one that waits for memory to change: wait with an event \
                 or a synchronise there"
            ),
            Gate::Time => format!(
                "look in `{file}` for a loop without an end, or for a wait that nothing answers"
            ),
            Gate::Output => self.after_the_output(task, &file),
            Gate::Hazard => match self.race() {
                Some(race) => after_a_race(task, race),
                None => "do the same with fewer streams, threads or pieces of memory".to_owned(),
            },
            Gate::Work => format!(
                "do all of the task between the start and the end of the region in `{file}`: what is missing is \
                 named above"
            ),
            Gate::Idle => self.after_the_end(task).unwrap_or_else(|| {
                format!("at the end of the region in `{file}`, wait for every stream that still has work")
            }),
            Gate::Memory => format!(
                "in `{file}`, give memory back before you allocate more: the allocation that was too much is named above"
            ),
            Gate::Pace => format!(
                "in `{file}`, find where the device has nothing to do, or too little: how long does it wait for the host, \
                 and for what?"
            ),
        };
        format!("{what}{MARGIN}then `cargo run -- run {id}`")
    }

    /// The first error is the one to mend: others may come of it.
    fn after_the_compiler(&self, file: &str) -> String {
        match (&self.first_error, self.presentation.because) {
            (Some((file, line)), _) => {
                format!("mend `{file}:{line}`, the first error that the compiler names above")
            }
            (None, Some(RefusedBecause::Limit)) => {
                format!(
                    "take out of `{file}` what keeps the compiler busy: a macro or a constant without an end"
                )
            }
            (None, _) => format!("mend `{file}`: what the compiler says stands above"),
        }
    }

    fn after_the_output(&self, task: &Task, file: &str) -> String {
        let refused = Unsupported::last_in(&self.presentation.output);
        if let Some(refused) =
            refused.filter(|refused| self.report.message.starts_with(&refused.to_string()))
        {
            let line = refused.place.as_deref().and_then(|place| place.rsplit_once(':'));
            let at = line.map_or(format!("in `{file}`"), |(_, line)| format!("at `{file}:{line}`"));
            let (name, instead) = (refused.name(), refused.instead());
            return format!(
                "{at}, do without `{name}`, which a GPU has and the simulated device has not: {instead}"
            );
        }
        match self.presentation.ending {
            // The message begins with the place.
            Some(Ending::Exited(101)) => match self.report.message.split_once(" panicked at ") {
                Some((_, rest)) => {
                    let place = rest.split(": ").next().unwrap_or(rest);
                    let place = place.rsplit_once(':').map_or(place, |(line, _column)| line);
                    format!("look at `{place}`, where the program panicked: its words are above")
                }
                None => {
                    format!("find out what in `{file}` panics: what the program printed is above")
                }
            },
            Some(Ending::Exited(0)) | None => self.after_wrong_data(task, file),
            Some(Ending::Exited(_)) => {
                // The message begins as what the program printed does.
                let failed = FailedCall::last_in(&format!("error: {}", self.report.message));
                match failed.as_ref().and_then(|it| Some((it.place.as_ref()?, it.meaning()?))) {
                    Some((place, meaning)) => {
                        let line = place.rsplit_once(':').map_or("", |(_, line)| line);
                        format!("look at `{file}:{line}`: {meaning}")
                    }
                    None => format!(
                        "find the call in `{file}` whose error ended the program: what it printed is above"
                    ),
                }
            }
            Some(_) => format!("find out what in `{file}` ends the program before the region does"),
        }
    }

    fn after_wrong_data(&self, task: &Task, file: &str) -> String {
        if let Some(race) = self.race() {
            return after_a_race(task, race);
        }
        match &self.output {
            Some(Output::Unfounded { step: Some(step), .. }) => match self.site(*step) {
                Some(line) => format!(
                    "look at line {line} of `{file}`: the values have to come from the task's input, through each of its \
                     steps once"
                ),
                None => FROM_THE_INPUT.to_owned(),
            },
            Some(Output::Unfounded { step: None, .. }) => FROM_THE_INPUT.to_owned(),
            Some(Output::Wrong { element, .. }) => format!(
                "follow element {element} through `{file}`: which step is missing for it, or comes at the wrong \
                 place? No two steps race here"
            ),
            _ => format!("let the region in `{file}` run once, from its beginning to its end"),
        }
    }

    /// The line of a step of the run's program.
    fn site(&self, step: u32) -> Option<u32> {
        let program = &self.presentation.charts.first()?.program;
        program.site(program.steps.get(step as usize)?).map(|site| site.line)
    }

    /// The first operation that nothing waits for at the end of the region.
    fn after_the_end(&self, task: &Task) -> Option<String> {
        let program = &self.presentation.charts.first()?.program;
        let found = hazards::unwaited_within(program, hazards::MOST_EFFORT).ok()?;
        let first = found.first()?;
        let names = &self.presentation.names;
        let stream = match names.of(first.stream) {
            Some(name) => format!("`{name}`"),
            None => first.stream.to_string(),
        };
        Some(format!(
            "after `{}`, and before the region ends, wait for {stream}, or for the whole context",
            place(task, &first.last)
        ))
    }

    /// The score is too low: a question about the first cause that is left, and where to go to
    /// work. The lesson's own question is about the cause that the exercise is about.
    fn after_a_score(&self, task: &Task) -> String {
        let manifest = &task.exercise.manifest;
        if let Some(left) = self.report.plan.iter().find(|it| it.is_left) {
            let (Planned { text, chapter, .. }, file) = (left, file(task));
            return format!(
                "{text}: what could be there instead?{MARGIN}`cargo run -- book {chapter}` has it; then edit `{file}`"
            );
        }
        let first = self.report.advised.causes.first().map(|cause| cause.code);
        let question = match first {
            Some(code) if manifest.cause.as_deref() != Some(code.as_str()) => code.question(),
            _ => &manifest.next.failed,
        };
        let (id, file) = (&task.exercise.place.id, file(task));
        let mut text = format!("{question}{MARGIN}edit `{file}`");
        if !task.exercise.manifest.hints.is_empty() {
            text.push_str(&format!("; stuck? `cargo run -- hint {id}`"));
        }
        if let Some(page) = page(task) {
            text.push_str(&format!("{MARGIN}its chapter: {page}"));
        }
        text
    }

    /// Something to try with what was made, and the exercise to go on with.
    fn after_a_pass(&self, task: &Task) -> String {
        let mut text = task.exercise.manifest.next.passed.clone();
        let Some(workspace) = workspace(task) else { return text };
        let place = &task.exercise.place;
        if place.solution(workspace).exists() {
            let compare = format!("`cargo run -- compare {}`", place.id);
            text.push_str(&format!("{MARGIN}your file beside the reference's: {compare}"));
        }
        let Ok(places) = exercise::all(workspace) else { return text };
        let Some(next) = following(&places, place, &Progress::read(workspace)) else {
            text.push_str(&format!("{MARGIN}you have passed all exercises"));
            return text;
        };
        let file = next.file();
        text.push_str(&format!(
            "{MARGIN}then go on with `{}`: edit `{}`",
            next.id,
            workspace.relative(&file).display()
        ));
        if let Some(page) = book::command(workspace, next) {
            text.push_str(&format!("{MARGIN}its chapter: {page}"));
        }
        text
    }
}

/// The exercise to go on with after this one: the next that has not been passed, round the end.
pub(in crate::commands) fn following<'a>(
    places: &'a [Location],
    this: &Location,
    progress: &Progress,
) -> Option<&'a Location> {
    let at = places.iter().position(|place| place.id == this.id)?;
    let others = (1..places.len()).map(|step| &places[(at + step) % places.len()]);
    others.into_iter().find(|place| !progress.is_passed(place))
}

/// The command that opens the page of the exercise.
fn page(task: &Task) -> Option<String> {
    book::command(workspace(task)?, &task.exercise.place)
}

fn workspace(task: &Task) -> Option<&Workspace> {
    match &task.source {
        Source::Cargo(workspace) => Some(workspace),
        Source::Prebuilt(_) | Source::Apart(_) => None,
    }
}

/// Where there is a race, nothing else is worth looking at before it.
fn after_a_race(task: &Task, race: &Hazard) -> String {
    let code = race.code;
    debug_assert_eq!(race.severity, Severity::Error);
    let second = place(task, &race.second.call);
    let first = match (&race.first.call.site, &race.second.call.site) {
        (Some(first), Some(second)) if first.file == second.file => format!("line {}", first.line),
        _ => format!("`{}`", place(task, &race.first.call)),
    };
    format!(
        "make `{second}` wait for {first}, as the help of {code} says{MARGIN}\
         `cargo run -- explain {code}` tells more"
    )
}

/// The student's file, as it is called where commands are typed.
fn file(task: &Task) -> String {
    let path = task.exercise.place.file();
    match workspace(task) {
        Some(workspace) => workspace.relative(&path).display().to_string(),
        None => "src/lib.rs".to_owned(),
    }
}

/// A call's file and line, as they are called where commands are typed.
fn place(task: &Task, call: &CallAt) -> String {
    let folder = &task.exercise.place.folder;
    match (workspace(task), &call.site) {
        (Some(workspace), Some(site)) => {
            format!("{}/{site}", workspace.relative(folder).display())
        }
        _ => call.place(),
    }
}

const FROM_THE_INPUT: &str = "every value has to come from the task's input, through each of its steps once and on the \
                              device: look for memory that is filled in another way";

const RUN_AGAIN: &str = "end other programs that use this GPU, and run it once more";

const NOT_YOURS: &str =
    "your file is not at fault: `cargo run -- doctor` says what this machine lacks";
