//! The recorded reference of the pipeline: it has no hazard, and each of its waits is needed.

use std::path::Path;

use trace::program::{Call, EventId, Program, Step};
use trace::{hazards, hazards::Code};

fn recorded(file: &str) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises");
    let text = std::fs::read(folder.join(file)).expect("a recorded program");
    serde_json::from_slice(&text).expect("a program")
}

fn line(program: &Program, step: &Step) -> u32 {
    program.site(step).map_or(0, |site| site.line)
}

#[test]
fn no_recorded_program_has_a_hazard() {
    for exercise in ["04_three_lanes", "07_chunked_pipeline"] {
        for role in ["baseline", "reference"] {
            let file = format!("{exercise}/recorded/{role}.json");
            let found = hazards::find(&recorded(&file));
            let found: Vec<String> = found.iter().map(|hazard| hazard.message()).collect();
            assert_eq!(found, Vec::<String>::new(), "{file}");
        }
    }
}

/// What dropping one wait of the pipeline leads to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    waits: u32,
    caught: u32,
    /// For an event that was never recorded: the library's own, which waits for nothing.
    needless: u32,
}

#[test]
fn each_wait_of_the_pipeline_that_is_dropped_is_reported_at_its_lines() {
    let program = recorded("07_chunked_pipeline/recorded/reference.json");
    let uses = |step: &Step| matches!(step.call, Call::Copy { .. } | Call::Launch(_));
    let is_record_of = |step: &Step, wanted: EventId| match step.call {
        Call::EventRecord { event, .. } => event == wanted,
        _ => false,
    };
    let mut tally = Tally::default();
    for index in 0..program.steps.len() {
        let Call::StreamWait { event, .. } = program.steps[index].call else { continue };
        tally.waits += 1;
        let mut changed = program.clone();
        changed.steps.remove(index);
        let found = hazards::find(&changed);
        let record = program.steps[..index].iter().rposition(|step| is_record_of(step, event));
        let Some(record) = record else {
            assert_eq!(found, [], "step {index}");
            tally.needless += 1;
            continue;
        };
        // What was handed over: from the last operation before the record to the next one after.
        let before = program.steps[..record].iter().rfind(|step| uses(step)).expect("one");
        let after = program.steps[index..].iter().find(|step| uses(step)).expect("one");
        let [hazard] = &found[..] else { panic!("step {index}: {found:#?}") };
        assert_eq!(hazard.code, Code::ReadAfterWrite);
        let site = |call: &hazards::CallAt| call.site.as_ref().map_or(0, |site| site.line);
        let lines = (site(&hazard.first.call), site(&hazard.second.call));
        assert_eq!(lines, (line(&program, before), line(&program, after)), "step {index}");
        assert_eq!(hazard.count, 1);
        tally.caught += 1;
    }
    assert_eq!(tally, Tally { waits: 128, caught: 64, needless: 64 });
}

#[test]
fn without_the_handovers_of_a_whole_line_there_is_one_report_with_a_count() {
    let program = recorded("07_chunked_pipeline/recorded/reference.json");
    let (mut lines, mut counts) = (Vec::new(), Vec::new());
    let waits_at: Vec<u32> = program
        .steps
        .iter()
        .filter(|step| matches!(step.call, Call::StreamWait { .. }))
        .map(|step| line(&program, step))
        .collect();
    for dropped in [37, 42] {
        assert!(waits_at.contains(&dropped));
        let mut changed = program.clone();
        changed.steps.retain(|step| {
            !matches!(step.call, Call::StreamWait { .. }) || line(&program, step) != dropped
        });
        let found = hazards::find(&changed);
        let site = |call: &hazards::CallAt| call.site.as_ref().map_or(0, |site| site.line);
        lines.extend(found.iter().map(|it| (site(&it.first.call), site(&it.second.call))));
        counts.extend(found.iter().map(|it| it.count));
    }
    assert_eq!((lines, counts), (vec![(34, 39), (39, 44)], vec![32, 32]));
}
