//! `compare`: a file beside the reference's, and what each difference is worth.

use serde_json::Value;

use crate::class::{shipped, solution};
use crate::racy::with_file;
use crate::real::{Real, real};

/// What `compare` comes to with this file: its exit, its object, and what it says where there is none.
fn compared(real: &Real, exercise: &str, file: &str) -> (i32, Value, String) {
    with_file(real, exercise, file, || {
        let mut command = real.checker(&["compare", exercise, "--json"]);
        let output = command.output().expect("the checker starts");
        let object = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().expect("a code"), object, said)
    })
}

/// The reference with eight chunks instead of 32, and a comment.
fn eight_chunks(real: &Real) -> String {
    let solution = solution(real, "chunked_pipeline");
    let own =
        solution.replace("let plan = plan.cut(32);", "// Eight.\n    let plan = plan.cut(8);");
    assert_ne!(own, solution);
    own
}

#[test]
fn a_difference_is_worth_what_the_file_comes_to_with_the_references_lines() {
    let real = real();
    let (code, object, said) = compared(&real, "chunked_pipeline", &eight_chunks(&real));
    assert_eq!(code, 0, "{said}");
    let regions = object["regions"].as_array().expect("regions");
    assert_eq!(regions.len(), 1, "{object:#}");
    assert_eq!(regions[0]["ns"], object["reference_ns"], "nothing else differs");
    assert!(object["own_ns"].as_u64() > object["reference_ns"].as_u64(), "{object:#}");
    assert_eq!(object["together"], Value::Null);
}

#[test]
fn regions_that_do_not_stand_alone_are_put_in_together() {
    let real = real();
    let own = solution(&real, "two_streams").replace("second", "another");
    let (code, object, said) = compared(&real, "two_streams", &own);
    assert_eq!(code, 0, "{said}");
    let regions = object["regions"].as_array().expect("regions");
    assert_eq!(regions.len(), 2, "{object:#}");
    for region in regions {
        assert_eq!(region["ns"], Value::Null, "{object:#}");
        let why = region["why"].as_str().expect("a reason");
        assert!(why.contains("E0425"), "one name is in one region alone: {why}");
    }
    assert_eq!(object["together"]["ns"], object["own_ns"], "it is the same program: {object:#}");
}

#[test]
fn comments_and_margins_are_no_difference() {
    let real = real();
    let own = solution(&real, "two_streams")
        .replace("    let second", "    // A second one.\n        let second");
    let (code, object, said) = compared(&real, "two_streams", &own);
    assert_eq!(code, 0, "{said}");
    assert_eq!(object["regions"], Value::Array(Vec::new()));
    assert_eq!(object["own_ns"], object["reference_ns"]);
}

#[test]
fn a_file_that_does_not_pass_is_not_shown_the_reference() {
    let real = real();
    let (code, object, said) = compared(&real, "two_streams", &shipped(&real, "two_streams"));
    assert_eq!((code, object), (2, Value::Null), "{said}");
    assert!(said.contains("your file does not pass yet"), "{said}");
    assert!(said.contains("cargo run -- run two_streams"), "{said}");
}

#[test]
fn both_timelines_and_each_region_are_printed() {
    let real = real();
    let text = with_file(&real, "chunked_pipeline", &eight_chunks(&real), || {
        let output = real.checker(&["compare", "chunked_pipeline", "--plain"]).output();
        String::from_utf8(output.expect("the checker starts").stdout).expect("UTF-8")
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_region_without_its_marks_is_named_and_not_called_the_same() {
    let real = real();
    let own = solution(&real, "chunked_pipeline");
    let own: Vec<&str> = own
        .lines()
        .filter(|line| !line.contains("region: ") && !line.contains("endregion"))
        .collect();
    let (code, object, said) = compared(&real, "chunked_pipeline", &own.join("\n"));
    assert_eq!(code, 0, "{said}");
    assert_eq!(object["regions"], Value::Array(Vec::new()));
    let lacking = object["lacking"].as_array().expect("a list");
    assert!(lacking.contains(&Value::from("chunks")), "{object:#}");
}
