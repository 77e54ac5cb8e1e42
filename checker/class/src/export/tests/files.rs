//! Which files are written, and where.

use std::collections::BTreeSet;

use super::class::{Around, class, of, row, submission};
use super::gradebook::{EXPORT, columns};
use crate::export::*;
use clap::ValueEnum as _;
use sandbox::scratch::Scratch;

#[test]
fn every_format_is_written_whole_and_says_where() {
    let (rows, around) = (class(), Around::new());
    let folder = Scratch::new().expect("there is room");
    let columns = columns();
    for format in Format::value_variants() {
        let mut context = around.context();
        context.gradebook = Some(Gradebook { export: EXPORT, columns: &columns });
        context.submission = Some(submission());
        let rows = match format {
            Format::Classroom50 => of(&rows, "ada"),
            _ => rows.clone(),
        };
        let written = write(*format, rows.into_iter().map(Ok), &context, folder.path());
        for file in written.expect("it is written") {
            assert!(file.is_file(), "{}", file.display());
        }
    }
    let mut names: Vec<String> = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder.path()).expect("it is in there");
                names.push(name.display().to_string());
            }
        }
    }
    names.sort();
    insta::assert_snapshot!(names.join("\n"), @r"
    canvas.csv
    canvas_unmatched.csv
    grades.csv
    grades.jsonl
    gradescope/ada/results.json
    gradescope/grace/results.json
    gradescope/linus/results.json
    index.html
    junit.xml
    moodle.csv
    moodle_unfinished.csv
    prairielearn/ada/results.json
    prairielearn/grace/results.json
    prairielearn/linus/results.json
    result.json
    students/ada.html
    students/grace.html
    students/linus.html
    summary.md
    summary.txt
    ");
}

#[test]
fn one_students_results_lie_where_an_autograder_looks_for_them() {
    let around = Around::new();
    let folder = Scratch::new().expect("there is room");
    for (format, name) in
        [(Format::Gradescope, "gradescope"), (Format::Prairielearn, "prairielearn")]
    {
        let rows = of(&class(), "ada").into_iter().map(Ok);
        let written = write(format, rows, &around.context(), folder.path()).expect("it is written");
        assert_eq!(written, [folder.path().join(name).join("results.json")]);
        assert!(write(format, [], &around.context(), folder.path()).is_err());
    }
}

#[test]
fn the_links_of_the_class_lead_to_the_students_pages() {
    let around = Around::new();
    let folder = Scratch::new().expect("there is room");
    let students = ["Ada", "ADA", "ada", "<a>", "../x", "\u{e9}", "e\u{301}", "", "con"];
    let rows = students.map(|student| Ok(row(student, "events", 90.0)));
    let written =
        write(Format::Html, rows, &around.context(), folder.path()).expect("it is written");
    let page = std::fs::read_to_string(folder.path().join("index.html")).expect("it is there");
    for file in &written[..students.len()] {
        let name = file.file_name().expect("it has one").to_string_lossy();
        assert!(page.contains(&format!("href=\"students/{name}\"")), "{name}");
    }
    let different: BTreeSet<String> =
        written.iter().map(|path| path.display().to_string().to_lowercase()).collect();
    assert_eq!(different.len(), students.len() + 1);
}

#[test]
fn formats_are_called_what_people_call_them() {
    let names: Vec<String> = Format::value_variants()
        .iter()
        .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
        .collect();
    assert_eq!(
        names.join(" "),
        "text jsonl csv junit gradescope canvas moodle classroom50 prairielearn markdown html"
    );
}
