//! A class's files, graded by several workers at once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::grader::{Grader, Outcome};
use crate::record::{Reason, Row};
use crate::store::{self, Store};
use crate::submission::{File, Handed, Student};
use crate::timings::Took;
use crate::worker::{Job, Setting, Worker, file_of};
use checker::exercise::State;
use checker::grade::Verdict;
use checker::workspace::Workspace;
use sandbox::interrupt;
use sandbox::scratch::Scratch;

/// How a class is graded.
pub(crate) struct Plan<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) setting: &'a Setting,
    pub(crate) graders: &'a [Grader],
    pub(crate) store: &'a Store,
    /// Workers at a time.
    pub(crate) jobs: u16,
    /// Seconds of time-outs after which a student's other exercises are left to a person.
    pub(crate) budget_s: f64,
    /// Is told how many exercises are done, of how many.
    pub(crate) progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// The outcome.
pub(crate) struct Graded {
    /// By student and exercise.
    pub(crate) rows: Vec<Row>,
    /// How many files were compiled and run.
    pub(crate) run: usize,
    /// The time that took, but for those that ran out of time.
    pub(crate) took: Took,
    /// The time that those took.
    pub(crate) late: Took,
}

/// A file that ran out of time beside others, to be tried again alone.
struct Late {
    key: String,
    outcome: Outcome,
    file: File,
}

/// One exercise of one student.
struct Task {
    /// The numbers of both.
    index: (usize, usize),
    handed: Handed,
    by: Arc<By>,
}

/// A student whose exercises are graded, by several hands perhaps.
struct By {
    id: String,
    /// By exercise, the seconds after which it ran out of time.
    spent_s: Mutex<Vec<f64>>,
}

impl By {
    /// The budget that the exercises before one have used up, as far as they are graded.
    fn spent_before(&self, exercise: usize) -> f64 {
        lock(&self.spent_s)[..exercise].iter().sum()
    }
}

/// A row, and whether something was run for it.
struct Entry {
    row: Row,
    is_run: bool,
}

/// Grades every student's exercises. Students are read one by one, as there are hands for
/// them, by their numbers.
pub(crate) fn grade(
    plan: &Plan<'_>,
    students: &[usize],
    mut read: impl FnMut(usize) -> Student,
) -> Result<Graded> {
    let files = Scratch::new()?;
    let total = students.len() * plan.graders.len();
    let (done, run) = (AtomicUsize::new(0), Ran::default());
    let rows = Mutex::new(BTreeMap::new());
    let late = Mutex::new(BTreeMap::new());
    let jobs = plan.jobs.max(1);
    // Each exercise is a task of its own, so that no thread is idle while another has a student's
    // last nine.
    let (desk, waiting) = mpsc::sync_channel::<Task>(jobs.into());
    let waiting = Mutex::new(waiting);
    let work = |thread: &mut GradingThread<'_>| -> Result<()> {
        loop {
            interrupt::check()?;
            let next = lock(&waiting).recv();
            let Ok(Task { index, handed, by }) = next else { return Ok(()) };
            let grader = &plan.graders[index.1];
            let Found { mut row, late: again, is_run } =
                thread.exercise(plan, grader, &handed, by.spent_before(index.1), &run)?;
            row.student.clone_from(&by.id);
            if let (Some(Attempted { key, outcome }), Handed::File(file)) = (again, handed) {
                lock(&by.spent_s)[index.1] = grader.limit_s(outcome.row.reason);
                lock(&late).insert(index, Late { key, outcome, file });
            }
            lock(&rows).insert(index, Entry { row, is_run });
            (plan.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        }
    };
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..jobs)
            .map(|_| GradingThread { worker: None, files: files.path() })
            .map(|mut one| scope.spawn(move || work(&mut one)))
            .collect();
        let are_all_there = || !threads.iter().any(ScopedJoinHandle::is_finished);
        'students: for &number in students {
            let student = read(number);
            let spent_s = Mutex::new(vec![0.0; plan.graders.len()]);
            let by = Arc::new(By { id: student.id, spent_s });
            for (exercise, handed) in student.handed.into_iter().enumerate() {
                let mut next = Task { index: (number, exercise), handed, by: Arc::clone(&by) };
                // A thread that gives up takes no more: whatever it was comes out below.
                while let Err(TrySendError::Full(back)) = desk.try_send(next) {
                    if !are_all_there() {
                        break 'students;
                    }
                    std::thread::sleep(TURN);
                    next = back;
                }
            }
        }
        drop(desk);
        let mut ended = Ok(());
        for thread in threads {
            let one = thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread is gone")));
            ended = ended.and(one);
        }
        ended
    })?;

    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut late = late.into_inner().unwrap_or_else(PoisonError::into_inner);
    leave_over_budget(plan, &mut rows, &mut late);
    let mut tried: BTreeMap<String, Outcome> = BTreeMap::new();
    let mut alone = GradingThread { worker: None, files: files.path() };
    for (index, Late { key, outcome, file }) in late {
        interrupt::check()?;
        let outcome = match tried.get(&key) {
            Some(outcome) => outcome.clone(),
            None => {
                let again = alone.run(plan, &plan.graders[index.1], &file, &run)?;
                let no_worse = |it: &Outcome| it.row.score >= outcome.row.score;
                let best = again.ok().filter(no_worse).unwrap_or(outcome);
                plan.store.keep(&key, &best)?;
                tried.insert(key, best.clone());
                best
            }
        };
        let mut row = finished(plan, outcome, &file)?;
        if let Some(entry) = rows.get_mut(&index) {
            row.student.clone_from(&entry.row.student);
            entry.row = row;
        }
    }
    let (took, late) = (*lock(&run.took), *lock(&run.late));
    let run = run.files.into_inner();
    let rows = rows.into_values().map(|entry| entry.row).collect();
    Ok(Graded { rows: store::merge(rows)?, run, took, late })
}

