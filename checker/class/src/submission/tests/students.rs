//! Whose a submission is: as platforms export it, in the zip of a class, and on the roster.

use std::collections::BTreeMap;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::class::{Class, OWN, outcome, wanted};
use super::pack::{Entry, entry, zip};
use crate::submission::{self, *};

#[test]
fn moodle_s_folders_and_files_belong_to_the_participant() {
    let class = Class::new();
    class.file("Ada Lovelace_123_assignsubmission_file_/three_lanes.rs", OWN);
    class.file("Ada Lovelace_123_assignsubmission_onlinetext_/onlinetext.html", "");
    class.file("Bob_B_9_assignsubmission_file_three_lanes.rs", OWN);
    let students = class.students();
    let ids: Vec<_> =
        students.iter().map(|s| (s.id.as_str(), s.name.as_str(), outcome(&s.handed[1]))).collect();
    let found = "three_lanes.rs Changed \"// own\"".to_owned();
    assert_eq!(ids[..2], [("123", "Ada Lovelace", found.clone()), ("9", "Bob_B", found)]);
}

#[test]
fn canvas_s_flat_files_belong_to_the_user() {
    let class = Class::new();
    class.file("lovelaceada_123_456_three_lanes-2.rs", OWN);
    class.file("lovelaceada_123_457_two_streams.rs", OWN);
    class.file("hoppergrace_LATE_77_458_all.zip", zip(&[entry("three_lanes.rs", OWN)]));
    class.file("notes.txt", "");
    class.file(".DS_Store", "");
    let opened = submission::Class::open(class.folder.path(), &[]).unwrap();
    assert_eq!(opened.notes, ["`notes.txt` belongs to nobody"]);
    let students = class.students();
    assert_eq!(students.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["123", "77"]);
    assert_eq!(outcome(&students[0].handed[0]), "two_streams.rs Changed \"// own\"");
    assert_eq!(outcome(&students[0].handed[1]), "three_lanes.rs Changed \"// own\"");
    assert_eq!(outcome(&students[1].handed[1]), "all.zip/three_lanes.rs Changed \"// own\"");
    assert_eq!(students[1].notes, ["Canvas marks it as late"]);
    // A second attempt under the same name: nobody knows which one counts.
    class.file("lovelaceada_123_999_three_lanes.rs", OWN);
    assert_eq!(
        outcome(&class.students()[0].handed[1]),
        "invalid: `three_lanes.rs` was handed in more than once"
    );
}

const METADATA: &str = "\
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '0123'
    :email: ada@example.org
  :created_at: 2026-04-26 17:34:00.861687000 Z
submission_2:
  :submitters:
  - :name: Grace Hopper
    :email: grace@example.org
  - :name: Edith Clarke
    :sid: '7'
  :created_at: 2026-04-27 17:34:00.000000000 Z
";

