//! Answers to a prediction that stand above it: a number or a timeline, a number that its
//! reveal brings, the text of the right choice. Numbers are compared as they are printed, whether
//! they come from a macro or were typed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use crate::page::{Page, fences};
use crate::problem::{Problem, line_at};
use crate::proof::style::split;
use crate::puzzle::gate::{Gated, gated};
use crate::puzzle::predict::{Outcome, outcome};
use crate::quiz;
use crate::quiz::question::{Form, Question};
use crate::records::Records;

/// Fewer words than these are said in passing, and give nothing away.
const TELLING_WORDS: usize = 5;

/// A piece of what a reader reads.
struct Said {
    /// Where it lies in the chapter.
    at: usize,
    /// With its numbers, as printed.
    text: String,
    /// Records whose timelines are drawn here.
    drawn: Vec<String>,
}

/// A prediction, what answers it, and where it stands.
struct Gate {
    range: Gated,
    outcome: Outcome,
}

/// The answers that a chapter gives away.
pub fn check(root: &Path, file: &Path, text: &str, records: &Records) -> Vec<Problem> {
    let mut page = Page::new(root, file.to_owned(), records);
    let gates = gates(&mut page, text);
    let said = said(&mut page, text, &gates);
    let mut problems = Vec::new();
    for (index, gate) in gates.iter().enumerate() {
        let id = &gate.outcome.id;
        let earlier: Vec<&Range<usize>> =
            gates[..index].iter().map(|gate| &gate.range.reveal).collect();
        let secrets = secrets(&page, text, gate);
        // Runs that an earlier reveal showed are what others are ranked against, unless it showed
        // them all.
        let shown = |secret: &&Secret| {
            let run = secret.what.split(' ').next().unwrap_or_default();
            earlier.iter().map(|reveal| &text[(*reveal).clone()]).any(|reveal| {
                macros(reveal).contains(&secret.what)
                    || figures(reveal)
                        .iter()
                        .any(|(_, drawn)| drawn.iter().any(|drawn| drawn == run))
            })
        };
        let answers = || secrets.iter().filter(|secret| secret.answer);
        let anchors = gate.outcome.ranking && answers().filter(shown).count() < answers().count();
        let mut found = BTreeSet::new();
        let below = |said: &Said| gate.outcome.alone && said.at >= gate.range.reveal.end;
        let read_before =
            said.iter().filter(|said| said.at < gate.range.predict.start || below(said));
        for said in read_before {
            let revealed = earlier.iter().any(|reveal| reveal.contains(&said.at));
            let line = line_at(text, said.at);
            for Secret { printed, what, answer } in &secrets {
                if ((*answer && !anchors) || !revealed) && says(&said.text, printed) {
                    found.insert((
                        line,
                        format!("`{printed}` gives away the prediction `{id}`: {what}"),
                    ));
                }
            }
            for drawn in &said.drawn {
                let answers = gate.outcome.records.contains(drawn);
                if answers && !(anchors && revealed) && !gate.outcome.given.contains(drawn) {
                    found.insert((
                        line,
                        format!("the timeline of `{drawn}` gives away the prediction `{id}`"),
                    ));
                }
            }
            for told in &gate.outcome.texts {
                if tells(&said.text, told) {
                    found.insert((line, format!("`{told}` gives away the prediction `{id}`")));
                }
            }
        }
        problems.extend(
            found.into_iter().map(|(line, message)| Problem::new(root, file, line, message)),
        );
    }
    problems
}

/// The numbers that a page may not show before the reader has committed, as printed.
pub fn secret_numbers(root: &Path, file: &Path, text: &str, records: &Records) -> Vec<String> {
    let mut page = Page::new(root, file.to_owned(), records);
    let gates = gates(&mut page, text);
    let secrets = gates.iter().flat_map(|gate| secrets(&page, text, gate));
    let numbers: BTreeSet<String> = secrets.map(|secret| secret.printed).collect();
    numbers.into_iter().collect()
}

fn gates(page: &mut Page<'_>, text: &str) -> Vec<Gate> {
    let blocks = fences(text, "predict");
    let with = gated(text).into_iter().filter_map(|range| {
        let fence = blocks.iter().find(|fence| fence.range == range.predict)?;
        Some(Gate { outcome: outcome(page, fence)?, range })
    });
    with.collect()
}

/// A number that stands for something which the reader is to predict or to be shown.
struct Secret {
    printed: String,
    what: String,
    /// Whether it answers the question itself. What else a reveal brings may stand in a reveal
    /// before.
    answer: bool,
}

