//! The head of a page, for sites that show a link to it: its own description, and title,
//! description and picture as [Open Graph](https://ogp.me) has them.

use std::path::Path;

use anyhow::{Context, Result};
use mdbook_driver::MDBook;
use mdbook_markdown::pulldown_cmark::{Event, Tag, TagEnd};

use crate::markup::escape;
use crate::page::events;
use crate::records::Records;
use crate::{cards, figure};

/// The part of a description that search engines show, in characters.
const LONGEST: usize = 160;

/// The folder of the pages' pictures.
const CARDS: &str = "cards";

/// Describes the pages in `folder`, each by its first paragraph. The first page keeps the
/// description of the book.
///
/// Where `site-url` is a whole address, each page gets a card too: links to pictures have to be
/// whole. It is written as SVG; the PNG that the page names is made of it where the book is
/// published, in `.github/workflows/book.yml`.
pub fn describe(book: &MDBook, records: &Records, folder: &Path) -> Result<()> {
    let whole = book.config.book.description.clone().unwrap_or_default();
    let site = book.config.book.title.clone().unwrap_or_default();
    let address = book.config.html_config().and_then(|html| html.site_url);
    let address = address.filter(|address| address.contains("://"));
    for (number, chapter) in book.book.chapters().enumerate() {
        let Some(path) = &chapter.path else { continue };
        // The first page stands for the book.
        let (title, described) = match number {
            0 => (&site, whole.clone()),
            _ => (&chapter.name, description(&chapter.content).unwrap_or_else(|| whole.clone())),
        };
        let mut tags = vec![
            ("og:title", title.clone()),
            ("og:description", described.clone()),
            ("og:type", "article".to_owned()),
            ("og:site_name", site.clone()),
        ];
        if let Some(address) = &address {
            let address = address.trim_end_matches('/');
            let page = path.with_extension("html");
            let picture = Path::new(CARDS).join(path.with_extension("png"));
            let figure = figure::first(records, &chapter.content);
            let above = if number == 0 { whole.split_inclusive('.').next() } else { Some(&*site) };
            let card = cards::card(above.unwrap_or(""), title, &described, figure.as_ref());
            write(&folder.join(CARDS).join(path.with_extension("svg")), &card)?;
            tags.push(("og:url", format!("{address}/{}", page.display())));
            tags.push(("og:image", format!("{address}/{}", picture.display())));
            tags.push(("twitter:card", "summary_large_image".to_owned()));
        }
        let mut pages = vec![folder.join(path.with_extension("html"))];
        if number == 0 {
            pages.push(folder.join("index.html")); // the same page again
        }
        for page in pages {
            rewrite(&page, &whole, &described, &tags)?;
        }
    }
    Ok(())
}

fn rewrite(page: &Path, whole: &str, own: &str, tags: &[(&str, String)]) -> Result<()> {
    let html = std::fs::read_to_string(page)
        .with_context(|| format!("cannot read `{}`", page.display()))?;
    let meta = |text: &str| format!("<meta name=\"description\" content=\"{}\">", escape(text));
    let tags = tags.iter().map(|(name, content)| {
        format!("\n        <meta property=\"{name}\" content=\"{}\">", escape(content))
    });
    let described = html.replacen(&meta(whole), &(meta(own) + &tags.collect::<String>()), 1);
    write(page, &described)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

/// The first paragraph that has no number to be filled in, as plain text: as many sentences as
/// there is room for.
fn description(text: &str) -> Option<String> {
    let mut paragraph: Option<String> = None;
    for (event, _) in events(text) {
        match event {
            Event::Start(Tag::Paragraph) => paragraph = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(paragraph) = &mut paragraph {
                    paragraph.push_str(&part);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(paragraph) = &mut paragraph {
                    paragraph.push(' ');
                }
            }
            Event::End(TagEnd::Paragraph) => {
                let text = paragraph.take().filter(|text| !text.contains("{{"));
                if let Some(text) = text.and_then(|text| shortened(&text)) {
                    return Some(text);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whole sentences of it, at most [`LONGEST`] characters; a first one that is longer loses its end.
fn shortened(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return None;
    }
    let fits = |text: &str| text.chars().count() <= LONGEST;
    if fits(&text) {
        return Some(text);
    }
    let mut ends = text.match_indices(['.', '?', '!']).map(|(at, _)| at + 1);
    let whole = ends.rfind(|&end| text[end..].starts_with(' ') && fits(&text[..end]));
    if let Some(end) = whole {
        return Some(text[..end].to_owned());
    }
    let spaces = text.match_indices(' ').map(|(at, _)| at);
    let end = spaces.take_while(|&at| text[..at].chars().count() < LONGEST).last()?;
    Some(format!("{}…", text[..end].trim_end_matches([',', ';', ':'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_described_by_whole_sentences_of_its_first_paragraph_without_numbers() {
        let page = "# T\n\nIt takes {{#value a makespan}}.\n\nTwo *jobs* of\n`n` parts. Why? ";
        assert_eq!(description(page).as_deref(), Some("Two jobs of n parts. Why?"));
        let long = format!("# T\n\nShort one. {} end.\n", "word ".repeat(60));
        assert_eq!(description(&long).as_deref(), Some("Short one."));
        let endless = description(&format!("# T\n\n{}\n", "word ".repeat(60))).expect("words");
        assert!(endless.ends_with("word…") && endless.chars().count() <= LONGEST, "{endless}");
        assert_eq!(description("# T\n"), None);
    }
}
