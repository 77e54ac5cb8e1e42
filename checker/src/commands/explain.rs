//! `checker explain`: the long form of a code.

use anyhow::Result;
use serde::Serialize;

use crate::book;
use crate::cli::Look;
use crate::exercise;
use crate::exit::{Exit, Usage};
use crate::explain;
use crate::explain::Page;
use crate::print;
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object {
    format: u32,
    codes: Vec<CodeObject>,
}

#[derive(Serialize)]
struct CodeObject {
    code: &'static str,
    name: &'static str,
    /// Its page in Markdown; null in the list of all.
    text: Option<&'static str>,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Prints the page of a code, or all codes.
pub(super) fn explain(code: Option<&str>, look: Look) -> Result<Exit> {
    let page = match code.map(explain::find) {
        Some(Ok(page)) => Some(page),
        Some(Err(hint)) => {
            let wanted = code.unwrap_or_default();
            return Err(Usage(format!("there is no code `{wanted}`\n\nhint: {hint}")).into());
        }
        None => None,
    };
    if look.json {
        let object = |page: &Page, text| CodeObject { code: page.code, name: page.name(), text };
        let codes = match page {
            Some(page) => vec![object(page, Some(page.text))],
            None => explain::PAGES.iter().map(|page| object(page, None)).collect(),
        };
        print::json(&Object { format: FORMAT, codes })?;
        return Ok(Exit::Passed);
    }
    match page {
        Some(page) => print::out(&with_chapters(page.text)),
        None => {
            let line = |page: &Page| format!("{}  {}\n", page.code, page.name());
            print::out(&explain::PAGES.iter().map(line).collect::<String>());
        }
    }
    Ok(Exit::Passed)
}

/// The heading above the titles of the chapters.
const CHAPTER: &str = "\n## Chapter\n";

/// A page that names the chapters that are there, by what opens them, and no others.
fn with_chapters(text: &str) -> String {
    let Some((body, titles)) = text.split_once(CHAPTER) else { return text.to_owned() };
    let titles: Vec<&str> = titles.trim().trim_end_matches('.').split("; ").collect();
    let mut lines = Vec::new();
    if let Ok(workspace) = Workspace::find() {
        for place in exercise::all(&workspace).unwrap_or_default() {
            let Ok(found) = place.open(&workspace) else { continue };
            let title = &found.manifest.title;
            if titles.contains(&title.as_str()) {
                let opened = book::command(&workspace, &found.place);
                let opened = opened.unwrap_or_else(|| format!("exercise `{}`", found.place.id));
                lines.push(format!("{title}: {opened}\n"));
            }
        }
    }
    match &lines[..] {
        [] => body.to_owned(),
        lines => format!("{body}{CHAPTER}{}", lines.concat()),
    }
}
