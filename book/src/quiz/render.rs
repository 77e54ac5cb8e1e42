//! Questions as forms that can be read without a script and on paper.
//!
//! Each question is a form of its own, with the answer and every `why` folded below. The script
//! shows the buttons, judges at once, and unfolds the answer when a question is done.

use trace::draw;
use trace::draw::layout::{Bar, Layout};
use trace::shuffle::shuffled;

use crate::markup::{escape, identifier, inline};
use crate::quiz::Shown;
use crate::quiz::question::{Form, OrderItem, Question, Wrong};

/// Where questions stand in their chapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between two parts of the text: a few, to check what was just read.
    Middle,
    /// At the end: all the others, and what the whole quiz came to.
    End,
}

/// Some of a quiz's questions, or all of them. Its name becomes part of every id in it.
pub fn quiz(shown: &Shown) -> String {
    let Shown { quiz, place, first, of, questions } = shown;
    let name = format!("quiz-{}", identifier(quiz));
    let items: String = questions
        .iter()
        .zip(*first..)
        .map(|(question, number)| {
            let number = match place {
                Place::Middle => "Check yourself".to_owned(),
                Place::End => format!("Question {number} of {of}"),
            };
            let number = format!("<span class=\"number\">{number}</span> ");
            one(&name, &name, &number, question)
        })
        .collect();
    match place {
        // A name for each, so that a list of the page's regions tells them apart.
        Place::Middle => format!(
            "<section class=\"quiz check\" data-key=\"{name}\" aria-label=\"Check yourself, from question {first}\">\
             {items}</section>"
        ),
        Place::End => format!(
            "<section class=\"quiz\" data-key=\"{name}\" aria-label=\"Quiz\">{items}{END}</section>"
        ),
    }
}

/// The end of a quiz.
pub(super) const END: &str = "<p class=\"quiz-end\" role=\"status\"></p>\
    <p class=\"actions\"><button type=\"button\" class=\"retry\" hidden>Try the missed ones again</button></p>";

/// Questions of a quiz outside of it, each after `before`. They know where they were asked first.
pub(super) fn again(quiz: &str, before: &str, questions: &[Question]) -> String {
    let one = |question| {
        let form = one(&format!("recap-{quiz}"), &format!("quiz-{quiz}"), "", question);
        format!("<div class=\"again\">{before}{form}</div>")
    };
    questions.iter().map(one).collect()
}

/// A question. Its ids begin with `prefix`; `quiz` is where it is asked first.
fn one(prefix: &str, quiz: &str, number: &str, question: &Question) -> String {
    let Question { id, prompt, form, context } = question;
    let name = format!("{prefix}-{}", identifier(id));
    let origin = format!("{quiz}-{}", identifier(id));
    let (kind, fields, answer) = match form {
        Form::Choice { answer, distractors, sorted } => {
            choice(&name, id, answer, distractors, *sorted)
        }
        Form::Words { program, answers } => words(&name, program.as_deref(), answers),
        Form::Number { value, tolerance, unit } => number_field(&name, *value, *tolerance, unit),
        Form::Order { items, before } => order(&name, id, items, before),
        Form::Timeline { layout, answer } => timeline(&name, layout, *answer),
    };
    let (prompt, context) = (inline(prompt), inline(context));
    format!(
        "<form class=\"question\" data-kind=\"{kind}\" data-key=\"{name}\" data-origin=\"{quiz} {origin}\">\
         <fieldset><legend>{number}{prompt}</legend>\
         {fields}</fieldset>\
         <p class=\"actions\"><button type=\"submit\">Check</button> \
         <button type=\"button\" class=\"give-up\" hidden>Show the answer</button></p>\
         <p class=\"verdict\" role=\"status\"></p>\
         <details class=\"answer\"><summary>Answer</summary>{answer}<p>{context}</p></details></form>"
    )
}

