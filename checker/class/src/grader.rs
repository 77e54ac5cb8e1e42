//! One student's exercise, from the file to what is kept of it.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compile::{Apart, Shared};
use crate::kit;
use crate::record::{FORMAT, Finding, Reason, Row, TEXT_BYTES, With};
use checker::attempt::Machine;
use checker::cli::{self, Feedback};
use checker::commands::run::{self, Ran};
use checker::compile::{self, RefusedBecause};
use checker::device::Simulated;
use checker::exercise::Exercise;
use checker::grade::{Gate, Verdict, score};
use checker::report::{json, softly, terminal};
use checker::status::Tell;
use sandbox::Exceeded;
use sandbox::process::Ending;

/// The outcome of grading a file, from whichever student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// With no student in it.
    pub(crate) row: Row,
    /// The timeline above the reference's, as SVG.
    pub(crate) drawing: Option<String>,
}

/// Everything that the files of one exercise are graded with.
#[derive(Clone, Debug)]
pub(crate) struct Grader {
    exercise: Exercise,
    /// The program's start, the instructor's copy.
    main: Vec<u8>,
    shared: Shared,
    device: Simulated,
    with: With,
}

/// A run with the device in a process of its own and with inputs of this seed. What comes of it is
/// for the instructor: everything is said.
fn arguments(exercise: &str, seed: u64) -> cli::Run {
    cli::Run {
        machine: Machine::Process,
        feedback: Some(Feedback::Advice),
        seed: Some(seed),
        ..cli::Run::of(exercise)
    }
}

impl Grader {
    /// Gets everything ready that is the same for all.
    pub(crate) fn new(exercise: Exercise, shared: Shared, device: Simulated) -> Result<Self> {
        let path = exercise.place.folder.join("src/main.rs");
        let main =
            std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let with = With {
            checker: env!("CARGO_PKG_VERSION").to_owned(),
            rustc: shared.kit.version.clone(),
            profile: device.profile.name.clone(),
            exercise_sha256: kit::sha256_of_exercise(&exercise)?,
            sandbox: shared.sandbox.layers().clone(),
        };
        Ok(Self { exercise, main, shared, device, with })
    }

    /// The exercise itself.
    pub(crate) fn exercise(&self) -> &Exercise {
        &self.exercise
    }

    /// The program's start, the instructor's copy.
    pub(crate) fn main(&self) -> &[u8] {
        &self.main
    }

    /// The exercise's name.
    pub(crate) fn exercise_id(&self) -> &str {
        &self.exercise.place.id
    }

    /// Seconds that a file took which failed for this reason: its limit, whatever the machine.
    pub(crate) fn limit_s(&self, reason: Option<Reason>) -> f64 {
        match reason {
            Some(Reason::CompileLimit) => compile::WALL.as_secs_f64(),
            Some(Reason::Timeout) => self.exercise.manifest.time_limit_s,
            _ => 0.0,
        }
    }

    /// The name under which the outcome of a file is kept: another one for everything that could
    /// make it another outcome. It begins with [`kept_as`].
    pub(crate) fn key(&self, sha256: &str) -> Result<String> {
        let id = &self.exercise.place.id;
        let all = (FORMAT, id, sha256, &self.with, &self.shared.kit.sha256, &self.device.profile);
        let all = kit::sha256(serde_json::to_string(&all)?.as_bytes());
        Ok(format!("{}{}", kept_as(id, sha256), &all[..32]))
    }

    /// The seed of the inputs. The same file gets the same seed, so a grade can be reproduced; its
    /// author cannot know the seed without the instructor's copy of everything.
    fn seed(&self, sha256: &str) -> Result<u64> {
        let key = kit::sha256(self.key(sha256)?.as_bytes());
        u64::from_str_radix(&key[..16], 16).context("a hash is hexadecimal")
    }

