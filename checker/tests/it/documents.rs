//! The documents for those who change the project name files that there are.

use std::path::Path;

/// The paths that a text names between backticks or as the target of a link. `NAME` and `NN_name` stand for
/// any.
fn paths(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_path = |it: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let known = ["checker/", "exercises/", "book/", ".ci/"].iter().any(|at| it.starts_with(at));
        it.chars().all(plain)
            && (known || it.ends_with(".md") && !it.contains("//"))
            && !it.contains("NAME")
            && !it.contains("NN_")
    };
    quoted.chain(linked).filter(is_path).collect()
}

#[test]
fn every_file_that_architecture_and_contributing_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut named, mut missing) = (0, Vec::new());
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(document)).expect("the document");
        // Backticks that fence a block would shift all others.
        let text: String = text.split("```").step_by(2).collect();
        for path in paths(&text) {
            named += 1;
            if !root.join(path).exists() {
                missing.push(format!("{document}: {path}"));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
    assert!(named > 60, "there are many: {named}");
}

#[test]
fn a_path_is_found_in_backticks_and_in_links() {
    let text =
        "see [this](book/STYLE.md) and `checker/src/cli.rs`, not `Call` or `book/chapters/NAME.md`";
    assert_eq!(paths(text), ["checker/src/cli.rs", "book/STYLE.md"]);
}
