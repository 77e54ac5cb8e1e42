//! Flaws of questions that make them easier or harder to answer than what they ask about.
//!
//! The rules are those on which item-writing guides agree (Haladyna, Downing and Rodriguez, *A review of
//! multiple-choice item-writing guidelines*, Applied Measurement in Education 15, 2002), as far as a
//! program can see them.

use crate::quiz::parse::{Form, Question};

/// Words of an explanation above which it is not read.
const MOST_WORDS: usize = 60;
/// Words of what is said about one wrong choice.
const MOST_WORDS_WHY: usize = 40;
/// How much longer than every other choice the right one may be: the longest is known to be the safe
/// guess.
const LONGEST: f64 = 1.5;

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
    if let Form::Choice { answer, distractors } = form {
        choice(answer, distractors, &mut flaw);
    }
}

fn choice(answer: &str, distractors: &[crate::quiz::parse::Wrong], flaw: &mut impl FnMut(String)) {
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
    let longest = distractors.iter().map(|wrong| wrong.text.chars().count()).max().unwrap_or(0);
    if answer.chars().count() as f64 > longest as f64 * LONGEST {
        flaw("the right choice is by far the longest, which gives it away".into());
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
