//! A class, graded: how long it takes, stage by stage, and how that grows with students and jobs.
//!
//! `cargo bench -p class --bench class --profile dev`, since the checker that instructors run is built so.
//! `-- --students 25,50` and `-- --jobs 1,2` choose the classes. Every student has a file for every
//! exercise, and no two files are alike: solutions, the alternatives of the tests, files as shipped, and some
//! that do not compile, panic, print without end, start processes or come to no end. Prints, and never fails on
//! a time.
//!
//! How it grows with jobs is to be seen on a machine with many cores:
//! `cargo bench -p class --bench class --profile dev -- --students 25 --jobs 1,2,4,8,16`. Where nothing is to be compiled
//! there, `cargo bench --no-run` with the same words prints the name of the program; copied with the workspace and its
//! `target` to the same place of the other machine, which needs the same Rust, it is started there as it is, with what
//! stands after the `--`. The columns say what holds it up: `one` is what a single thread does for each file; `cores` is how
//! many processors were busy on average, which is `jobs` where nothing waits; `wall` beyond `processor` of a stage is
//! waiting; and time that a container's quota took is said below the line.
//!
//! `-- --fair 200` grades the solution and the shipped file of each exercise so many times, each time as a file
//! of its own, and fails unless the one always gets 100 points and the other none.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;

