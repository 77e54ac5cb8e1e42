//! What a server can do wrong, for `priorities`: answers that are not there yet, requests that are not answered, and a job that
//! pays for both.

use serde_json::Value;

use crate::class::shipped;
use crate::racy::with_file;
use crate::real::{Real, real};

const EXERCISE: &str = "priorities";

/// What a run of the file as shipped comes to, with these lines in one of its regions.
fn with_lines(real: &Real, region: &str, lines: &str) -> Value {
    let mark = format!("// region: {region}\n");
    let source = shipped(real, EXERCISE);
    assert!(source.contains(&mark), "{source}");
    let source = source.replace(&mark, &format!("{mark}{lines}\n"));
    with_file(real, EXERCISE, &source, || real.json(&["run", EXERCISE])).1
}

#[test]
fn an_answer_that_is_sent_before_it_is_there_is_a_race_with_the_copy_that_brings_it() {
    let real = real();
    for wait in ["", "let other = context.new_stream()?; other.synchronize()?;"] {
        let lines = format!("request.queue(serving)?; {wait} request.send()?; continue;");
        let object = with_lines(&real, "request", &lines);
        assert_eq!(object["gate"], "hazard", "{wait}: {object:#}");
        let hazard = &object["hazards"][0];
        assert_eq!(hazard["code"], "SWIM-H01", "{wait}: {hazard:#}");
    }
}

#[test]
fn requests_that_are_not_answered_or_twice_are_not_done() {
    let real = real();
    let lines =
        "if request.number() == 7 { request.queue(serving)?; serving.synchronize()?; continue; }";
    let object = with_lines(&real, "request", lines);
    assert_eq!(object["gate"], "work", "{object:#}");
    let message = object["message"].as_str().expect("a message");
    assert!(message.contains("answers to requests: 15 of 16"), "{message}");

    // What is sent first is whatever happens to be there, and that the answer comes later is no excuse.
    let lines = "request.send()?; request.queue(serving)?; serving.synchronize()?; continue;";
    let object = with_lines(&real, "request", lines);
    assert_eq!(object["gate"], "work", "{object:#}");
    let message = object["message"].as_str().expect("a message");
    assert!(message.contains("answers to requests: 0 of 16"), "{message}");

    let lines = "request.queue(serving)?; serving.synchronize()?; request.send()?;";
    let object = with_lines(&real, "request", lines);
    assert_eq!(object["gate"], "output", "{object:#}");
    let message = object["message"].as_str().expect("a message");
    assert!(message.contains("request 0 is answered already"), "{message}");
}

#[test]
fn a_job_that_is_left_out_or_waits_for_the_host_is_no_way_to_answer_soon() {
    let real = real();
    let lines = "while let Some(request) = requests.next()? { request.queue(serving)?; serving.synchronize()?; \
                 request.send()?; }";
    // All of the job comes after the last request.
    let object = with_lines(&real, "job", lines);
    assert_eq!((&object["gate"], &object["score"]), (&"pace".into(), &0.0.into()), "{object:#}");
    let ratio = object["latency_ratio"].as_f64().expect("a number");
    assert!(ratio > 0.9, "the requests themselves are served as on an idle device: {ratio}");
    insta::assert_snapshot!(object["message"].as_str().expect("a message"), @"the requests are answered, but all of the work took 23.4 ms; alone it takes 12.2 ms, and 13.4 ms are allowed");
}