/// Takes back what was run beyond a student's budget. Exercises that were graded at the same time
/// could not know of one another, and a row is to be the same with any number of hands: as if they
/// had been graded in order.
fn leave_over_budget(
    plan: &Plan<'_>,
    rows: &mut BTreeMap<(usize, usize), Entry>,
    late: &mut BTreeMap<(usize, usize), Late>,
) {
    let limit_s = |index: &(usize, usize)| {
        late.get(index).map_or(0.0, |it| plan.graders[index.1].limit_s(it.outcome.row.reason))
    };
    let tried: Vec<_> =
        rows.iter().map(|(index, entry)| (*index, entry.is_run, limit_s(index))).collect();
    for (index, spent_s) in beyond(plan.budget_s, &tried) {
        late.remove(&index);
        if let Some(Entry { row, .. }) = rows.get_mut(&index) {
            let over = over_budget(plan, &plan.graders[index.1], spent_s);
            *row = Row { student: row.student.clone(), file: row.file.take(), ..over };
        }
    }
}

/// Which exercises are beyond a student's budget, by the numbers of student and exercise, and what
/// those before them have used up. Of each exercise it is told whether it was run, and the seconds
/// after which it ran out of time, if it did.
fn beyond(budget_s: f64, tried: &[((usize, usize), bool, f64)]) -> Vec<((usize, usize), f64)> {
    let mut spent_s: BTreeMap<usize, f64> = BTreeMap::new();
    let mut beyond = Vec::new();
    for &(index, is_run, limit_s) in tried {
        let spent_s = spent_s.entry(index.0).or_default();
        match is_run && *spent_s >= budget_s {
            true => beyond.push((index, *spent_s)),
            false => *spent_s += limit_s,
        }
    }
    beyond
}

/// The row of an exercise that is left to a person.
fn over_budget(plan: &Plan<'_>, grader: &Grader, spent_s: f64) -> Row {
    let message = format!(
        "not graded: this student's exercises before it ran out of time for {spent_s} s together, and {} s is the \
         budget",
        plan.budget_s
    );
    grader.not_run(Verdict::Inconclusive, Reason::OverBudget, message)
}

/// The runs so far.
#[derive(Default)]
struct Ran {
    files: AtomicUsize,
    took: Mutex<Took>,
    late: Mutex<Took>,
}

/// How often it is looked whether a worker is free.
const TURN: Duration = Duration::from_millis(5);

/// One of the threads that grade, with its worker once there is something for it to do.
struct GradingThread<'a> {
    worker: Option<Worker>,
    /// Where students' files are put for workers.
    files: &'a Path,
}

/// A row, and what is to be tried again for it.
struct Found {
    row: Row,
    late: Option<Attempted>,
    /// Something was run for it, or would have been but for the budget.
    is_run: bool,
}

struct Attempted {
    key: String,
    outcome: Outcome,
}

/// How many times a file is tried if grading itself fails.
const TRIES: usize = 2;

