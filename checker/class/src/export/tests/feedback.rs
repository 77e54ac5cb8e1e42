//! What a student is told, and what not.

use super::class::{Around, class, of};
use crate::export::*;

#[test]
fn a_student_reads_no_more_about_causes_than_is_allowed() {
    let rows = of(&class(), "grace");
    let mut around = Around::new();
    let mut page = |feedback| {
        around.feedback = feedback;
        let context = around.context();
        let pages = [
            student_page::text(&rows, &context),
            gradescope::text(&rows, &context).expect("it is written"),
            prairielearn::text(&rows, &context).expect("it is written"),
        ];
        let has = |text: &str| pages.iter().filter(|page| page.contains(text)).count();
        (
            has("take turns in stream 1"),
            has("give src/lib.rs:42"),
            has("saves 300 µs"),
            has("SWIM-C03"),
        )
    };
    assert_eq!(page(Feedback::Symptom), (0, 0, 0, 3));
    assert_eq!(page(Feedback::Cause), (3, 3, 0, 3));
    assert_eq!(page(Feedback::Advice), (3, 3, 3, 3));
}

#[test]
fn a_student_is_not_told_what_a_person_has_to_look_at() {
    let around = Around::new();
    let page = student_page::text(&of(&class(), "grace"), &around.context());
    assert!(!page.contains("linus"), "{page}");
    assert!(page.contains("Somebody looks at this"));
}
