//! Saves the outcome of a run: passes, the first failed gate, and the times of puzzle programs.

use anyhow::Result;
use simulator::profile::BuiltIn;

use super::{Run, Task};
use crate::cli;
use crate::exercise::{Exercise, Location};
use crate::grade::Verdict;
use crate::prediction::{self, Times};
use crate::progress::{self, Progress};
use crate::report::Role;
use crate::workspace::Workspace;

impl Run<'_> {
    /// Keeps what a run of a workspace's own programs showed.
    pub(super) fn remember(&mut self, task: &Task) -> Result<()> {
        match &task.role {
            _ if self.arguments.prebuilt.is_some() => Ok(()),
            Role::Student => self.keep(&task.exercise.place),
            Role::Puzzle(program) => self.compare(&task.exercise, program),
            Role::Solution | Role::Baseline => Ok(()),
        }
    }

    /// Whether the device and the order of operations are those that are taken where none is named.
    /// What happens on others is there to be looked at: it is neither a pass nor the answer to a
    /// puzzle.
    fn is_usual(&self) -> bool {
        let cli::Run { profile, schedule, .. } = self.arguments;
        let is_default = |name: &String| BuiltIn::find(name) == Some(BuiltIn::H200);
        profile.as_ref().is_none_or(is_default) && schedule.is_none()
    }

    /// Keeps what the student has reached, and what stands in the way.
    fn keep(&mut self, place: &Location) -> Result<()> {
        let passed = self.report.score.filter(|_| self.report.verdict == Some(Verdict::Passed));
        let counts = passed.filter(|_| self.is_usual());
        let found = self.report.found_first();
        let workspace = Workspace::find()?;
        let is_usual = self.profile.is_some() && self.is_usual();
        let run = self.report.past().filter(|_| is_usual);
        if run.is_some() {
            self.report.before = Progress::read(&workspace).runs(place);
        }
        let note = progress::update(&workspace, |progress| {
            counts.into_iter().for_each(|score| progress.passed(place, score));
            run.iter().for_each(|run| progress.has_run(place, run));
            progress.found(&place.id, found);
        })?;
        self.report.notes.extend(note);
        if passed.is_some() && counts.is_none() {
            self.report.notes.push(UNUSUAL.to_owned());
        }
        Ok(())
    }

    /// Keeps how long a program of the puzzle took, and puts what was expected of it beside that.
    fn compare(&mut self, exercise: &Exercise, program: &str) -> Result<()> {
        let (workspace, id) = (Workspace::find()?, exercise.place.id.as_str());
        let conditions = prediction::conditions(workspace.root(), &exercise.place);
        let is_usual = self.profile.is_some() && self.is_usual();
        if let Some(ns) = self.report.makespan_ns.filter(|_| is_usual) {
            let note = progress::update(&workspace, |it| it.ran(id, program, ns, conditions))?;
            self.report.notes.extend(note);
        }
        let Some(question) = exercise.question()? else { return Ok(()) };
        let progress = Progress::read(&workspace);
        match question.kept(&progress, id) {
            None => self.report.notes.push(format!(
                "`cargo run -- predict {id}` asks what you expect of these programs; answer before you look"
            )),
            Some(answer) => {
                let times = Times { progress: &progress, exercise: id, conditions };
                self.report.prediction = question.beside(&answer, program, &times);
            }
        }
        Ok(())
    }
}

const UNUSUAL: &str = "a pass counts on the usual device alone: run it without `--profile`";
