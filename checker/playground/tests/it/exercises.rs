//! Programs of the exercises, rewritten: `book/programs/NAME.swim` beside the record of that name in `book/figures`.
//! Solutions lie in `tests/solutions`: no page shows them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use playground::profiles;
use playground::run::Run;
use simulator::{Schedule, replay};
use trace::program::Call;
use trace::timeline::SpanKind;
use trace::{Record, Timeline};

fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book")
}

/// The rewritten programs with their names.
fn programs() -> BTreeMap<String, String> {
    let solutions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/solutions");
    let folders = [book().join("programs"), solutions];
    let files = folders.iter().flat_map(|it| std::fs::read_dir(it).expect("the folder is there"));
    let paths = files.map(|file| file.expect("it is read").path());
    let named = paths.filter(|path| path.extension().is_some_and(|it| it == "swim")).map(|path| {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        (name, std::fs::read_to_string(path).expect("it is text"))
    });
    named.collect()
}

/// All that the device did inside the region, from its start: which kind of work in which stream, from when to when.
/// And how long the region took.
fn times(timeline: &Timeline) -> (u64, Vec<(u64, u64, SpanKind, u32)>) {
    let region = timeline.region.expect("a measured region");
    let inside = timeline.spans.iter().filter(|span| span.start_ns >= region.start_ns);
    let spans = inside.map(|span| {
        let start = span.start_ns - region.start_ns;
        (start, span.end_ns - region.start_ns, span.kind, span.stream.0)
    });
    (region.ns(), spans.collect())
}

/// The timeline of a record, as if it said no more than the small language does: neither where the host writes nor what
/// kernels issue.
fn timeline(record: Record) -> Timeline {
    let mut program = record.program;
    let mut left_out = 0;
    for step in &mut program.steps {
        let said = match &mut step.call {
            Call::HostWork { target, .. } => target.take().is_some(),
            Call::FunctionGet { inner_loop, .. } => inner_loop.take().is_some(),
            _ => false,
        };
        left_out += usize::from(said);
    }
    match left_out {
        0 => record.timeline,
        _ => replay(&program, &profiles::profile(0), Schedule::Exact),
    }
}

#[test]
fn rewritten_programs_take_what_the_recorded_ones_take_to_the_nanosecond() {
    let mut records: BTreeMap<String, Record> = crate::figures::simulated().into_iter().collect();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, text) in programs() {
        // Those that are not of an exercise have none.
        let Some(record) = records.remove(&name) else {
            assert!(!name.contains('.'), "{name} has no record");
            continue;
        };
        let run = Run::new(&text).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:?}"));
        let ((took, spans), (own_took, own_spans)) =
            (times(&timeline(record)), times(&run.timeline));
        let differs = spans.iter().zip(&own_spans).position(|(it, own)| it != own);
        if took != own_took || spans.len() != own_spans.len() || differs.is_some() {
            let first = differs.map(|at| (spans[at], own_spans[at]));
            wrong.push(format!(
                "{name}: {took} and {own_took} ns, {} and {} spans, {first:?}",
                spans.len(),
                own_spans.len()
            ));
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 40, "only {compared} programs have a record");
}
