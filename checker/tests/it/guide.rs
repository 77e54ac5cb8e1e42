//! What the book's page for instructors shows is what happens, for a small class in a copy of this workspace;
//! and its recipes are scripts that do what they say.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::class::{empty, read, shipped, solution, succeeds};
use crate::real::{self, Real};
use crate::tree::{scratch, write};

/// Where it is set, the page is written again with what is printed now.
const UPDATE: &str = "SWIM_UPDATE_GUIDE";

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/chapters/grading.md");

/// A command of the page, which may take several lines, and what the page says that it prints.
struct Shown {
    command: String,
    prints: String,
}

/// What stands in the `console` blocks of a text, in order.
fn commands(text: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line != "```console" {
            continue;
        }
        let mut block = lines.by_ref().take_while(|line| *line != "```");
        while let Some(line) = block.next() {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(line), _) => {
                    let mut command = line.to_owned();
                    while command.ends_with('\\') {
                        command += "\n";
                        command += block.next().expect("a command that goes on");
                    }
                    found.push(Shown { command, prints: String::new() });
                }
                (None, Some(shown)) => shown.prints += &format!("{line}\n"),
                (None, None) => panic!("nothing printed `{line}`"),
            }
        }
    }
    found
}

/// A script's text in the copy, in which `cargo run --` is the checker that is tested.
fn script(real: &Real, text: &str) -> Command {
    let checker = env!("CARGO_BIN_EXE_checker-author");
    let cargo =
        format!("cargo() {{ while [ \"$1\" != -- ]; do shift; done; shift; {checker} \"$@\"; }}");
    real.program(Path::new("bash"), &["-c", &format!("{cargo}\n{text}")])
}

fn says(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
}

/// The text without what depends on the machine: how long it took, and the names of what is kept, in which
/// the compiler's version is.
fn anywhere(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let took = |index: usize| {
        index > 0 && words[index - 1] == "in" && words.get(index + 1).is_some_and(|it| *it == "s,")
    };
    let plain = words.iter().enumerate().map(|(index, word)| match took(index) {
        true => "…".to_owned(),
        false => without_hashes(word),
    });
    plain.collect::<Vec<_>>().join(" ")
}

/// `events-698241a77678008a-8752cb20a27cca00d4e7fba56dffc08b.json` without its last number.
fn without_hashes(word: &str) -> String {
    let is_hash = |part: &str| {
        let part = part.split('.').next().unwrap_or_default();
        part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let parts: Vec<&str> = word.split('-').filter(|part| !is_hash(part)).collect();
    parts.join("-")
}

/// The class of the page, beside the workspace, where its commands look for it.
fn class(real: &Real) {
    for name in ["handed-in", "grades", "parts"] {
        let folder = scratch().join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).expect("it goes");
        }
    }
    let beside = |path: &str| scratch().join(path);
    let solved = |exercise: &str| solution(real, exercise);
    // As three people arrange it.
    write(&beside("handed-in/ada/exercises/04_three_lanes/src/lib.rs"), &solved("three_lanes"));
    write(&beside("handed-in/ada/exercises/05_events/src/lib.rs"), &solved("events"));
    let pinned_only = shipped(real, "three_lanes").replace(
        "let plan = lanes.plan();",
        "let plan = lanes.plan().pin_upload().pin_download();",
    );
    assert_ne!(pinned_only, shipped(real, "three_lanes"), "it pins");
    write(&beside("handed-in/bo/three_lanes.rs"), &pinned_only);
    write(
        &beside("handed-in/bo/events.rs"),
        &shipped(real, "events").replace("use ", "// mine\nuse "),
    );
    let broken = shipped(real, "three_lanes") + "\nfn lanes() -> u32 { \"three\" }\n";
    write(&beside("handed-in/cy/mine/three_lanes/lib.rs"), &broken);
    write(&beside("handed-in/cy/mine/Events.rs"), &solved("events"));
    write(&beside("handed-in/notes.txt"), "not a student's");
    write(
        &beside("roster.csv"),
        "student,name,email,extension_hours\nada,Ada Lovelace,ada@example.org,\nbo,Bo Diddley,bo@example.org,48\n\
         cy,Cy Twombly,cy@example.org,\ndee,Dee Dee Bridgewater,dee@example.org,\n",
    );
    write(
        &beside("times.csv"),
        "student,time\nada,2026-05-02T08:30:00+02:00\nbo,2026-05-02T08:30:00+02:00\n",
    );
    write(
        &beside("replaced.csv"),
        "student,exercise,points,by,reason\ncy,events,100,Prof. Sprague,handed in under another name\n",
    );
}

