//! The chapter that a new one starts as: files under `checker/author/template` that compile and
//! pass `dev check`, with a mark wherever an author has something to say. The rest of a chapter's
//! shape is in the files that list chapters.

use anyhow::{Context, Result, bail};

/// A new chapter's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Its place in the order.
    pub(crate) number: u32,
    /// The name of its folders, `NN_name`.
    pub(crate) folder: String,
    /// The name of its package.
    pub(crate) id: String,
    /// Its name on its page and in lists.
    title: String,
}

impl Names {
    /// Reads `NN_name`; what is wrong with it otherwise.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let shape = || format!("`{text}` is not `NN_name`, as in `05_events`");
        let (number, id) = text.split_once('_').ok_or_else(shape)?;
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = id.starts_with(|c: char| c.is_ascii_lowercase());
        if number.len() != 2 || !begins || !id.chars().all(is_word) || id.ends_with('_') {
            return Err(shape());
        }
        let number = number.parse().map_err(|_| shape())?;
        let mut title = id.replace('_', " ");
        title[..1].make_ascii_uppercase();
        Ok(Self { number, folder: text.to_owned(), id: id.to_owned(), title })
    }

    /// The same, with other words for a title than those of the name.
    pub(crate) fn titled(self, title: &str) -> Result<Self, String> {
        // It stands in strings of TOML, in a heading and in a link.
        if title.trim().is_empty() || title.contains(['"', '\\', '\n', '[', ']']) {
            return Err(format!(
                "`{title}` cannot be a title: it is empty, or has one of `\"\\[]` in it"
            ));
        }
        Ok(Self { title: title.trim().to_owned(), ..self })
    }

    /// The files of the chapter, by their paths from the workspace's folder.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        FILES.iter().map(|(path, text)| (self.fill(path), self.fill(text))).collect()
    }

    /// Its line in the table of contents.
    pub(crate) fn listed(&self) -> String {
        self.fill("- [Chapter title](chapter_name.md)")
    }

    fn fill(&self, text: &str) -> String {
        let text = text.replace("00_chapter_name", &self.folder);
        text.replace("chapter_name", &self.id).replace("Chapter title", &self.title)
    }
}

const FILES: &[(&str, &str)] = &[
    ("exercises/00_chapter_name/Cargo.toml", include_str!("../template/exercise_cargo.toml")),
    ("exercises/00_chapter_name/exercise.toml", include_str!("../template/exercise.toml")),
    (
        "exercises/00_chapter_name/.shipped/Cargo.toml",
        include_str!("../template/exercise_cargo.toml"),
    ),
    ("exercises/00_chapter_name/.shipped/exercise.toml", include_str!("../template/exercise.toml")),
    ("exercises/00_chapter_name/src/lib.rs", include_str!("../template/lib.rs")),
    ("exercises/00_chapter_name/.shipped/lib.rs", include_str!("../template/lib.rs")),
    ("exercises/00_chapter_name/src/main.rs", include_str!("../template/main.rs")),
    ("exercises/00_chapter_name/baseline.rs", include_str!("../template/baseline.rs")),
    (
        "exercises/00_chapter_name/examples/chapter_name_first.rs",
        include_str!("../template/first.rs"),
    ),
    (
        "exercises/00_chapter_name/examples/chapter_name_second.rs",
        include_str!("../template/second.rs"),
    ),
    ("solutions/00_chapter_name/Cargo.toml", include_str!("../template/solution_cargo.toml")),
    ("solutions/00_chapter_name/src/lib.rs", include_str!("../template/solution.rs")),
    ("solutions/00_chapter_name/src/main.rs", include_str!("../template/solution_main.rs")),
    ("exercises/lab/src/chapter_name.rs", include_str!("../template/lab.rs")),
    ("book/chapters/chapter_name.md", include_str!("../template/page.md")),
    ("book/quizzes/chapter_name.toml", include_str!("../template/quiz.toml")),
];

/// `text` with `line` inserted in order among the sorted lines that begin with `start`.
pub(crate) fn insert_sorted(text: &str, start: &str, line: &str) -> Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let ours = |index: &usize| lines[*index].starts_with(start);
    let listed: Vec<usize> = (0..lines.len()).filter(ours).collect();
    let before = listed.iter().rev().find(|&&index| lines[index] < line);
    let at = match (before, listed.first()) {
        (Some(index), _) => index + 1,
        (None, Some(first)) => *first,
        (None, None) => bail!("no line begins with `{start}`"),
    };
    Ok(insert(&lines, at, line))
}

