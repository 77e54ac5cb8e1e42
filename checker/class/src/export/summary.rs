//! The class for a terminal: a line for each student, one for each exercise, and what needs a
//! person.

use std::fmt::Write as _;

use trace::words::counted;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::plain::{line, name};
use super::points::{Points, RULE};
use super::roll::{Roll, concerns};
use super::{Context, roll};
use crate::record::{Reason, Row};
use checker::grade::Verdict;
use checker::print::Style;

/// Columns of a bar.
const BAR: usize = 10;
/// Columns of a name, at most: a longer one would push the numbers off the screen.
const NAME: usize = 28;
/// Lines about rows that need a person; the rest is counted.
const MOST: usize = 20;

/// The summary. No line begins with what a student wrote.
pub(crate) fn text(rows: &[Row], context: &Context<'_>, style: Style) -> String {
    let roll = roll(rows, context);
    let mut text = format!(
        "{} · {}, {}\n",
        style.bold(&name(context.title)),
        counted(roll.students.len(), "student"),
        counted(roll.exercises.len(), "exercise"),
    );
    students(&mut text, &roll, context, style);
    exercises(&mut text, &roll, context, style);
    attention(&mut text, &roll, context, style);
    if !context.identical.is_empty() {
        text += "\nthe same file:\n";
    }
    for same in context.identical {
        let students: Vec<String> =
            same.students.iter().map(|student| name(context.name(student))).collect();
        let title = name(context.title(&same.exercise));
        let line = format!("  = {title}: {}", students.join(", "));
        _ = writeln!(text, "{}", fit(&line, context.columns));
    }
    _ = writeln!(text, "\n{RULE}; – is not graded, which is no zero");
    text
}

fn students(text: &mut String, roll: &Roll<'_>, context: &Context<'_>, style: Style) {
    let names: Vec<String> =
        roll.students.iter().map(|student| fit(&name(context.name(student.name)), NAME)).collect();
    let wide = names.iter().map(|name| name.width()).max().unwrap_or(0).max("student".len());
    let of = roll.exercises.len();
    let full = Points::full(of);
    let digits = full.to_string().len();
    _ = writeln!(
        text,
        "\n    {}  {:<BAR$}  {:>digits$}  passed",
        pad("student", wide),
        "",
        "points"
    );
    for (student, name) in roll.students.iter().zip(&names) {
        let total = student.total();
        // What is known of an unfinished one still has a length.
        let known: Points = student.rows().filter_map(Points::of).sum();
        let bar = bar(known.share(full));
        let passed = format!("{} of {of}", student.passed());
        let bar = match total {
            None => style.unsure(&bar),
            Some(_) if student.passed() == of => style.good(&bar),
            Some(_) => bar,
        };
        let points = total.map_or("–".to_owned(), |total| total.to_string());
        let mut notes = Vec::new();
        let without = || student.rows.iter().filter(|row| row.and_then(Points::of).is_none());
        let is_absent = |row: &Row| row.reason == Some(Reason::Missing);
        let ungraded = without().filter(|row| !row.is_some_and(is_absent)).count();
        if without().count() > ungraded {
            notes.push("handed in nothing".to_owned());
        }
        if ungraded > 0 {
            notes.push(format!("{ungraded} not graded"));
        }
        let flagged = student.rows().filter(|row| !row.flags.is_empty()).count();
        if flagged > 0 {
            notes.push(format!("{flagged} to look at"));
        }
        let notes = match notes.is_empty() {
            true => String::new(),
            false => format!("  {}", style.unsure(&notes.join(", "))),
        };
        // A sign first: no line begins with a name.
        let sign = match () {
            () if ungraded + flagged > 0 => style.unsure("!"),
            () if student.passed() == of => style.good("✓"),
            () => "·".to_owned(),
        };
        let name = pad(name, wide);
        _ = writeln!(text, "  {sign} {name}  {bar}  {points:>digits$}  {passed}{notes}");
    }
}

fn exercises(text: &mut String, roll: &Roll<'_>, context: &Context<'_>, style: Style) {
    const HEADINGS: [&str; 5] = ["passed", "failed", "rejected", "not graded", "median"];
    let names: Vec<String> =
        roll.exercises.iter().map(|exercise| fit(&name(context.title(exercise)), NAME)).collect();
    let wide = names.iter().map(|name| name.width()).max().unwrap_or(0).max("exercise".len());
    _ = write!(text, "\n  {}", pad("exercise", wide));
    for heading in HEADINGS {
        _ = write!(text, "  {heading:>0$}", heading.len().max(6));
    }
    text.push('\n');
    for (place, name) in names.iter().enumerate() {
        let count = |verdicts: &[Verdict]| {
            roll.of(place).filter(|row| verdicts.contains(&row.verdict)).count().to_string()
        };
        let troubled = count(&[Verdict::Error, Verdict::Inconclusive]);
        let cells = [
            count(&[Verdict::Passed]),
            count(&[Verdict::Failed]),
            count(&[Verdict::Rejected]),
            troubled.clone(),
            median(roll.of(place)).map_or("–".to_owned(), |median| median.to_string()),
        ];
        _ = write!(text, "  {}", pad(name, wide));
        for (at, (cell, heading)) in cells.iter().zip(HEADINGS).enumerate() {
            let cell = format!("{cell:>0$}", heading.len().max(6));
            let cell = if at == 3 && troubled != "0" { style.unsure(&cell) } else { cell };
            _ = write!(text, "  {cell}");
        }
        text.push('\n');
    }
}

fn attention(text: &mut String, roll: &Roll<'_>, context: &Context<'_>, style: Style) {
    let lines: Vec<String> = roll
        .students
        .iter()
        .flat_map(|student| student.rows())
        .flat_map(|row| concerns(row).into_iter().map(move |concern| (row, concern)))
        .map(|(row, concern)| {
            let student = fit(&name(context.name(&row.student)), NAME);
            let title = fit(&name(context.title(&row.exercise)), NAME);
            fit(&format!("  ! {student}, {title}: {}", line(&concern)), context.columns)
        })
        .collect();
    if lines.is_empty() {
        _ = writeln!(text, "\n{}", style.good("nothing needs a person"));
        return;
    }
    _ = writeln!(text, "\n{}", style.unsure("needs a person:"));
    for line in lines.iter().take(MOST) {
        _ = writeln!(text, "{line}");
    }
    if lines.len() > MOST {
        _ = writeln!(text, "  and {} more, which are in every other report", lines.len() - MOST);
    }
}

/// The median of the points that there are; of an even number the lower middle one.
pub(super) fn median<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<Points> {
    let points: Vec<Points> = rows.filter_map(Points::of).collect();
    checker::grade::spread::median(&points)
}

/// `share` of ten thousand as a bar; an eighth of a column is the least that is seen.
fn bar(share: u32) -> String {
    const EIGHTHS: [char; 8] = ['░', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = share as usize * BAR * 8 / 10_000;
    let (whole, rest) = (eighths / 8, eighths % 8);
    let mut bar = "█".repeat(whole);
    if whole < BAR {
        bar.push(EIGHTHS[rest]);
        bar += &"░".repeat(BAR - whole - 1);
    }
    bar
}

/// `text` in at most so many columns.
fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut wide = 0;
    for c in text.chars() {
        wide += c.width().unwrap_or(0);
        if wide + 1 > columns {
            break;
        }
        fitted.push(c);
    }
    fitted.push('…');
    fitted
}

fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}