/// The numbers of one gate.
fn secrets(page: &Page<'_>, text: &str, gate: &Gate) -> Vec<Secret> {
    let Gate { range, outcome } = gate;
    let numbers = outcome.numbers.iter();
    let mut secrets: Vec<Secret> = numbers
        .map(|(printed, what)| Secret { printed: tidy(printed), what: what.clone(), answer: true })
        .collect();
    let reveal = &text[range.reveal.clone()];
    let values = macros(reveal);
    let drawn = figures(reveal).into_iter().flat_map(|(_, records)| records);
    let makespans = drawn.map(|record| format!("{record} makespan"));
    for what in values.into_iter().chain(makespans) {
        let Ok(printed) = page.records.value(&what) else { continue };
        let printed = tidy(&printed);
        let asked = outcome.asked.iter().any(|asked| says(&tidy(asked), &printed));
        if !asked && !secrets.iter().any(|secret| secret.printed == printed) {
            secrets.push(Secret { printed, what, answer: false });
        }
    }
    let given = |printed: &String| outcome.given.iter().any(|given| tidy(given) == *printed);
    secrets.retain(|secret| telling(&secret.printed) && !given(&secret.printed));
    secrets
}

/// Whether a number can be told from others of its kind: a count of a few, or nothing at all,
/// cannot.
fn telling(printed: &str) -> bool {
    let digits = printed.bytes().filter(u8::is_ascii_digit).count();
    let zero = printed.trim_start_matches(['0', '.', ' ']).bytes().all(|b| !b.is_ascii_digit());
    let unit = printed.contains(' ');
    !zero && ((unit && printed != "100 %") || digits >= 3)
}

/// A number and its unit, whatever space is between.
fn tidy(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// The arguments of the numbers in a text.
fn macros(text: &str) -> Vec<String> {
    let found = text.split("{{#value ").skip(1);
    found.filter_map(|rest| Some(rest.split_once("}}")?.0.trim().to_owned())).collect()
}

/// Where the figures of a text are, and which records each draws.
fn figures(text: &str) -> Vec<(usize, Vec<String>)> {
    #[derive(Deserialize)]
    struct Figure {
        #[serde(default)]
        records: Vec<String>,
    }
    let found = fences(text, "figure").into_iter().filter_map(|fence| {
        let figure: Figure = toml::from_str(&fence.body).ok()?;
        Some((fence.range.start, figure.records))
    });
    found.collect()
}

/// Everything that a chapter says, in order.
fn said(page: &mut Page<'_>, text: &str, gates: &[Gate]) -> Vec<Said> {
    let mut said = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // What a question says is added below, without what it keeps to itself.
        if !gates.iter().any(|gate| gate.range.predict.contains(&at))
            && !line.starts_with("records = ")
        {
            let printed = page.values(0, line);
            said.push(Said { at, text: tidy(&printed), drawn: Vec::new() });
        }
        at += line.len();
    }
    for gate in gates {
        let (at, text) = (gate.range.predict.start, tidy(&gate.outcome.asked.join("\n")));
        said.push(Said { at, text, drawn: Vec::new() });
    }
    for (at, drawn) in figures(text) {
        let makespans = drawn
            .iter()
            .filter_map(|record| page.records.value(&format!("{record} makespan")).ok());
        let text = tidy(&makespans.collect::<Vec<_>>().join("\n"));
        said.push(Said { at, text, drawn });
    }
    for (directive, shown) in quiz::shown(page, text) {
        let questions = shown.map(|shown| shown.questions).unwrap_or_default();
        let text: Vec<String> = questions.iter().flat_map(words).collect();
        let text = tidy(&text.join("\n"));
        said.push(Said { at: directive.range.start, text, drawn: Vec::new() });
    }
    said
}

/// The texts of a question, before and after it is answered.
fn words(question: &Question) -> Vec<String> {
    let Question { prompt, form, context, .. } = question;
    let mut words = vec![prompt.clone(), context.clone()];
    match form {
        Form::Choice { answer, distractors, .. } => {
            words.push(answer.clone());
            words.extend(
                distractors.iter().flat_map(|wrong| [wrong.text.clone(), wrong.why.clone()]),
            );
        }
        Form::Words { answers, .. } => words.extend(answers.clone()),
        Form::Number { value, unit, .. } => words.push(format!("{value} {unit}")),
        Form::Order { items, .. } => words.extend(items.iter().map(|item| item.text.clone())),
        Form::Timeline { .. } => {}
    }
    words
}

/// Whether a text has a number as a whole.
fn says(text: &str, printed: &str) -> bool {
    text.match_indices(printed).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + printed.len()..].chars();
        let (next, second) = (after.next(), after.next());
        let inside = before.is_some_and(|c| c.is_alphanumeric() || c == '.' || c == ',');
        let goes_on = next.is_some_and(|c| c.is_alphanumeric())
            || (next == Some('.') && second.is_some_and(|c| c.is_ascii_digit()));
        !inside && !goes_on
    })
}

/// Whether a text says the words of another, in their order.
fn tells(text: &str, told: &str) -> bool {
    let (text, told): (Vec<String>, Vec<String>) = (split(text).collect(), split(told).collect());
    told.len() >= TELLING_WORDS && text.windows(told.len()).any(|words| words == told)
}
