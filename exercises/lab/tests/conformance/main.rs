//! Does the simulated device do what a GPU does?
//!
//! One body, two arms. A [row](row::Row) is a situation and what is seen of **order** and **blocking**
//! in it: is the host free or blocked, do the streams overlap, is the data old or new, which code comes
//! back. Never a time. Its body makes the same calls through the driver library on both arms, and judges
//! them in the same way, by event timestamps and by the lab's clock: virtual on the simulated device,
//! real on a GPU. Kernels are 30 ms long and "blocked" means for half of that, so neither a slow host
//! nor a warm GPU changes an answer.
//!
//! Each row says what a GPU answers: measured, or documented where nothing was measured. What the
//! simulated device answers wrongly is a **gap**: the row also says today's wrong answer, which is
//! asserted, so that a gap that has been closed shows. The number of rows and of gaps is printed at the
//! end of a run.
//!
//! # On the simulated device
//! `cargo test -p lab --test conformance [WORDS OF A NAME]`. Each row runs in a process of its own, and
//! is compared with its expectation and with `h200.json` beside this file: what a GPU answered.
//!
//! # On a GPU
//! Without cargo, from two files that lie side by side: the test's program
//! (`target/debug/deps/conformance-…`) and `libswim_driver.so` from the same folder.
//!
//! ```text
//! SWIM_CONFORMANCE=gpu ./conformance-… --write h200.json [WORDS OF A NAME]
//! ```
//!
//! It takes about two minutes for all rows. Rows are run in groups, each group in a process of its own,
//! three times each; one that hangs or crashes is reported as such and loses no other. The file that it
//! writes belongs beside this one as `h200.json`. Then the simulated arm fails wherever the two disagree
//! and no gap is marked. A row of what is undefined, such as the use of a handle that was destroyed, may
//! also crash there; the simulated device always says what is wrong. `SWIM_CONFORMANCE_OUT` names the
//! file too.
//!
//! A row that is newer than the file has no answer of a GPU in it: what it expects is taken from the
//! documentation, or from what was measured of its like. It is compared with that alone, and named at the
//! end of a run as one that no GPU has been asked.
//!
//! `SWIM_CONFORMANCE=sim` prints the same table for the simulated device, without comparing and without
//! writing anything.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`row`] | rows and what can be seen |
//! | [`bench`](mod@bench) | the device as the rows' bodies use it |
//! | [`arm`] | running rows in processes, on either arm |
//! | [`kept`] | the results of a GPU |
//! | [`rows`] | the rows |

mod arm;
mod bench;
mod kept;
mod row;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use arm::{Arm, Outcome};
use kept::Kept;
use row::{NOT_READY, Row, SUCCESS, phrases};

/// `gpu` prints a table of what a GPU answers, `sim` one of what the simulated device does.
const CONFORMANCE: &str = "SWIM_CONFORMANCE";
/// Where the results of a GPU go.
const OUT: &str = "SWIM_CONFORMANCE_OUT";

fn main() -> ExitCode {
    let rows = rows::all();
    if let Ok(asked) = std::env::var(arm::ROWS) {
        arm::answer(&asked, &rows);
        return ExitCode::SUCCESS;
    }
    match std::env::var(CONFORMANCE).as_deref() {
        Ok("gpu") => table(Arm::Gpu, &rows),
        Ok("sim") => table(Arm::Simulated, &rows),
        _ => on_the_simulated_device(&rows),
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the numbers of rows and gaps are part of the test's output"
)]
fn on_the_simulated_device(rows: &[Row]) -> ExitCode {
    let arguments = Arguments::from_args();
    let kept = Kept::read().map(|kept| kept.map(Arc::new));
    let mut trials = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let expect = phrases(&row.expect);
        let gap = row.gap.as_deref().map(phrases);
        let answer = match &kept {
            Ok(Some(kept)) => kept.answer(&row.name),
            _ => None,
        };
        let environment = row.environment.clone();
        trials.push(Trial::test(&row.name, move || {
            let outcomes = arm::run(Arm::Simulated, &[index], &environment);
            judge(&outcomes[&index], &expect, gap.as_deref(), answer.as_deref())
        }));
    }
    let listing = arguments.list;
    let readable = match &kept {
        Ok(Some(kept)) => {
            let gone = kept.rows().find(|name| rows.iter().all(|row| row.name != *name));
            gone.map_or(Ok(()), |name| Err(format!("there is no row `{name}` any more")))
        }
        Ok(None) => Ok(()),
        Err(why) => Err(why.clone()),
    };
    trials.push(Trial::test("the kept results are of these rows", move || {
        readable.map_err(Failed::from)
    }));
    let gaps = rows.iter().filter(|row| row.gap.is_some()).count();
    let source = include_str!("../../../../checker/simulator/src/lib.rs");
    let says = says_how_many(source, rows.len(), gaps);
    trials.push(Trial::test("the documentation counts rows and gaps as they are", || Ok(says?)));
    trials.push(Trial::test("a count that only ends in the right digits is wrong", || {
        let says = "it is held against 115 rows of order, and 15 rows are known gaps";
        assert_eq!(says_how_many(says, 115, 15), Ok(()));
        for (rows, gaps) in [(15, 15), (115, 5), (5, 15)] {
            assert!(says_how_many(says, rows, gaps).is_err(), "{rows} rows, {gaps} gaps");
        }
        Ok(())
    }));
    trials.push(Trial::test("what is undefined may crash, and do nothing else", || {
        let undefined = Row::new("", &[SUCCESS], |_| Ok(vec![])).undefined();
        let crash = Outcome::Crashed("signal: 11 (SIGSEGV)".to_owned());
        let hang = Outcome::Failed("it hung for 20 s".to_owned());
        let other = Outcome::Seen(phrases(&[NOT_READY]));
        let marks = [crash.clone(), hang, other].map(|outcome| mark(&undefined, &outcome));
        assert_eq!(marks, ["undefined", "FAILED", "DIFFERS"]);
        assert_eq!(mark(&Row::new("", &[SUCCESS], |_| Ok(vec![])), &crash), "FAILED");
        Ok(())
    }));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !listing {
        println!("conformance: {} rows, {gaps} of them known gaps", rows.len());
        match &kept {
            Ok(Some(kept)) => {
                let answered = rows.iter().filter(|row| kept.answer(&row.name).is_some()).count();
                println!("compared with {}: {answered} rows", kept.source());
                let asked: BTreeSet<&str> = kept.rows().collect();
                let new = rows.iter().filter(|row| !asked.contains(&*row.name));
                for row in new {
                    println!("no GPU has been asked yet: {}", row.name);
                }
            }
            Ok(None) => println!("not run: no results of a GPU are kept yet"),
            Err(_) => {}
        }
    }
    conclusion.exit_code()
}

