//! The recorded references: they have no hazard, and each of their waits is needed.

use std::collections::BTreeMap;
use std::path::Path;

use trace::hazards::{self, Code, Hazard};
use trace::program::{Call, EventId, Program, Step};

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
    for exercise in
        ["04_three_lanes", "05_events", "06_fork_join", "07_chunked_pipeline", "08_issue_order"]
    {
        for role in ["baseline", "reference"] {
            let file = format!("{exercise}/recorded/{role}.json");
            let found = hazards::find(&recorded(&file));
            let found: Vec<String> = found.iter().map(|hazard| hazard.message()).collect();
            assert_eq!(found, Vec::<String>::new(), "{file}");
        }
    }
}

/// What dropping one wait of a program leads to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    waits: u32,
    /// How many are caught, by the codes of what is reported: the hazard between the two operations that
    /// were handed over comes with others where a third is ordered by the same wait.
    caught: BTreeMap<Vec<Code>, u32>,
    /// For an event that was not recorded before: it waits for nothing. The library's own are such, and
    /// those of the first laps where events belong to slots.
    needless: u32,
}

#[test]
fn each_wait_of_a_reference_that_is_dropped_is_reported_at_its_lines() {
    use Code::{ReadAfterWrite, WriteAfterRead, WriteAfterWrite};
    let rows = [
        (
            "07_chunked_pipeline",
            Tally {
                waits: 128,
                caught: BTreeMap::from([(vec![ReadAfterWrite], 64)]),
                needless: 64,
            },
        ),
        (
            "05_events",
            Tally {
                waits: 160,
                // Two handovers in each of 32 laps, and the slot of all but the first four: who read it last
                // is named before who wrote it.
                caught: BTreeMap::from([
                    (vec![ReadAfterWrite], 64),
                    (vec![WriteAfterRead, WriteAfterWrite], 28),
                ]),
                needless: 68,
            },
        ),
    ];
    for (exercise, expected) in rows {
        let program = recorded(&format!("{exercise}/recorded/reference.json"));
        assert_eq!(dropped(&program), expected, "{exercise}");
    }
}

/// Drops each wait of `program`, one at a time.
fn dropped(program: &Program) -> Tally {
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
        let wanted = (line(program, before), line(program, after));
        let site = |call: &hazards::CallAt| call.site.as_ref().map_or(0, |site| site.line);
        let at = |hazard: &Hazard| (site(&hazard.first.call), site(&hazard.second.call));
        assert!(found.iter().any(|hazard| at(hazard) == wanted), "step {index}: {found:#?}");
        assert!(found.iter().all(|hazard| hazard.count == 1), "step {index}: {found:#?}");
        *tally.caught.entry(found.iter().map(|hazard| hazard.code).collect()).or_default() += 1;
    }
    tally
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
    for dropped in [34, 39] {
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
    assert_eq!((lines, counts), (vec![(31, 36), (36, 41)], vec![32, 32]));
}
