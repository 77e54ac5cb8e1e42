//! Flaws of questions that make them easier or harder to answer than what they ask about.
//!
//! The rules are those on which item-writing guides agree (Haladyna, Downing and Rodriguez, *A
//! review of multiple-choice item-writing guidelines*, Applied Measurement in Education 15, 2002),
//! as far as a program can see them.

use std::collections::BTreeSet;

use crate::quiz::question::{Form, Question, Wrong};
use crate::quiz::render::leading;

/// Words of an explanation above which it is not read.
const MOST_WORDS: usize = 60;
/// Words of what is said about one wrong choice.
const MOST_WORDS_WHY: usize = 40;

/// Says what is wrong with a question.
pub fn lint(question: &Question, mut flaw: impl FnMut(String)) {
    let Question { prompt, form, context, .. } = question;
    if !prompt.trim_end().ends_with(['?', '.', ':']) {
        flaw("a prompt ends as a sentence does".into());
    }
    let stem = prompt.to_lowercase();
    for word in ["not", "except", "never", "cannot"] {
        if stem.split(|c: char| !c.is_alphanumeric()).any(|w| w == word) {
            flaw(format!("a prompt that asks for what does `{word}` hold is often misread"));
        }
    }
    words(context, MOST_WORDS, "context", &mut flaw);
    if let Form::Choice { answer, distractors, sorted } = form {
        choice(answer, distractors, *sorted, &mut flaw);
    }
}

/// How the right one of several choices compares with the longest of the others: the longest is
/// known to be the safe guess, since a truth takes more words to be exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Longest {
    /// No longer than another.
    No,
    /// Longer than all others.
    Yes,
    /// Longer than all others by a fifth.
    ByFar,
}

/// Characters up to which a choice is a number or a word, whose length says nothing.
const A_WORD: usize = 12;

/// Whether the right choice is the longest, in characters.
pub fn longest<'a>(right: &str, others: impl Iterator<Item = &'a str>) -> Longest {
    let right = right.chars().count();
    match others.map(|text| text.chars().count()).max().unwrap_or(0) {
        _ if right <= A_WORD => Longest::No,
        other if right * 5 >= other * 6 => Longest::ByFar,
        other if right > other => Longest::Yes,
        _ => Longest::No,
    }
}

/// The same of a quiz's question.
pub fn of_choice(answer: &str, distractors: &[Wrong]) -> Longest {
    longest(answer, distractors.iter().map(|wrong| wrong.text.as_str()))
}

/// Where the right choice is by far the longest.
pub const BY_FAR: &str = "the right choice is a fifth longer than every other, which gives it away";

/// Says so where the right choice is the longest in more than two of five questions.
pub fn too_many_longest(choices: impl Iterator<Item = Longest>) -> Option<String> {
    let choices: Vec<Longest> = choices.collect();
    let (count, of) = (choices.iter().filter(|it| **it != Longest::No).count(), choices.len());
    let most = of * 2 / 5;
    (count > most).then(|| {
        format!("the right choice is the longest in {count} of {of} questions, of at most {most}: so the longest is the safe guess")
    })
}

fn choice(answer: &str, distractors: &[Wrong], sorted: bool, flaw: &mut impl FnMut(String)) {
    if !(2..=4).contains(&distractors.len()) {
        flaw(format!("{} wrong choices: two to four are plausible", distractors.len()));
    }
    let mut texts: Vec<&str> = distractors.iter().map(|wrong| wrong.text.as_str()).collect();
    texts.push(answer);
    for text in &texts {
        let lower = text.to_lowercase();
        if ["all of the", "none of the", "both of"].iter().any(|phrase| lower.starts_with(phrase)) {
            flaw(format!("a choice is about the others: `{text}`"));
        }
        if texts.iter().filter(|other| other.eq_ignore_ascii_case(text)).count() > 1 {
            flaw(format!("two choices are the same: `{text}`"));
        }
    }
    let numbers: BTreeSet<u64> =
        texts.iter().filter_map(|text| leading(text)).map(f64::to_bits).collect();
    let are_numbers = numbers.len() == texts.len();
    if sorted != are_numbers {
        flaw(match sorted {
            true => "`sortAnswers` is for choices that begin with different numbers".into(),
            false => "numbers are shown in their order: `prompt.sortAnswers = true`".into(),
        });
    }
    if of_choice(answer, distractors) == Longest::ByFar {
        flaw(BY_FAR.into());
    }
    for wrong in distractors {
        if wrong.why.trim().is_empty() {
            flaw(format!("no `why` for the choice `{}`", wrong.text));
        }
        words(&wrong.why, MOST_WORDS_WHY, "why", flaw);
    }
}

fn words(text: &str, most: usize, key: &str, flaw: &mut impl FnMut(String)) {
    let words = text.split_whitespace().count();
    if words > most {
        flaw(format!("`{key}` has {words} words, of at most {most}"));
    }
}
