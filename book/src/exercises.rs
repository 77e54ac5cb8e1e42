//! The exercises, as far as pages show them: their programs and what their puzzles ask.
//! `exercise.toml` in the folder of each says so; the checker reads it too, and refuses what it
//! does not know.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use toml::Spanned;
use trace::numbers::{self, Numbers};

use crate::problem::{Problem, Problems, Reach, line_at};

/// Where they are, from the book's folder.
const FOLDER: &str = "../exercises";

/// The manifest of each, in its folder.
pub const MANIFEST: &str = "exercise.toml";

/// One exercise.
#[derive(Clone, Debug)]
pub struct Exercise {
    /// Its name.
    pub id: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The puzzle's programs, in order.
    pub programs: Vec<Program>,
    /// The title above the timeline of its baseline; none where no page shows it.
    pub baseline: Option<String>,
    /// The question of its puzzle.
    pub puzzle: Option<Puzzle>,
}

/// The question of a puzzle, which the checker asks too.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Puzzle {
    /// Its name.
    pub id: String,
    /// The form of the expected answer.
    pub form: Form,
    /// The question itself.
    pub ask: String,
    /// Whether the order of its items means something.
    #[serde(default)]
    pub in_order: bool,
    /// The items to put in order, or to choose from.
    pub item: Vec<Item>,
}

/// A sort of answer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Places, the fastest first; the same place twice is a tie.
    Ranking,
    /// One of several.
    Choice,
    /// An instant on a timeline that is yet empty; a page alone can ask for one.
    Mark,
}

/// Something that can be put in order, or chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its text.
    pub text: String,
    /// One of the exercise's programs.
    pub program: Option<String>,
    /// Whether this is what happens.
    #[serde(default)]
    pub right: bool,
    /// Why it does not happen.
    pub why: Option<String>,
}

/// A program of a puzzle.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name for `--program`.
    pub name: String,
    /// The title above its timeline.
    pub title: String,
    /// Its file, in the exercise's folder.
    pub file: String,
    /// The numbers that tell it from other programs of that file.
    pub numbers: Numbers,
    /// The line of the manifest that names it.
    pub line: usize,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    programs: Vec<Spanned<Named>>,
    baseline: Option<String>,
    puzzle: Option<Puzzle>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    title: String,
    example: Option<String>,
    #[serde(default)]
    numbers: Numbers,
}

/// All exercises beside the book in `root`, by name; there may be none.
pub fn read(root: &Path) -> Result<BTreeMap<String, Exercise>> {
    let mut exercises = BTreeMap::new();
    let folders = std::fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, id)) = name.split_once('_') else { continue };
        let path = folder.join(MANIFEST);
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let Manifest { programs, baseline, puzzle } = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| line_at(&text, span.start));
            Problems(vec![Problem::new(root, &path, line, error.message().to_owned())], Reach::Part)
        })?;
        let program = |named: Spanned<Named>| {
            let line = line_at(&text, named.span().start);
            let Named { name, title, example, numbers } = named.into_inner();
            let file = format!("examples/{id}_{}.rs", example.as_ref().unwrap_or(&name));
            Program { name, title, file, numbers, line }
        };
        let exercise = Exercise {
            id: id.to_owned(),
            programs: programs.into_iter().map(program).collect(),
            baseline,
            puzzle,
            folder,
        };
        exercises.insert(id.to_owned(), exercise);
    }
    Ok(exercises)
}

impl Exercise {
    /// The program that `--program` calls `name`.
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// The text of one of its files as `program` has it, with the program's own numbers.
    pub fn source(&self, program: &Program, file: &str) -> Result<String, String> {
        let path = self.folder.join(file);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        Ok(numbers::filled(&text, &program.numbers))
    }
}
