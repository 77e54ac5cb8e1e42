//! What README shows of the first minutes is what happens, in a copy of this workspace.

use std::process::Command;

use crate::real::real;

/// Where it is set, README is written again with what is printed now.
const UPDATE: &str = "SWIM_UPDATE_README";

/// A part of the transcript.
enum Part {
    /// A command, and what it prints.
    Command { line: String, prints: String },
    /// What is edited meanwhile: a file, a text in it, and what takes its place.
    Edit { file: String, from: String, to: String },
}

/// The `console` and `diff` blocks of a text, in order.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let block: Vec<&str> = match line {
            "```console" | "```diff" => lines.by_ref().take_while(|line| *line != "```").collect(),
            _ => continue,
        };
        if line == "```diff" {
            let file = block.iter().find_map(|line| line.strip_prefix("+++ "));
            let body =
                || block.iter().filter(|line| !line.starts_with("---") && !line.starts_with("+++"));
            let side = |left_out: char| {
                let lines = body().filter(|line| !line.starts_with(left_out));
                let own =
                    |line: &str| line.strip_prefix([' ', '+', '-']).unwrap_or(line).to_owned();
                lines.map(|line| format!("{}\n", own(line))).collect()
            };
            let file = file.expect("a diff names its file").to_owned();
            // Several hunks are several edits.
            let (from, to): (String, String) = (side('+'), side('-'));
            let hunks = from.split("…\n").zip(to.split("…\n"));
            parts.extend(hunks.map(|(from, to)| Part::Edit {
                file: file.clone(),
                from: from.to_owned(),
                to: to.to_owned(),
            }));
            continue;
        }
        for line in block {
            match (line.strip_prefix("$ "), parts.last_mut()) {
                (Some(line), _) => {
                    parts.push(Part::Command { line: line.to_owned(), prints: String::new() });
                }
                (None, Some(Part::Command { prints, .. })) => prints.push_str(&format!("{line}\n")),
                (None, _) => panic!("nothing printed `{line}`"),
            }
        }
    }
    parts
}

#[test]
fn a_new_user_passes_the_first_exercise_with_the_commands_of_readme() {
    let readme = include_str!("../../../README.md");
    let parts = parts(readme);
    let commands = parts.iter().filter(|part| matches!(part, Part::Command { .. })).count();
    assert!((1..=3).contains(&commands), "{commands} commands to the first pass");

    let real = real();
    let file = |path: &str| real.root().join(path);
    let progress = file("progress.txt");
    _ = std::fs::remove_file(&progress);
    let mut edited: Vec<(String, String)> = Vec::new();
    let mut differences = String::new();
    let mut updated = readme.to_owned();
    for part in &parts {
        match part {
            Part::Edit { file: path, from, to } => {
                let text = std::fs::read_to_string(file(path)).expect("the file to edit");
                assert!(text.contains(from.as_str()), "`{path}` does not hold\n{from}");
                std::fs::write(file(path), text.replacen(from, to, 1)).expect("the edited file");
                edited.push((path.clone(), text));
            }
            Part::Command { line, prints } => {
                // The lines of cargo's build are left out: the checker is built already.
                let arguments =
                    line.strip_prefix("cargo run -- ").expect("a command of the checker");
                let arguments: Vec<_> = arguments.split(' ').collect();
                let said = says(&mut real.checker(&arguments));
                if said != *prints {
                    differences.push_str(&format!("$ {line}\n{said}"));
                    let (old, new) = (format!("$ {line}\n{prints}"), format!("$ {line}\n{said}"));
                    updated = updated.replacen(&old, &new, 1);
                }
            }
        }
    }
    for (path, text) in edited.into_iter().rev() {
        std::fs::write(file(&path), text).expect("the file as it was");
    }
    let kept = std::fs::read_to_string(&progress).expect("what was reached");
    _ = std::fs::remove_file(&progress);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"), updated)
            .expect("README");
        return;
    }
    assert!(
        differences.is_empty(),
        "README should say\n{differences}\nhint: set `{UPDATE}` to write it"
    );
    assert!(kept.contains("passed three_lanes "), "{kept}");
}

fn says(command: &mut Command) -> String {
    let output = command.output().expect("the checker starts");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}