#[test]
fn gradescope_s_export_says_who_and_when_as_a_folder_and_as_a_zip() {
    let class = Class::new();
    class.file("submission_metadata.yml", METADATA);
    class.file("submission_1/three_lanes.rs", OWN);
    class.file("submission_2/three_lanes.rs", "// ours\n");
    let students = class.students();
    let said = |students: &[Student]| {
        let lines = students.iter().map(|s| {
            format!(
                "{} | {} | {} | {} | {:?}",
                s.id,
                s.name,
                s.at.unwrap(),
                outcome(&s.handed[1]),
                s.notes
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(said(&students), @r#"
    0123 | Ada Lovelace | 2026-04-26T17:34:00.861687Z | three_lanes.rs Changed "// own" | []
    7 | Edith Clarke | 2026-04-27T17:34:00Z | three_lanes.rs Changed "// ours" | ["handed in by a group, `submission_2`"]
    grace@example.org | Grace Hopper | 2026-04-27T17:34:00Z | three_lanes.rs Changed "// ours" | ["handed in by a group, `submission_2`"]
    "#);
    let export = zip(&[
        entry("assignment_5_export/submission_metadata.yml", METADATA.as_bytes()),
        entry("assignment_5_export/submission_1/three_lanes.rs", OWN),
        entry("assignment_5_export/submission_2/three_lanes.rs", b"// ours\n"),
        entry("__MACOSX/._x", b""),
    ]);
    let packed = Class::new();
    packed.file("export.zip", export);
    assert_eq!(find(&packed.at("export.zip"), &wanted()).unwrap(), students);
    class.file("submission_metadata.yml", "submission_1: [");
    assert!(
        find(class.folder.path(), &wanted()).is_err(),
        "a guess at whose it is is worse than none"
    );
}

#[test]
fn the_zip_of_a_class_is_the_folder_of_a_class() {
    let class = Class::new();
    let inner = zip(&[entry("04_three_lanes/src/lib.rs", OWN)]);
    let files: [(&str, &[u8]); 4] = [
        ("ada/three_lanes.rs", OWN),
        ("bob/all.zip", &inner),
        ("cyd/exercises/02_two_streams/src/lib.rs", b"\xff"),
        ("dan/notes.txt", b""),
    ];
    for (path, bytes) in files {
        class.file(path, bytes);
    }
    let packed = Class::new();
    packed.file("class.zip", zip(&files.map(|(path, bytes)| entry(path, bytes))));
    assert_eq!(find(&packed.at("class.zip"), &wanted()).unwrap(), class.students());
}

#[test]
fn one_hostile_name_in_the_zip_of_a_class_stops_nobody_else() {
    let packed = Class::new();
    let export = zip(&[
        entry("../x/three_lanes.rs", OWN),
        entry("/etc/passwd", OWN),
        Entry { mode: 0o120_777, ..entry("bob/three_lanes.rs", b"/etc/passwd") },
        entry("cyd/three_lanes.rs", OWN),
        entry("cyd/three_lanes.rs", b"// other\n"),
        Entry { flags: 1, ..entry("dan/three_lanes.rs", OWN) },
        entry("eve/three_lanes.rs", OWN),
    ]);
    packed.file("class.zip", export);
    let class = submission::Class::open(&packed.at("class.zip"), &[]).unwrap();
    let students = (0..class.len()).map(|index| class.read(index, &wanted()));
    let students =
        students.map(|student| format!("{}: {}\n", student.id, outcome(&student.handed[1])));
    let said: String =
        students.chain(class.notes.iter().map(|note| format!("note: {note}\n"))).collect();
    insta::assert_snapshot!(said, @r#"
    bob: invalid: `three_lanes.rs` is a link
    cyd: invalid: `three_lanes.rs` is there twice
    dan: invalid: `three_lanes.rs` is encrypted
    eve: three_lanes.rs Changed "// own"
    note: its entry `../x/three_lanes.rs` leads out of the archive
    note: its entry `/etc/passwd` has an absolute path
    note: its entry `bob/three_lanes.rs` is a link
    note: its entry `cyd/three_lanes.rs` is there twice
    note: its entry `dan/three_lanes.rs` is encrypted
    "#);
}

#[test]
fn a_student_who_is_a_link_is_reported_and_not_followed() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", OWN);
    symlink("ada", class.at("bob")).unwrap();
    symlink("..", class.at("loop")).unwrap();
    symlink("..", class.at("ada/up")).unwrap();
    let opened = submission::Class::open(class.folder.path(), &[]).unwrap();
    assert_eq!(opened.ids().collect::<Vec<_>>(), ["ada"]);
    let link = "is a symbolic link, and none is followed";
    assert_eq!(opened.notes, [format!("`bob` {link}"), format!("`loop` {link}")]);
    assert_eq!(class.outcome(), "three_lanes.rs Changed \"// own\"");
}

#[test]
fn hostile_names_are_graded_and_shown_harmlessly() {
    let class = Class::new();
    let names: [&[u8]; 11] = [
        b"-rf",
        b"=1+1",
        b"<b>x",
        b"a\nb",
        b"\x1b[2J",
        b"\xff\xfe",
        b"Ada",
        b"ada",
        "\u{e9}".as_bytes(),
        "e\u{301}".as_bytes(),
        b"a\\nb",
    ];
    for name in names {
        let path = [name, b"/three_lanes.rs"].concat();
        class.file(OsStr::from_bytes(&path), OWN);
    }
    let students = class.students();
    let mut ids: Vec<_> = students.iter().map(|s| s.id.clone()).collect();
    assert!(students.iter().all(|s| matches!(s.handed[1], Handed::File(_))));
    assert!(ids.is_sorted());
    ids.dedup();
    assert_eq!(ids.len(), names.len());
    assert!(ids.iter().all(|id| !id.contains(char::is_control)), "{ids:?}");
    let opened = submission::Class::open(class.folder.path(), &[]).unwrap();
    assert_eq!(
        opened.notes,
        ["`Ada` and `ada` are different students whose ids differ in case only"]
    );
}

#[test]
fn two_of_a_name_are_told_apart() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", "// folder\n");
    class.file("ada.zip", zip(&[entry("three_lanes.rs", b"// zip\n")]));
    class.file("ada (ada)/three_lanes.rs", "// trick\n");
    let students = class.students();
    let said: Vec<_> =
        students.iter().map(|s| format!("{}: {}", s.id, outcome(&s.handed[1]))).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    ada (ada): three_lanes.rs Changed "// folder"
    ada (ada)': three_lanes.rs Changed "// trick"
    ada (ada.zip): ada.zip/three_lanes.rs Changed "// zip"
    "#);
}

#[test]
fn everybody_on_the_roster_is_there() {
    let class = Class::new();
    class.file("bob/three_lanes.rs", OWN);
    let mut opened = submission::Class::open(class.folder.path(), &[]).unwrap();
    opened
        .enrol(&BTreeMap::new(), [("cyd", Some("Cyd C.")), ("ada", None), ("bob", Some("Bob B."))]);
    let students: Vec<_> = (0..opened.len()).map(|index| opened.read(index, &wanted())).collect();
    let said: Vec<_> = students
        .iter()
        .map(|s| format!("{} | {} | {}", s.id, s.name, outcome(&s.handed[1])))
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    ada | ada | missing, hint: none
    bob | Bob B. | three_lanes.rs Changed "// own"
    cyd | Cyd C. | missing, hint: none
    "#);
}

/// Ids, names and what became of `three_lanes`, a student on a line, and notes.
fn told(class: &Class) -> String {
    let opened = submission::Class::open(class.folder.path(), &["three_lanes".to_owned()]).unwrap();
    let students = (0..opened.len()).map(|index| opened.read(index, &wanted()));
    let line =
        |s: Student| format!("{} | {} | {} {:?}\n", s.id, s.name, outcome(&s.handed[1]), s.notes);
    let notes = opened.notes.iter().map(|note| format!("note: {note}\n"));
    students.map(line).chain(notes).collect()
}

#[test]
fn moodle_names_folders_since_4_1_without_a_line_at_the_end_and_text_of_the_page_beside_them() {
    let class = Class::new();
    class.file("Ada Lovelace_123_assignsubmission_file/three_lanes.rs", OWN);
    class.file("Ada Lovelace_123_assignsubmission_onlinetext/onlinetext.html", "");
    class.file("Bo_Diddley_124_assignsubmission_onlinetext/onlinetext.html", "");
    class.file("Cy_125_assignsubmission_onlinetext_onlinetext.html", "");
    class.file("Cy_125_assignsubmission_file_three_lanes.rs", OWN);
    class.file("Participant_126_assignsubmission_file_/three_lanes.rs", OWN);
    insta::assert_snapshot!(told(&class), @r#"
    123 | Ada Lovelace | three_lanes.rs Changed "// own" []
    124 | Bo_Diddley | missing, hint: there is no file that ends in `.rs` []
    125 | Cy | three_lanes.rs Changed "// own" []
    126 | Participant | three_lanes.rs Changed "// own" []
    "#);
}

#[test]
fn canvas_names_groups_with_lines_and_nobody_where_grading_is_anonymous() {
    let class = Class::new();
    class.file("anon_XyZ12_900_three_lanes.rs", OWN);
    class.file("LATE_anon_aB3dE_901_three_lanes-1.rs", OWN);
    class.file("the_fast_lane_45_902_three_lanes.rs", OWN);
    class.file("the_slow_lane_LATE_46_903_three_lanes.rs", OWN);
    class.file("ada_47_904_three_lanes_1_2_x.rs", OWN);
    insta::assert_snapshot!(told(&class), @r#"
    45 | the_fast_lane | three_lanes.rs Changed "// own" []
    46 | the_slow_lane | three_lanes.rs Changed "// own" ["Canvas marks it as late"]
    47 | ada | missing, hint: there is `three_lanes_1_2_x.rs`; it is looked for as `04_three_lanes/src/lib.rs` []
    XyZ12 | XyZ12 | three_lanes.rs Changed "// own" []
    aB3dE | aB3dE | three_lanes.rs Changed "// own" ["Canvas marks it as late"]
    "#);
}

#[test]
fn a_class_in_a_folder_of_its_own_is_that_class_and_one_student_is_not() {
    let wrapped = Class::new();
    wrapped.file("lab 3/ada/three_lanes.rs", OWN);
    wrapped.file("lab 3/bo.zip", zip(&[entry("three_lanes.rs", OWN)]));
    wrapped.file("lab 3/Desktop.ini", "");
    wrapped.file("~$roster.xlsx", "");
    insta::assert_snapshot!(told(&wrapped), @r#"
    ada | ada | three_lanes.rs Changed "// own" []
    bo | bo | bo.zip/three_lanes.rs Changed "// own" []
    note: `lab 3/` is taken for the class: it is alone, and what is in it looks like several students' work
    "#);
    let of_a_platform = Class::new();
    of_a_platform.file("submissions/ada_47_904_three_lanes.rs", OWN);
    assert!(told(&of_a_platform).starts_with("47 | ada | three_lanes.rs"));
    for paths in [
        ["ada/three_lanes/src/lib.rs", "ada/notes/x"],
        ["ada/04_three_lanes/src/lib.rs", "ada/README.md"],
        ["ada/src/lib.rs", "ada/tests/x.rs"],
        ["ada/exercises/04_three_lanes/src/lib.rs", "ada/target/x"],
        ["ada/repo/exercises/04_three_lanes/src/lib.rs", "ada/.git/x"],
        ["Ada_1_assignsubmission_file/a/lib.rs", "Ada_1_assignsubmission_file/b/lib.rs"],
    ] {
        let alone = Class::new();
        for path in paths {
            alone.file(path, OWN);
        }
        assert_eq!(alone.students().len(), 1, "{paths:?}");
        assert!(!told(&alone).contains("note"), "{paths:?}");
    }
}

#[test]
fn names_of_an_old_zip_are_read_as_its_code_page_has_them() {
    let packed = Class::new();
    let name = b"Bj\x94rn M\x81ller_9_assignsubmission_file/three_lanes.rs";
    packed.file("class.zip", zip(&[Entry { name, ..entry("", OWN) }]));
    let students = find(&packed.at("class.zip"), &wanted()).unwrap();
    assert_eq!((&*students[0].id, &*students[0].name), ("9", "Bj\u{f6}rn M\u{fc}ller"));
    assert_eq!(outcome(&students[0].handed[1]), "three_lanes.rs Changed \"// own\"");
}

#[test]
fn a_name_that_looks_like_another_is_spelt_out_and_alone_it_is_written_as_usual() {
    let class = Class::new();
    class.file("Jose\u{301}/three_lanes.rs", OWN);
    assert!(told(&class).starts_with("Jos\u{e9} | Jos\u{e9} | three_lanes.rs"));
    class.file("Jos\u{e9}/three_lanes.rs", OWN);
    assert!(
        told(&class).contains("\nJose\\u{301} | ") || told(&class).starts_with("Jose\\u{301} | ")
    );
}

#[test]
fn a_folder_in_which_nobody_is_found_is_no_class() {
    let class = Class::new();
    let error = |class: &Class| {
        let error = submission::Class::open(class.folder.path(), &[]).err().expect("nobody");
        error.to_string().replace(class.folder.path().to_str().unwrap(), "DIR")
    };
    insta::assert_snapshot!(error(&class), @"
    nobody is found in `DIR`

    it is empty

    hint: a class is a folder with one folder for each student, or the `.zip` that a platform exports
    ");
    class.file("two_streams.rs", OWN);
    class.file("notes.txt", "");
    insta::assert_snapshot!(error(&class), @"
    nobody is found in `DIR`

    `notes.txt` belongs to nobody
    `two_streams.rs` belongs to nobody

    hint: a class is a folder with one folder for each student, or the `.zip` that a platform exports
    ");
}
