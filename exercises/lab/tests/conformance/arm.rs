//! Running rows in processes, on either arm.
//!
//! A driver is one to a process, and a row may crash or hang it, so rows run in children. A child is
//! given the numbers of its rows and prints a line for each as it goes; one that falls silent is ended,
//! the row that it was at has failed, and the rest goes to another child.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use trace::env;

use crate::bench::Bench;
use crate::row::{Environment, Row, VARIABLES, phrases};

/// Numbers of the rows that this process is to run, with commas; [`DEVICE`] asks who answers.
pub(crate) const ROWS: &str = "SWIM_CONFORMANCE_ROWS";
const DEVICE: &str = "device";

/// How often each row is run.
const REPEATS: &str = "SWIM_CONFORMANCE_REPEATS";

/// Rows that share a process on a GPU at the most. Starting one takes half a second there.
const GROUP: usize = 12;

/// How long a child may be silent: a row takes a second at the most.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    Simulated,
    Gpu,
}

impl Arm {
    fn device(self) -> &'static str {
        match self {
            Arm::Simulated => env::DEVICE_SIMULATED,
            Arm::Gpu => env::DEVICE_GPU,
        }
    }

    /// A GPU may answer differently each time, which is worth knowing.
    fn repeats(self) -> usize {
        match self {
            Arm::Simulated => 1,
            Arm::Gpu => 3,
        }
    }
}

/// What came of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Seen(Vec<String>),
    /// Runs in one process differed.
    Varies(Vec<Vec<String>>),
    /// Its process died of a signal.
    Crashed(String),
    /// It hung, panicked, or could not be run.
    Failed(String),
}

impl Outcome {
    fn of(mut runs: Vec<Vec<String>>) -> Self {
        let same = runs.windows(2).all(|pair| pair[0] == pair[1]);
        match runs.pop() {
            None => Outcome::Failed("it was not run".to_owned()),
            Some(seen) if same => Outcome::Seen(seen),
            Some(last) => {
                runs.push(last);
                Outcome::Varies(runs)
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Outcome::Seen(seen) => seen.join(", "),
            Outcome::Varies(runs) => {
                runs.iter().map(|seen| seen.join(", ")).collect::<Vec<_>>().join(" | ")
            }
            Outcome::Crashed(why) | Outcome::Failed(why) => {
                why.lines().next().unwrap_or_default().to_owned()
            }
        }
    }
}

/// Who answers.
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) driver: String,
}

/// Is the child: runs the rows that it was asked for.
#[expect(clippy::print_stdout, reason = "standard output is what the child answers on")]
pub(crate) fn answer(asked: &str, rows: &[Row]) {
    let bench = Bench::open().expect("the device can be used");
    if asked == DEVICE {
        let (major, minor) = (bench.version / 1000, bench.version % 1000 / 10);
        println!("{}\t{}CUDA {major}.{minor}", bench.name, release());
        return;
    }
    let repeats = std::env::var(REPEATS).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for index in asked.split(',').map(|text| text.parse::<usize>().expect("it is a number")) {
        let run = || phrases(&rows[index].seen(&bench));
        if repeats > 1 {
            // The first loads what is loaded at first use, and may wait for the device to do it.
            run();
        }
        let runs: Vec<Vec<String>> = (0..repeats).map(|_| run()).collect();
        println!("{index}\t{}", serde_json::to_string(&runs).expect("strings are JSON"));
        if bench.synchronize().is_err() {
            // The context is in ruins: the next row starts with a new one.
            return;
        }
    }
}