/// `text` with `line` inserted after the last line that contains one of `before`, else before the
/// first that contains one of `after`, else at the end.
pub(crate) fn insert_between(
    text: &str,
    before: &[String],
    after: &[String],
    line: &str,
) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let holds = |words: &[String], line: &str| words.iter().any(|word| line.contains(word));
    let last = lines.iter().rposition(|line| holds(before, line)).map(|index| index + 1);
    let at = last.or_else(|| lines.iter().position(|line| holds(after, line)));
    insert(&lines, at.unwrap_or(lines.len()), line)
}

fn insert(lines: &[&str], at: usize, line: &str) -> String {
    let mut lines = lines.to_vec();
    lines.insert(at, line);
    lines.join("\n") + "\n"
}

/// The list of tasks with one more at its end.
pub(crate) fn with_task(text: &str, id: &str) -> Result<String> {
    let (head, rest) = text.split_once("\ntasks! {\n").context("there is no list of tasks")?;
    let (list, tail) = rest.split_once("\n}\n").context("the list of tasks has no end")?;
    let what = format!("WRITE: what `{id}` does with its arrays, and how long that takes");
    let task = format!("    /// {what}\n    {id} = mapped(4800, 125);");
    Ok(format!("{head}\ntasks! {{\n{list}\n{task}\n}}\n{tail}"))
}

/// The lab's `lib.rs` with one more module.
pub(crate) fn with_module(text: &str, id: &str) -> Result<String> {
    insert_sorted(text, "pub mod ", &format!("pub mod {id};"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_a_number_of_two_digits_and_a_word_of_rusts() {
        let names = Names::parse("05_two_streams").expect("it is one");
        assert_eq!(
            (names.number, names.id.as_str(), names.title.as_str()),
            (5, "two_streams", "Two streams")
        );
        for wrong in
            ["events", "5_events", "05_Events", "05_", "05_a-b", "xx_events", "05_1st", "05_a_"]
        {
            assert!(Names::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_title_is_whatever_can_stand_in_a_heading_and_in_a_string() {
        let titled = |title| Names::parse("05_events").and_then(|names| names.titled(title));
        let names = titled("Events: pass the baton").expect("it is one");
        assert_eq!(names.listed(), "- [Events: pass the baton](events.md)");
        for wrong in ["", " ", "a \"b\"", "a [b]", "a\nb"] {
            assert!(titled(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_file_keeps_a_name_of_the_model() {
        let names = Names::parse("05_events").expect("it is one");
        let mut all: Vec<String> = names.files().into_iter().flat_map(|(p, t)| [p, t]).collect();
        all.push(names.listed());
        for text in all {
            assert!(!text.to_lowercase().contains("chapter_name"), "{text}");
            assert!(!text.contains("Chapter title"), "{text}");
        }
    }

    #[test]
    fn a_line_is_put_where_it_belongs() {
        let text = "x\nmod b;\nmod d;\ny\n";
        let put = |line| insert_sorted(text, "mod ", line).expect("there are such lines");
        assert_eq!(put("mod a;"), "x\nmod a;\nmod b;\nmod d;\ny\n");
        assert_eq!(put("mod c;"), "x\nmod b;\nmod c;\nmod d;\ny\n");
        assert_eq!(put("mod e;"), "x\nmod b;\nmod d;\nmod e;\ny\n");
        assert!(insert_sorted(text, "pub ", "pub a").is_err());
    }

    #[test]
    fn a_page_comes_behind_the_last_chapter_before_it() {
        let text = "- [A](a.md)\n- [D](d.md)\n\n# Tools\n- [T](t.md)\n";
        let put = |before: &[&str], after: &[&str]| {
            let own =
                |names: &[&str]| names.iter().map(|n| format!("({n}.md)")).collect::<Vec<_>>();
            insert_between(text, &own(before), &own(after), "new")
        };
        assert!(put(&["a"], &["d"]).starts_with("- [A](a.md)\nnew\n"));
        assert!(put(&["x"], &["d"]).starts_with("- [A](a.md)\nnew\n"));
        assert!(put(&["a", "d"], &[]).starts_with("- [A](a.md)\n- [D](d.md)\nnew\n"));
    }
}
