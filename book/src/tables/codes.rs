//! `{{#codes ../../checker/src/explain}}`: every code of a report, with the first sentence of its
//! page and a link to its chapter.
//!
//! Which codes there are is known to `trace`, and the pages are those that `checker explain`
//! prints.

use trace::{causes, hazards};

use crate::markup::{escape, inline};
use crate::page::{Directive, Listed, Page};

/// The two tables: what is wrong, and what is slow.
pub fn table(page: &mut Page<'_>, at: &Directive) -> Option<String> {
    let contents = page.contents(at.line)?;
    let hazards: Vec<_> = hazards::Code::ALL.iter().map(|code| code.as_str()).collect();
    let causes: Vec<_> = causes::Code::ALL.iter().map(|code| code.as_str()).collect();
    let mut tables = Vec::new();
    for (what, codes) in [("hazard", hazards), ("cause", causes)] {
        let mut rows = String::new();
        for code in codes {
            rows.push_str(&row(page, at, code, &contents)?);
        }
        tables.push(format!(
            "<div class=\"table-wrapper\"><table class=\"rows\"><thead><tr><th scope=\"col\">{what}</th>\
             <th scope=\"col\">what it is</th><th scope=\"col\">chapter</th></tr></thead>\
             <tbody>{rows}</tbody></table></div>"
        ));
    }
    Some(tables.join("<br>"))
}

fn row(page: &mut Page<'_>, at: &Directive, code: &str, contents: &[Listed]) -> Option<String> {
    let path = page.beside(&at.argument).join(format!("{code}.md"));
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read the page of `{code}`: {error}"));
    let text = page.note(at.line, text)?;
    let read = Explained::read(&text).ok_or_else(|| format!("the page of `{code}` lacks a part"));
    let Explained { name, sentence, chapters } = page.note(at.line, read)?;
    let chapters: Vec<String> = chapters
        .into_iter()
        .map(|title| match contents.iter().find(|listed| listed.title == title) {
            Some(Listed { name, .. }) => {
                format!("<a href=\"{}.html\">{}</a>", escape(name), inline(title))
            }
            None => format!("{} (not written yet)", inline(title)),
        })
        .collect();
    Some(format!(
        "<tr id=\"{}\"><th scope=\"row\"><code>{code}</code> {}</th><td>{}</td><td>{}</td></tr>",
        code.to_lowercase(),
        escape(name),
        inline(&sentence),
        chapters.join("; ")
    ))
}

/// The part of a code's page that the table needs.
struct Explained<'a> {
    name: &'a str,
    sentence: String,
    chapters: Vec<&'a str>,
}

impl<'a> Explained<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (_, name) = text.lines().next()?.rsplit_once(' ')?;
        let part = |heading: &str| {
            let (_, rest) = text.split_once(&format!("\n## {heading}\n"))?;
            Some(rest.split("\n## ").next().unwrap_or(rest).trim())
        };
        let happens = part("What happens")?.split('\n').collect::<Vec<_>>().join(" ");
        let end = happens.find(". ").map_or(happens.len(), |end| end + 1);
        let chapters = part("Chapter")?.trim_end_matches('.').split(';').map(str::trim).collect();
        Some(Self { name, sentence: happens[..end].to_owned(), chapters })
    }
}
