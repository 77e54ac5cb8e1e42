//! That nothing is left running and nothing gets stuck, whatever a program does.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::tree::tree;

/// Processes whose command line holds `mark`.
pub(crate) fn running(mark: &str) -> usize {
    std::fs::read_dir("/proc")
        .expect("Linux")
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

/// Seconds to sleep, which nobody else sleeps: they tell this test's processes from all others.
fn mark(test: u32) -> String {
    format!("9{test}{}", std::process::id())
}

#[test]
fn children_of_a_stopped_program_are_ended_in_its_group_and_outside() {
    let mark = mark(1);
    let mut command = tree().checker(&["run", "spawns", "--device", "sim", "--time-limit", "1"]);
    command.env("LEFTOVER", &mark);
    let mut checker = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let start = Instant::now();
    while running(&format!("sleep\0{mark}")) < 2 {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the program never started its children"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = checker.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    assert_eq!(running(&mark), 0);
}

#[test]
fn children_of_a_program_that_ended_well_are_ended_too() {
    let mark = mark(2);
    let mut command = tree().checker(&["run", "spawns", "--device", "sim"]);
    let output = command.env("LEFTOVER", &mark).env("AND_END", "1").output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(running(&mark), 0);
}

#[test]
fn what_a_shell_left_behind_before_it_became_the_checker_is_left_alone() {
    let mark = mark(7);
    let checker = tree().checker(&["run", "swift", "--device", "sim"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "sleep $MARK > /dev/null 2>&1 & echo $!; exec \"$0\" \"$@\""]);
    shell.arg(checker.get_program()).args(checker.get_args());
    for (name, value) in checker.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.env("MARK", &mark).current_dir(tree().root()).output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(running(&format!("sleep\0{mark}")), 1);
    let text = String::from_utf8_lossy(&output.stdout);
    let pid = text.lines().next().and_then(|line| line.parse().ok()).expect("the number");
    // SAFETY: no memory is involved; the process is the one started above.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

#[test]
fn an_interrupted_checker_takes_its_program_with_it() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mark = mark(3 + signal as u32);
        let mut command = tree().checker(&["run", "spawns", "--device", "sim"]);
        command.env("LEFTOVER", &mark).stdout(Stdio::null()).stderr(Stdio::null());
        let mut checker = command.spawn().expect("the checker starts");
        let start = Instant::now();
        while running(&format!("sleep\0{mark}")) < 2 {
            assert!(start.elapsed() < Duration::from_secs(20), "no children");
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: no memory is involved; the child has not been waited for.
        unsafe { libc::kill(checker.id() as libc::pid_t, signal) };
        let asked = Instant::now();
        let status = checker.wait().expect("it ends");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(signal));
        assert!(asked.elapsed() < Duration::from_secs(5), "it waited for the program's end");
        assert_eq!(running(&mark), 0);
    }
}

#[test]
fn megabytes_of_output_neither_block_the_program_nor_reach_the_terminal() {
    let text = tree().run(&["run", "floods", "--device", "sim"]);
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    assert!(text.len() < 64 * 1024, "{} bytes", text.len());
    assert!(text.contains("  line 0 of too many\n"), "the beginning is kept");
    assert!(text.contains("KiB of output left out …]\n"), "the rest is counted");
    assert!(text.contains("  the last words\n"), "the end is kept");
}

#[test]
fn standard_input_is_empty() {
    let text = tree().run(&["run", "listens", "--device", "sim"]);
    assert!(text.contains("  0 bytes\n"), "{text}");
}

#[test]
fn a_run_hears_of_the_checkers_settings_and_of_no_others() {
    let mut command = tree().checker(&["run", "environment", "--device", "sim", "--schedule", "7"]);
    command.env("SWIM_SEED", "666").env("SWIM_TRIALS", "9").env("SWIM_DEVICE", "gpu");
    let text = tree().snapshot(&mut command);
    let printed: Vec<_> = text
        .lines()
        .skip_while(|line| !line.starts_with("the program printed"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .collect();
    assert_eq!(
        printed,
        [
            "  SWIM_DEMAND=environment,1461133350,32,8/4",
            "  SWIM_DEVICE=sim",
            "  SWIM_MACHINE=in-process",
            "  SWIM_MODE=solve",
            "  SWIM_SCHEDULE=7",
            "  SWIM_SEED=1461133350",
            "  in 23_environment",
        ]
    );
}

#[test]
fn temporary_files_are_gone_after_a_run() {
    let folder = crate::tree::scratch().join("temporary");
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    for exercise in ["swift", "panics"] {
        let mut command = tree().checker(&["run", exercise, "--device", "sim"]);
        command.env("TMPDIR", &folder).output().expect("the checker starts");
    }
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
}