/// Whether the documentation of the simulator says how many rows there are, and how many gaps.
fn says_how_many(source: &str, rows: usize, gaps: usize) -> Result<(), String> {
    for (count, what) in [(rows, " rows of order"), (gaps, " rows are known gaps")] {
        let before = source.split_once(what).map_or("", |(before, _)| before);
        let number = before.rsplit(|letter: char| !letter.is_ascii_digit()).next();
        if number.and_then(|number| number.parse().ok()) != Some(count) {
            return Err(format!(
                "`checker/simulator/src/lib.rs` does not say `{count}{what}`\n\
                 hint: count again at its top"
            ));
        }
    }
    Ok(())
}

/// What the simulated device answered, against what it should and what a GPU did.
fn judge(
    outcome: &Outcome,
    expect: &[String],
    gap: Option<&[String]>,
    gpu: Option<&[String]>,
) -> Result<(), Failed> {
    let seen = match outcome {
        Outcome::Seen(seen) => seen,
        Outcome::Varies(_) => return Err("two runs of it differ".into()),
        Outcome::Crashed(why) | Outcome::Failed(why) => return Err(why.into()),
    };
    if let Some(gpu) = gpu
        && gpu != expect
    {
        return Err(format!("a GPU answered {gpu:?}, but the row expects {expect:?}").into());
    }
    match gap {
        None if seen == expect => Ok(()),
        None => Err(format!("expected {expect:?}, and saw {seen:?}").into()),
        Some(gap) if seen == gap => Ok(()),
        Some(_) if seen == expect => {
            Err("it is right now: take the gap's mark off this row".into())
        }
        Some(gap) => {
            Err(format!("a GPU answers {expect:?}, the gap is {gap:?}, and saw {seen:?}").into())
        }
    }
}

const AS_EXPECTED: &str = "as expected";
const UNDEFINED: &str = "undefined";
const DIFFERS: &str = "DIFFERS";

/// What the table says of an outcome. Lower case is right.
fn mark(row: &Row, outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Seen(seen) if *seen == phrases(&row.expect) => AS_EXPECTED,
        Outcome::Crashed(_) if row.undefined => UNDEFINED,
        Outcome::Seen(_) => DIFFERS,
        Outcome::Varies(_) => "VARIES",
        Outcome::Crashed(_) | Outcome::Failed(_) => "FAILED",
    }
}

#[expect(clippy::print_stdout, reason = "the table is the program's output")]
fn table(arm: Arm, rows: &[Row]) -> ExitCode {
    let mut out = std::env::var_os(OUT).map(PathBuf::from);
    let mut words = Vec::new();
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--write") => out = arguments.next().map(PathBuf::from),
            _ => words.push(argument.to_string_lossy().into_owned()),
        }
    }
    let device = match arm::device(arm) {
        Ok(device) => device,
        Err(why) => {
            println!("there is no device to be asked: {why}");
            return ExitCode::FAILURE;
        }
    };
    let start = std::time::Instant::now();
    let mut outcomes = BTreeMap::new();
    for group in arm::groups(rows, &words) {
        let environment = &rows[group[0]].environment;
        for (index, outcome) in arm::run(arm, &group, environment) {
            let row = &rows[index];
            let mark = mark(row, &outcome);
            println!("{mark:<12}{:<110}{}", row.name, outcome.text());
            if mark == DIFFERS {
                let expect = phrases(&row.expect);
                println!("{:<12}{:<110}{}", "", "    expected", expect.join(", "));
            }
            outcomes.insert(index, outcome);
        }
    }
    let right = |&(index, outcome): &(&usize, &Outcome)| {
        matches!(mark(&rows[*index], outcome), AS_EXPECTED | UNDEFINED)
    };
    let as_expected = outcomes.iter().filter(right).count();
    let seconds = start.elapsed().as_secs();
    println!("{} rows on {}, {as_expected} as expected, {seconds} s", outcomes.len(), device.name);
    if let Some(path) = out
        && arm == Arm::Gpu
    {
        let text = kept::text(&device, rows, &outcomes);
        if let Err(error) = std::fs::write(&path, text) {
            println!("cannot write `{}`: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
