//! The search index of the finished pages. mdBook's own holds all text: that below a gate, the
//! tooltips of drawings and the tables that repeat them. Here it is made again without these.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use elasticlunr::IndexBuilder;
use serde_json::Value;

use crate::proof::element::{Token, tokens};

/// mdBook leaves longer words out too.
const LONGEST_WORD: usize = 80;
/// Headings deeper than this begin no entry of their own, as `book.toml` says.
const DEEPEST: u8 = b'3';

/// Elements that hold nothing to be found, by name.
const SKIPPED: [&str; 3] = ["script", "style", "svg"];
/// The same, by class: what a gate keeps, answers, and what repeats a drawing.
const SKIPPED_CLASSES: [&str; 7] =
    ["gated", "reveal", "answer", "timeline-more", "timeline-totals", "instrument", "hidden-text"];
/// Elements that no end tag closes.
const VOID: [&str; 6] = ["br", "hr", "img", "input", "wbr", "link"];

/// A part of a page that is found as one.
#[derive(Debug, Default)]
struct Entry {
    address: String,
    heading: String,
    body: String,
    breadcrumbs: String,
}

/// Makes the index of the pages in `folder` again.
pub fn index(folder: &Path) -> Result<()> {
    let entries = std::fs::read_dir(folder).context("cannot list the pages")?;
    let name = |name: &str| name.starts_with("searchindex") && name.ends_with(".js");
    let mut files = entries.flatten().map(|entry| entry.path());
    let Some(file) =
        files.find(|file| file.file_name().is_some_and(|file| name(&file.to_string_lossy())))
    else {
        return Ok(()); // this book has no search
    };
    let text = std::fs::read_to_string(&file).context("cannot read the search index")?;
    let begin = text.find("JSON.parse('").context("no search index as mdBook writes it")?;
    let begin = begin + "JSON.parse('".len();
    let end = text.rfind("')").context("no search index as mdBook writes it")?;
    let json = text[begin..end].replace("\\'", "'").replace("\\\\", "\\");
    let mut kept: Value = serde_json::from_str(&json).context("the search index is not JSON")?;

    let mut index = IndexBuilder::new()
        .add_field_with_tokenizer("title", Box::new(words))
        .add_field_with_tokenizer("body", Box::new(words))
        .add_field_with_tokenizer("breadcrumbs", Box::new(words))
        .build();
    let mut addresses = Vec::new();
    for (page, title) in pages(&kept) {
        let html = std::fs::read_to_string(folder.join(&page))
            .with_context(|| format!("cannot read `{page}`"))?;
        for entry in parts(&page, &title, &html) {
            let number = addresses.len().to_string();
            index.add_doc(&number, [&entry.heading, &entry.body, &entry.breadcrumbs]);
            addresses.push(Value::String(entry.address));
        }
    }
    kept["index"] = serde_json::to_value(&index).context("cannot write the search index")?;
    kept["doc_urls"] = Value::Array(addresses);
    let json = kept.to_string().replace('\\', "\\\\").replace('\'', "\\'");
    let text = format!("{}{json}{}", &text[..begin], &text[end..]);
    std::fs::write(&file, text).context("cannot write the search index")
}

/// The pages that mdBook's index has, in its order, and what each is called.
fn pages(kept: &Value) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    let addresses = kept["doc_urls"].as_array().into_iter().flatten();
    for (number, address) in addresses.enumerate() {
        let address = address.as_str().unwrap_or_default();
        let page = address.split('#').next().unwrap_or_default();
        if pages.iter().any(|(known, _)| known == page) {
            continue;
        }
        let doc = &kept["index"]["documentStore"]["docs"][number.to_string()];
        let crumbs = doc["breadcrumbs"].as_str().unwrap_or_default();
        let title = crumbs.split(" » ").next().unwrap_or_default();
        pages.push((page.to_owned(), title.to_owned()));
    }
    pages
}

