//! What a GPU recorded, looked at again.

use std::path::Path;

use trace::Record;
use trace::hazards::{self, Code};
use trace::timeline::{Method, Origin};

/// Two readers, then a writer, with cudarc's event tracking on; how it was recorded stands at the top of
/// the example.
#[test]
fn the_hole_in_tracking_is_found_in_what_an_h200_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read(folder.join("tests/recorded/tracking_hole.h200.json")) else {
        note("not run: needs the record of an H200");
        return;
    };
    let record: Record = serde_json::from_slice(&text).expect("a record");
    assert!(
        matches!(record.timeline.origin, Origin::Measured { method: Method::Cupti, .. }),
        "{:?}",
        record.timeline.origin
    );
    assert!(record.timeline.spans.len() > 100, "the timeline is there too");
    let found = hazards::find(&record.program);
    let [hazard] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(hazard.code, Code::WriteAfterRead);
    let source = std::fs::read_to_string(folder.join("examples/tracking_hole.rs"));
    let source = source.expect("the example");
    let again = hazard.overwritten.as_ref().expect("the event was recorded again");
    for (call, text) in [
        (&hazard.first.call, "first.memcpy_dtoh(&buffer, &mut seen)?;"),
        (again, "second.memcpy_dtoh(&buffer, &mut seen_too)?;"),
        (&hazard.second.call, "third.memcpy_htod(&source, &mut buffer)?;"),
    ] {
        let site = call.site.as_ref().expect("both are in the example");
        assert_eq!(site.file, "examples/tracking_hole.rs");
        assert_eq!(source.lines().nth(site.line as usize - 1).map(str::trim), Some(text));
    }
}

#[expect(clippy::print_stderr, reason = "why nothing was looked at")]
fn note(what: &str) {
    eprintln!("{what}");
}
