//! Files for `two_streams` that wait for one of the two jobs at the end: whether the device is done with the other by
//! then is luck, and no such file passes.

use serde_json::json;

use crate::real::real;
use crate::tree::write;

#[test]
fn a_region_that_ends_well_by_luck_is_no_pass_and_the_report_says_what_to_wait_for() {
    let real = real();
    let file = real.folder("two_streams").join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    let mut said = String::new();
    for source in [
        include_str!("unwaited/waits_for_the_copies_alone.rs"),
        include_str!("unwaited/waits_for_the_maps_alone.rs"),
    ] {
        write(&file, source);
        let (code, object) = real.json(&["run", "two_streams"]);
        let verdict = json!([code, object["verdict"], object["gate"], object["score"]]);
        assert_eq!(verdict, json!([1, "failed", "idle", 0.0]), "{object:#}");
        said += object["message"].as_str().expect("a message");
        said += "\n\n";
    }
    write(&file, &shipped);
    insta::assert_snapshot!(said);
}

#[test]
fn another_schedule_shows_the_device_at_work_when_the_region_ends() {
    let real = real();
    let file = real.folder("two_streams").join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    write(&file, include_str!("unwaited/waits_for_the_copies_alone.rs"));
    let is_caught_at_work = |seed: u32| {
        let (_, object) = real.json(&["run", "two_streams", "--schedule", &seed.to_string()]);
        object["message"].as_str().is_some_and(|message| message.contains("still at work"))
    };
    let witness = (1..=20).find(|&seed| is_caught_at_work(seed));
    write(&file, &shipped);
    assert!(witness.is_some(), "on every schedule it is over, so it is a pass by right");
}
