//! A process that grades one file after another, and the pool of them.
//!
//! What a student's program leaves running is ended by the worker that started it. To be sure what
//! that is, each worker has one program at a time. A worker that comes to grief takes one file's
//! grading with it and no more.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::compile::Shared;
use crate::grader::Grader;
use crate::kit::Kit;
use crate::timings::{StopWatch, Took};
use checker::device::Simulated;
use checker::exercise::Location;
use checker::report::softly;
use checker::workspace::Workspace;
use sandbox::Sandbox;
use sandbox::scratch::Scratch;

/// The first message to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) kit: Kit,
    /// The folders of the exercises.
    pub(crate) exercises: Vec<PathBuf>,
    /// File of the device profile; none for the built-in one.
    pub(crate) profile: Option<String>,
    pub(crate) sandbox: Sandbox,
}

/// A file to be graded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) exercise: String,
    /// Where the file is.
    pub(crate) file: PathBuf,
    /// Where the outcome goes.
    pub(crate) outcome: PathBuf,
}

impl Setting {
    /// The grader of each exercise, in the setting's order.
    pub(crate) fn graders(&self, workspace: &Workspace) -> Result<Vec<Grader>> {
        let shared =
            Shared { kit: Arc::new(self.kit.clone()), sandbox: Arc::new(self.sandbox.clone()) };
        let device = Simulated::named(self.profile.as_deref())?;
        let grader = |folder: &PathBuf| {
            let place = Location::of(folder.clone())
                .with_context(|| format!("`{}` is no exercise", folder.display()))?;
            let exercise = place.open(workspace)?;
            Grader::new(exercise, shared.clone(), device.clone())
        };
        self.exercises.iter().map(grader).collect()
    }
}

/// The answer of a worker to a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Answer {
    /// The outcome is where it should be, and it took this.
    Done(Took),
    /// A failure that the student's file did not cause.
    Trouble(String),
}

/// The body of a worker's process: reads a setting and then jobs, a line each, and answers each job
/// with a line.
pub(crate) fn serve(workspace: &Workspace) -> Result<()> {
    let mut lines = std::io::stdin().lock().lines();
    let setting = lines.next().context("a worker is started by the checker alone")??;
    let setting: Setting = serde_json::from_str(&setting).context("cannot read the setting")?;
    let graders = setting.graders(workspace)?;
    let mut answers = std::io::stdout().lock();
    for line in lines {
        let job: Job = serde_json::from_str(&line?).context("cannot read a job")?;
        // One file that brings grading to grief takes no other with it.
        let performed = softly("the grade", || perform(&graders, &job));
        let answer = match performed.unwrap_or_else(|why| Err(anyhow::anyhow!(why))) {
            Ok(took) => Answer::Done(took),
            Err(error) if error.is::<sandbox::interrupt::Interrupted>() => return Err(error),
            Err(error) => Answer::Trouble(format!("{error:#}").replace('\n', " ")),
        };
        let answer = serde_json::to_string(&answer)?;
        writeln!(answers, "{answer}").context("nobody takes the answer")?;
    }
    Ok(())
}

fn perform(graders: &[Grader], job: &Job) -> Result<Took> {
    let grader = graders.iter().find(|grader| grader.exercise_id() == job.exercise);
    let grader = grader.with_context(|| format!("there is no exercise `{}`", job.exercise))?;
    let watch = StopWatch::start();
    let file = std::fs::read(&job.file).context("cannot read the student's file")?;
    let folder = Scratch::passable()?;
    let outcome = grader.grade(&file, folder.path(), &|stage| watch.tell(stage))?;
    std::fs::write(&job.outcome, serde_json::to_vec(&outcome)?)
        .context("cannot write an outcome")?;
    Ok(watch.stop())
}

/// A worker, seen from the process that gives it jobs.
pub(crate) struct Worker {
    child: Child,
    jobs: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts one.
    pub(crate) fn start(workspace: &Workspace, setting: &Setting) -> Result<Self> {
        let this = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(this);
        command.arg("grade-worker").env(checker::workspace::VARIABLE, workspace.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: between fork and exec only a system call on integers is made.
        unsafe {
            command.pre_exec(|| {
                // A checker that is killed leaves no worker running.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let mut child = command.spawn().context("cannot start a worker")?;
        let jobs = child.stdin.take().context("a worker has no standard input")?;
        let answers = child.stdout.take().context("a worker has no standard output")?;
        let mut worker = Self { child, jobs, answers: BufReader::new(answers) };
        worker.tell(&serde_json::to_string(setting)?)?;
        Ok(worker)
    }

    /// Has a file graded. An error is the worker's end.
    pub(crate) fn grade(&mut self, job: &Job) -> Result<Result<Took, String>> {
        self.tell(&serde_json::to_string(job)?)?;
        let mut answer = String::new();
        let read = self.answers.read_line(&mut answer).context("cannot read a worker's answer")?;
        if read == 0 {
            bail!("a worker came to an end");
        }
        match serde_json::from_str(&answer).context("cannot read a worker's answer")? {
            Answer::Done(took) => Ok(Ok(took)),
            Answer::Trouble(why) => Ok(Err(why)),
        }
    }

    fn tell(&mut self, line: &str) -> Result<()> {
        let told = writeln!(self.jobs, "{line}").and_then(|()| self.jobs.flush());
        told.context("a worker came to an end")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // What it had started dies with it.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The path of a job's file in `folder`.
pub(crate) fn file_of(folder: &Path, sha256: &str) -> PathBuf {
    folder.join(format!("{sha256}.rs"))
}
