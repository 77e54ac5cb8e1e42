//! `{{#minutes ../minutes.toml}}`: how much there is in a chapter, counted, and how long readers
//! took, as it was written down when they did. A chapter without a watched reader says so.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::markup::{escape, inline};
use crate::page::{Directive, Page};
use crate::problem::{Problem, line_at};

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
            let text = std::fs::read_to_string(page.beside(&format!("{}.md", listed.name)));
            let (words, predictions) = count(&text.unwrap_or_default());
            let quiz = std::fs::read_to_string(quizzes.join(format!("{}.toml", listed.name)));
            let questions = quiz.unwrap_or_default().matches("[[questions]]").count();
            let least = words.div_ceil(WORDS_A_MINUTE);
            let lines = changed_lines(page.root, &listed.name)
                .map_or_else(|| "–".to_owned(), |lines| lines.to_string());
            format!(
                "<tr><th scope=\"row\"><a href=\"{name}.html\">{title}</a></th><td>{words}</td>\
                 <td>{least} min</td><td>{predictions} and {questions}</td><td>{lines}</td>\
                 <td>{read}</td><td>{solved}</td></tr>"
            )
        })
        .collect();
    Some(format!(
        "<div class=\"table-wrapper\"><table class=\"rows\"><thead><tr><th scope=\"col\">chapter</th>\
         <th scope=\"col\">words</th><th scope=\"col\">to read them</th>\
         <th scope=\"col\">predictions and questions</th><th scope=\"col\">lines in the solution that are new</th>\
         <th scope=\"col\">page and quiz</th><th scope=\"col\">exercise</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    ))
}

/// How fast adults read English that is no fiction, in silence, programs and figures apart. It is
/// the mean of 190 studies in Brysbaert, "How many words do we read per minute?", Journal of Memory
/// and Language 109, 2019.
const WORDS_A_MINUTE: usize = 238;

/// The words of a chapter's prose, and its predictions.
fn count(text: &str) -> (usize, usize) {
    let (mut words, mut predictions, mut fenced) = (0, 0, false);
    for line in text.lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            fenced = !fenced;
            predictions += usize::from(fenced && kind == "predict");
        } else if !fenced && !line.starts_with("{{#") {
            let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
            words += line.split_whitespace().filter(is_word).count();
        }
    }
    (words, predictions)
}

/// How many lines of an exercise's solution the file as handed out has not, or not so often.
fn changed_lines(root: &Path, chapter: &str) -> Option<usize> {
    let entries = std::fs::read_dir(root.join("../exercises")).ok()?.flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let folder = names.find(|name| name.split_once('_').is_some_and(|(_, id)| id == chapter))?;
    let read = |path: String| std::fs::read_to_string(root.join("..").join(path)).ok();
    let shipped = read(format!("exercises/{folder}/.shipped/lib.rs"))?;
    let solution = read(format!("solutions/{folder}/src/lib.rs"))?;
    let mut there: BTreeMap<&str, usize> = BTreeMap::new();
    for line in shipped.lines() {
        *there.entry(line.trim()).or_default() += 1;
    }
    let mut new = 0;
    for line in solution.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match there.get_mut(line) {
            Some(left) if *left > 0 => *left -= 1,
            _ => new += 1,
        }
    }
    Some(new)
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