    /// Grades a file in `folder`, which is empty and used for nothing else.
    pub(crate) fn grade(&self, file: &[u8], folder: &Path, tell: Tell<'_>) -> Result<Outcome> {
        let id = &self.exercise.place.id;
        let apart = Apart::lay_out(&self.shared, folder, id, file, &self.main)?;
        let seed = self.seed(&kit::sha256(file))?;
        let mut ran = run::apart(&self.exercise, apart, &self.device, &arguments(id, seed), tell)?;
        if claims_trouble(&ran) && !self.is_in_trouble(folder, seed)? {
            let Ran { report, .. } = &mut ran;
            report.verdict = Some(Verdict::Failed);
            report.gate = Some(Gate::Output);
            report.score = Some(0.0);
            report.message = CLAIMED_TROUBLE.to_owned();
        }
        let drawing = match &ran.presentation.charts[..] {
            [] => None,
            charts => softly("the drawing", || trace::draw::svg(&terminal::layout(charts), id))
                .map_err(|note| ran.report.notes.push(note))
                .ok(),
        };
        Ok(Outcome { row: self.row(&ran)?, drawing })
    }

    /// Whether the file as it was handed out does not get as far as the region's beginning either:
    /// then it is the machine or the kit, and not what a student wrote.
    fn is_in_trouble(&self, folder: &Path, seed: u64) -> Result<bool> {
        let id = &self.exercise.place.id;
        let shipped = self.exercise.place.folder.join(".shipped/lib.rs");
        let shipped = std::fs::read(&shipped)
            .with_context(|| format!("cannot read `{}`", shipped.display()))?;
        let folder = folder.join("shipped");
        let apart = Apart::lay_out(&self.shared, &folder, id, &shipped, &self.main)?;
        Ok(claims_trouble(&run::apart(
            &self.exercise,
            apart,
            &self.device,
            &arguments(id, seed),
            &|_| {},
        )?))
    }

    /// The outcome of a file that was not run, for this reason.
    pub(crate) fn not_run(&self, verdict: Verdict, reason: Reason, message: String) -> Row {
        let score = (verdict == Verdict::Rejected).then_some(0.0);
        Row {
            format: FORMAT,
            student: String::new(),
            exercise: self.exercise.place.id.clone(),
            verdict,
            gate: None,
            reason: Some(reason),
            score,
            points: score,
            late: None,
            replaced: None,
            pass_score: self.exercise.manifest.pass_score,
            score_rule: score::RULE,
            metric: self.exercise.manifest.metric,
            metric_value: None,
            baseline_value: None,
            reference_value: None,
            makespan_ns: None,
            floor_ns: None,
            serial_ns: None,
            host_work_ns: None,
            hidden_fraction: None,
            hazards: Vec::new(),
            causes: Vec::new(),
            advice: Vec::new(),
            message,
            notes: Vec::new(),
            flags: Vec::new(),
            compiler: String::new(),
            output: String::new(),
            file: None,
            gpu: None,
            with: self.with.clone(),
        }
    }

    fn row(&self, ran: &Ran) -> Result<Row> {
        let Ran { report, presentation } = ran;
        let reason = reason(ran);
        let (verdict, gate) = match reason {
            Some(Reason::ForbiddenCode) => (Verdict::Rejected, None),
            _ => (report.verdict.unwrap_or(Verdict::Error), report.gate),
        };
        let mut notes = report.notes.clone();
        let object = softly("hazards, causes and advice", || {
            serde_json::to_value(json::object(report, presentation, Some(Feedback::Advice)))
        });
        let object = match object {
            Ok(object) => object?,
            Err(note) => {
                notes.push(note);
                Value::Null
            }
        };
        let standard = report.standard;
        Ok(Row {
            gate,
            score: report.score,
            points: report.score,
            reason,
            metric_value: report.metric_value,
            baseline_value: standard.map(|it| it.baseline()),
            reference_value: standard.map(|it| it.reference()),
            makespan_ns: report.makespan_ns,
            floor_ns: report.bounds.map(|it| it.floor_ns),
            serial_ns: report.bounds.map(|it| it.serial_ns),
            host_work_ns: report.bounds.map(|it| it.host_ns).filter(|&ns| ns > 0),
            hidden_fraction: report.hidden_fraction,
            hazards: findings(&object["hazards"]),
            causes: findings(&object["causes"]),
            advice: findings(&object["advice"]),
            notes,
            compiler: cut(&presentation.compiler),
            output: cut(&presentation.output),
            ..self.not_run(verdict, Reason::Infrastructure, cut(&report.message))
        })
    }
}

