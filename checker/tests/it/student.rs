//! A student's workspace, made of a copy of this one, and what a later state of this one brings into it.

use std::path::Path;
use std::process::Command;

use crate::compiled;
use crate::real::{copy, real};
use crate::tree::{Tree, scratch, write};

const EDITED: &str = "exercises/04_three_lanes/src/lib.rs";
const UNTOUCHED: &str = "exercises/07_chunked_pipeline/src/lib.rs";

fn read(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below a folder, by their names there.
fn names(folder: &Path, within: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.join(within)).expect("a folder").flatten() {
        let name = entry.file_name().into_string().expect("a name");
        let name = if within.is_empty() { name } else { format!("{within}/{name}") };
        match entry.path().is_dir() {
            true => found.extend(names(folder, &name)),
            false => found.push(name),
        }
    }
    found.sort();
    found
}

/// The authors' workspace as it may be a year later: an exercise is new, another has another number and another
/// text, and the lab says something else.
fn a_year_later(now: &Path, later: &Path) {
    _ = std::fs::remove_dir_all(later);
    for part in [".cargo", "checker", "exercises"] {
        copy(&now.join(part), &later.join(part));
    }
    for file in ["Cargo.toml", "Cargo.lock", "rustfmt.toml", "LICENSE-APACHE", "LICENSE-MIT"] {
        write(&later.join(file), &read(now, file));
    }
    let old = later.join("exercises/07_chunked_pipeline");
    let new = later.join("exercises/09_echo");
    copy(&old, &new);
    for file in ["Cargo.toml", "src/main.rs"] {
        let text = read(&new, file);
        write(&new.join(file), &text.replace("chunked_pipeline", "echo"));
    }
    // Another exercise of the same task.
    let manifest = read(&new, "exercise.toml");
    let task = "format = 2\ntask = \"chunked_pipeline\"";
    write(&new.join("exercise.toml"), &manifest.replacen("format = 2", task, 1));
    for file in [".shipped/lib.rs", "src/lib.rs"] {
        let text = read(&old, file);
        write(&old.join(file), &format!("//! Read this first.\n{text}"));
    }
    let moved = later.join("exercises/05_three_lanes");
    std::fs::rename(later.join("exercises/04_three_lanes"), &moved).expect("another number");
    let shipped = read(&moved, ".shipped/lib.rs");
    write(&moved.join(".shipped/lib.rs"), &format!("//! Another text.\n{shipped}"));
    // Cargo would not know which of the two it is.
    let example = read(later, "exercises/lab/examples/tracking_hole.rs");
    std::fs::remove_file(later.join("exercises/lab/examples/tracking_hole.rs")).expect("a file");
    write(&later.join("exercises/lab/examples/tracking_hole/main.rs"), &example);
    let lab = read(later, "exercises/lab/src/clock.rs");
    write(&later.join("exercises/lab/src/clock.rs"), &format!("{lab}\n// a year later\n"));
}

