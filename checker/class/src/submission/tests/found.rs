//! Which file is graded, and what is said where there is none.

use super::class::{Class, OWN, outcome, wanted};
use super::pack::{entry, gzip, tar, zip};
use crate::submission::*;

#[test]
fn a_file_is_found_wherever_somebody_sensible_puts_it() {
    let places = [
        "exercises/04_three_lanes/src/lib.rs",
        "04_three_lanes/src/lib.rs",
        "04_three_lanes/lib.rs",
        "04_three_lanes.rs",
        "three_lanes.rs",
        "three_lanes/lib.rs",
        "three_lanes/src/lib.rs",
    ];
    for place in places {
        for wrapping in ["", "streams-main/"] {
            let path = format!("{wrapping}{place}");
            let class = Class::new();
            class.file(format!("ada/{path}"), OWN);
            assert_eq!(class.outcome(), format!("{path} Changed \"// own\""));
            let packed = zip(&[entry(&path, OWN)]);
            let class = Class::new();
            class.file("ada/all.zip", packed);
            assert_eq!(class.outcome(), format!("all.zip/{path} Changed \"// own\""));
            let packed = tar(&[(path.as_bytes(), tar::EntryType::Regular, OWN)]);
            let class = Class::new();
            class.file("ada/all.tar.gz", gzip(&packed));
            assert_eq!(class.outcome(), format!("all.tar.gz/{path} Changed \"// own\""));
            let class = Class::new();
            class.file("ada/ALL.TAR", packed);
            assert_eq!(class.outcome(), format!("ALL.TAR/{path} Changed \"// own\""));
        }
    }
}

#[test]
fn where_one_exercise_is_graded_its_file_needs_no_name() {
    let one = &wanted()[1..];
    for (path, found) in [
        ("ada/lib.rs", true),
        ("ada/src/lib.rs", true),
        ("ada/mine/lib.rs", true),
        ("ada/mine/src/lib.rs", true),
        // Another exercise's.
        ("ada/02_two_streams/src/lib.rs", false),
        ("ada/solutions/lib.rs", false),
        ("ada/a/b/src/lib.rs", false),
    ] {
        let class = Class::new();
        class.file(path, OWN);
        let students = find(class.folder.path(), one).unwrap();
        assert_eq!(matches!(students[0].handed[0], Handed::File(_)), found, "{path}");
        let students = find(class.folder.path(), &wanted()).unwrap();
        assert!(matches!(students[0].handed[1], Handed::Missing { .. }), "{path}");
    }
}

#[test]
fn a_whole_repository_has_one_file_for_each_exercise() {
    let class = Class::new();
    for path in [
        "exercises/02_two_streams/src/lib.rs",
        "exercises/04_three_lanes/src/lib.rs",
        "exercises/04_three_lanes/.shipped/lib.rs",
        "exercises/04_three_lanes/.kept/1.rs",
        "exercises/04_three_lanes/examples/three_lanes.rs",
        "exercises/lab/src/lib.rs",
        "solutions/04_three_lanes/src/lib.rs",
        "checker/src/lib.rs",
        "target/04_three_lanes/src/lib.rs",
    ] {
        class.file(format!("ada/streams-main/{path}"), path);
        class.file(format!("bob/{path}"), path);
    }
    for student in class.students() {
        for (handed, folder) in student.handed.iter().zip(["02_two_streams", "04_three_lanes"]) {
            let Handed::File(file) = handed else { panic!("{handed:?}") };
            assert_eq!(file.text, format!("exercises/{folder}/src/lib.rs"));
        }
    }
}

#[test]
fn the_file_as_it_was_handed_out_is_known() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", "// shipped\n");
    assert_eq!(class.outcome(), "three_lanes.rs Untouched \"// shipped\"");
    let mut unknown = wanted();
    unknown[1].shipped = None;
    let students = find(class.folder.path(), &unknown).unwrap();
    assert_eq!(outcome(&students[0].handed[1]), "three_lanes.rs Unknown \"// shipped\"");
}

#[test]
fn of_two_files_for_one_exercise_neither_is_taken_unless_they_are_equal() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", OWN).file("ada/copy/three_lanes.rs", "// other\n");
    insta::assert_snapshot!(class.outcome(), @r"
    invalid: `copy/three_lanes.rs` and `three_lanes.rs` could both be meant, and they differ

    hint: hand in one of them
    ");
    class.file("ada/copy/three_lanes.rs", OWN);
    insta::assert_snapshot!(class.outcome(), @r#"
    copy/three_lanes.rs Changed "// own"
      flag: handed in more than once, byte for byte; `copy/three_lanes.rs` is taken
    "#);
    class.file("ada/all.zip", zip(&[entry("three_lanes.rs", b"// third\n")]));
    assert!(
        class.outcome().starts_with("invalid: `copy/three_lanes.rs` and `all.zip/three_lanes.rs`")
    );
}

#[test]
fn who_has_nothing_is_told_what_was_found() {
    let mut said = String::new();
    for paths in [
        &["a/b/04_three_lanes/src/lib.rs"][..],
        &["Three-Lanes.rs"],
        &["three_lanes (1).rs"],
        &["three_lanes.rar"],
        &["main.rs", "other.rs"],
        &["report.pdf"],
        &["all.zip"],
        &["05_events/src/lib.rs"],
    ] {
        let class = Class::new();
        for path in paths {
            let bytes =
                if *path == "all.zip" { zip(&[entry("inner.zip", b"")]) } else { OWN.to_vec() };
            class.file(format!("ada/{path}"), bytes);
        }
        said += &format!("{paths:?}\n  {}\n", class.outcome());
    }
    let class = Class::new();
    std::fs::create_dir(class.at("ada")).unwrap();
    said += &format!("nothing\n  {}\n", class.outcome());
    insta::assert_snapshot!(said);
}

#[test]
fn what_else_was_handed_in_is_ignored_and_named() {
    let class = Class::new();
    class.file("ada/three_lanes.rs", OWN);
    for name in [
        "Cargo.toml",
        "build.rs",
        ".cargo/config.toml",
        "rust-toolchain.toml",
        "tests/t.rs",
        "target/x/y",
        ".git/config",
    ] {
        class.file(format!("ada/{name}"), "");
    }
    let Handed::File(file) = &class.students()[0].handed[1] else { panic!() };
    insta::assert_snapshot!(file.submitted.ignored.join("\n"), @r"
    .cargo/config.toml
    .git/
    Cargo.toml
    build.rs
    rust-toolchain.toml
    target/
    tests/t.rs
    ");
    for number in 0..100 {
        class.file(format!("ada/{number:03}.txt"), "");
    }
    let Handed::File(file) = &class.students()[0].handed[1] else { panic!() };
    assert_eq!(file.submitted.ignored.len(), 9);
    assert_eq!(file.submitted.ignored[8], "and 99 more");
}