/// Classes that are graded unless others are asked for.
const STUDENTS: [usize; 4] = [25, 50, 100, 200];
/// How many files at a time, unless it is asked for.
const JOBS: [usize; 2] = [1, 2];
/// One student in so many has a file that comes to no end.
const HANGS: usize = 25;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let asked = |flag: &str| -> Option<Vec<usize>> {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1)?.split(',').map(|number| number.parse().ok()).collect()
    };
    let ran = match asked("--fair").as_deref() {
        Some(&[times]) => fair(times),
        _ => {
            let students = asked("--students").unwrap_or(STUDENTS.to_vec());
            classes(&students, &asked("--jobs").unwrap_or(JOBS.to_vec()))
        }
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// An exercise, and what there is for it.
struct Exercise {
    id: String,
    shipped: String,
    solution: String,
    alternatives: Vec<String>,
    /// Seconds that a program may take.
    limit_s: f64,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn exercises() -> Result<Vec<Exercise>> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root().join("exercises"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_>>()?;
    folders.retain(|folder| folder.join("exercise.toml").is_file());
    folders.sort();
    let exercise = |folder: &PathBuf| -> Result<Exercise> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let id = name.split_once('_').map_or(name.as_str(), |(_, id)| id).to_owned();
        let alternatives = root().join("checker/tests/alternatives").join(&id);
        let mut files: Vec<PathBuf> = std::fs::read_dir(alternatives)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_>>()?;
        files.sort();
        let manifest = std::fs::read_to_string(folder.join("exercise.toml"))?;
        let limit = manifest.lines().find_map(|line| line.strip_prefix("time_limit_s = "));
        Ok(Exercise {
            id,
            shipped: std::fs::read_to_string(folder.join(".shipped/lib.rs"))?,
            solution: std::fs::read_to_string(
                root().join("solutions").join(&name).join("src/lib.rs"),
            )?,
            alternatives: files.iter().map(std::fs::read_to_string).collect::<Result<_>>()?,
            limit_s: limit.and_then(|limit| limit.parse().ok()).ok_or_else(|| {
                Error::other(format!("`{}` has no `time_limit_s`", folder.display()))
            })?,
        })
    };
    folders.iter().map(exercise).collect()
}

/// Puts a line at the start of a student's function.
fn with_line(text: &str, line: &str) -> Result<String> {
    const MARK: &str = ".context();\n";
    let at = text.find(MARK).ok_or_else(|| Error::other("there is no context"))? + MARK.len();
    Ok(format!("{}    {line}\n{}", &text[..at], &text[at..]))
}

/// What a student hands in for an exercise, whether it comes to an end, and nobody else's.
fn handed_in(student: usize, place: usize, exercise: &Exercise) -> Result<(String, bool)> {
    let Exercise { shipped, solution, alternatives, .. } = exercise;
    // Each kind comes by turns, in another exercise with each student.
    let hangs = student.is_multiple_of(HANGS) && place == student / HANGS % 9;
    let text = match (student * 7 + place) % 20 {
        _ if hangs => with_line(solution, "loop { std::hint::spin_loop(); }")?,
        0..7 => solution.clone(),
        7..14 => alternatives[(student + place) % alternatives.len()].clone(),
        14..16 => shipped.clone(),
        16 => with_line(solution, "let streams: u32 = \"three\";")?,
        17 => with_line(solution, "panic!(\"there is no third stream\");")?,
        18 => with_line(solution, "loop { println!(\"{}\", \"x\".repeat(1000)); }")?,
        _ => with_line(
            solution,
            "for _ in 0..200 { _ = std::process::Command::new(\"/bin/sleep\").arg(\"60\").spawn(); }",
        )?,
    };
    Ok((format!("{text}\n// handed in by {student}\n"), hangs))
}

fn empty(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("classes").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn hand_in(class: &Path, student: &str, exercise: &str, text: &str) -> Result<()> {
    let folder = class.join(student);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{exercise}.rs")), text)
}

/// Grades a class; what it took, as the checker says it.
fn grade(class: &Path, out: &Path, jobs: usize) -> Result<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_checker-class"));
    command.arg("grade").arg(class).arg("--out").arg(out).arg("--timings");
    command.args(["--jobs", &jobs.to_string()]).current_dir(root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let timings = said.lines().find_map(|line| line.strip_prefix("timings "));
    let timings = timings.ok_or_else(|| Error::other(said.clone()))?;
    serde_json::from_str(timings).map_err(Error::other)
}

fn classes(students: &[usize], jobs: &[usize]) -> Result<()> {
    let exercises = exercises()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    say(&format!("{} exercises; {cores} cores, load {}", exercises.len(), load()?));
    say(
        "students jobs files |  wall  apart  a file    one cores |  compile      run    judge  | checker worker  child",
    );
    say(
        "                    |     s      s       s      s       |  wall and processor s a file |     MiB    MiB    MiB",
    );
    for &count in students {
        let class = empty("class")?;
        let mut hanging_s = Vec::new();
        for student in 0..count {
            for (place, exercise) in exercises.iter().enumerate() {
                let (text, hangs) = handed_in(student, place, exercise)?;
                hand_in(&class, &format!("student-{student:03}"), &exercise.id, &text)?;
                hanging_s.extend(hangs.then_some(exercise.limit_s));
            }
        }
        for &jobs in jobs {
            let before_s = throttled_s();
            let timings = grade(&class, &empty("out")?, jobs)?;
            let throttled_s = throttled_s() - before_s;
            let number = |path: &str| timings.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
            let files = number("/took/files");
            let wall_s = number("/graded_s");
            // First beside the others, then once more and alone.
            let hung_s: f64 = hanging_s.iter().map(|limit| limit / jobs as f64 + limit).sum();
            let apart_s = wall_s - hung_s;
            let stage = |name: &str| {
                let spent = |what: &str| number(&format!("/took/{name}/{what}")) / files;
                format!("{:.2} {:.2}", spent("wall_s"), spent("processor_s"))
            };
            let mib = |path: &str| number(path) / 1024.0;
            say(&format!(
                "{count:>8} {jobs:>4} {files:>5} | {wall_s:>5.1}  {apart_s:>5.1}   {:>5.3}  {:>5.3} {:>5.1} | {} {} {} | {:>7.0} {:>6.0} {:>6.0}",
                apart_s / files,
                number("/reading_s") / files,
                number("/processor_s") / wall_s,
                stage("compile"),
                stage("run"),
                stage("judge"),
                mib("/kib"),
                mib("/took/worker_kib"),
                mib("/took/child_kib"),
            ));
            if throttled_s > 0.0 {
                say(&format!("{:>19} | a quota held processors back for {throttled_s:.1} s", ""));
            }
        }
    }
    say(&format!("load {}", load()?));
    Ok(())
}

fn fair(times: usize) -> Result<()> {
    let (class, exercises) = (empty("fair")?, exercises()?);
    for time in 0..times {
        for Exercise { id, shipped, solution, .. } in &exercises {
            for (who, text) in [("reference", solution), ("shipped", shipped)] {
                let text = format!("{text}\n// time {time}\n");
                hand_in(&class, &format!("{who}-{time:03}"), id, &text)?;
            }
        }
    }
    let out = empty("fair-out")?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    grade(&class, &out, cores)?;
    let (mut right, mut wrong) = (0, 0);
    for line in std::fs::read_to_string(out.join("grades.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(line).map_err(Error::other)?;
        let student = row["student"].as_str().unwrap_or_default();
        let expected = if student.starts_with("reference") { 100.0 } else { 0.0 };
        let verdict = if expected == 100.0 { "passed" } else { "failed" };
        if row["score"] == expected && row["verdict"] == verdict {
            right += 1;
        } else {
            wrong += 1;
            say(&format!("{student} {}: {} {}", row["exercise"], row["score"], row["message"]));
        }
    }
    say(&format!("{right} of {} as they should be", 2 * times * exercises.len()));
    match wrong == 0 && right == 2 * times * exercises.len() {
        true => Ok(()),
        false => Err(Error::other("the same work does not always get the same points")),
    }
}

/// How long a quota of this container's has held its processors back, as far as the kernel says so.
fn throttled_s() -> f64 {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let text = read("/sys/fs/cgroup/cpu.stat") + &read("/sys/fs/cgroup/cpu/cpu.stat");
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse::<f64>().ok()).unwrap_or(0.0)
    };
    // Of version 2 in µs, of version 1 in ns.
    number("throttled_usec ") / 1e6 + number("throttled_time ") / 1e9
}

fn load() -> Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(load.split(' ').next().unwrap_or_default().to_owned())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn say(text: &str) {
    println!("{text}");
}
