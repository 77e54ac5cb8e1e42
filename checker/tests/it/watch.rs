//! `checker watch`, in a terminal and in a pipe.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::terminal::Terminal;
use crate::tree::{Tree, scratch};

const FILE: &str = "exercises/01_swift/src/lib.rs";
const PASSES: &str = "pub fn solve() { lab::hand_over(\"swift\") }\n";
const FAILS: &str = "pub fn solve() { lab::hand_over(\"sluggish\") }\n";
const HANGS: &str = "pub fn solve() { loop { std::hint::spin_loop() } }\n";

/// A tree of two exercises, of which the first does not pass yet.
fn tree(name: &str) -> Tree {
    let folder = scratch().join("watch").join(name);
    _ = std::fs::remove_dir_all(folder.join("tree"));
    let tree = Tree::pair(folder.join("tree"), folder.join("target"));
    save(&tree, FAILS);
    tree
}

fn save(tree: &Tree, text: &str) {
    std::fs::write(tree.root().join(FILE), text).expect("the student's file");
}

fn watching(tree: &Tree) -> Terminal {
    let terminal = Terminal::start(tree.checker(&["watch"]), 40, 100);
    terminal.shows("swift  failed: score 0.0, and 80 is needed");
    terminal
}

/// The programs of the tree that run now.
fn running(tree: &Tree) -> usize {
    let programs = std::fs::read_dir("/proc").expect("processes").flatten();
    let programs = programs.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok());
    programs.filter(|program| program.starts_with(tree.target())).count()
}

