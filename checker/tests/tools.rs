//! Commands that are programs of their own: which program is taken, and that it is told everything.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const GRADE: [&str; 4] = ["grade", "handed in", "--out", "grades"];

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
}

/// The checker in a folder of its own, where nothing is beside it.
fn installed(folder: &Path) -> PathBuf {
    let checker = folder.join("bin/checker");
    std::fs::create_dir_all(folder.join("bin")).expect("it can be made");
    // By a process of its own: one that another test starts just now would still have our copy open for writing.
    let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_checker")).arg(&checker).status();
    assert!(status.expect("`cp` starts").success());
    checker
}

fn grade(checker: &Path, folder: &Path) -> Output {
    let mut command = Command::new(checker);
    command.args(GRADE).current_dir(folder).env_remove("SWIM_WORKSPACE");
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    command.output().expect("the checker starts")
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn without_a_workspace_the_program_beside_the_checker_is_told_the_same() {
    let folder = TempDir::new().expect("a folder");
    let checker = installed(folder.path());
    let class = folder.path().join("bin/checker-class");
    write(&class, "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 3\n");
    std::fs::set_permissions(&class, Permissions::from_mode(0o755)).expect("it is ours");
    let told = "grade|handed in|--out|grades|".to_owned();
    assert_eq!(said(&grade(&checker, folder.path())), (Some(3), told, String::new()));
}

#[test]
fn in_a_workspace_the_program_is_built_when_it_is_first_called() {
    let folder = TempDir::new().expect("a folder");
    let checker = installed(folder.path());
    let root = folder.path();
    std::fs::create_dir(root.join("exercises")).expect("it can be made");
    write(
        &root.join("Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"checker/class\"]\n",
    );
    write(
        &root.join("checker/class/Cargo.toml"),
        "[package]\nname = \"class\"\nedition = \"2024\"\n\n[[bin]]\nname = \"checker-class\"\npath = \"main.rs\"\n",
    );
    write(
        &root.join("checker/class/main.rs"),
        "fn main() {\n    std::env::args().skip(1).for_each(|it| print!(\"{it}|\"));\n    std::process::exit(5)\n}\n",
    );
    let told = "grade|handed in|--out|grades|".to_owned();
    let building = "building the class tools, once; this takes about a minute\n".to_owned();
    assert_eq!(said(&grade(&checker, root)), (Some(5), told, building));
}

#[test]
fn where_there_is_neither_the_checker_says_how_to_get_it() {
    let folder = TempDir::new().expect("a folder");
    let checker = installed(folder.path());
    let (code, out, err) = said(&grade(&checker, folder.path()));
    assert_eq!((code, out.as_str()), (Some(4), ""));
    assert!(err.contains("there is no `checker-class` beside"), "{err}");
    assert!(err.contains("\n\nhint: in a clone"), "{err}");
}
