//! All quizzes of the book on one page: the reader's progress, and questions to be asked again.
//!
//! The answers are in the reader's browser alone, so the page holds everything and the script
//! picks from it. Which questions return is no lottery: those that were missed, then those that
//! were answered longest ago, in the order of the book where that says nothing.

use crate::markup::{escape, identifier, inline};
use crate::page::{Directive, Listed, Page};
use crate::quiz::question::Question;
use crate::quiz::render;

/// How many questions return at a time: few enough to be answered in passing.
const AT_A_TIME: usize = 3;

/// The quiz of one chapter.
pub struct Quiz {
    /// Its name.
    pub name: String,
    /// The chapter's title.
    pub title: String,
    /// Its questions.
    pub questions: Vec<Question>,
}

/// The quizzes in the folder that `at` names, in the order of their chapters in the book.
pub fn quizzes(page: &mut Page<'_>, at: &Directive) -> Vec<Quiz> {
    let folder = page.beside(&at.argument);
    let mut quizzes = Vec::new();
    for Listed { name: chapter, .. } in page.contents(at.line).unwrap_or_default() {
        let path = folder.join(format!("{chapter}.toml"));
        if !path.exists() {
            continue;
        }
        let named = path.display().to_string();
        let Some(questions) = super::questions(page, at.line, &named, &path) else { continue };
        let text = std::fs::read_to_string(page.beside(&format!("{chapter}.md")));
        let text = text.unwrap_or_default();
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        let title = title.unwrap_or(&chapter).to_owned();
        quizzes.push(Quiz { name: chapter, title, questions });
    }
    if quizzes.is_empty() {
        page.complain(at.line, format!("no chapter has a quiz in `{}`", at.argument));
    }
    quizzes
}

/// A row for each chapter, which the script fills in.
pub fn progress(quizzes: &[Quiz]) -> String {
    let rows: String = quizzes
        .iter()
        .map(|Quiz { name, title, questions }| {
            let (id, count) = (identifier(name), questions.len());
            format!(
                "<tr data-quiz=\"quiz-{id}\" data-count=\"{count}\" data-predictions=\"{id}-\">\
                 <th scope=\"row\"><a href=\"{}.html\">{}</a></th>\
                 <td class=\"predicted\">–</td><td class=\"answered\">– of {count}</td><td class=\"at-first\">–</td></tr>",
                escape(name),
                inline(title)
            )
        })
        .collect();
    format!(
        "<section class=\"progress\" aria-label=\"Your progress\"><div class=\"table-wrapper\"><table><thead><tr>\
         <th scope=\"col\">chapter</th><th scope=\"col\">predictions made</th>\
         <th scope=\"col\">questions answered</th><th scope=\"col\">right at the first try</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>\
         <p class=\"actions\" hidden><button type=\"button\" class=\"export\">Save it as a file</button> \
         <button type=\"button\" class=\"encode\">Show it as a code</button> \
         <button type=\"button\" class=\"clear\">Forget everything</button></p>\
         <p class=\"actions\" hidden><label>Take over a file <input type=\"file\" accept=\".json,application/json\"></label></p>\
         <p class=\"actions\" hidden><label>or a code <input type=\"text\" class=\"code\" autocomplete=\"off\" spellcheck=\"false\"></label> \
         <button type=\"button\" class=\"decode\">Take it over</button></p>\
         <p class=\"verdict\" role=\"status\"></p>\
         <noscript><p>Without JavaScript nothing is kept, and this table stays empty.</p></noscript></section>"
    )
}

/// Every question once more; the script shows a few of those that were answered before.
pub fn recap(quizzes: &[Quiz]) -> String {
    let quizzes = quizzes.iter();
    let items: String = quizzes
        .map(|Quiz { name, title, questions }| {
            let chapter = format!(
                "<p class=\"from\">From <a href=\"{}.html\">{}</a></p>",
                escape(name),
                inline(title)
            );
            render::again(&identifier(name), &chapter, questions)
        })
        .collect();
    format!(
        "<section class=\"quiz recap\" data-key=\"recap\" data-most=\"{AT_A_TIME}\" aria-label=\"Recap\">\
         <p class=\"none\" hidden>Nothing to come back to yet: questions appear here once you have answered \
         them in their chapter.</p>{items}{}</section>",
        render::END
    )
}
