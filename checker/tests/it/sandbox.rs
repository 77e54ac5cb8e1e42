//! What somebody else's code can do from inside of the sandbox, with each of its layers and without.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::processes::running;
use crate::real::{exercises, real};
use crate::tree::scratch;

/// Who starts the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Root,
    Ordinary,
}

/// A user that owns nothing.
const NOBODY: u32 = 61_998;

const CHECKER: &str = env!("CARGO_BIN_EXE_checker-author");

#[expect(
    clippy::print_stdout,
    reason = "whoever reads a test's output has to see what it left out"
)]
pub(crate) fn not_run(needs: &str) {
    println!("not run: needs {needs}");
}

/// How much the sandbox holds on this machine: `full`, `partial`, or `none` where nothing is run in it.
pub(crate) fn level() -> &'static str {
    static LEVEL: OnceLock<String> = OnceLock::new();
    LEVEL.get_or_init(|| {
        let (_, object, _) = confine(User::Root, "", &["/bin/true"]);
        object["sandbox"]["level"].as_str().unwrap_or("none").to_owned()
    })
}

/// Whether it holds everything. Tests of what it holds do not run where it does not, and say so; they fail
/// where `SWIM_REQUIRE` names the sandbox.
pub(crate) fn is_whole() -> bool {
    let whole = level() == "full";
    if !whole {
        let required = std::env::var("SWIM_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|it| it == "sandbox"), "the sandbox is {}", level());
        not_run("a kernel with Landlock, seccomp and namespaces for everyone");
    }
    whole
}

/// The users that this test can be; what it cannot be it says.
fn users() -> Vec<User> {
    // SAFETY: a plain question.
    if unsafe { libc::geteuid() } != 0 {
        not_run("root");
        return vec![User::Ordinary];
    }
    let mut checker = Command::new(CHECKER);
    let reached = checker.arg("--version").current_dir("/").uid(NOBODY).gid(NOBODY).output();
    if reached.is_ok_and(|output| output.status.success()) {
        return vec![User::Root, User::Ordinary];
    }
    not_run("a target folder that every user can reach");
    vec![User::Root]
}

/// The checker with `arguments`, started by `user`, without the layers in `without`.
fn checker(user: User, without: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(CHECKER);
    command.args(arguments).current_dir("/").env("SWIM_SANDBOX_WITHOUT", without);
    // SAFETY: a plain question.
    if user == User::Ordinary && unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// A command in the sandbox: exit code, the object, and what was said beside it.
fn confine(user: User, without: &str, arguments: &[&str]) -> (i32, Value, String) {
    let arguments = [&["dev", "confine"], arguments].concat();
    let output = checker(user, without, &arguments).output().expect("the checker starts");
    let object = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().expect("an exit code"), object, said)
}

/// The command in the sandbox as it is here, started by whoever runs this test.
fn here(arguments: &[&str]) -> Value {
    let (code, object, said) = confine(User::Root, "", arguments);
    assert!(code == 0 || code == 1, "{code}: {said}");
    object
}

fn is_ok(program: &str) -> bool {
    let there = Path::new(program).exists();
    if !there {
        not_run(&format!("`{program}`"));
    }
    there
}

#[test]
fn every_property_holds_on_this_machine() {
    if !is_whole() {
        return;
    }
    for user in users() {
        let (code, object, said) = confine(user, "", &["--require-sandbox", "/bin/true"]);
        assert_eq!(
            (code, &object["sandbox"]["level"]),
            (0, &Value::from("full")),
            "{user:?} {said}"
        );
        let guards: Vec<_> = object["sandbox"]["guards"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|guard| guard.as_str().and_then(|it| it.split(':').next()).expect("a property"))
            .collect();
        let all = ["files", "network", "parent", "survivors", "memory", "processes"];
        assert_eq!(guards, all, "{object:#}");
        assert_eq!(object["sandbox"]["missing"], Value::Array(Vec::new()));
    }
}

/// Whether something that is said of a sandbox names the groups.
fn names_groups(said: &Value) -> bool {
    said.as_array().is_some_and(|all| all.iter().any(|it| it.to_string().contains("cgroup")))
}

#[test]
fn where_groups_can_be_made_they_hold_memory_and_processes_alone() {
    if !names_groups(&here(&["/bin/true"])["sandbox"]["guards"]) {
        return not_run("a `cgroup2` that may be written to, with memory and pids");
    }
    // Canaries that take memory and make processes have been stopped: nothing is missing but what was left out.
    let (_, object, said) = confine(User::Root, "limits,watchdog", &["/bin/true"]);
    let missing = object["sandbox"]["missing"].as_array().expect("a list");
    assert_eq!(missing.len(), 2, "{object:#} {said}");
    // And without the groups all is as it is where there are none.
    let (_, object, said) = confine(User::Root, "cgroup", &["/bin/true"]);
    let guards = object["sandbox"]["guards"].as_array().expect("a list");
    assert_eq!(guards.len(), 6, "{object:#} {said}");
    assert!(!names_groups(&object["sandbox"]["guards"]), "{object:#}");
}

/// Layers left out, and the first property that is then not held, if it is one of the floor. Where other files
/// are in sight only seccomp keeps a program from their metadata.
const WITHOUT: &[(&str, Option<&str>)] = &[
    ("landlock", None),
    ("seccomp", None),
    ("namespaces", None),
    ("mounts", None),
    ("uid", None),
    ("cgroup", None),
    ("limits", None),
    ("watchdog", None),
    ("reaper", None),
    ("limits,watchdog", None),
    ("landlock,mounts", Some("files")),
    ("landlock,namespaces", Some("files")),
    ("seccomp,namespaces", Some("files")),
    ("seccomp,mounts", Some("files")),
    ("namespaces,reaper", Some("survivors")),
    ("landlock,seccomp,namespaces,uid", Some("files")),
];

#[test]
fn without_a_layer_the_level_goes_down_and_below_the_floor_nothing_runs() {
    if !is_whole() {
        return;
    }
    let command = ["--", "/bin/sh", "-c", "echo it ran"];
    for user in users() {
        for &(without, lost) in WITHOUT {
            let (code, object, said) = confine(user, without, &command);
            let context = format!("{user:?} without {without}: {code} {object:#} {said}");
            match lost {
                None => {
                    assert_eq!(object["sandbox"]["level"], "partial", "{context}");
                    assert_eq!(object["output"], "it ran\n", "{context}");
                    let missing = object["sandbox"]["missing"].to_string();
                    for layer in without.split(',') {
                        assert!(missing.contains(&format!("{layer}: left out")), "{context}");
                    }
                }
                Some(property) => {
                    assert_eq!((code, object), (4, Value::Null), "{context}");
                    let refused = format!("the sandbox does not hold `{property}`: ");
                    assert!(said.contains(&refused), "{context}");
                    assert!(said.contains("--sandbox off --accept-risk"), "{context}");
                }
            }
        }
    }
}

#[test]
fn each_canary_gets_through_where_nothing_stops_it() {
    if !is_whole() {
        return;
    }
    let all = "landlock,seccomp,namespaces,mounts,uid,limits,watchdog,reaper";
    for user in users() {
        let output = checker(user, all, &["doctor", "--json"]).output().expect("it starts");
        let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
        let checks = object["checks"].as_array().expect("a list");
        let check = checks.iter().find(|check| check["name"] == "sandbox").expect("a line");
        assert_eq!(check["state"], "absent", "{user:?} {check:#}");
        let says = check["says"].as_str().expect("a text");
        for property in ["files", "network", "parent", "survivors", "memory", "processes"] {
            assert!(says.contains(&format!("not {property}: ")), "{user:?} {property}: {says}");
        }
    }
}

#[test]
fn a_sandbox_that_is_not_whole_is_refused_where_a_whole_one_is_required() {
    if !is_whole() {
        return;
    }
    for without in ["watchdog", "landlock"] {
        let (code, object, said) =
            confine(User::Root, without, &["--require-sandbox", "/bin/true"]);
        assert_eq!((code, object), (4, Value::Null), "{said}");
    }
}

#[test]
fn no_sandbox_has_to_be_asked_for_twice_and_is_told() {
    let (code, object, said) = confine(User::Root, "", &["--sandbox", "off", "/bin/true"]);
    assert_eq!((code, object), (2, Value::Null));
    assert!(said.contains("--accept-risk"), "{said}");
    let accepted = ["--sandbox", "off", "--accept-risk", "/bin/cat", "/etc/passwd"];
    let (code, object, _) = confine(User::Root, "", &accepted);
    assert_eq!((code, &object["sandbox"]["level"]), (0, &Value::from("none")));
    assert!(object["output"].as_str().is_some_and(|it| it.contains("root:")), "{object:#}");
}

#[test]
fn a_layer_that_there_is_not_cannot_be_left_out() {
    let (code, _, said) = confine(User::Root, "landlock,luck", &["/bin/true"]);
    assert_eq!(code, 2);
    assert!(said.contains("names no layer `luck`"), "{said}");
}

#[test]
fn a_limit_that_was_exceeded_is_named() {
    if !is_whole() {
        return;
    }
    let folder = scratch().join("limits");
    std::fs::create_dir_all(&folder).expect("a folder");
    let folder = folder.to_str().expect("UTF-8");
    let hoard = r#"{"hoard":{"bytes":600000000}}"#;
    let cases: &[(&str, &str, &[&str])] = &[
        ("time", "out_of_time", &["--time-limit", "1", "/bin/sh", "-c", "while :; do :; done"]),
        ("time", "out_of_time", &["--time-limit", "1", "/bin/sleep", "77"]),
        ("output", "out_of_output", &["--compiler", "--", "/usr/bin/yes"]),
        ("memory", "signalled", &["--memory", "256MiB", CHECKER, "canary", hoard]),
        ("processes", "signalled", &["--compiler", "--", "/bin/sh", "-c", BOMB]),
        (
            "file_size",
            "signalled",
            &["--compiler", "--write", folder, "--", "/bin/sh", "-c", "exec yes > much"],
        ),
    ];
    for &(exceeded, ending, arguments) in cases {
        if !arguments
            .iter()
            .all(|it| !it.starts_with("/bin/") && !it.starts_with("/usr/") || is_ok(it))
        {
            continue;
        }
        // Without limits of the kernel's for processes it is the watchdog that sees a bomb.
        let without = if exceeded == "processes" { "limits" } else { "" };
        let (_, object, said) = confine(User::Root, without, arguments);
        let found = (object["exceeded"].as_str(), object["ending"].as_str());
        assert_eq!(found, (Some(exceeded), Some(ending)), "{object:#} {said}");
    }
    assert_eq!(running("sleep\x0077"), 0);
    assert!(std::fs::metadata(format!("{folder}/much")).is_ok_and(|it| it.len() <= 1 << 30));
    _ = std::fs::remove_dir_all(folder);
}

/// More processes than there may be, which do nothing.
const BOMB: &str = "i=0; while [ $i -lt 2000 ]; do sleep 31 & i=$((i+1)); done; wait";

#[test]
fn a_bomb_of_processes_neither_runs_on_nor_keeps_the_checker() {
    if !is_whole() {
        return;
    }
    for user in users() {
        let bomb = ":() { : | : & }; :; sleep 31";
        let arguments = ["--compiler", "--time-limit", "2", "--", "/bin/sh", "-c", bomb];
        let (code, object, said) = confine(user, "", &arguments);
        assert_eq!(code, 1, "{user:?} {object:#} {said}");
        assert_eq!(running("| : &"), 0, "{user:?}");
    }
}

#[test]
fn nothing_that_a_command_leaves_behind_runs_on() {
    if !is_whole() {
        return;
    }
    for user in users() {
        for without in ["", "namespaces", "reaper"] {
            let mark = format!("94{}{}", std::process::id(), without.len());
            let line = format!("(setsid sleep {mark} &) ; setsid sleep {mark} & sleep 0.1");
            let arguments = ["--compiler", "--", "/bin/sh", "-c", &line];
            let (code, object, said) = confine(user, without, &arguments);
            assert_eq!(code, 0, "{user:?} {object:#} {said}");
            assert_eq!(running(&format!("sleep\0{mark}")), 0, "{user:?} without {without:?}");
        }
    }
}

#[test]
fn a_command_has_the_environment_and_the_files_that_it_was_given_and_no_others() {
    if !is_whole() {
        return;
    }
    let folder = scratch().join("given");
    std::fs::create_dir_all(&folder).expect("a folder");
    let given = folder.join("given.txt");
    std::fs::write(&given, "for you\n").expect("a file");
    std::fs::write(folder.join("kept.txt"), "not for you\n").expect("a file");
    let (given, kept) =
        (given.display().to_string(), folder.join("kept.txt").display().to_string());
    // Something of the checker's own that is open, as a log may be.
    let line = format!(
        "exec 9< {kept}; exec {CHECKER} dev confine --compiler --env A=1 --read {given} -- \
         /bin/sh -c 'env; cat {given} {kept} /etc/passwd; (cat <&9); read line || echo no input'"
    );
    let output = Command::new("sh")
        .args(["-c", &line])
        .env("SECRET_SEED", "4711")
        .output()
        .expect("a shell");
    let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let text = object["output"].as_str().expect("a text");
    assert!(text.contains("A=1\n"), "{text}");
    assert!(!text.contains("4711"), "{text}");
    assert!(text.contains("for you\n"), "{text}");
    assert!(text.contains("9: Bad file descriptor"), "{text}");
    assert!(!text.contains("not for you"), "{text}");
    assert!(!text.contains("root:"), "{text}");
    assert!(text.contains("no input"), "{text}");
}

#[test]
fn a_program_makes_no_processes_and_ends_nobody() {
    if !is_whole() {
        return;
    }
    let object = here(&["--", "/bin/sh", "-c", "/bin/true; echo after"]);
    assert_eq!(object["ending"], "exited");
    assert_ne!(object["number"], 0, "{object:#}");
    let object = here(&["--", "/bin/sh", "-c", "kill -9 -1; kill -9 1; echo alive; kill -ABRT $$"]);
    assert!(object["output"].as_str().is_some_and(|it| it.contains("alive\n")), "{object:#}");
    assert_eq!((&object["ending"], &object["number"]), (&"signalled".into(), &6.into()));
}

#[test]
fn solutions_in_the_sandbox_come_to_the_same_bytes_as_outside() {
    if !is_whole() {
        return;
    }
    let real = real();
    let trace = |name: &str| scratch().join(name).display().to_string();
    let (free, held) = (trace("free.json"), trace("held.json"));
    for exercise in exercises() {
        let run = |more: &[&str]| {
            let arguments = ["run", exercise, "--solution", "--device", "sim", "--json"];
            real.checker(&[&arguments, more].concat()).output().expect("the checker starts")
        };
        let outside = run(&["--machine", "process", "--trace", &free]);
        let inside = run(&["--machine", "process", "--confined", "--trace", &held]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("held.json", "free.json");
        assert_eq!(outside.status.code(), Some(0), "{}", text(&outside.stdout));
        assert_eq!(text(&inside.stdout), text(&outside.stdout));
        let read = |path: &str| std::fs::read(path).expect("a trace");
        assert_eq!(read(&free), read(&held), "{exercise}");
    }
}
