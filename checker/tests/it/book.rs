//! The book's pages: named where they help, opened or told by their path, and built where they have to be.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::learner::fresh;
use crate::tree::{Tree, write};

/// The checker on a machine without a browser.
fn without_browser(tree: &Tree, arguments: &[&str]) -> Command {
    let mut command = tree.checker(arguments);
    for name in ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY"] {
        command.env_remove(name);
    }
    command
}

/// A program of one line of shell.
fn script(path: &Path, line: &str) -> PathBuf {
    write(path, &format!("#!/bin/sh\n{line}\n"));
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, everybody).expect("a program");
    path.to_owned()
}

/// A workspace that was handed out with the built book.
fn with_book(name: &str) -> Tree {
    let tree = fresh(name);
    write(&tree.root().join("book/swift.html"), "<p>swift</p>");
    write(&tree.root().join("book/introduction.html"), "<p>the first page</p>");
    tree
}

#[test]
fn without_a_browser_the_path_of_the_page_is_said() {
    let tree = with_book("book");
    let text = tree.snapshot(&mut without_browser(&tree, &["book", "swift"]));
    assert_snapshot!(text, @"
    exit code: 0
    ----- stdout -----
    [ROOT]/book/swift.html

    no browser can be started from here: open this file in one; `BROWSER` names a program to open it with
    ");
    // Over ssh nobody sits at the screen that there may be.
    let mut far = without_browser(&tree, &["book"]);
    far.env("DISPLAY", ":0").env("SSH_CONNECTION", "10.0.0.1 22");
    assert_eq!(tree.snapshot(&mut far), text);
}

#[test]
fn the_browser_that_is_named_gets_the_page() {
    let tree = with_book("browser");
    let (seen, page) = (tree.root().join("seen"), tree.root().join("book/swift.html"));
    let browser =
        script(&tree.root().join("browser"), &format!("echo \"$1\" > {}", seen.display()));
    let mut command = without_browser(&tree, &["book", "swift"]);
    let text = tree.snapshot(command.env("BROWSER", &browser));
    assert!(text.contains("in the browser"), "{text}");
    let expected = format!("{}\n", page.canonicalize().expect("a page").display());
    let start = Instant::now();
    while std::fs::read_to_string(&seen).ok().as_ref() != Some(&expected) {
        assert!(start.elapsed() < Duration::from_secs(60), "the browser saw no page");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_page_that_is_older_than_its_chapter_is_built_first() {
    let tree = fresh("unbuilt");
    write(&tree.root().join("book/chapters/swift.md"), "# Swift");
    let page = tree.root().join("target/book/swift.html");
    let line = format!(
        "mkdir -p {0} && echo \"$@\" > {1}",
        page.parent().expect("a folder").display(),
        page.display()
    );
    let cargo = script(&tree.root().join("cargo"), &line);
    let mut command = without_browser(&tree, &["book", "swift"]);
    let text = tree.snapshot(command.env("CARGO", &cargo));
    assert!(
        text.contains("building the book") && text.contains("target/book/swift.html"),
        "{text}"
    );
    let asked = std::fs::read_to_string(&page).expect("a page");
    assert_eq!(asked, "run --quiet --package book -- build\n");
    let again = tree.snapshot(without_browser(&tree, &["book", "swift"]).env("CARGO", "/no/cargo"));
    assert!(again.starts_with("exit code: 0") && !again.contains("building"), "{again}");
}

#[test]
fn a_workspace_without_the_book_says_so_and_names_no_page() {
    let tree = fresh("bookless");
    assert_snapshot!(tree.run(&["book", "swift"]), @"
    exit code: 2
    ----- stderr -----
    error: there is no book in this workspace

    hint: its pages come with the repository, and with a workspace that was made where the book had been built
    ");
    for arguments in [&[][..], &["list"], &["run", "swift", "--device", "sim"], &["explain", "C01"]]
    {
        let text = tree.run(arguments);
        assert!(!text.contains("-- book"), "{arguments:?}: {text}");
    }
}

#[test]
fn the_page_is_named_wherever_it_helps() {
    let tree = with_book("named");
    assert_snapshot!(tree.run(&[]), @"
    exit code: 0
    ----- stdout -----
    0 of 1 exercise passed

    Each exercise is one file that you change. The checker runs it on a simulated GPU,
    draws what the device did, and says how much of the possible overlap you got.

    next: The swift one: shows what swift comes to
          read its chapter: `cargo run -- book swift`
          edit `exercises/01_swift/src/lib.rs`, then `cargo run -- run swift`
          or let `cargo run -- watch` run it whenever you save

    `cargo run -- list` names all exercises, `cargo run -- --help` all commands
    ");
    assert_snapshot!(tree.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    01 swift  The swift one  untouched

    `cargo run -- list --programs` names the programs of each chapter too
    `cargo run -- book EX` opens the chapter of an exercise
    ");
    let sluggish = "pub fn solve() { lab::hand_over(\"sluggish\") }";
    write(&tree.root().join("exercises/01_swift/src/lib.rs"), sluggish);
    let text = tree.run(&["run", "swift", "--device", "sim"]);
    let next = &text[text.find("next: ").expect("a next step")..];
    assert_snapshot!(next, @"
    next: look at the timeline
          edit `exercises/01_swift/src/lib.rs`
          its chapter: `cargo run -- book swift`
    ");
    // A code names the chapters that are there.
    let manifest = tree.root().join("exercises/01_swift/exercise.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    write(&manifest, &text.replace("The swift one", "Three lanes: swimming in streams"));
    let page = tree.run(&["explain", "C01"]);
    assert_snapshot!(&page[page.find("## Chapter").expect("a chapter")..], @"
    ## Chapter
    Three lanes: swimming in streams: `cargo run -- book swift`
    ");
}
