//! How each format looks.

use super::class::{Around, class, of, submission};
use super::gradebook::{EXPORT, columns};
use crate::export::*;

/// A page without its style sheet, which is a file of its own.
fn body(page: &str) -> &str {
    page.split_once("<body>\n").expect("there is a body").1
}

#[test]
fn a_class_on_a_terminal() {
    let (rows, around) = (class(), Around::new());
    insta::assert_snapshot!("text", summary::text(&rows, &around.context(), Style::Plain));
    let colours = summary::text(&rows, &around.context(), Style::Colour);
    insta::assert_snapshot!("text_in_colour", colours.replace('\x1b', "␛"));
}

#[test]
fn a_class_as_tables() {
    let (rows, around) = (class(), Around::new());
    insta::assert_snapshot!("csv", csv::text(&rows).expect("it is written"));
    let moodle = moodle::tables(&rows, &around.context()).expect("it is written");
    insta::assert_snapshot!("moodle", moodle.complete);
    insta::assert_snapshot!("moodle_unfinished", moodle.unfinished);
    let columns = columns();
    let gradebook = Gradebook { export: EXPORT, columns: &columns };
    let canvas = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    insta::assert_snapshot!("canvas", canvas.gradebook);
}

#[test]
fn a_class_for_other_machines() {
    let (rows, around) = (class(), Around::new());
    let context = around.context();
    insta::assert_snapshot!("junit", junit::text(&rows, &context).expect("it is written"));
    insta::assert_snapshot!("markdown", markdown::text(&rows, &context));
    let lines: Vec<String> =
        rows.iter().map(|row| jsonl::line(row).expect("it is written")).collect();
    insta::assert_snapshot!("jsonl", lines.concat());
    let grace = of(&rows, "grace");
    insta::assert_snapshot!(
        "gradescope",
        gradescope::text(&grace, &context).expect("it is written")
    );
    insta::assert_snapshot!(
        "prairielearn",
        prairielearn::text(&grace, &context).expect("it is written")
    );
    insta::assert_snapshot!(
        "classroom50",
        classroom50::text(&grace, &submission()).expect("it is written")
    );
}

#[test]
fn a_class_in_a_browser() {
    let (rows, around) = (class(), Around::new());
    let context = around.context();
    insta::assert_snapshot!("class_page", body(&class_page::text(&rows, &context)));
    insta::assert_snapshot!(
        "student_page",
        body(&student_page::text(&of(&rows, "grace"), &context))
    );
}

#[test]
fn letters_stand_out_from_their_ground() {
    // Relative luminance and contrast as WCAG 2.2 defines them.
    let luminance = |colour: &str| -> f64 {
        let digits = colour.trim_start_matches('#');
        let wide: String = match digits.len() {
            3 => digits.chars().flat_map(|c| [c, c]).collect(),
            _ => digits.to_owned(),
        };
        let channel = |at: usize| {
            let value = u8::from_str_radix(&wide[at..at + 2], 16).expect("a colour");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
    };
    let contrast = |a: &str, b: &str| {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        if a > b { a / b } else { b / a }
    };
    let sheet = include_str!("../page.css");
    let themes: Vec<&str> = sheet.split(":root {").skip(1).collect();
    assert_eq!(themes.len(), 3, "light, dark, and print");
    for theme in themes {
        let colour = |name: &str| -> &str {
            let (_, rest) = theme.split_once(&format!("--{name}: ")).expect("it has the colour");
            rest.split(';').next().unwrap_or_default()
        };
        for letters in ["fg", "muted", "links", "right", "wrong", "unsure"] {
            for ground in ["bg", "panel"] {
                let contrast = contrast(colour(letters), colour(ground));
                assert!(contrast >= 4.5, "{letters} on {ground}: {contrast:.2}");
            }
        }
        assert!(contrast(colour("unsure"), colour("unsure-ground")) >= 4.5);
    }
}
