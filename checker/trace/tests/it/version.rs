//! What a reader says to a form of another version.

use trace::version::{Header, check_version};

#[test]
fn the_known_version_is_accepted() {
    assert_eq!(check_version(1, 1, "program"), Ok(()));
}

#[test]
fn a_newer_version_asks_for_an_update() {
    insta::assert_snapshot!(check_version(2, 1, "timeline").unwrap_err(), @r"
    this timeline is of version 2, but only version 1 can be read

    hint: it was written by a newer checker; update yours
    ");
}

#[test]
fn an_older_version_asks_for_a_new_recording() {
    insta::assert_snapshot!(check_version(0, 1, "record").unwrap_err(), @r"
    this record is of version 0, but only version 1 can be read

    hint: it was written by an older checker; make the record again with yours
    ");
}

#[test]
fn the_version_is_read_from_a_form_that_does_not_parse_otherwise() {
    let header: Header = serde_json::from_str(r#"{"version": 7, "shape": "unheard of"}"#).unwrap();
    assert_eq!(header.version, 7);
}

#[test]
fn a_record_is_refused_for_the_version_of_its_timeline() {
    let mut record = trace::Record {
        version: trace::record::VERSION,
        program: trace::Program::new(1),
        timeline: crate::samples::empty(),
        trials: Vec::new(),
        watched: None,
        notes: Vec::new(),
    };
    assert_eq!(record.check_versions(), Ok(()));
    record.timeline.version += 1;
    assert_eq!(record.check_versions().unwrap_err().what, "timeline");
}