/// Whether it was the program that said, by its exit status, that something is wrong with the
/// machine. Whatever a student's program says it may have been told to say.
fn claims_trouble(ran: &Ran) -> bool {
    let Ran { report, presentation } = ran;
    report.verdict == Some(Verdict::Error) && matches!(presentation.ending, Some(Ending::Exited(_)))
}

const CLAIMED_TROUBLE: &str = "the program ended before its measured region began, with the exit status by which the \
                               lab says that the machine is in trouble, which it is not";

/// How the names begin under which outcomes of a file are kept.
pub(crate) fn kept_as(exercise: &str, sha256: &str) -> String {
    format!("{exercise}-{}-", &sha256[..16])
}

/// The part of an outcome that verdict and gate do not say.
fn reason(ran: &Ran) -> Option<Reason> {
    let Ran { report, presentation } = ran;
    match (presentation.because, report.verdict, report.gate) {
        (Some(RefusedBecause::Errors), ..) => Some(Reason::CompileError),
        (Some(RefusedBecause::Limit), ..) => Some(Reason::CompileLimit),
        (Some(RefusedBecause::Forbidden), ..) => Some(Reason::ForbiddenCode),
        (None, Some(Verdict::Error), _) => Some(Reason::Infrastructure),
        (None, _, Some(_)) if presentation.exceeded.is_some_and(|it| it != Exceeded::Time) => {
            Some(Reason::Limit)
        }
        (None, _, Some(Gate::Time)) => Some(Reason::Timeout),
        (None, _, Some(Gate::Output)) => match presentation.ending {
            Some(Ending::Signalled(_) | Ending::Exited(PANICKED)) => Some(Reason::RuntimeError),
            // No region came to its end, and so nothing was looked at.
            _ if report.makespan_ns.is_none() => Some(Reason::NoResult),
            _ => None,
        },
        _ => None,
    }
}

/// The exit status of a panic.
const PANICKED: i32 = 101;

/// Hazards, causes and advice look alike in the report's object; what one has not is null there.
fn findings(list: &Value) -> Vec<Finding> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let number = |value: &Value| value.as_u64();
    let line = |value: &Value| number(value).and_then(|it| u32::try_from(it).ok());
    let finding = |value: &Value| Finding {
        code: text(&value["code"]).unwrap_or_default(),
        name: text(&value["name"]).unwrap_or_default(),
        severity: text(&value["severity"]).unwrap_or_default(),
        file: text(&value["file"]),
        line: line(&value["line"]),
        other_line: line(&value["first"]["line"]),
        nanoseconds: number(&value["nanoseconds"]),
        count: line(&value["count"]),
        message: cut_to(&text(&value["message"]).unwrap_or_default(), MESSAGE_BYTES),
        help: text(&value["help"]).map(|help| cut_to(&help, MESSAGE_BYTES)),
    };
    list.as_array().map(|list| list.iter().map(finding).collect()).unwrap_or_default()
}

/// The beginning of a long text, with a word that there was more.
fn cut(text: &str) -> String {
    cut_to(text, TEXT_BYTES)
}

/// The most that is kept of a line about a hazard, a cause or a piece of advice, in bytes: names
/// are in it, which students choose.
const MESSAGE_BYTES: usize = 2000;

fn cut_to(text: &str, most: usize) -> String {
    const MORE: &str = "\n[… cut off …]\n";
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most - MORE.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MORE}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_finding_is_cut_at_a_character() {
        let long = "é".repeat(MESSAGE_BYTES);
        let list = serde_json::json!([{ "code": "SWIM-H01", "message": long, "help": long }]);
        let [finding] = &findings(&list)[..] else { panic!("there is one") };
        for text in [Some(&finding.message), finding.help.as_ref()] {
            let text = text.expect("it is said");
            assert!(text.len() <= MESSAGE_BYTES && text.ends_with("[… cut off …]\n"), "{text}");
        }
    }
}
