//! The part of `STYLE.md` that a program can check: words, and the length of sentences and pages.
//! `style.toml` says which, and which pages do not keep it yet.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::exercises;
use crate::page::fences;
use crate::problem::{Problem, Problems, Reach, line_at};
use crate::proof::prose::{self, Kind, Piece, Word};

/// The file that says what is checked.
pub const FILE: &str = "style.toml";
/// The pages that `checker explain` prints, from the book's folder.
const EXPLAIN: &str = "../checker/src/explain";

/// `style.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Style {
    /// Pages that wait for their rewriting: `proof` fails where any other does not keep all of it.
    #[serde(default)]
    pub waiting: BTreeSet<String>,
    /// Pages that give an answer away above its prediction, and wait for their mending.
    #[serde(default)]
    pub leaking: BTreeSet<String>,
    /// Of each package whose comments are looked at.
    #[serde(default)]
    pub(super) comments: BTreeMap<String, Counts>,
    /// Terms of a package that are right in its comments, though pages write others.
    #[serde(default)]
    pub(super) terms: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    instead: Vec<Instead>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    /// Words of one sentence.
    sentence_words: Option<usize>,
    /// Words of a sentence, the mean over a page.
    mean_sentence_words: Option<usize>,
    /// Words of a chapter before `## Exercise`.
    chapter_words: Option<usize>,
}

/// How many of each the comments of a package have, or may have.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct Counts {
    /// Doc comments that begin with "What".
    pub(super) what: usize,
    /// Words that stand for others.
    pub(super) words: usize,
    /// Sentences that are too long.
    pub(super) sentences: usize,
    /// Lines that are too wide.
    pub(super) lines: usize,
    /// Modules in a table of them that the file does not have.
    #[serde(default)]
    pub(super) modules: usize,
}

impl Counts {
    pub(super) fn each(self) -> [(&'static str, usize); 5] {
        [
            ("comments that begin with `What`", self.what),
            ("words that stand for others", self.words),
            ("sentences that are too long", self.sentences),
            ("lines that are too wide", self.lines),
            ("modules in tables that are not there", self.modules),
        ]
    }
}

/// Words that stand for others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Instead {
    of: String,
    write: String,
    /// Where they are right all the same.
    #[serde(default)]
    except: Vec<String>,
}

