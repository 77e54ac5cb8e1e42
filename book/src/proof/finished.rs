//! The pages as they were built: links, ids, references, and what a page asks of other origins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::playground::editor;
use crate::problem::{Problem, line_at, tidy};
use crate::proof::Chapter;
use crate::proof::element::{Element, elements};

/// Attributes that name ids of their own page.
const REFERENCES: [&str; 6] =
    ["aria-labelledby", "aria-describedby", "aria-controls", "aria-owns", "for", "list"];
/// A reference of mdBook's own that leads nowhere.
const STALE: &str = "searchresults-header";

/// All chapters on one page.
const PRINTED: &str = "print.html";

struct Page {
    /// Its file, relative to the site.
    name: PathBuf,
    elements: Vec<Element>,
    ids: BTreeSet<String>,
}

/// Checks the site in `folder`. The number of its pages.
pub fn check(
    root: &Path,
    folder: &Path,
    chapters: &[Chapter],
    problems: &mut Vec<Problem>,
) -> Result<usize> {
    let mut pages = BTreeMap::new();
    let mut sheets = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let entries = std::fs::read_dir(&next)
            .with_context(|| format!("cannot read `{}`", next.display()))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str());
            match ending {
                _ if path.is_dir() => folders.push(path),
                Some("html") => {
                    let page = read(folder, &path)?;
                    pages.insert(page.name.clone(), page);
                }
                Some("css") => sheets.push(path),
                _ => {}
            }
        }
    }
    let mut site = Site { root, folder, chapters, pages: &pages, problems };
    let printed = Path::new(PRINTED);
    let (whole, single): (Vec<&Page>, Vec<&Page>) = pages.values().partition(|p| p.name == printed);
    single.into_iter().for_each(|page| site.page(page));
    // It holds every chapter once more, and what is wrong in one would be said twice.
    if site.problems.is_empty() {
        whole.into_iter().for_each(|page| site.page(page));
    }
    for sheet in sheets {
        site.sheet(&sheet)?;
    }
    Ok(pages.len())
}

fn read(folder: &Path, path: &Path) -> Result<Page> {
    let html = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let elements = elements(&html);
    let ids = elements.iter().filter_map(|e| e.get("id")).map(str::to_owned).collect();
    Ok(Page { name: path.strip_prefix(folder).unwrap_or(path).to_owned(), elements, ids })
}

struct Site<'a> {
    root: &'a Path,
    folder: &'a Path,
    chapters: &'a [Chapter],
    pages: &'a BTreeMap<PathBuf, Page>,
    problems: &'a mut Vec<Problem>,
}

impl Site<'_> {
    fn page(&mut self, page: &Page) {
        self.ids(page);
        for element in &page.elements {
            self.references(page, element);
            self.addresses(page, element);
        }
    }

    /// Notes a problem where the author can mend it: in the line of the chapter that holds all of
    /// `words`, else in the page.
    fn complain(&mut self, page: &Page, line: usize, words: &[&str], message: String) {
        let index = Path::new("index.html");
        let source = match self.chapters.iter().find(|chapter| chapter.page == page.name) {
            None if page.name == index => self.chapters.first(),
            found => found,
        };
        let place = source.and_then(|chapter| {
            let holds = |line: &str| words.iter().all(|word| line.contains(word));
            Some((&chapter.file, chapter.text.lines().position(holds)? + 1))
        });
        let in_page = self.folder.join(&page.name);
        let (file, line) = place.unwrap_or((&in_page, line));
        self.problems.push(Problem::new(self.root, file, line, message));
    }

    fn ids(&mut self, page: &Page) {
        let mut seen = BTreeSet::new();
        for element in &page.elements {
            if let Some(id) = element.get("id")
                && !seen.insert(id)
            {
                self.complain(page, element.line, &[id], format!("the id `{id}` occurs twice"));
            }
        }
    }

    /// References to ids of the same page.
    fn references(&mut self, page: &Page, element: &Element) {
        for (key, value) in &element.attributes {
            let named = if REFERENCES.contains(&key.as_str()) {
                value.split_whitespace().collect()
            } else {
                value
                    .match_indices("url(#")
                    .map(|(at, _)| {
                        let rest = &value[at + "url(#".len()..];
                        rest.split(')').next().unwrap_or(rest)
                    })
                    .collect::<Vec<_>>()
            };
            for id in named {
                if !page.ids.contains(id) && id != STALE {
                    let message = format!("`{key}` names the id `{id}`, which this page lacks");
                    self.complain(page, element.line, &[id], message);
                }
            }
        }
    }

    /// Checks the addresses that an element leads to, or loads.
    fn addresses(&mut self, page: &Page, element: &Element) {
        for key in ["href", "src", "poster", "data", "action", "xlink:href"] {
            let Some(address) = element.get(key).map(str::trim) else { continue };
            let followed = matches!(element.name.as_str(), "a" | "area") && key == "href";
            if address.starts_with("data:") || address.starts_with("mailto:") {
                continue;
            }
            if address.contains("://") || address.starts_with("//") {
                if !followed {
                    let message =
                        format!("`{}` would load `{address}` from another origin", element.name);
                    self.complain(page, element.line, &[address], message);
                }
                continue;
            }
            self.link(page, element.line, address);
        }
    }

    fn link(&mut self, page: &Page, line: usize, address: &str) {
        let (path, fragment) = address.split_once('#').unwrap_or((address, ""));
        let path = path.split('?').next().unwrap_or(path);
        let target = match path {
            "" => page.name.clone(),
            path => tidy(&page.name.parent().unwrap_or(Path::new("")).join(path)),
        };
        let written = path.trim_end_matches(".html");
        if !self.folder.join(&target).is_file() {
            let message = format!("`{address}` leads to no page");
            self.complain(page, line, &[written], message);
        } else if let Some(found) = self.pages.get(&target)
            && !fragment.is_empty()
            && !found.ids.contains(fragment)
            // A program for its playground.
            && !(fragment.starts_with("p=") && found.ids.contains(editor::ID))
        {
            let message = format!("`{address}`: that page has no anchor `{fragment}`");
            self.complain(page, line, &[written, &format!("#{fragment}")], message);
        }
    }

    fn sheet(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        for start in ["url(", "@import"] {
            for (at, _) in text.match_indices(start) {
                let rest = text[at + start.len()..].trim_start_matches([' ', '"', '\'']);
                if rest.starts_with("http:") || rest.starts_with("https:") || rest.starts_with("//")
                {
                    let message = format!("`{start}` would load from another origin");
                    self.problems.push(Problem::new(self.root, path, line_at(&text, at), message));
                }
            }
        }
        Ok(())
    }
}
