//! Comments in the sources: counts of what `STYLE.md` forbids, by package, which may only fall.
//!
//! `[comments]` of `style.toml` holds the counts of today. One more is an error, and one fewer has
//! to be written down there, so that it stays.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::problem::Problem;
use crate::proof::prose::{self, Kind};
use crate::proof::style::{Counts, FILE, Style};

/// The longest line of a comment, in columns.
const COLUMNS: usize = 100;

/// Counts and lists the problems in the comments of one package, in the folder above the book's.
pub(super) fn check(root: &Path, style: &Style, package: &str) -> Result<(Counts, Vec<Problem>)> {
    let folder = root.join("..").join(package).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files)?;
    let (mut counts, mut problems) = (Counts::default(), Vec::new());
    let terms = style.terms.get(package);
    for file in files {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read `{}`", file.display()))?;
        let comments = Comments::of(&text);
        let mut complain =
            |line, message: String| problems.push(Problem::new(root, &file, line, message));
        for line in comments.what {
            counts.what += 1;
            complain(
                line,
                "begins with `What`: write a verb for a function, a noun for all else".to_owned(),
            );
        }
        for (line, columns) in comments.wide {
            counts.lines += 1;
            complain(line, format!("a line of {columns} columns, of at most {COLUMNS}"));
        }
        for (line, module) in comments.gone {
            counts.modules += 1;
            complain(line, format!("there is no `mod {module}` in this file"));
        }
        for piece in prose::markdown(&comments.text) {
            let words = piece.words();
            style.words(&words, &mut |line, message| {
                if terms
                    .into_iter()
                    .flatten()
                    .any(|term| message.starts_with(&format!("`{term}`:")))
                {
                    return;
                }
                counts.words += 1;
                complain(line, message);
            });
            if piece.kind != Kind::Table {
                style.sentences(&words, &mut |line, message| {
                    counts.sentences += 1;
                    complain(line, message);
                });
            }
        }
    }
    problems.sort();
    Ok((counts, problems))
}

/// Where the counts are not those that `style.toml` allows.
pub(super) fn compared(root: &Path, style: &Style) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (package, allowed) in &style.comments {
        let (found, _) = check(root, style, package)?;
        for ((what, now), (_, most)) in found.each().into_iter().zip(allowed.each()) {
            let message = match now.cmp(&most) {
                std::cmp::Ordering::Equal => continue,
                std::cmp::Ordering::Greater => format!(
                    "`{package}` has {now} {what}, and {most} are allowed: `cargo run -p book -- proof --comments {package}` \
                     lists them"
                ),
                std::cmp::Ordering::Less => {
                    format!("`{package}` has {now} {what}, and no longer {most}: write {now}")
                }
            };
            problems.push(Problem::new(root, &root.join(FILE), None, message));
        }
    }
    Ok(problems)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") && !is_test {
            found.push(path);
        }
    }
    Ok(())
}

/// The comments of a file outside of its own tests.
#[derive(Default)]
struct Comments {
    /// Each on its line of the file; all other lines are empty.
    text: String,
    /// Lines on which a doc comment begins with "What".
    what: Vec<usize>,
    /// Lines that are too wide, and how wide.
    wide: Vec<(usize, usize)>,
    /// Modules that a table names and the file does not have.
    gone: Vec<(usize, String)>,
}