#[test]
fn the_commands_of_the_page_for_instructors_print_what_it_shows() {
    let page = read(Path::new(PAGE));
    let shown = commands(&page);
    assert!(shown.len() > 5, "{} commands", shown.len());
    let real = real::real();
    class(&real);
    let mut differences = String::new();
    let mut updated = page.clone();
    for Shown { command, prints } in &shown {
        let said = says(&mut script(&real, command));
        if anywhere(&said) != anywhere(prints) {
            differences += &format!("$ {command}\n{said}");
            let (old, new) = (format!("$ {command}\n{prints}"), format!("$ {command}\n{said}"));
            updated = updated.replacen(&old, &new, 1);
        }
    }
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(PAGE, updated).expect("the page");
        return;
    }
    assert!(
        differences.is_empty(),
        "the page should say\n{differences}\nhint: set `{UPDATE}` to write it"
    );
}

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/recipes").join(name)
}

/// A folder as Gradescope makes it, in which `cargo` is the checker that is tested, or `instead`.
fn autograder(real: &Real, name: &str, instead: Option<&str>) -> PathBuf {
    let folder = empty(name);
    write(&folder.join("submission/three_lanes.rs"), &solution(real, "three_lanes"));
    write(&folder.join("submission/events.rs"), &(shipped(real, "events") + "\n// mine\n"));
    std::fs::create_dir_all(folder.join("source")).expect("a folder");
    std::os::unix::fs::symlink(real.root(), folder.join("source/swimming")).expect("a link");
    let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
    let opt = folder.join("opt");
    let (mut set, mut set_back) = (String::new(), String::new());
    for (name, called, below) in
        [("RUSTUP_HOME", "rustup", ".rustup"), ("CARGO_HOME", "cargo", ".cargo")]
    {
        let real = std::env::var_os(name).map_or_else(|| home.join(below), PathBuf::from);
        let link = opt.join(called);
        std::fs::create_dir_all(&link).expect("a folder");
        set += &format!("[ \"${name}\" = {} ] || exit 9; ", link.display());
        set_back += &format!("export {name}={}; ", real.display());
        for entry in std::fs::read_dir(real).expect("Rust").flatten() {
            if entry.file_name() != "bin" {
                let link = link.join(entry.file_name());
                std::os::unix::fs::symlink(entry.path(), link).expect("a link");
            }
        }
    }
    let checker = env!("CARGO_BIN_EXE_checker-author");
    let cargo = match instead {
        // Sources that lie elsewhere would all be compiled again.
        None => format!(
            "#!/bin/bash\ncase \"$*\" in\n\
             'run -q -- '*) {set}{set_back}shift 3; exec {checker} \"$@\" ;;\n\
             *) exec {} \"$@\" ;;\nesac\n",
            env!("CARGO")
        ),
        Some(body) => format!("#!/bin/bash\n{body}\n"),
    };
    let bin = folder.join("opt/cargo/bin");
    write(&bin.join("cargo"), &cargo);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("cargo"), mode).expect("a mode");
    folder
}

fn results(real: &Real, folder: &Path) -> serde_json::Value {
    let path = recipe("gradescope/run_autograder");
    let mut command = real.program(&path, &[]);
    command.env("AUTOGRADER", folder).env("RUST", folder.join("opt"));
    succeeds(&mut command);
    serde_json::from_str(&read(&folder.join("results/results.json"))).expect("JSON")
}

#[test]
fn gradescope_s_recipe_leaves_results_whatever_happens() {
    let real = real::real();
    let graded = results(&real, &autograder(&real, "gradescope", None));
    assert_eq!(graded["score"], 100.0, "{graded}");
    let tests = graded["tests"].as_array().expect("tests");
    let points: Vec<_> = tests.iter().map(|test| test["score"].as_f64()).collect();
    assert_eq!(points, [Some(100.0), Some(0.0)]);

    // The machine's trouble is no zero.
    let trouble = results(&real, &autograder(&real, "gradescope-trouble", Some("exit 4")));
    assert_eq!(trouble.get("score"), None);
    assert!(trouble["output"].as_str().expect("a text").contains("which is no zero"));
}

#[test]
fn each_recipe_can_be_read_by_what_it_is_for() {
    for script in [
        "gradescope/setup.sh",
        "gradescope/run_autograder",
        "slurm/grade.sbatch",
        "slurm/merge.sbatch",
    ] {
        succeeds(Command::new("bash").arg("-n").arg(recipe(script)));
    }
    for workflow in ["github-actions.yml", "github-actions-class.yml"] {
        let text = read(&recipe(workflow));
        for event in saphyr_parser::Parser::new_from_str(&text) {
            event.unwrap_or_else(|error| panic!("{workflow}: {error}"));
        }
    }
}