type Parts = (&'static str, String, String);

/// The first number of a choice.
pub(super) fn leading(text: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let text = text.trim_start();
    text[..text.find(|c| !digits(c)).unwrap_or(text.len())].trim_end_matches('.').parse().ok()
}

fn choice(name: &str, id: &str, answer: &str, distractors: &[Wrong], sorted: bool) -> Parts {
    let mut choices: Vec<(String, &str, Option<&str>)> = distractors
        .iter()
        .enumerate()
        .map(|(at, wrong)| (format!("wrong-{at}"), wrong.text.as_str(), Some(wrong.why.as_str())))
        .collect();
    choices.push(("right".to_owned(), answer, None));
    let mut order = shuffled(id, choices.len());
    if sorted {
        let number = |at: &usize| leading(choices[*at].1).unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    let choices: Vec<_> = order.into_iter().map(|at| &choices[at]).collect();
    let fields: String = choices
        .iter()
        .map(|(value, text, why)| {
            let verdict = if why.is_none() { "right" } else { "wrong" };
            format!(
                "<p class=\"item\"><label><input type=\"radio\" name=\"{name}\" value=\"{value}\" \
                 data-verdict=\"{verdict}\" required> {}</label></p>",
                inline(text)
            )
        })
        .collect();
    let whys: String = choices
        .iter()
        .filter_map(|(value, text, why)| {
            let (text, why) = (inline(text), inline((*why)?));
            Some(format!(
                "<li data-for=\"{value}\"><em>{text}:</em> <span class=\"why\">{why}</span></li>"
            ))
        })
        .collect();
    let answer = format!("<p><b>{}</b></p><ul class=\"whys\">{whys}</ul>", inline(answer));
    ("choice", fields, answer)
}

fn words(name: &str, program: Option<&str>, answers: &[String]) -> Parts {
    let program = program.map_or(String::new(), |program| {
        format!("<pre><code class=\"language-rust\">{}</code></pre>", escape(program.trim_end()))
    });
    let accepted = escape(&answers.join("\n")).replace('\n', "&#10;");
    let fields = format!(
        "{program}<p class=\"item\"><label>Answer <input type=\"text\" name=\"{name}\" autocomplete=\"off\" \
         data-accepted=\"{accepted}\" required></label></p>"
    );
    let shown = answers.first().map(|answer| escape(answer.trim())).unwrap_or_default();
    ("words", fields, format!("<p><b>{shown}</b></p>"))
}

fn number_field(name: &str, value: f64, tolerance: f64, unit: &str) -> Parts {
    let unit = escape(unit);
    let fields = format!(
        "<p class=\"item\"><label>Answer <input type=\"number\" step=\"any\" name=\"{name}\" \
         data-value=\"{value}\" data-tolerance=\"{tolerance}\" required> {unit}</label></p>"
    );
    let (rounded, percent) = ((value * 1000.0).round() / 1000.0, tolerance * 100.0);
    ("number", fields, format!("<p><b>{rounded} {unit}</b> (within {percent:.0} %)</p>"))
}

fn order(name: &str, id: &str, items: &[OrderItem], before: &[[String; 2]]) -> Parts {
    let pairs: Vec<String> = before.iter().map(|[a, b]| format!("{a}<{b}")).collect();
    let places: String = (1..=items.len())
        .map(|place| format!("<option value=\"{place}\">{place}</option>"))
        .collect();
    let rows: String = shuffled(id, items.len())
        .into_iter()
        .map(|at| {
            let item = &items[at];
            let id = format!("{name}-{}", identifier(&item.id));
            format!(
                "<p class=\"item\"><select id=\"{id}\" data-at=\"{at}\" data-item=\"{}\" required>\
                 <option value=\"\">–</option>{places}</select> <label for=\"{id}\">{}</label></p>",
                escape(&item.id),
                inline(&item.text)
            )
        })
        .collect();
    let fields = format!("<div data-before=\"{}\">{rows}</div>", escape(&pairs.join(" ")));
    let items: String =
        items.iter().map(|item| format!("<li>{}</li>", inline(&item.text))).collect();
    ("order", fields, format!("<p>One right order:</p><ol>{items}</ol>"))
}

/// A bar is chosen with the pointer or the keyboard; the field keeps which, as the script's other
/// kinds keep what was entered.
fn timeline(name: &str, layout: &Layout, answer: usize) -> Parts {
    let drawing = draw::svg(layout, &format!("{name}-drawing"));
    let fields = format!(
        "<div class=\"timeline-scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Timeline\">{drawing}</div>\
         <p class=\"hint\">Choose a bar: click on it, or reach it with Tab and the arrow keys, and press Enter.</p>\
         <p class=\"marked\" role=\"status\"></p><input type=\"hidden\" data-bar=\"{answer}\">"
    );
    let bar = layout.bars().nth(answer).map(Bar::describe).unwrap_or_default();
    ("timeline", fields, format!("<p><b>{}</b></p>", escape(&bar)))
}