impl Style {
    /// Reads `style.toml`; a book without one has no rules.
    pub fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let style = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| line_at(&text, span.start));
            Problems(vec![Problem::new(root, &path, line, error.message().to_owned())], Reach::Part)
        })?;
        Ok(style)
    }

    /// The problems in the files of one page.
    pub fn check(&self, root: &Path, page: &Page) -> Vec<Problem> {
        let mut problems = Vec::new();
        for file in page.files() {
            let Ok(text) = std::fs::read_to_string(file) else { continue };
            let mut complain =
                |line, message: String| problems.push(Problem::new(root, file, line, message));
            let chapter = file.extension().is_some_and(|ending| ending == "md");
            let mut pieces = if chapter { prose::markdown(&text) } else { prose::toml(&text, 1) };
            if chapter {
                for kind in ["figure", "predict"] {
                    for fence in fences(&text, kind) {
                        pieces.extend(prose::toml(&fence.body, fence.line + 1));
                    }
                }
            }
            for piece in &pieces {
                let words = piece.words();
                self.words(&words, &mut complain);
                if piece.kind != Kind::Table {
                    self.sentences(&words, &mut complain);
                }
            }
            if chapter {
                self.page(&text, &pieces, &mut complain);
            }
        }
        problems
    }

    /// Words that stand for others.
    pub(super) fn words(&self, words: &[Word], complain: &mut impl FnMut(usize, String)) {
        let plain: Vec<(String, usize)> = words
            .iter()
            .filter(|word| !word.code)
            .flat_map(|word| split(&word.text).map(move |part| (part, word.line)))
            .collect();
        let at = |place: usize, phrase: &[String]| {
            plain.len() >= place + phrase.len()
                && phrase.iter().zip(&plain[place..]).all(|(word, (found, _))| word == found)
        };
        for Instead { of, write, except } in &self.instead {
            let phrase: Vec<String> = split(of).collect();
            let except: Vec<Vec<String>> =
                except.iter().map(|except| split(except).collect()).collect();
            for (place, (_, line)) in plain.iter().enumerate() {
                let excepted = except.iter().any(|except| {
                    let first = (place + phrase.len()).saturating_sub(except.len());
                    (first..=place).any(|first| {
                        at(first, except) && first + except.len() >= place + phrase.len()
                    })
                });
                if at(place, &phrase) && !excepted {
                    complain(*line, format!("`{of}`: write {write}"));
                }
            }
        }
    }

    pub(super) fn sentences(&self, words: &[Word], complain: &mut impl FnMut(usize, String)) {
        let most = self.limits.sentence_words.unwrap_or(usize::MAX);
        for sentence in sentences(words) {
            let count = sentence.iter().filter(|word| counts(word)).count();
            if count > most {
                let begin: Vec<&str> = sentence.iter().take(6).map(|word| &*word.text).collect();
                complain(
                    sentence[0].line,
                    format!(
                        "a sentence of {count} words, of at most {most}: {} …",
                        begin.join(" ")
                    ),
                );
            }
        }
    }

    /// Its length before the exercise, and the mean of its sentences.
    fn page(&self, text: &str, pieces: &[Piece], complain: &mut impl FnMut(usize, String)) {
        let (mut words, mut sentences_, mut total) = (0, 0, 0);
        let exercise = text.find("\n## Exercise");
        for piece in pieces.iter().filter(|piece| piece.kind != Kind::Caption) {
            let all = piece.words();
            let count = all.iter().filter(|word| counts(word)).count();
            if exercise.is_some_and(|at| piece.range.start < at) {
                words += count;
            }
            if matches!(piece.kind, Kind::Paragraph | Kind::Item) {
                total += count;
                sentences_ += sentences(&all).count();
            }
        }
        if let Some(most) = self.limits.chapter_words.filter(|most| words > *most) {
            complain(1, format!("{words} words before the exercise, of at most {most}"));
        }
        if let Some(most) = self.limits.mean_sentence_words
            && total > most * sentences_
        {
            let mean = total as f64 / sentences_ as f64;
            complain(1, format!("sentences of {mean:.1} words in the mean, of at most {most}"));
        }
    }
}

/// A word as it counts: a dash alone is none.
fn counts(word: &Word) -> bool {
    word.code || word.text.chars().any(char::is_alphanumeric)
}

fn sentences(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    words.split_inclusive(|word| word.last).filter(|sentence| sentence.iter().any(counts))
}

/// The words of a text in lower case, parted by whatever is neither a letter nor a digit.
pub(super) fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// A page: a chapter with its quiz and the manifest of its exercise, or one that `checker explain`
/// prints.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its name: a chapter's or a code.
    pub name: String,
    /// The chapter itself, or the code's page.
    pub text: PathBuf,
    others: Vec<PathBuf>,
}

impl Page {
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.text).chain(&self.others)
    }
}

/// All pages of the book in `root`, whose chapters are `chapters`.
pub fn pages(root: &Path, chapters: &[super::Chapter]) -> Vec<Page> {
    let folders = std::fs::read_dir(root.join("../exercises")).into_iter().flatten().flatten();
    let folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    let mut pages: Vec<Page> = chapters
        .iter()
        .map(|chapter| {
            let name = chapter.page.with_extension("").display().to_string();
            let mut others = vec![root.join(format!("quizzes/{name}.toml"))];
            let own = |folder: &&PathBuf| {
                let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                folder.split_once('_').is_some_and(|(_, exercise)| exercise == name)
            };
            if let Some(folder) = folders.iter().find(own) {
                others.push(folder.join(exercises::MANIFEST));
            }
            Page { name, text: chapter.file.clone(), others }
        })
        .collect();
    let explained = std::fs::read_dir(root.join(EXPLAIN)).into_iter().flatten().flatten();
    let mut explained: Vec<PathBuf> = explained.map(|entry| entry.path()).collect();
    explained.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    explained.sort();
    pages.extend(explained.into_iter().map(|text| {
        let name = text.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Page { name, text, others: Vec::new() }
    }));
    pages
}
