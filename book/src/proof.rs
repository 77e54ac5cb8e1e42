//! Everything that mdBook says nothing about, as errors with file and line.
//!
//! mdBook 0.5 builds a page from which a listing, a figure or a whole configuration is missing, and
//! exits with 0. Here each of these is an error; so are links, ids and references of the finished
//! site that lead nowhere, and whatever a page would ask of another origin.
//!
//! | module | what it looks at |
//! | --- | --- |
//! | [`config`] | `book.toml` |
//! | [`source`] | the chapters as they were written |
//! | [`prose`] | what of a file is prose |
//! | [`style`] | words, and the length of sentences and pages |
//! | [`comments`] | comments in the sources |
//! | [`claims`] | claims that nothing shows |
//! | [`gates`] | what gives a prediction away above it |
//! | [`finished`] | the pages as they were built |
//! | [`element`] | the elements of one page |

pub mod claims;
mod comments;
pub mod config;
pub mod element;
pub mod finished;
pub mod gates;
pub mod prose;
pub mod source;
pub mod style;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mdbook_driver::MDBook;

use crate::evidence::Evidence;
use crate::problem::{Problem, Problems, Reach};
use crate::records::Records;
use crate::site;
use style::Style;

/// A chapter as it was written.
#[derive(Debug)]
pub struct Chapter {
    /// Its file.
    pub file: PathBuf,
    /// Its page, relative to the site.
    pub page: PathBuf,
    /// Its text.
    pub text: String,
}

/// Checks the book in `root`, and builds it into `folder` on the way (default: what `book.toml`
/// says). The number of pages, or all that is wrong.
pub fn proof(root: &Path, folder: Option<&Path>) -> Result<usize> {
    let mut problems = config::check(root)?;
    if !problems.is_empty() {
        // What mdBook makes of such a configuration is not the book.
        return Problems(problems, Reach::Part).into_result().map(|()| 0);
    }
    let records = Records::read(root)?;
    let chapters = chapters(root)?;
    for chapter in &chapters {
        problems.extend(source::check(root, chapter, &records));
    }
    let style = Style::read(root)?;
    for looked_at in [Look::Style, Look::Claims, Look::Gates] {
        let found = look(root, &records, &chapters, &style, looked_at);
        let kept = found.into_iter().filter(|(page, _)| match looked_at {
            Look::Style | Look::Claims => !style.waiting.contains(page),
            Look::Gates => !style.leaking.contains(page),
        });
        problems.extend(kept.map(|(_, problem)| problem));
    }
    problems.extend(comments::compared(root, &style)?);
    let mut reach = Reach::Whole;
    let pages = match site::build(root, folder) {
        Ok(site) => {
            // A warning without a place is worth something only where nothing else was found.
            if problems.is_empty() {
                let problem = |message| Problem::new(root, &root.join("book.toml"), None, message);
                problems.extend(site.warnings.into_iter().map(problem));
            }
            finished::check(root, &site.folder, &chapters, &mut problems)?
        }
        // What keeps the book from being built is among the problems, or it is something else.
        Err(error) if problems.is_empty() => return Err(error),
        Err(_) => {
            reach = Reach::Part;
            0
        }
    };
    // Said once, where it is to be mended, and not wherever a page shows such a record.
    for (file, line, message) in records.absent() {
        problems.retain(|problem| problem.message != message);
        problems.push(Problem::new(root, file, line, message));
    }
    Problems(problems, reach).into_result()?;
    Ok(pages)
}

/// A look that can be taken by itself, at every page and at those that wait for their rewriting
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Words, and the length of sentences and pages.
    Style,
    /// Claims that nothing shows.
    Claims,
    /// Answers to a prediction above it.
    Gates,
}

