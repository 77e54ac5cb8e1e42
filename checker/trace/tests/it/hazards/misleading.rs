//! Programs whose report once misled.

use std::fmt::Write as _;

use trace::Program;
use trace::hazards::{self, StreamNames};

use super::script;

/// A loop over slots: each statement of the body is one line. In lap `n` of `slots`, `$x` of a statement is the
/// `n`th of the words `x`, `y`, …
fn laps(slots: usize, laps: usize, body: &[&str]) -> Program {
    let mut all = Vec::new();
    for lap in 0..laps {
        for (line, statement) in (1..).zip(body) {
            let words = statement.split(' ').map(|word| match word.strip_prefix('$') {
                Some(of) => of.split(',').nth(lap % slots).expect("a slot"),
                None => word,
            });
            let words: Vec<&str> = words.collect();
            if !words.contains(&"-") {
                all.push(format!("#{line} {}", words.join(" ")));
            }
        }
    }
    script::program(&all.join("; "))
}

/// All that a report says.
fn told(program: &Program) -> String {
    let mut text = String::new();
    for hazard in hazards::find(program) {
        let told = hazard.tell(&StreamNames::default());
        _ = writeln!(text, "{}: {}", hazard.code, told.headline);
        for (call, label) in told.places {
            _ = writeln!(text, "  {}: {label}", call.place());
        }
        told.notes.iter().for_each(|note| _ = writeln!(text, "  note: {note}"));
        _ = writeln!(text, "  help: {}", told.help);
    }
    text
}

#[test]
fn a_wait_for_the_event_of_another_slot_is_told_from_one_that_is_recorded_too_late() {
    // The line of the record is right. It used to be said that the event is to be recorded where it is recorded.
    let slots = ["up a $h,i,j $x,y,z", "rec $e,f,g a", "wait b $f,g,e", "map b $x,y,z"];
    let emptied = ["rec $r,s,t b", "wait a $r,s,t"];
    insta::assert_snapshot!(
        "slot_of_another_lap",
        told(&laps(3, 6, &[&slots[..], &emptied].concat()))
    );
    let another = "up a h x; rec f a; wait b e; map b x; rec e a";
    insta::assert_snapshot!("another_event", told(&script::program(another)));
}

#[test]
fn a_wait_is_not_to_be_moved_to_a_line_that_the_last_lap_skips() {
    // In the last lap the host writes nothing more, and waits for its copy: were the wait at the write, there would
    // be none.
    let last = "begin; #1 up a h x; #2 write h; #3 sync a; #1 up a h x; #2 write h; #3 sync a; #1 up a h x; #3 sync a; end";
    insta::assert_snapshot!("skipped_in_the_last_lap", told(&script::program(last)));
    // Where each lap has the write, it is.
    let each = last.replace("#1 up a h x; #3", "#1 up a h x; #2 write h; #3");
    assert!(
        told(&script::program(&each)).contains("let the host wait before line 2, not at line 3")
    );
}

#[test]
fn what_the_next_lap_uses_is_told_from_what_this_one_does() {
    // Line 5 prefetches what line 6 uses in the next lap. A wait in between would make the two take turns.
    let prefetch = "#1 up a h x; #2 rec e a; #3 wait b e; #6 map b x; #5 up a i y; #6 map b y; #5 up a h x; #6 map b x";
    insta::assert_snapshot!("prefetch", told(&script::program(prefetch)));
    // Of two loops, one after the other, neither has a next lap for the other.
    let loops = "#1 up a h x; #1 up a i y; #2 map b x; #2 map b y; #1 up a h x";
    let found = hazards::find(&script::program(loops));
    assert_eq!(found[0].laps, 0, "{found:#?}");
}

#[test]
fn graphs_are_named_by_the_lines_that_launch_them() {
    let launched = "#1 cap a; #2 map a x; #3 endcap; inst; inst; #6 go a; #7 go b 1";
    let hazard = &hazards::find(&script::program(launched))[0];
    insta::assert_snapshot!("launched_at_two_lines", hazard.message());
    let places = [&hazard.changed().0, &hazard.changed().1].map(|call| call.place());
    assert_eq!(places, ["src/lib.rs:6", "src/lib.rs:7"]);
    let again = launched.replace("#7", "#6");
    insta::assert_snapshot!("launched_at_one_line", told(&script::program(&again)));
}

#[test]
fn a_per_thread_stream_is_named_with_its_thread_wherever_it_is_named() {
    let recorded = "spawn 1; #1 @1 map a x; #2 @1 rec e p; #3 @1 wait b e; #4 @1 map b x";
    insta::assert_snapshot!("recorded_in_a_per_thread_stream", told(&script::program(recorded)));
    let waited = "spawn 1; #1 @1 down a x h; #2 @1 sync p; #3 @1 read h";
    insta::assert_snapshot!("synchronises_a_per_thread_stream", told(&script::program(waited)));
    // There is no other to mistake it for.
    assert!(!told(&script::program("#1 map p x; #2 map b x")).contains("host thread"));
}