/// The release of the kernel module, such as `580.159.04`, followed by a comma; empty where it is not
/// to be found.
fn release() -> String {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let is_release = |word: &&str| {
        word.contains('.') && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    text.split_whitespace().find(is_release).map(|word| format!("{word}, ")).unwrap_or_default()
}

/// Who answers on this arm.
pub(crate) fn device(arm: Arm) -> Result<Identity, String> {
    let mut child = Running::start(arm, DEVICE, &Environment::new())?;
    let Some(line) = child.line() else {
        return Err(child.end().map_or_else(String::new, |wrong| wrong.text()));
    };
    let (name, driver) = line.split_once('\t').ok_or("it does not say who it is")?;
    Ok(Identity { name: name.to_owned(), driver: driver.to_owned() })
}

/// The rows whose names hold these words, in groups that can share a process.
pub(crate) fn groups(rows: &[Row], words: &[String]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut open = false;
    for (index, row) in rows.iter().enumerate() {
        if !words.iter().all(|word| row.name.contains(word)) {
            continue;
        }
        match groups.last_mut() {
            Some(group) if open && !row.alone && group.len() < GROUP => group.push(index),
            _ => groups.push(vec![index]),
        }
        open = !row.alone;
    }
    groups
}

/// Runs these rows.
pub(crate) fn run(arm: Arm, rows: &[usize], environment: &Environment) -> BTreeMap<usize, Outcome> {
    let mut outcomes = BTreeMap::new();
    let mut left = rows;
    while let [next, ..] = left {
        let asked: Vec<String> = left.iter().map(usize::to_string).collect();
        let mut child = match Running::start(arm, &asked.join(","), environment) {
            Ok(child) => child,
            Err(why) => {
                outcomes.insert(*next, Outcome::Failed(why));
                left = &left[1..];
                continue;
            }
        };
        let before = left.len();
        while let [next, rest @ ..] = left
            && let Some(line) = child.line()
        {
            let runs = line.split_once('\t').and_then(|(_, runs)| serde_json::from_str(runs).ok());
            outcomes.insert(*next, Outcome::of(runs.unwrap_or_default()));
            left = rest;
        }
        let wrong = child.end();
        // A child that has left on its own after a row leaves the next one for another.
        let gave_way = before > left.len() && wrong.is_none();
        if let [next, rest @ ..] = left
            && !gave_way
        {
            let silent = || Outcome::Failed("it said nothing".to_owned());
            outcomes.insert(*next, wrong.unwrap_or_else(silent));
            left = rest;
        }
    }
    outcomes
}

/// A child at work.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
    said: std::fs::File,
    silent: bool,
}

impl Running {
    fn start(arm: Arm, rows: &str, environment: &Environment) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let program = std::env::current_exe().map_err(text)?;
        let said = tempfile::tempfile().map_err(text)?;
        let mut command = Command::new(program);
        for name in
            [env::RECORD, env::MACHINE, env::SCHEDULE, env::LEAVE_OUT, env::TRACE, env::PROFILE]
                .into_iter()
                .chain(VARIABLES)
        {
            command.env_remove(name);
        }
        let mut child = command
            .envs(environment)
            .env(ROWS, rows)
            .env(REPEATS, arm.repeats().to_string())
            .env(env::DEVICE, arm.device())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(said.try_clone().map_err(text)?)
            .spawn()
            .map_err(text)?;
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines, said, silent: false })
    }

    /// The next line; none when there is no more to come, or nothing has come for too long.
    fn line(&mut self) -> Option<String> {
        let line = self.lines.recv_timeout(PATIENCE);
        self.silent = line == Err(mpsc::RecvTimeoutError::Timeout);
        line.ok()
    }

    /// Sees it off, and says what was wrong with it, if anything was.
    fn end(&mut self) -> Option<Outcome> {
        if self.silent {
            let _ = self.child.kill();
        }
        // A child that is stuck in the kernel does not die: it is left behind.
        let limit = Instant::now() + Duration::from_secs(5);
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(2)),
                _ => break None,
            }
        };
        let mut said = String::new();
        let read = self.said.rewind().and_then(|()| self.said.read_to_string(&mut said));
        if read.is_err() {
            said.clear();
        }
        match status {
            // The signal is ours then.
            _ if self.silent => {
                Some(Outcome::Failed(format!("it hung for {} s\n{said}", PATIENCE.as_secs())))
            }
            Some(status) if status.success() => None,
            Some(status) if status.signal().is_some() => {
                Some(Outcome::Crashed(format!("{status}\n{said}")))
            }
            Some(status) => Some(Outcome::Failed(format!("{status}\n{said}"))),
            None => {
                let _ = self.child.kill();
                Some(Outcome::Failed(format!("it does not end\n{said}")))
            }
        }
    }
}