/// As mdBook does it, so that what is typed finds the same words.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || c == '-')
        .filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD)
        .map(str::to_lowercase)
        .collect()
}

/// The parts of a page that a search finds: one for each heading.
fn parts(page: &str, title: &str, html: &str) -> Vec<Entry> {
    let main = html.split_once("<main>").map_or("", |(_, main)| main);
    let main = main.split_once("</main>").map_or(main, |(main, _)| main);
    let mut entries = vec![Entry { address: page.to_owned(), ..Entry::default() }];
    // Names of open elements inside one that is skipped.
    let mut skipped: Vec<String> = Vec::new();
    let mut in_heading = false;
    let mut crumbs: BTreeMap<u8, String> = BTreeMap::new();
    for token in tokens(main) {
        let entry = entries.last_mut().expect("there is one");
        match token {
            Token::Start(element) => {
                let class = element.get("class").unwrap_or_default();
                let skip = SKIPPED.contains(&&*element.name)
                    || class.split_whitespace().any(|class| SKIPPED_CLASSES.contains(&class));
                if !skipped.is_empty() || skip {
                    if !VOID.contains(&&*element.name) && !element.closed {
                        skipped.push(element.name);
                    }
                    continue;
                }
                match (heading(&element.name), element.get("id")) {
                    (Some(level), Some(id)) => {
                        crumbs.split_off(&level);
                        crumbs.insert(level, String::new());
                        let address = format!("{page}#{id}");
                        if entry.heading.is_empty() && entry.body.trim().is_empty() {
                            entry.address = address;
                        } else {
                            entries.push(Entry { address, ..Entry::default() });
                        }
                        in_heading = true;
                    }
                    _ if in_heading => entry.heading.push(' '),
                    _ => entry.body.push(' '),
                }
            }
            Token::End(name) if !skipped.is_empty() => {
                if let Some(at) = skipped.iter().rposition(|open| *open == name) {
                    skipped.truncate(at);
                }
            }
            Token::End(name) => {
                if let Some(level) = heading(&name) {
                    in_heading = false;
                    crumbs.insert(level, tidy(&entry.heading));
                    let path = crumbs.values().map(String::as_str);
                    let path: Vec<&str> = std::iter::once(title).chain(path).collect();
                    entry.breadcrumbs = path.join(" » ");
                }
            }
            Token::Text(text) if skipped.is_empty() => {
                if in_heading {
                    entry.heading.push_str(&text);
                } else {
                    entry.body.push_str(&text);
                }
            }
            Token::Text(_) => {}
        }
    }
    for entry in &mut entries {
        (entry.heading, entry.body) = (tidy(&entry.heading), tidy(&entry.body));
        if entry.heading.is_empty() {
            (entry.heading, entry.breadcrumbs) = (title.to_owned(), title.to_owned());
        }
    }
    entries.retain(|entry| !entry.body.is_empty() || entry.address.contains('#'));
    entries
}

/// With single spaces between words.
fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn heading(name: &str) -> Option<u8> {
    let level = name.strip_prefix('h')?.as_bytes();
    matches!(level, [b'1'..=DEEPEST]).then(|| level[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gate_keeps_and_what_a_drawing_says_is_not_found() {
        let html = "<main><h1 id=\"a\">A <a>b</a></h1><p>open<br>word</p><svg><g><title>tip</title></g></svg>\
                    <ul class=\"timeline-totals\"><li>total</li></ul><h2 id=\"c\">C</h2><p>more</p>\
                    <div class=\"gated\" data-key=\"k\"><script>x</script><p>hidden<img>still</p>\
                    <div><h2 id=\"d\">D</h2></div></div><p>after</p></main>";
        let found: Vec<_> = parts("p.html", "P", html)
            .into_iter()
            .map(|entry| [entry.address, entry.heading, entry.body, entry.breadcrumbs].join("|"))
            .collect();
        assert_eq!(found, ["p.html#a|A b|open word|P » A b", "p.html#c|C|more after|P » A b » C"]);
    }
}