impl GradingThread<'_> {
    /// The row of an exercise, from what is kept or from a run.
    fn exercise(
        &mut self,
        plan: &Plan<'_>,
        grader: &Grader,
        handed: &Handed,
        spent_s: f64,
        run: &Ran,
    ) -> Result<Found> {
        let known = |row| Ok(Found { row, late: None, is_run: false });
        let only = |row| Ok(Found { row, late: None, is_run: true });
        let file = match handed {
            Handed::File(file) => file,
            Handed::Missing { hint } => {
                let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
                let message = format!("there is no file for this exercise{hint}");
                return known(grader.not_run(Verdict::Rejected, Reason::Missing, message));
            }
            Handed::Invalid { reason } => {
                let invalid = Reason::InvalidSubmission;
                return known(grader.not_run(Verdict::Rejected, invalid, reason.clone()));
            }
        };
        let submitted = &file.submitted;
        if file.state == State::Untouched {
            let mut row = grader.not_run(Verdict::Failed, Reason::Untouched, UNTOUCHED.to_owned());
            (row.score, row.points) = (Some(0.0), Some(0.0));
            row.file = Some(submitted.clone());
            return known(row);
        }
        let key = grader.key(&submitted.sha256)?;
        if let Some(outcome) = plan.store.outcome(&key) {
            return known(finished(plan, outcome, file)?);
        }
        if spent_s >= plan.budget_s {
            let mut row = over_budget(plan, grader, spent_s);
            row.file = Some(submitted.clone());
            return only(row);
        }
        match self.run(plan, grader, file, run)? {
            Err(why) => {
                let mut row = grader.not_run(Verdict::Error, Reason::Infrastructure, why);
                row.file = Some(submitted.clone());
                only(row)
            }
            Ok(outcome) => {
                let row = finished(plan, outcome.clone(), file)?;
                match outcome.row.reason {
                    Some(Reason::Timeout | Reason::CompileLimit) => {
                        Ok(Found { row, late: Some(Attempted { key, outcome }), is_run: true })
                    }
                    _ => {
                        if outcome.row.verdict != Verdict::Error {
                            plan.store.keep(&key, &outcome)?;
                        }
                        only(row)
                    }
                }
            }
        }
    }

    /// Has a file graded; or why that cannot be done, which is not the file's fault.
    fn run(
        &mut self,
        plan: &Plan<'_>,
        grader: &Grader,
        file: &File,
        run: &Ran,
    ) -> Result<Result<Outcome, String>> {
        let text = &file.text;
        let file = file_of(self.files, &file.submitted.sha256);
        std::fs::write(&file, text).context("cannot write a student's file")?;
        let outcome = file.with_extension(format!("{}.json", grader.exercise_id()));
        let job = Job { exercise: grader.exercise_id().to_owned(), file, outcome: outcome.clone() };
        let mut why = String::new();
        for _ in 0..TRIES {
            interrupt::check()?;
            let worker = match &mut self.worker {
                Some(worker) => worker,
                none => none.insert(Worker::start(plan.workspace, plan.setting)?),
            };
            run.files.fetch_add(1, Ordering::Relaxed);
            match worker.grade(&job) {
                Ok(Ok(took)) => {
                    let bytes = std::fs::read(&outcome).context("cannot read an outcome")?;
                    let outcome: Outcome =
                        serde_json::from_slice(&bytes).context("cannot read an outcome")?;
                    let late = [Some(Reason::Timeout), Some(Reason::CompileLimit)];
                    let is_late = late.contains(&outcome.row.reason);
                    lock(if is_late { &run.late } else { &run.took }).add(&took);
                    if outcome.row.verdict != Verdict::Error {
                        return Ok(Ok(outcome));
                    }
                    why = outcome.row.message;
                }
                Ok(Err(message)) => why = message,
                Err(error) => {
                    why = format!("{error:#}");
                    self.worker = None;
                }
            }
        }
        Ok(Err(why))
    }
}

/// The row that an outcome is for this file; the drawing is put where pages look for it.
fn finished(plan: &Plan<'_>, outcome: Outcome, file: &File) -> Result<Row> {
    let Outcome { mut row, drawing } = outcome;
    row.file = Some(file.submitted.clone());
    row.flags.extend(file.flags.iter().cloned());
    if let (Some(drawing), Some(name)) = (drawing, row.drawing()) {
        let path = plan.store.drawings().join(name);
        // One that was not written out to the disk in time may be empty.
        if !path.metadata().is_ok_and(|found| found.len() > 0) {
            store::place(&path, drawing.as_bytes())?;
        }
    }
    Ok(row)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const UNTOUCHED: &str = "the file is as it was handed out";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_a_budget_does_not_depend_on_who_was_faster() {
        // Two students; both ran out of time in three exercises of five, all at once, and 40 s is the budget.
        let (fast, late) = ((true, 0.0), (true, 20.0));
        let first = [late, fast, late, late, fast];
        // What was known before costs nothing and is kept.
        let second = [late, late, (false, 0.0), fast, late];
        let all = [(1, first), (2, second)].into_iter().flat_map(|(student, tried)| {
            let of = move |(exercise, (is_run, limit_s))| ((student, exercise), is_run, limit_s);
            tried.into_iter().enumerate().map(of)
        });
        let all: Vec<_> = all.collect();
        let beyond = beyond(40.0, &all);
        let expected = [(1, 3), (1, 4), (2, 3), (2, 4)].map(|index| (index, 40.0));
        assert_eq!(beyond, expected);
    }
}
