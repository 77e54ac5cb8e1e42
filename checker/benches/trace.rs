//! `checker trace` on a trace of a million entries: CPU time and peak memory.
//!
//! `cargo bench -p author --bench trace`; `-- --hta` measures Holistic Trace Analysis 0.5.0 on the
//! same file beside it, from PyPI, which needs `python3` and the network; `-- --entries N` takes
//! another size. Prints, and never fails on a time.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

#[path = "../trace/tests/kineto/mod.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod kineto;

const ENTRIES: u64 = 1_000_000;

/// The figures that HTA has for overlap, as its users call for them.
const HTA: &str = "
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='')
analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)
analysis.get_idle_time_breakdown(visualize=False)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let asked = |flag: &str| arguments.iter().position(|argument| argument == flag);
    let entries = asked("--entries").and_then(|at| arguments.get(at + 1)?.parse().ok());
    match run(entries.unwrap_or(ENTRIES), asked("--hta").is_some()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(entries: u64, hta: bool) -> std::io::Result<()> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("trace-bench");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{entries}.json"));
    let mut file = BufWriter::new(std::fs::File::create(&path)?);
    kineto::pipeline(entries / kineto::PERIOD, &mut file)?;
    file.flush()?;
    let size = std::fs::metadata(&path)?.len();
    say(&format!("{entries} entries, {:.1} MB", size as f64 / 1e6));

    let checker = env!("CARGO_BIN_EXE_checker-author");
    let mut ours = Vec::new();
    for form in ["--plain", "--json"] {
        let arguments = ["trace", form].map(str::to_owned);
        let used = median(|| {
            let mut command = Command::new(checker);
            command.args(&arguments).arg(&path);
            command
        })?;
        say(&format!("checker trace {form}: {used}"));
        ours.push(used);
    }
    if hta {
        let python = python(&folder)?;
        let used = measure(Command::new(&python).args(["-c", HTA]).arg(&path))?;
        say(&format!("HTA: {used}"));
        let (time, memory) = (used.seconds / ours[0].seconds, used.megabytes / ours[0].megabytes);
        say(&format!("HTA takes {time:.1} times the CPU time and {memory:.1} times the memory"));
    }
    std::fs::remove_file(path)
}

/// A Python that has HTA.
fn python(folder: &Path) -> std::io::Result<PathBuf> {
    let home = folder.join("python");
    let python = home.join("bin/python");
    if !python.exists() {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&home).status()?;
        // HTA 0.5.0 fails with pandas 3 on traces of few correlation numbers.
        let packages = ["HolisticTraceAnalysis==0.5.0", "pandas<3"];
        let pip = ["-m", "pip", "install", "--quiet"];
        let installed = Command::new(&python).args(pip).args(packages).status()?;
        if !made.success() || !installed.success() {
            return Err(std::io::Error::other("cannot install HTA"));
        }
    }
    Ok(python)
}

/// What a process used.
#[derive(Clone, Copy)]
struct Used {
    seconds: f64,
    megabytes: f64,
}

impl std::fmt::Display for Used {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} s of CPU, {:.0} MB at most", self.seconds, self.megabytes)
    }
}

/// The median of five runs by CPU time.
fn median(mut command: impl FnMut() -> Command) -> std::io::Result<Used> {
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(measure(&mut command())?);
    }
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(runs[2])
}

/// Runs a command to its end.
fn measure(command: &mut Command) -> std::io::Result<Used> {
    let child = command.stdout(Stdio::null()).spawn()?;
    let pid = libc::pid_t::try_from(child.id()).map_err(std::io::Error::other)?;
    let mut status = 0;
    // SAFETY: a `rusage` is numbers alone, for which zeros will do.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are ours and outlive the call; the child is not waited for elsewhere.
    if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } != pid {
        return Err(std::io::Error::last_os_error());
    }
    if status != 0 {
        return Err(std::io::Error::other(format!("it ended with status {status}")));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Used {
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        // Linux counts in KiB.
        megabytes: usage.ru_maxrss as f64 * 1024.0 / 1e6,
    })
}

#[expect(clippy::print_stdout, reason = "a program of its own")]
fn say(text: &str) {
    println!("{text}");
}
