//! From a save to its verdict, warm: one-line edits of an exercise in a copy of this workspace, under
//! `checker watch`.
//!
//! `cargo bench -p author --bench verdict --profile dev`, since the checker that learners run is built so; `-- --edits N` makes so many, `-- --exercise EX` in another
//! one. The first run builds the copy, which takes a minute. Prints medians, and never fails on a time.

use std::io::{BufRead, BufReader, Error, Read, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Enough for a median that two slow ones do not move.
const EDITS: usize = 20;

/// The mark after which a line is written, in the part that the student edits.
const MARK: &str = "// region:";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let asked = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).cloned()
    };
    let edits = asked("--edits").and_then(|edits| edits.parse().ok()).unwrap_or(EDITS);
    let exercise = asked("--exercise").unwrap_or_else(|| "three_lanes".to_owned());
    match run(&exercise, edits) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(exercise: &str, edits: usize) -> Result<()> {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verdict");
    let tree = scratch.join("tree");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &tree)?;
    let file = file(&tree, exercise)?;
    let shipped = std::fs::read_to_string(&file)?;

    let mut command = Command::new(env!("CARGO_BIN_EXE_checker-author"));
    command.args(["watch", exercise, "--json", "--timings", "--device", "sim"]);
    command.current_dir(&tree).env("CARGO_TARGET_DIR", scratch.join("target"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = command.spawn()?;
    let mut verdicts = BufReader::new(watch.stdout.take().ok_or_else(closed)?).lines();
    let mut timings = BufReader::new(watch.stderr.take().ok_or_else(closed)?).lines();
    let mut next = || -> Result<[f64; 3]> {
        verdicts.next().ok_or_else(closed)??;
        loop {
            let line = timings.next().ok_or_else(closed)??;
            let Some(parts) = line.strip_prefix("timings ") else { continue };
            let parts: Vec<f64> = parts.split(' ').filter_map(|ms| ms.parse().ok()).collect();
            return parts.try_into().map_err(|_| Error::other(format!("`{line}`")));
        }
    };
    next()?; // as shipped: everything is built, and in the caches

    // Save to verdict; compile, run, report; what is left of the first; and the time on processors, which
    // hardly depends on what else the machine does.
    let mut took: [Vec<f64>; 6] = Default::default();
    for number in 0..edits {
        let line = format!("        std::hint::black_box({number});\n");
        let mut at = shipped.rfind(MARK).ok_or_else(|| Error::other("there is no region"))?;
        at += shipped[at..].find('\n').map_or(0, |end| end + 1);
        let text = format!("{}{line}{}", &shipped[..at], &shipped[at..]);
        let busy = processor_ms(watch.id())?;
        let start = Instant::now();
        std::fs::write(&file, text)?;
        let parts = next()?;
        let whole = start.elapsed().as_secs_f64() * 1e3;
        let busy = processor_ms(watch.id())? - busy;
        let rest = whole - parts.iter().sum::<f64>();
        for (took, ms) in took.iter_mut().zip([whole, parts[0], parts[1], parts[2], rest, busy]) {
            took.push(ms);
        }
    }
    watch.kill()?;
    watch.wait()?;
    std::fs::write(&file, shipped)?;

    // What the machine was doing besides.
    let mut load = String::new();
    std::fs::File::open("/proc/loadavg")?.read_to_string(&mut load)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    say(&format!(
        "`{exercise}`, {edits} edits of one line, {cores} cores, load {}",
        load.split(' ').next().unwrap_or_default()
    ));
    let names = [
        "save to verdict",
        "  compile",
        "  run",
        "  report",
        "  notice and wait",
        "processor time",
    ];
    for (name, mut ms) in names.into_iter().zip(took) {
        ms.sort_by(f64::total_cmp);
        let median = ms[ms.len() / 2];
        say(&format!(
            "{name:<18} median {median:>6.0} ms, from {:.0} to {:.0}",
            ms[0],
            ms[ms.len() - 1]
        ));
    }
    Ok(())
}

/// What a process and its children that have ended used of the processors.
fn processor_ms(process: u32) -> Result<f64> {
    /// Ticks of `/proc/PID/stat` a second: `USER_HZ`, 100 on every Linux that Rust runs on.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let after_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    // utime, stime, cutime and cstime: the 14th to the 17th field, of which two stand before the name's end.
    let ticks = after_name.split(' ').skip(11).take(4).filter_map(|it| it.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / TICKS * 1e3)
}

fn closed() -> Error {
    Error::other("the checker ended")
}

fn file(tree: &Path, exercise: &str) -> Result<PathBuf> {
    for entry in std::fs::read_dir(tree.join("exercises"))? {
        let folder = entry?.path();
        if folder.to_string_lossy().ends_with(&format!("_{exercise}")) {
            return Ok(folder.join("src/lib.rs"));
        }
    }
    Err(Error::other(format!("there is no exercise `{exercise}`")))
}

/// Copies the workspace. A file that is as it should be is left alone, for cargo's sake.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (from, name) = (entry.path(), entry.file_name());
        if ["target", ".git", ".bundle", ".kept"].iter().any(|skipped| name == *skipped) {
            continue;
        }
        let to = to.join(name);
        if from.is_dir() {
            copy(&from, &to)?;
            continue;
        }
        let bytes = std::fs::read(&from)?;
        if std::fs::read(&to).ok().as_ref() != Some(&bytes) {
            std::fs::write(&to, bytes)?;
            // Cargo's clock is that of files: none may be as old as what was built from it.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn say(text: &str) {
    println!("{text}");
}
