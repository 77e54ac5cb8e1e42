//! What cudarc's event tracking leaves unordered is found like anything else.

use lab::Lab;
use trace::hazards::{self, Code};
use trace::{Record, env};

use crate::{Case, RECORDED};

#[path = "../../examples/tracking_hole.rs"]
mod tracking_hole;

pub(crate) const CASES: &[Case] = &[
    ("two_readers_and_a_writer_are_found_though_tracking_is_on", two_readers_and_a_writer),
    ("a_reader_and_a_writer_are_ordered_by_tracking", a_reader_and_a_writer),
];

fn two_readers_and_a_writer() {
    let found = hazards::find(&record(tracking_hole::program).program);
    let [hazard] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(hazard.code, Code::WriteAfterRead);
    // The reader whose event was replaced, and the writer. The second reader is told as what replaced it.
    let source = include_str!("../../examples/tracking_hole.rs");
    let again = hazard.overwritten.as_ref().expect("the event was recorded again");
    for (call, text) in [
        (&hazard.first.call, "first.memcpy_dtoh(&buffer, &mut seen)?;"),
        (again, "second.memcpy_dtoh(&buffer, &mut seen_too)?;"),
        (&hazard.second.call, "third.memcpy_htod(&source, &mut buffer)?;"),
    ] {
        let site = call.site.as_ref().expect("both are in the example");
        assert!(site.file.ends_with("examples/tracking_hole.rs"), "{site}");
        assert_eq!(source.lines().nth(site.line as usize - 1).map(str::trim), Some(text));
    }
}

/// The same without the second reader: nothing is wrong with tracking but what is said of it.
fn a_reader_and_a_writer() {
    let record = record(|lab| {
        let context = lab.context();
        // SAFETY: nothing has been allocated yet, so all memory is tracked from its beginning.
        unsafe { context.enable_event_tracking() };
        let (first, third) = (context.new_stream()?, context.new_stream()?);
        let mut buffer = third.alloc_zeros::<u32>(1024)?;
        let (mut seen, source) = (vec![0; 1024], vec![1; 1024]);
        lab.region(|| {
            first.memcpy_dtoh(&buffer, &mut seen)?;
            third.memcpy_htod(&source, &mut buffer)?;
            Ok(context.synchronize()?)
        })?;
        Ok(())
    });
    assert_eq!(hazards::find(&record.program), []);
}

/// Runs a puzzle program, and gives its record.
fn record(program: impl Fn(&Lab) -> lab::Result<()>) -> Record {
    let folder = tempfile::tempdir().unwrap();
    // A device in another process was told where to write.
    let path = std::env::var_os(RECORDED)
        .map_or_else(|| folder.path().join("record.json"), std::path::PathBuf::from);
    // SAFETY: the case is alone in its process, and has no other thread.
    unsafe { std::env::set_var(env::RECORD, &path) };
    let lab = Lab::open(env!("CARGO_MANIFEST_DIR")).unwrap();
    program(&lab).unwrap();
    serde_json::from_slice(&std::fs::read(&path).expect("there is a record")).unwrap()
}
