//! What is said about a hazard.

use trace::hazards::{self, Code, Hazard, StreamNames};

use super::script;

fn only(script: &str) -> Hazard {
    let mut found = hazards::find(&script::program(script));
    assert_eq!(found.len(), 1, "{script}: {found:#?}");
    found.remove(0)
}

#[test]
fn a_missing_wait_is_named_with_both_lines_and_both_streams() {
    assert_eq!(
        only("up a h x; map b x").message(),
        "kernel 0 in stream 2 reads memory that the copy to the device in stream 1 writes, and \
         nothing orders the two (src/lib.rs:1 and src/lib.rs:2); record an event in stream 1 after \
         line 1, and let stream 2 wait for it before line 2"
    );
}

#[test]
fn the_default_stream_has_an_article() {
    assert_eq!(
        only("map a x; set 0 x").help(),
        "record an event in stream 1 after line 1, and let the default stream wait for it before \
         line 2"
    );
}

#[test]
fn before_a_call_of_the_hosts_the_host_has_to_wait() {
    assert_eq!(
        only("newa a x; map a x; free x").message(),
        "`cuMemFree` frees memory that kernel 0 in stream 1 writes, and nothing orders the two \
         (src/lib.rs:2 and src/lib.rs:3); synchronise the host with stream 1 after line 2 and \
         before line 3"
    );
}

#[test]
fn a_call_that_need_not_wait_is_named() {
    assert_eq!(
        only("up a h x; load; k b x > y").message(),
        "kernel 0 in stream 2 reads memory that the copy to the device in stream 1 writes, in an \
         order that nothing promises (src/lib.rs:1 and src/lib.rs:3); the module load at \
         src/lib.rs:2 was seen to wait for the device, but no documentation promises that it does; \
         record an event in stream 1 after line 1, and let stream 2 wait for it before line 3"
    );
    assert_eq!(
        only("map a x; free x").notes(),
        [
            "the call only queues kernel 0, and the host goes on at once",
            "`cuMemFree` at src/lib.rs:2 was seen to wait for the device, but no documentation \
             promises that it does",
        ]
    );
}

#[test]
fn memory_that_is_gone_is_to_be_freed_later() {
    let hazard = only("ctx; free x; map a x");
    assert_eq!(hazard.headline(), "kernel 0 in stream 1 writes memory that `cuMemFree` has freed");
    assert_eq!(hazard.help(), "free the memory at line 2 only after line 3");
    assert_eq!(only("free x; free x").help(), "free the memory once, at line 1 or at line 2");
}

#[test]
fn memory_that_is_not_there_yet_is_named_by_what_makes_it() {
    assert_eq!(
        only("newa a x; map b x").headline(),
        "kernel 0 in stream 2 writes memory that the stream-ordered allocation in stream 1 makes, \
         and nothing orders the two"
    );
}

#[test]
fn steps_without_a_line_are_named_by_their_number() {
    let mut program = script::program("up a h x; map b x");
    program.steps.iter_mut().for_each(|step| step.site = None);
    let hazards = hazards::find(&program);
    assert!(hazards[0].message().contains("(step 4 and step 5)"), "{}", hazards[0].message());
    assert_eq!(
        hazards[0].help(),
        "record an event in stream 1 after step 4, and let stream 2 wait for it before step 5"
    );
}

#[test]
fn two_branches_of_one_launch_are_of_one_turn_and_two_launches_are_not() {
    let branches = "cap a; rec e a; wait b e; k a > x; k b x > y; rec f b; wait a f; endcap; inst";
    assert_eq!(
        only(&format!("{branches}; go a")).help(),
        "record an event in stream 1 after line 4, and let stream 2 wait for it before line 5"
    );
    // Nothing can be put in where it was captured: the launches are what lacks an order.
    let launches = only("cap a; map a x; endcap; inst; inst; go a; go b 1");
    assert_eq!(
        launches.help(),
        "record an event in stream 1 after line 6, and let stream 2 wait for it before line 7"
    );
    let told = launches.tell(&StreamNames::default());
    assert_eq!(
        told.places[1].1,
        "kernel 0 in stream 1 writes here, in the graph that src/lib.rs:6 launches"
    );
}

#[test]
fn the_per_thread_stream_of_one_thread_is_told_from_that_of_another() {
    assert_eq!(
        only("spawn 1; map p x; @1 map p x").headline(),
        "kernel 0 in the per-thread stream of host thread 1 reads memory that kernel 0 in the per-thread stream of \
         host thread 0 writes, and nothing orders the two"
    );
}

#[test]
fn where_threads_do_not_know_of_one_anothers_calls_they_have_to_tell_each_other() {
    let hazard = only("spawn 1; @1 map a x; map a x");
    assert_eq!(
        hazard.help(),
        "let the host thread of line 3 wait for the one of line 2, with a message or by joining it, before line 3"
    );
    assert!(
        hazard.notes()[0].starts_with("which of two host threads makes its call first is open")
    );
}

#[test]
fn the_labels_say_what_each_of_the_two_does() {
    let told = only("up a h x; map b x").tell(&StreamNames::default());
    let labels: Vec<&str> = told.places.iter().map(|(_, label)| label.as_str()).collect();
    let first = "the copy to the device in stream 1 writes here";
    assert_eq!(labels, ["kernel 0 in stream 2 reads here", first]);
}

#[test]
fn a_loop_gives_one_hazard_and_a_count() {
    let mut program = script::program("up a h x; map b x; ctx");
    let steps: Vec<_> = program.steps.drain(program.steps.len() - 3..).collect();
    for _ in 0..7 {
        program.steps.extend(steps.clone());
    }
    let found = hazards::find(&program);
    assert_eq!((found.len(), found[0].count), (1, 7));
}

#[test]
fn every_code_is_in_the_one_table() {
    let table = include_str!("../../../src/hazards.rs");
    for code in Code::ALL {
        let severity = serde_json::to_value(code.severity()).expect("a word");
        let severity = severity.as_str().expect("a word");
        let row = format!("//! | `{code}` | `{}` | {severity} |", code.name());
        assert!(table.contains(&row), "{row}");
    }
}

#[test]
fn a_hazard_serialises_with_its_code() {
    let value = serde_json::to_value(only("up a h x; map b x")).expect("an object");
    assert_eq!(value["code"], "SWIM-H01");
    assert_eq!(value["kind"], "read-after-write");
    assert_eq!(value["severity"], "error");
    assert_eq!(value["first"]["site"]["line"], 1);
    assert_eq!(value["second"]["usage"], "read");
    assert_eq!(value["missing"]["wait"]["wait_in"], 3);
}