#[test]
fn a_students_workspace_has_no_solutions_builds_offline_and_takes_what_is_new() {
    let real = real();
    let made = scratch().join("student-made");
    _ = std::fs::remove_dir_all(&made);
    let site = scratch().join("student-site");
    write(&site.join("index.html"), "<title>The book</title>\n");
    write(&site.join("assets/page.css"), "body {}\n");

    // What an instructor does.
    let site = site.to_str().expect("a path").to_owned();
    let place = made.to_str().expect("a path").to_owned();
    let said = real.run(&["new", &place, "--book", &site]).replace(&place, "[DIR]");
    let exercises = std::fs::read_dir(real.root().join("exercises")).expect("a folder").flatten();
    let count = exercises.filter(|it| it.path().join("exercise.toml").is_file()).count();
    assert_eq!(
        said,
        format!(
            "exit code: 0\n----- stdout -----\n`[DIR]` is a workspace of {count} exercises, without solutions\n\n\
             next: `cd [DIR]`, then `cargo run`\n"
        )
    );
    // A student has a copy of it: files that are as they were keep their age, and cargo its work.
    let folder = scratch().join("student");
    copy(&made, &folder);
    let files = names(&folder, "");
    for absent in
        ["solutions/", "checker/playground/", "checker/tests/", "exercises/lab/tests/", "target/"]
    {
        assert!(!files.iter().any(|file| file.starts_with(absent)), "{absent}");
    }
    for present in
        ["book/index.html", "README.md", "rust-analyzer.toml", ".gitignore", ".handed_out"]
    {
        assert!(files.iter().any(|file| file == present), "{present}");
    }
    for id in ["04_three_lanes", "07_chunked_pipeline"] {
        let folder = folder.join("exercises").join(id);
        assert_eq!(read(&folder, "src/lib.rs"), read(&folder, ".shipped/lib.rs"));
    }
    assert!(read(&folder, "README.md").contains("open `book/index.html`"));

    // What a student does: the whole of it compiles there, and cargo has nothing to complain of. The checker that
    // comes of it is the one that is here. Cargo looks whether each file is there, and compiles what is not the same.
    let tree = Tree::at(folder.clone(), scratch().join("student-target"));
    if !tree.target().exists() {
        let mut cargo = real.program(Path::new(env!("CARGO")), &["build", "--offline", "--quiet"]);
        assert!(cargo.status().expect("cargo starts").success());
        compiled::as_old_as(real.root(), &folder);
        compiled::take(&real.target().join("debug"), tree.target());
    }
    for arguments in [&["build", "--offline", "--quiet"][..], &["fmt", "--check", "--all"]] {
        let cargo = tree.program(Path::new(env!("CARGO")), arguments).output();
        let cargo = cargo.expect("cargo starts");
        assert!(
            cargo.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&cargo.stdout)
        );
        assert_eq!(String::from_utf8_lossy(&cargo.stderr), "", "{arguments:?}");
    }
    let edited = format!("{}\n// mine\n", read(&folder, EDITED));
    write(&folder.join(EDITED), &edited);
    let (code, object) = tree.json(&["run", "three_lanes", "--device", "sim"]);
    assert_eq!((code, object["verdict"].as_str()), (1, Some("failed")), "{object:#}");
    let solved = tree.run(&["run", "three_lanes", "--solution"]);
    assert!(solved.contains("there is no solution of `three_lanes` here"), "{solved}");

    // A year later.
    let later = scratch().join("student-later");
    a_year_later(real.root(), &later);
    let later = later.to_str().expect("a path").to_owned();
    let said = tree.run(&["update", &later]);
    assert!(
        said.contains("brought up to date; 1 file no longer handed out, and removed"),
        "{said}"
    );
    assert!(said.contains("; new: echo\n"), "{said}");
    let kept = "\nyours, and left as they are, though they are handed out differently now:\n  \
                exercises/05_three_lanes/src/lib.rs\n";
    assert!(said.contains(kept), "{said}");
    assert!(said.contains("`checker reset EX`"), "{said}");
    assert!(said.contains("the book stays as it is: none came with the workspace"), "{said}");
    assert!(!folder.join("exercises/lab/examples/tracking_hole.rs").exists());
    let moved = "exercises/05_three_lanes/src/lib.rs";
    assert_eq!(read(&folder, moved), edited, "the student's file, under its exercise's new number");
    assert!(!folder.join("exercises/04_three_lanes").exists());
    assert!(read(&folder, UNTOUCHED).starts_with("//! Read this first.\n"));
    assert!(read(&folder, "exercises/lab/src/clock.rs").ends_with("// a year later\n"));
    assert!(folder.join("book/index.html").is_file());

    // What is new runs, and a second update has nothing to do.
    let (code, object) = tree.json(&["run", "echo", "--device", "sim"]);
    assert_eq!((code, object["verdict"].as_str()), (1, Some("failed")), "{object:#}");
    let again = tree.run(&["update", &later]);
    assert!(again.contains("there is nothing to bring\n"), "{again}");
    tree.run(&["reset", "three_lanes"]);
    assert!(read(&folder, moved).starts_with("//! Another text.\n"));
}

#[test]
fn a_workspace_that_is_there_is_not_written_over() {
    let real = real();
    let place = real.root().to_str().expect("a path").to_owned();
    let said = real.run(&["new", &place]);
    assert!(said.contains("is not empty\n\nhint: `checker update`"), "{said}");
    let said = real.run(&["update", &place]);
    assert!(said.contains("is no workspace that `checker new` made"), "{said}");
    let mut command: Command = real.checker(&["new", "/proc/none", "--book", &place]);
    let said = String::from_utf8_lossy(&command.output().expect("it starts").stderr).into_owned();
    assert!(said.contains("is no built book"), "{said}");
}
