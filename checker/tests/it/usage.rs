//! Command lines that ask for something that is not there, and the commands that tell what is.

use std::path::Path;

use insta::assert_snapshot;

use crate::tree::{Tree, manifest, scratch, tree, write};

#[test]
fn an_unknown_exercise_brings_a_suggestion() {
    assert_snapshot!(tree().run(&["run", "swfit"]), @"
    exit code: 2
    ----- stderr -----
    error: there is no exercise `swfit`

    hint: did you mean `swift`?
    ");
}

#[test]
fn a_beginning_of_several_names_brings_them_all() {
    assert_snapshot!(tree().run(&["run", "s"]), @"
    exit code: 2
    ----- stderr -----
    error: `s` could be `swift` or `sluggish` or `spawns` or `stale`
    ");
}

#[test]
fn an_unknown_program_brings_the_known_ones() {
    assert_snapshot!(tree().run(&["run", "swift", "--program", "drown", "--device", "sim"]), @"
    exit code: 2
    ----- stderr -----
    error: `swift` has no program `drown`

    hint: there is `drawn`
    ");
    assert_snapshot!(tree().run(&["run", "panics", "--program", "drown", "--device", "sim"]), @"
    exit code: 2
    ----- stderr -----
    error: `panics` has no program `drown`; it has none at all
    ");
}

#[test]
fn an_unknown_flag_is_a_mistake_of_usage() {
    let text = tree().run(&["run", "swift", "--fast"]);
    assert!(text.starts_with("exit code: 2\n----- stderr -----\n"), "{text}");
}

#[test]
fn common_options_are_taken_before_the_command_and_after_it() {
    for arguments in [["--json", "list"], ["list", "--json"]] {
        let text = tree().run(&arguments);
        assert!(text.starts_with("exit code: 0\n----- stdout -----\n{\n"), "{text}");
    }
    for arguments in [["--plain", "explain"], ["explain", "--plain"]] {
        let mut command = tree().checker(&arguments);
        let output = command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").output();
        assert!(output.expect("it starts").status.success(), "{arguments:?}");
    }
    let mut plain = tree().checker(&["--plain", "list"]);
    let text = tree().snapshot(plain.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1"));
    assert!(!text.contains('\x1b'), "{text}");
    let mut coloured = tree().checker(&["list"]);
    let text = tree().snapshot(coloured.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1"));
    assert!(text.contains('\x1b'), "{text}");
}

#[test]
fn a_class_that_is_not_there_is_a_mistake_of_usage_that_says_what_a_class_is() {
    assert_snapshot!(tree().run(&["grade", "/nowhere", "--out", "/nowhere/out"]), @"
    exit code: 2
    ----- stderr -----
    error: there is no `/nowhere`

    hint: a class is a folder with one folder for each student, or the `.zip` that a platform exports
    ");
}

#[test]
fn an_unknown_profile_says_what_a_profile_is() {
    assert_snapshot!(tree().run(&["run", "swift", "--profile", "a100"]), @"
    exit code: 2
    ----- stderr -----
    error: there is no profile `a100`

    hint: it is one of `h200`, `h100`, `one_engine`, `slow_link`, or the path of a TOML file
    ");
}

#[test]
fn a_solution_that_is_not_here_is_a_mistake_of_usage() {
    assert_snapshot!(tree().run(&["run", "panics", "--solution", "--device", "sim"]), @"
    exit code: 2
    ----- stderr -----
    error: there is no solution of `panics` here
    ");
}

#[test]
fn outside_of_a_workspace_every_command_says_where_to_go() {
    for arguments in [&[][..], &["list"], &["run", "swift"]] {
        let mut command = tree().checker(arguments);
        let text = tree().snapshot(command.current_dir("/"));
        assert_eq!(
            text,
            "exit code: 2\n----- stderr -----\nerror: `/` is not inside a workspace of exercises\n\n\
             hint: go to the folder that holds `Cargo.toml` and `exercises`, or name it in \
             `SWIM_WORKSPACE`\n",
            "{arguments:?}"
        );
    }
}

#[test]
fn the_workspace_can_be_named_from_elsewhere() {
    let mut command = tree().checker(&["run", "swift", "--device", "sim"]);
    let text = tree().snapshot(command.current_dir("/").env("SWIM_WORKSPACE", tree().root()));
    assert!(text.starts_with("exit code: 0"), "{text}");
}

#[test]
fn inside_of_an_exercise_its_name_can_be_left_out() {
    let mut command = tree().checker(&["run", "--device", "sim"]);
    let folder = tree().root().join("exercises/11_lazy/src");
    let text = tree().snapshot(command.current_dir(folder));
    assert!(text.contains("lazy · your file"), "{text}");
}

#[test]
fn the_list_names_the_exercises_in_order() {
    // Not the shared tree: what others pass there would show.
    let tree = Tree::all(scratch().join("listed"), scratch().join("mini-target"));
    let text = tree.run(&["list"]);
    let first: String = text.lines().take(6).map(|line| format!("{line}\n")).collect();
    assert_snapshot!(first, @"
    exit code: 0
    ----- stdout -----
    01 swift           The swift one           untouched
    02 sluggish        The sluggish one        untouched
    03 broken          The broken one          untouched
    04 panics          The panics one          untouched
    ");
    let text = tree.run(&["list", "--programs"]);
    let first: String = text.lines().take(7).map(|line| format!("{line}\n")).collect();
    assert_snapshot!(first, @"
    exit code: 0
    ----- stdout -----
    01 swift           The swift one           untouched
       shows what swift comes to
       needs no GPU
       `--program drawn`: only drawn
    02 sluggish        The sluggish one        untouched
    ");
    assert_snapshot!(tree.run(&["list", "--profiles"]), @"
    exit code: 0
    ----- stdout -----
    h200        NVIDIA H200
    h100        NVIDIA H100 80GB HBM3
    one_engine  an invented H200 with one copy engine
    slow_link   an invented H200 on four lanes of PCIe 3.0

    `cargo run -- run EX --profile NAME` takes one of them, and the first where none is named. The path of a TOML file
    will do as well: `cargo run -- calibrate` writes one of the GPU of a machine
    ");
    let (code, object) = tree.json(&["list", "--profiles"]);
    assert_eq!((code, object["profiles"][1]["name"].as_str()), (0, Some("h100")), "{object:#}");
    let (code, object) = tree.json(&["list"]);
    assert_eq!(code, 0);
    let numbers: Vec<_> = object["exercises"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|exercise| exercise["number"].as_u64().expect("a number"))
        .collect();
    assert!(numbers.is_sorted() && numbers.len() > 20, "{numbers:?}");
}

/// A tree of one exercise with this `exercise.toml`.
fn small(name: &str, manifest: &str) -> std::path::PathBuf {
    let root = scratch().join(name);
    write(&root.join("Cargo.toml"), "[workspace]\n");
    write(&root.join("exercises/01_only/exercise.toml"), manifest);
    write(&root.join("exercises/01_only/src/lib.rs"), "// begun\n");
    write(&root.join("exercises/01_only/.shipped/lib.rs"), "");
    root
}

fn listed(root: &Path, arguments: &[&str]) -> String {
    let mut command = tree().checker(arguments);
    crate::tree::shown(&command.current_dir(root).output().expect("it starts"), root)
}

#[test]
fn a_changed_file_shows_in_the_list() {
    let root = small("changed", &manifest("only", false));
    assert_snapshot!(listed(&root, &["list"]), @"
    exit code: 0
    ----- stdout -----
    01 only  The only one  changed

    `cargo run -- list --programs` names the programs of each chapter too
    ");
}

#[test]
fn the_overview_says_where_you_are_and_what_is_next() {
    let root = small("overview", &manifest("only", false));
    assert_snapshot!(listed(&root, &[]), @"
    exit code: 0
    ----- stdout -----
    0 of 1 exercise passed

    next: The only one: shows what only comes to
          edit `exercises/01_only/src/lib.rs`, then `cargo run -- run only`
          or let `cargo run -- watch` run it whenever you save

    `cargo run -- list` names all exercises, `cargo run -- --help` all commands
    ");
}

#[test]
fn an_unknown_key_in_an_exercise_is_an_error_that_names_it() {
    let text = manifest("only", false).replace("pass_score", "pas_score = 80\npass_score");
    assert_snapshot!(listed(&small("unknown_key", &text), &["list"]), @"
exit code: 4
----- stderr -----
error: cannot read `exercises/01_only/exercise.toml`: TOML parse error at line 5, column 1
  |
5 | pas_score = 80
  | ^^^^^^^^^
unknown field `pas_score`, expected one of `format`, `title`, `summary`, `task`, `metric`, `pass_score`, `time_limit_s`, `output_limit_kib`, `needs`, `score`, `cause`, `hides_streams`, `baseline`, `programs`, `next`, `puzzle`, `hints`, `plan`
");
}

#[test]
fn an_exercise_of_another_format_is_refused_with_advice() {
    let text = manifest("only", false).replace("format = 2", "format = 3\nnews = true");
    assert_snapshot!(listed(&small("format", &text), &["list"]), @"
exit code: 4
----- stderr -----
error: cannot read `exercises/01_only/exercise.toml`: it is of format 3, and this checker reads format 2

hint: exercises and checker belong together; update both
");
}

#[test]
fn an_exercise_graded_by_another_rule_is_refused_with_advice() {
    let text = manifest("only", false).replace("version = 1", "version = 7");
    assert_snapshot!(listed(&small("rule", &text), &["list"]), @"
    exit code: 4
    ----- stderr -----
    error: cannot read `exercises/01_only/exercise.toml`: its score is of rule 7, and this checker knows rule 1

    hint: exercises and checker belong together; update both
    ");
}

#[test]
fn the_doctor_says_what_there_is_and_what_runs() {
    let (code, object) = tree().json(&["doctor"]);
    assert_eq!(code, 0, "{object:#}");
    let states: Vec<_> = object["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|check| check["name"].as_str().expect("a name"))
        .collect();
    let known = [
        "system",
        "container",
        "rust",
        "workspace",
        "driver",
        "gpu",
        "copy engines",
        "cupti",
        "memory lock",
        "sandbox",
    ];
    // Some are there only inside of a container, or with a GPU.
    let expected: Vec<_> = known.iter().filter(|name| states.contains(name)).collect();
    assert_eq!(states.iter().collect::<Vec<_>>(), expected);
    for name in ["system", "rust", "workspace", "driver", "gpu", "cupti", "memory lock", "sandbox"]
    {
        assert!(states.contains(&name), "{name}");
    }
    for check in object["checks"].as_array().expect("a list") {
        assert!(check["state"] == "ok" || check["hint"].is_string(), "a next step: {check:#}");
    }
    assert_eq!(object["exercises"][0]["simulated"], true);
}

#[test]
fn the_doctor_names_a_driver_library_that_is_none() {
    let mut command = tree().checker(&["doctor"]);
    let text = tree().snapshot(command.env("SWIM_DRIVER", "/dev/null"));
    assert!(text.starts_with("exit code: 4\n"), "{text}");
    assert!(text.contains("broken  driver: /dev/null cannot be used: /dev/null: "), "{text}");
    assert!(text.contains("swift: needs driver, not run\n"), "{text}");
}

#[test]
fn a_code_is_explained_and_an_unknown_one_brings_a_suggestion() {
    let text = tree().run(&["explain", "c01"]);
    assert!(
        text.contains("# SWIM-C01 pageable-copy") && text.contains("## How to fix it"),
        "{text}"
    );
    let unknown = tree().run(&["explain", "SWIM-C91"]);
    for part in ["exit code: 2", "there is no code `SWIM-C91`", "did you mean `SWIM-C"] {
        assert!(unknown.contains(part), "{part}: {unknown}");
    }
    let gate = tree().run(&["explain", "idle"]);
    assert!(gate.contains("`idle` is a gate, which has no page: all that was asked for"), "{gate}");
    let list = tree().run(&["explain"]);
    assert!(list.contains("SWIM-H01  read-after-write\n") && list.contains("SWIM-C16"), "{list}");
}

#[test]
fn a_mistyped_command_brings_a_suggestion() {
    assert_snapshot!(tree().run(&["wacth"]), @"
    exit code: 2
    ----- stderr -----
    error: unrecognized subcommand 'wacth'

      tip: a similar subcommand exists: 'watch'

    Usage: checker [OPTIONS] [COMMAND]

    For more information, try '--help'.
    ");
}

#[test]
fn every_command_that_prints_facts_prints_them_as_one_object_too() {
    _ = std::fs::remove_dir_all(scratch().join("objects"));
    let root = small("objects", &manifest("only", false));
    let object = |arguments: &[&str]| {
        let arguments = [arguments, &["--json"]].concat();
        crate::tree::json(tree().checker(&arguments).current_dir(&root))
    };
    let (_, codes) = object(&["explain"]);
    assert_eq!(codes["codes"][0]["code"], "SWIM-H01");
    let (_, page) = object(&["explain", "c01"]);
    assert!(page["codes"][0]["text"].as_str().is_some_and(|it| it.contains("## How to fix it")));
    let (_, reset) = object(&["reset", "only"]);
    assert_eq!(reset["kept"], "exercises/01_only/.kept/1.rs");
    let (_, again) = object(&["reset", "only"]);
    assert!(again["kept"].is_null());
    let (_, undone) = object(&["undo"]);
    assert!(undone["kept"].is_null(), "the shipped file need not be kept");
    for arguments in [&[][..], &["list"], &["doctor"]] {
        assert!(object(arguments).1["format"].is_u64(), "{arguments:?}");
    }
}

#[test]
fn shells_complete_commands_and_the_names_of_exercises() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = tree().run(&["completions", shell]);
        assert!(text.contains("watch") && text.contains("one_engine"), "{shell}: {text}");
        // In the others clap completes no arguments that stand alone.
        let names = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(text.contains("sluggish"), names, "{shell}: {text}");
    }
    let fish = tree().run(&["completions", "fish"]);
    let condition = "__fish_checker_using_subcommand";
    assert!(fish.contains(&format!("\nfunction {condition}\n")), "clap defines it: {fish}");
    assert!(
        fish.contains(&format!("\ncomplete -c checker -n \"{condition} run\" -a \"swift ")),
        "{fish}"
    );
    let script = tree().checker(&["completions", "bash"]).output().expect("it starts").stdout;
    let path = scratch().join("completions.bash");
    std::fs::write(&path, script).expect("a file");
    // What the shell itself would offer after `checker run s`.
    let line = format!(
        "source {}; COMP_WORDS=(checker run slu); COMP_CWORD=2; _checker checker slu run; echo \"${{COMPREPLY[@]}}\"",
        path.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &line]).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "sluggish", "{output:?}");
}

#[test]
fn a_schedule_is_a_seed_or_a_witness_that_there_is() {
    let tree = tree();
    for (schedule, word) in [
        ("soon", "it is a seed, `witness` or `witness:N`"),
        ("witness:0", "it is a seed, `witness` or `witness:N`"),
        ("witness:2", "`--schedule witness:2`, but there is 1 hazard"),
    ] {
        let text = tree.run(&["run", "racy", "--device", "sim", "--schedule", schedule]);
        assert!(text.starts_with("exit code: 2\n") && text.contains(word), "{text}");
    }
    let text = tree.run(&["run", "racy", "--device", "gpu", "--schedule", "7"]);
    assert!(text.starts_with("exit code: 2\n") && text.contains("`--schedule` is for"), "{text}");
}

#[test]
fn a_part_of_a_run_is_drawn_alone_and_the_verdict_is_that_of_all_of_it() {
    let real = crate::real::real();
    let run = |window: &str| {
        let arguments = ["run", "three_lanes", "--solution", "--device", "sim", "--window", window];
        let text = real.run(&arguments);
        let makespan = text.lines().find(|line| line.starts_with("makespan")).map(str::to_owned);
        assert!(text.contains("\npassed: score 100.0"), "{text}");
        (text, makespan.expect("a makespan"))
    };
    let (whole, makespan) = run("0ms..");
    let (part, same) = run("1ms..2ms");
    assert_eq!(makespan, same);
    assert!(part.contains("\nthe solution, 1.00 ms to 2.00 ms  "), "{part}");
    assert!(!whole.contains("1.00 ms to 2.00 ms"), "{whole}");
    let (outside, same) = run("1s..2s");
    assert_eq!(makespan, same);
    assert!(outside.contains("\nthe solution  "), "{outside}");
    assert!(outside.contains("note: nothing lies in that window: the run takes 6."), "{outside}");
}