/// The problems that one look finds in the book in `root`, or in the page `name` of it.
pub fn listed(root: &Path, look_at: Look, name: Option<&str>) -> Result<Vec<Problem>> {
    let (records, chapters) = (Records::read(root)?, chapters(root)?);
    let found = look(root, &records, &chapters, &Style::read(root)?, look_at);
    let mut found: Vec<Problem> = found
        .into_iter()
        .filter(|(page, _)| name.is_none_or(|name| name == page))
        .map(|(_, problem)| problem)
        .collect();
    found.sort();
    found.dedup();
    Ok(found)
}

/// The problems in the comments of a package, named by its folder; of all that `style.toml` names,
/// where none is named.
pub fn of_comments(root: &Path, package: Option<&str>) -> Result<Vec<Problem>> {
    let style = Style::read(root)?;
    let packages = match package {
        Some(package) => vec![package],
        None => style.comments.keys().map(String::as_str).collect(),
    };
    let mut found = Vec::new();
    for package in packages {
        found.extend(comments::check(root, &style, package)?.1);
    }
    Ok(found)
}

/// Each problem with the name of its page.
fn look(
    root: &Path,
    records: &Records,
    chapters: &[Chapter],
    style: &Style,
    look_at: Look,
) -> Vec<(String, Problem)> {
    let mut found = Vec::new();
    let mut add = |page: &str, problems: Vec<Problem>| {
        found.extend(problems.into_iter().map(|problem| (page.to_owned(), problem)));
    };
    match look_at {
        Look::Style => {
            for page in style::pages(root, chapters) {
                add(&page.name, style.check(root, &page));
            }
        }
        Look::Claims => {
            let evidence = Evidence::read(root, records);
            for chapter in chapters {
                let page = chapter.page.with_extension("").display().to_string();
                add(&page, claims::check(root, &chapter.file, &chapter.text, &evidence));
            }
        }
        Look::Gates => {
            for chapter in chapters {
                let page = chapter.page.with_extension("").display().to_string();
                add(&page, gates::check(root, &chapter.file, &chapter.text, records));
            }
        }
    }
    found
}

/// For each chapter with a prediction, the numbers that its page may not show before the reader has
/// committed to an answer.
pub fn secret_numbers(root: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let records = Records::read(root)?;
    let numbers = chapters(root)?.into_iter().map(|chapter| {
        let page = chapter.page.with_extension("").display().to_string();
        (page, gates::secret_numbers(root, &chapter.file, &chapter.text, &records))
    });
    Ok(numbers.collect())
}

/// The names of all pages that are looked at.
pub fn page_names(root: &Path) -> Result<Vec<String>> {
    Ok(style::pages(root, &chapters(root)?).into_iter().map(|page| page.name).collect())
}

/// The problems that the author of the chapter `NAME.md` has to fix: its own, or, if there are
/// none, those that kept it from being checked.
pub fn of_chapter(
    root: &Path,
    problems: Vec<Problem>,
    reach: Reach,
    name: &str,
) -> Result<Vec<Problem>> {
    let (mut own, others): (Vec<_>, Vec<_>) =
        problems.into_iter().partition(|problem| problem.concerns(name));
    own.extend(unlisted(root, name)?);
    let unseen = own.is_empty() && reach == Reach::Part;
    Ok(if unseen { others } else { own })
}

/// That the table of contents lacks the page `NAME.md`, if it does.
pub fn unlisted(root: &Path, name: &str) -> Result<Option<Problem>> {
    let listed = chapters(root)?
        .iter()
        .any(|chapter| chapter.page == Path::new(name).with_extension("html"));
    let summary = root.join("chapters/SUMMARY.md");
    let problem = || Problem::new(root, &summary, None, format!("it names no page `{name}.md`"));
    Ok((!listed).then(problem))
}

fn chapters(root: &Path) -> Result<Vec<Chapter>> {
    let book = MDBook::load(root).context("cannot load the book")?;
    let source = book.source_dir();
    let chapters = book.book.chapters().filter_map(|chapter| {
        let path = chapter.source_path.as_ref()?;
        let page = path.with_extension("html");
        Some(Chapter { file: source.join(path), page, text: chapter.content.clone() })
    });
    Ok(chapters.collect())
}
