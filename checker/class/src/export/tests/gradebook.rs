//! A gradebook of Canvas that is filled in.

use super::class::{Around, class, row};
use checker::cli::class::Column;

use crate::export::*;

pub(super) const EXPORT: &str = "\u{feff}Student,ID,SIS User ID,SIS Login ID,Section,Streams (4711),Events (4712),Current Score\n\
    \"    Points Possible\",,,,,30,10,(read only)\n\
    \"Lovelace, Ada\",9001,1815,Ada@example.edu,\"A, B\",12.5,,88\n\
    \"Hopper, Grace\",9002,1906,grace,A,,,\n\
    \"=cmd|' /C calc'!A0\",9003,1969,linus,A,7.25,EX,\n\
    \"Student, Test\",9004,,,A,,,\n";

pub(super) fn columns() -> [Column; 2] {
    [
        Column { heading: "Streams".to_owned(), exercise: None },
        Column { heading: "4712".to_owned(), exercise: Some("events".to_owned()) },
    ]
}

#[test]
fn canvas_gets_points_in_its_own_scale_and_keeps_everything_else() {
    let (rows, around) = (class(), Around::new());
    let columns = columns();
    let gradebook = Gradebook { export: EXPORT, columns: &columns };
    let filled = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    let read = |text: &str| -> Vec<Vec<String>> {
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let records = reader.records().map(|record| record.expect("it is a record"));
        records.map(|record| record.iter().map(str::to_owned).collect()).collect()
    };
    let (before, after) = (read(EXPORT), read(&filled.gradebook));
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.len(), after.len());
        for column in [1, 2, 3, 4, 7] {
            assert_eq!(before[column], after[column]);
        }
        assert_eq!(after[0].strip_prefix('\'').unwrap_or(&after[0]), before[0]);
        assert!(!after[0].starts_with('='));
    }
    // 263.6 of 300 in a scale of 30, 79.9 of 100 in one of 10.
    assert_eq!(after[2][5..7], ["26.36", "7.99"]);
    // Without a total, and excused.
    assert_eq!(after[4][5..7], ["7.25", "EX"]);
    assert!(filled.gradebook.starts_with('\u{feff}'));
}

#[test]
fn canvas_finds_students_by_id_sis_id_or_login_and_lists_the_others() {
    let around = Around::new();
    let columns = [Column { heading: "Events (4712)".to_owned(), exercise: None }];
    let gradebook = Gradebook { export: EXPORT, columns: &columns };
    let rows = ["9001", "1906", "LINUS", "nobody", "Hopper, Grace", "=9"]
        .map(|student| row(student, "events", 90.0));
    let export = EXPORT.replace("EX", "");
    let gradebook = Gradebook { export: &export, ..gradebook };
    let filled = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    assert_eq!(filled.gradebook.matches(",9.00,").count(), 3, "{}", filled.gradebook);
    let unmatched: Vec<&str> = filled
        .unmatched
        .lines()
        .skip(1)
        .map(|line| line.split(",90").next().unwrap_or_default())
        .collect();
    assert_eq!(unmatched, ["'=9", "\"Hopper, Grace\"", "nobody"]);

    // Two of ours for one of theirs: neither is right.
    let rows = ["9002", "grace"].map(|student| row(student, "events", 90.0));
    let filled = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    assert_eq!(filled.gradebook.matches(",9.00,").count(), 0, "{}", filled.gradebook);
    assert_eq!(filled.unmatched.lines().count(), 3, "{}", filled.unmatched);
}

#[test]
fn a_gradebook_that_is_none_or_has_no_such_column_is_refused() {
    let around = Around::new();
    let rows = [row("ada", "events", 90.0)];
    let error = |export: &str, heading: &str, exercise: Option<&str>| {
        let columns =
            [Column { heading: heading.to_owned(), exercise: exercise.map(str::to_owned) }];
        let gradebook = Gradebook { export, columns: &columns };
        match canvas::fill(&rows, &around.context(), &gradebook) {
            Ok(_) => panic!("it is filled"),
            Err(error) => format!("{error:#}"),
        }
    };
    insta::assert_snapshot!(error("", "Streams", None), @"the gradebook is empty");
    assert!(error("a,b\n1,2\n", "Streams", None).contains("no gradebook of Canvas"));
    insta::assert_snapshot!(error(EXPORT, "Stream", None), @r"
    the gradebook has no column `Stream`

    hint: it has `Streams (4711)`, `Events (4712)`
    ");
    let eventz = error(EXPORT, "Streams", Some("eventz"));
    insta::assert_snapshot!(eventz, @"there is no exercise `eventz` in these grades");
}

#[test]
fn a_gradebook_with_semicolons_keeps_them() {
    let around = Around::new();
    let export = EXPORT.replace(", ", "~").replace(',', ";").replace('~', ", ");
    let columns = columns();
    let gradebook = Gradebook { export: &export, columns: &columns };
    let filled = canvas::fill(&class(), &around.context(), &gradebook).expect("it is filled");
    assert!(filled.gradebook.contains(";26.36;7.99;88"), "{}", filled.gradebook);
}
