//! `{{#minutes ../minutes.toml}}`: how long readers took for a chapter, as it was written down when they
//! did. A chapter that nobody has been watched with says so.

use serde::Deserialize;

use crate::markup::{escape, inline};
use crate::page::{Directive, Page, line_at};
use crate::problem::Problem;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    trial: Vec<toml::Spanned<Trial>>,
}

/// One reader, one chapter.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    /// The chapter's page, without its ending.
    chapter: String,
    /// The day, and who it was as far as that matters: `second-year student, knows PyTorch`.
    #[serde(rename = "date")]
    _date: String,
    #[serde(rename = "reader")]
    _reader: String,
    /// Minutes from the first line to the last question of the quiz.
    page: Option<u32>,
    /// Minutes from opening the exercise to passing it.
    exercise: Option<u32>,
}

/// A row for each chapter that has a quiz, in the order of the book.
pub fn table(page: &mut Page<'_>, at: &Directive) -> Option<String> {
    let contents = page.contents(at.line)?;
    let path = page.beside(&at.argument);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read `{}`: {error}", at.argument));
    let text = page.note(at.line, text)?;
    let complain = |page: &mut Page<'_>, at: usize, message: String| {
        let problem = Problem::new(page.root, &path, line_at(&text, at), message);
        page.problems.push(problem);
    };
    let trials = match toml::from_str::<File>(&text) {
        Ok(file) => file.trial,
        Err(error) => {
            let start = error.span().map_or(0, |span| span.start);
            complain(page, start, error.message().to_owned());
            return None;
        }
    };
    let quizzes = page.root.join("quizzes");
    let chapters: Vec<_> = contents
        .into_iter()
        .filter(|listed| quizzes.join(format!("{}.toml", listed.name)).exists())
        .collect();
    for trial in &trials {
        let named = &trial.get_ref().chapter;
        if !chapters.iter().any(|listed| listed.name == *named) {
            complain(page, trial.span().start, format!("there is no chapter `{named}`"));
        }
    }
    let rows: String = chapters
        .iter()
        .map(|listed| {
            let of = trials.iter().map(toml::Spanned::get_ref);
            let of: Vec<&Trial> = of.filter(|trial| trial.chapter == listed.name).collect();
            let read = minutes(of.iter().filter_map(|trial| trial.page).collect());
            let solved = minutes(of.iter().filter_map(|trial| trial.exercise).collect());
            let (name, title) = (escape(&listed.name), inline(&listed.title));
            format!(
                "<tr><th scope=\"row\"><a href=\"{name}.html\">{title}</a></th><td>{read}</td><td>{solved}</td></tr>"
            )
        })
        .collect();
    Some(format!(
        "<div class=\"table-wrapper\"><table class=\"rows\"><thead><tr><th scope=\"col\">chapter</th>\
         <th scope=\"col\">page and quiz</th><th scope=\"col\">exercise</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    ))
}

/// The median, and in how wide a range of how many.
fn minutes(mut taken: Vec<u32>) -> String {
    taken.sort_unstable();
    let (Some(least), Some(most)) = (taken.first(), taken.last()) else {
        return "not tried yet".into();
    };
    let middle = taken[taken.len() / 2];
    match taken.len() {
        1 => format!("{middle} minutes (one reader)"),
        count => format!("{middle} minutes ({least} to {most}, {count} readers)"),
    }
}