impl Comments {
    fn of(source: &str) -> Self {
        // Tests in a file of their own are left out by its name.
        let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let mut comments = Self::default();
        let mut before = "";
        let mut is_of_modules = false;
        for (number, line) in (1..).zip(source.lines()) {
            let trimmed = line.trim_start();
            let marker =
                ["//!", "///", "//"].into_iter().find(|marker| trimmed.starts_with(marker));
            let marker = marker.unwrap_or_default();
            let said =
                trimmed[marker.len()..].strip_prefix(' ').unwrap_or(&trimmed[marker.len()..]);
            // Comments of another kind are another text.
            let is_new = marker != before;
            let is_row = !marker.is_empty() && said.starts_with('|');
            is_of_modules = is_row && (is_of_modules || said.starts_with("| module |"));
            if !marker.is_empty() {
                if is_new && marker != "//" && said.starts_with("What ") {
                    comments.what.push(number);
                }
                let columns = line.chars().count();
                // Rows of tables and addresses cannot be parted.
                let is_whole = said.starts_with('|') || said.contains("://");
                if columns > COLUMNS && !is_whole {
                    comments.wide.push((number, columns));
                }
                // A row names it first: `[`name`](mod@name)`, or without a link.
                let named = said.split('`').nth(1).filter(|_| is_of_modules);
                if let Some(name) = named
                    && !source.contains(&format!("mod {name};"))
                {
                    comments.gone.push((number, name.to_owned()));
                }
                comments.text.push_str(said);
            }
            comments.text.push('\n');
            before = marker;
        }
        comments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! What it is.\n//! What follows is no beginning.\n\n/// A lane.\nfn f() {\n    \
                          // What is not documentation.\n    let s = \"// What\";\n}\n\n#[cfg(test)]\nmod tests {\n    \
                          /// What is tested.\n}\n";

    #[test]
    fn comments_are_found_with_their_lines_and_neither_in_code_nor_in_tests() {
        let comments = Comments::of(SOURCE);
        assert_eq!(comments.what, [1]);
        let lines: Vec<_> = comments.text.lines().collect();
        let said = [
            "What it is.",
            "What follows is no beginning.",
            "",
            "A lane.",
            "",
            "What is not documentation.",
        ];
        assert_eq!(lines[..6], said);
        assert!(lines[6..].iter().all(|line| line.is_empty()), "{lines:?}");
    }

    #[test]
    fn a_line_is_measured_with_its_margin_and_its_marker() {
        let line = |columns: usize| format!("    // {}", "x".repeat(columns - 7));
        assert_eq!(Comments::of(&line(COLUMNS)).wide, []);
        assert_eq!(Comments::of(&line(COLUMNS + 1)).wide, [(1, COLUMNS + 1)]);
    }

    #[test]
    fn comments_after_the_line_that_names_tests_in_a_file_of_their_own_count_too() {
        let source = "#[cfg(test)]\nmod tests;\n\n/// What it is.\nfn f() {}\n";
        assert_eq!(Comments::of(source).what, [4]);
    }

    #[test]
    fn a_table_of_modules_names_those_that_the_file_has() {
        let table = "//! | module | what |\n//! | --- | --- |\n//! | [`pool`](mod@pool) | water |\n\
                     //! | `lane` | a part of `pool` |\n\n/// | `slot` |\nmod pool;\n";
        assert_eq!(Comments::of(table).gone, [(4, "lane".to_owned())]);
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }

    #[test]
    fn a_term_of_a_package_is_right_there_and_no_other_word_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("book");
        let write = |name: &str, text: &str| write(folder.path(), name, text);
        write("lake/src/lib.rs", "//! A slot of a lane.\n");
        write("pond/src/lib.rs", "//! A slot of a lane.\n");
        let words = "[terms]\nlake = [\"slot\"]\n\n[[instead]]\nof = \"slot\"\nwrite = \"buffer\"\n\n\
                     [[instead]]\nof = \"lane\"\nwrite = \"row\"\n";
        write("book/style.toml", words);
        let style = Style::read(&root).expect("a style");
        let count = |package| check(&root, &style, package).expect("a package").0.words;
        assert_eq!((count("lake"), count("pond")), (1, 2));
    }

    #[test]
    fn one_more_than_is_allowed_is_an_error_and_one_fewer_has_to_be_written_down() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("book");
        let write = |name: &str, text: &str| write(folder.path(), name, text);
        write("lake/src/lib.rs", "//! What it is.\n\n/// What it does.\nfn f() {}\n");
        let said = |what: usize| {
            let counts =
                format!("[comments.lake]\nwhat = {what}\nwords = 0\nsentences = 0\nlines = 0\n");
            write("book/style.toml", &counts);
            let style = Style::read(&root).expect("a style");
            let found = compared(&root, &style).expect("a package");
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(said(2), [""; 0]);
        assert_eq!(
            said(1),
            [
                "book/style.toml: `lake` has 2 comments that begin with `What`, and 1 are allowed: `cargo run -p book -- \
              proof --comments lake` lists them"
            ]
        );
        assert_eq!(
            said(3),
            [
                "book/style.toml: `lake` has 2 comments that begin with `What`, and no longer 3: write 2"
            ]
        );
    }
}