#[track_caller]
fn until(what: &str, is_right: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_right() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_save_brings_a_verdict_and_a_pass_offers_the_next_exercise() {
    let tree = tree("save");
    let mut terminal = watching(&tree);
    save(&tree, PASSES);
    terminal.shows("swift  passed: score 100.0, and 80 is enough  n goes on to `sluggish`");
    terminal.press("n");
    terminal.shows("sluggish  failed: score 0.0, and 80 is needed");
    // Whoever saves another file means that one.
    save(&tree, &format!("{PASSES}// again\n"));
    terminal.shows("swift  passed");
}

#[test]
fn keys_show_the_list_the_timeline_and_hints() {
    let tree = tree("keys");
    let hints = "\n[[hints]]\nlevels = [\"look at the host\", \"there\", \"move it\"]\n";
    let manifest = tree.root().join("exercises/01_swift/exercise.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, text + hints).expect("hints");
    let mut terminal = watching(&tree);
    terminal.press("h");
    terminal.until("the first hint", |it| it.contains("1. look at the host") && !it.contains("2."));
    terminal.press("h");
    terminal.shows("2. there");
    terminal.press("t");
    terminal.until("the timeline", |it| it.contains("stream 2") && !it.contains("makespan"));
    terminal.press("\x1b");
    terminal.shows("makespan");
    terminal.press("l");
    terminal.shows("> 01 swift     The swift one (changed)");
    terminal.press("j\r");
    terminal.shows("sluggish  failed");
    terminal.shows("edit `exercises/02_sluggish/src/lib.rs`");
    terminal.press("z");
    terminal.shows("no key `z`; the keys are below");
    terminal.press("r");
    terminal.shows("edit `exercises/02_sluggish/src/lib.rs`");
    terminal.press("q");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_given_back();
    terminal.shows("sluggish  failed: score 0.0, and 80 is needed");
}

#[test]
fn the_screen_fits_the_terminal_whatever_its_size() {
    let tree = tree("size");
    let mut terminal = watching(&tree);
    for (rows, columns) in [(12, 50), (3, 20), (1, 1), (60, 200)] {
        terminal.and_draws(|it| it.resize(rows, columns));
        // The drawing is made anew for the new width.
        terminal.and_draws(|it| it.press("t"));
        terminal.and_draws(|it| it.press("t"));
    }
    terminal.until("a wide screen", |it| it.lines().count() == 60 && it.contains("swift  failed"));
    terminal.resize(12, 50);
    terminal.until("the foot of a low one", |screen| {
        let lines: Vec<_> = screen.lines().collect();
        lines.len() == 12 && lines[10].starts_with("swift  failed") && lines[11].contains("↓ more")
    });
    terminal.press("   ");
    terminal.until("its end", |screen| screen.contains("next: look at the timeline"));
}

#[test]
fn ctrl_c_ends_it_and_gives_the_terminal_back() {
    let tree = tree("ctrl-c");
    let mut terminal = watching(&tree);
    terminal.press("\x03");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_given_back();
}

#[test]
fn a_signal_ends_it_and_what_runs_and_gives_the_terminal_back() {
    let tree = tree("signal");
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
        save(&tree, FAILS);
        let mut terminal = watching(&tree);
        save(&tree, HANGS);
        until("the hanging program", || running(&tree) > 0);
        terminal.signal(signal);
        assert_eq!(terminal.ended().signal(), Some(signal));
        terminal.is_given_back();
        until("nothing", || running(&tree) == 0);
    }
}

#[test]
fn a_hanging_solution_makes_room_for_the_next_save_and_for_the_end() {
    let tree = tree("hangs");
    // The longest limit that there is: nobody here waits so long.
    let manifest = tree.root().join("exercises/01_swift/exercise.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let text = text.replace("time_limit_s = 20", "time_limit_s = 600");
    std::fs::write(&manifest, text).expect("a manifest");
    let mut terminal = watching(&tree);
    save(&tree, HANGS);
    until("the hanging program", || running(&tree) > 0);
    terminal.shows("running · "); // how long it takes
    save(&tree, PASSES);
    terminal.shows("swift  passed");
    until("nothing", || running(&tree) == 0);
    save(&tree, HANGS);
    until("the hanging program", || running(&tree) > 0);
    terminal.press("q");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_given_back();
    until("nothing", || running(&tree) == 0);
}

#[test]
fn whoever_quits_waits_for_no_build_that_has_yet_to_begin() {
    let tree = tree("quits");
    // The driver does not answer, and the build that comes after the question does not end.
    let cargo = scratch().join("watch/quits/cargo");
    crate::tree::write(&cargo, "#!/bin/sh\nexec sleep 100000\n");
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = tree.checker(&["watch", "--device", "auto"]);
    command
        .env("LD_LIBRARY_PATH", crate::gpu::library())
        .env("STAND_IN", "hangs")
        .env("CARGO", &cargo);
    let mut terminal = Terminal::start(command, 40, 100);
    terminal.shows("building");
    terminal.press("q");
    assert_eq!(terminal.ended().code(), Some(0));
    terminal.is_given_back();
}

#[test]
fn a_hint_that_nobody_would_see_is_not_used_up() {
    use std::io::Write;

    let tree = tree("unseen");
    let hints = "\n[[hints]]\nlevels = [\"look at the host\", \"there\", \"move it\"]\n";
    let manifest = tree.root().join("exercises/01_swift/exercise.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, text + hints).expect("hints");
    let mut piped = Piped::start(tree.checker(&["watch", "--json"]));
    piped.until("{");
    let mut stdin = piped.child.stdin.take().expect("a pipe");
    stdin.write_all(b"h\nh\nr\n").expect("letters");
    piped.until("{"); // so the letters before have been taken
    let kept = std::fs::read_to_string(tree.root().join("progress.txt")).expect("what is kept");
    assert!(kept.contains("stuck swift") && !kept.contains("hint swift"), "{kept}");
}

#[test]
fn a_file_that_the_editor_replaces_is_still_watched() {
    let tree = tree("replaced");
    let terminal = watching(&tree);
    let file = tree.root().join(FILE);
    for (text, verdict) in [(PASSES, "swift  passed"), (FAILS, "swift  failed")] {
        // As vim does it: the old file gets another name, and a new one is written.
        std::fs::rename(&file, file.with_extension("rs~")).expect("the old file");
        save(&tree, text);
        terminal.shows(verdict);
    }
    // As many others do: a new one is written beside it and takes its name.
    let beside = file.with_extension("tmp");
    std::fs::write(&beside, PASSES).expect("a file");
    std::fs::rename(&beside, &file).expect("the new file");
    terminal.shows("swift  passed");
}

#[test]
fn a_mistake_shows_what_the_compiler_says() {
    let tree = tree("mistake");
    let terminal = watching(&tree);
    save(&tree, "pub fn solve() { let streams: u32 = \"three\"; }\n");
    terminal.shows("swift  failed: gate `builds`: error[E0308]");
    terminal.shows("expected `u32`, found `&str`");
}

/// The checker in a pipe.
struct Piped {
    child: Child,
    /// None when nobody reads any more.
    lines: Option<std::io::Lines<BufReader<ChildStdout>>>,
}

impl Piped {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the checker starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, lines: Some(lines) }
    }

    /// Reads up to a line that begins so, and that line.
    fn until(&mut self, beginning: &str) -> Vec<String> {
        let mut read = Vec::new();
        for line in self.lines.as_mut().expect("a reader") {
            read.push(line.expect("text"));
            if read.last().is_some_and(|line| line.starts_with(beginning)) {
                return read;
            }
        }
        panic!("no `{beginning}` in {read:#?}")
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn in_a_pipe_verdicts_are_lines_and_letters_are_taken_from_lines() {
    use std::io::Write;

    let tree = tree("pipe");
    let mut piped = Piped::start(tree.checker(&["watch"]));
    let first = piped.until("next: ");
    assert_eq!(first[0], format!("watching `{FILE}`"));
    assert!(first.contains(&"failed: score 0.0, and 80 is needed".to_owned()), "{first:#?}");
    save(&tree, PASSES);
    let second = piped.until("n goes on to `sluggish`");
    assert!(second.contains(&"passed: score 100.0, and 80 is enough".to_owned()), "{second:#?}");
    assert!(!first.iter().chain(&second).any(|line| line.contains('\x1b')), "no escape sequences");
    let mut stdin = piped.child.stdin.take().expect("a pipe");
    stdin.write_all(b"l\n").expect("a letter");
    piped.until("  02 sluggish");
    stdin.write_all(b"z\n").expect("a letter");
    piped.until("there is no `z`; type a letter and Enter");
    stdin.write_all(b"sluggish\n").expect("a name");
    piped.until("sluggish · your file");
    stdin.write_all(b"q\n").expect("a letter");
    assert_eq!(piped.child.wait().expect("a child").code(), Some(0));
}

#[test]
fn a_storm_of_saves_brings_the_verdict_of_the_last() {
    let tree = tree("storm");
    let mut piped = Piped::start(tree.checker(&["watch", "--json"]));
    piped.until("{");
    const SAVES: usize = 300;
    for number in 0..SAVES {
        save(&tree, &format!("// {number}\n{FAILS}"));
        std::thread::sleep(Duration::from_millis(2));
    }
    save(&tree, PASSES);
    let mut verdicts = Vec::new();
    loop {
        let line = piped.until("{").pop().expect("a line");
        let object: serde_json::Value = serde_json::from_str(&line).expect("an object in a line");
        verdicts.push(object["verdict"].clone());
        if object["verdict"] == "passed" {
            break;
        }
    }
    // One, unless the machine paused in the middle of the storm for as long as a run takes.
    assert!(verdicts.len() < SAVES / 10, "{verdicts:?}");
    // What was judged last stays: nothing is run again.
    let stopped = Instant::now();
    while stopped.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(running(&tree), 0);
    }
}

#[test]
fn polling_notices_saves_and_says_once_that_it_polls() {
    let tree = tree("poll");
    let mut piped = Piped::start(tree.checker(&["watch", "--poll"]));
    let mut lines = piped.until("next: ");
    save(&tree, PASSES);
    lines.extend(piped.until("n goes on to"));
    let notes = lines.iter().filter(|line| line.contains("once a second")).count();
    assert_eq!(notes, 1, "{lines:#?}");
}

#[test]
fn without_a_keyboard_saves_still_count() {
    let tree = tree("no-keyboard");
    let mut piped = Piped::start(tree.checker(&["watch"]));
    drop(piped.child.stdin.take());
    piped.until("next: ");
    save(&tree, PASSES);
    piped.until("n goes on to");
}

#[test]
fn whoever_reads_may_go_away() {
    let tree = tree("closed");
    let mut piped = Piped::start(tree.checker(&["watch"]));
    piped.until("next: ");
    piped.lines = None;
    save(&tree, PASSES);
    assert_eq!(piped.child.wait().expect("a child").code(), Some(0));
}
