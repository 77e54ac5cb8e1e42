//! The chapter's puzzle: what an exercise asks before its programs have run, what somebody expects, and
//! what happens.
//!
//! `puzzle.toml` in the exercise's folder holds the question. The book shows it too, from the same file.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use trace::metrics::places;

use crate::exercise::{Exercise, Place};
use crate::handout;
use crate::progress::{Fingerprint, Progress};

/// Version of `puzzle.toml`; any other is refused.
const FORMAT: u32 = 1;

/// What somebody expects, beside what happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Beside {
    /// The place of the program that ran.
    Place {
        /// The one that was expected.
        predicted_place: u32,
        /// The one that it came to; none while other programs have yet to run.
        place: Option<usize>,
        /// Programs that there are.
        of: usize,
    },
    /// One of several.
    Choice {
        /// The one that was chosen.
        chosen: String,
        /// Whether it is what happens.
        right: bool,
    },
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place { predicted_place, place: None, of } => {
                write!(f, "place {predicted_place} of {of}; the others have yet to run")
            }
            Self::Place { predicted_place, place: Some(place), of } => {
                let came = match *predicted_place as usize == *place {
                    true => "and so it is".to_owned(),
                    false => format!("and it is {place}"),
                };
                write!(f, "place {predicted_place} of {of}, {came}")
            }
            Self::Choice { chosen, right: true } => write!(f, "right: {chosen}"),
            Self::Choice { chosen, right: false } => write!(f, "not so: {chosen}"),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    format: u32,
    /// Its name, of which the book makes an address.
    pub id: String,
    /// What sort of answer is expected.
    pub form: Form,
    /// The question itself.
    pub ask: String,
    /// What can be put in order, or chosen.
    #[serde(rename = "item")]
    pub items: Vec<Item>,
}

/// A sort of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// The programs in order, the fastest first; some may be equally fast.
    Ranking,
    /// One of several.
    Choice,
}

/// Something that can be put in order, or chosen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// What it is called.
    pub text: String,
    /// For a ranking: one of the exercise's programs.
    #[serde(default)]
    pub program: Option<String>,
    /// For a choice: whether this is what happens.
    #[serde(default)]
    pub right: bool,
    /// For a choice that is not: why it does not happen.
    #[serde(default)]
    pub why: Option<String>,
}

/// What somebody expects: of a ranking the place of each item, of a choice the number of the item, from 1.
pub type Answer = Vec<u32>;

impl Question {
    /// What `exercise` asks; none where it asks nothing.
    pub fn read(exercise: &Exercise) -> Result<Option<Self>> {
        let Place { folder, id, .. } = &exercise.place;
        let text = match std::fs::read_to_string(folder.join("puzzle.toml")) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).context("cannot read `puzzle.toml`"),
        };
        let programs: Vec<_> =
            exercise.manifest.programs.iter().map(|program| program.name.as_str()).collect();
        let question = Self::parse(&text, &programs);
        question.map(Some).with_context(|| format!("cannot read `puzzle.toml` of `{id}`"))
    }

    fn parse(text: &str, programs: &[&str]) -> Result<Self> {
        let question: Self = toml::from_str(text)?;
        if question.format != FORMAT {
            bail!("it is of format {}, and this checker reads format {FORMAT}", question.format);
        }
        if !(2..=LETTERS.len()).contains(&question.items.len()) {
            bail!("it needs between 2 and {} items", LETTERS.len());
        }
        for Item { text, program, right, why } in &question.items {
            match (question.form, program) {
                (Form::Ranking, Some(program)) if !programs.contains(&program.as_str()) => {
                    bail!("there is no program `{program}`");
                }
                (Form::Ranking, None) => bail!("`{text}` needs a `program`"),
                (Form::Ranking, Some(_)) if *right || why.is_some() => {
                    bail!("in a ranking the programs say what is right");
                }
                (Form::Choice, Some(_)) => bail!("an item of a choice has no `program`"),
                (Form::Choice, None) if *right == why.is_some() => {
                    bail!("each item that is not `right` says `why`, and no other does");
                }
                (Form::Ranking, Some(_)) | (Form::Choice, None) => {}
            }
        }
        let right = question.items.iter().filter(|item| item.right).count();
        if question.form == Form::Choice && right != 1 {
            bail!("one item of a choice has to be `right`");
        }
        Ok(question)
    }

    /// The question with its items, and how to answer.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.ask);
        for (letter, item) in LETTERS.chars().zip(&self.items) {
            text.push_str(&format!("  {letter}  {}\n", item.text));
        }
        text.push('\n');
        text.push_str(match self.form {
            Form::Ranking => RANK,
            Form::Choice => CHOOSE,
        });
        text
    }

    /// What `text` answers, or what is wrong with it.
    pub fn answer(&self, text: &str) -> Result<Answer, String> {
        let letters = &LETTERS[..self.items.len()];
        let known = |letter: char| {
            let at = letters.find(letter.to_ascii_lowercase());
            at.ok_or_else(|| format!("there is no `{letter}`; the letters are `{letters}`"))
        };
        if self.form == Form::Choice {
            let mut given = text.trim().chars();
            return match (given.next(), given.next()) {
                (Some(letter), None) => Ok(vec![known(letter)? as u32 + 1]),
                _ => Err("one letter is the answer".to_owned()),
            };
        }
        let mut answer: Vec<Option<u32>> = vec![None; self.items.len()];
        let (mut place, mut given, mut ties) = (0, 0, false);
        for letter in text.chars().filter(|letter| !letter.is_whitespace() && *letter != ',') {
            if letter == '=' {
                ties = true;
                continue;
            }
            let at = known(letter)?;
            given += 1;
            if !(ties && given > 1) {
                place = given;
            }
            ties = false;
            if answer[at].replace(place).is_some() {
                return Err(format!("`{letter}` is there twice"));
            }
        }
        let missing: String = letters
            .chars()
            .zip(&answer)
            .filter(|(_, place)| place.is_none())
            .map(|(letter, _)| letter)
            .collect();
        if !missing.is_empty() {
            return Err(format!("`{missing}` is missing; every letter has a place"));
        }
        Ok(answer.into_iter().flatten().collect())
    }

    /// What is kept of an answer, if it still answers this question.
    pub fn kept(&self, progress: &Progress, exercise: &str) -> Option<Answer> {
        let answer = progress.predicted(exercise, &self.id)?;
        let count = self.items.len();
        let numbers = match self.form {
            Form::Ranking => count,
            Form::Choice => 1,
        };
        let fits = answer.len() == numbers && answer.iter().all(|n| (1..=count as u32).contains(n));
        fits.then(|| answer.to_vec())
    }

    /// The programs that decide it.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| item.program.as_deref())
    }

    /// What was expected of a program, beside what happens; none where the question is not about it.
    pub fn beside(&self, answer: &Answer, program: &str, times: &Times<'_>) -> Option<Beside> {
        if self.form == Form::Choice {
            let item = self.items.get(*answer.first()? as usize - 1)?;
            return Some(Beside::Choice { chosen: item.text.clone(), right: item.right });
        }
        let at = self.programs().position(|it| it == program)?;
        let place = self.happened(times).and_then(|all| all.get(at).copied());
        Some(Beside::Place { predicted_place: *answer.get(at)?, place, of: self.items.len() })
    }

    /// The place of each program, as far as all of them have run.
    pub fn happened(&self, times: &Times<'_>) -> Option<Vec<usize>> {
        let times: Option<Vec<f64>> =
            self.programs().map(|it| times.took(it).map(|ns| ns as f64)).collect();
        times.filter(|times| !times.is_empty()).map(|times| places(&times))
    }
}

/// How long the programs of a puzzle take, as far as they have run under the conditions that hold now.
pub struct Times<'a> {
    /// What was reached.
    pub progress: &'a Progress,
    /// The exercise's name.
    pub exercise: &'a str,
    /// What the programs and their times depend on.
    pub conditions: Fingerprint,
}

impl Times<'_> {
    /// Nanoseconds that a program took when it ran under these conditions.
    pub fn took(&self, program: &str) -> Option<u64> {
        self.progress.took(self.exercise, program, self.conditions)
    }
}

/// What decides how long a program takes on the simulated device, besides its own text.
const DECIDING: [&str; 6] = [
    "checker/simulator/src",
    "checker/simulator/profiles",
    "checker/trace/src",
    "exercises/lab/src",
    "exercises/lab/kernels/src",
    "exercises/lab/kernels/ptx",
];

/// The conditions under which the puzzle's programs run in the workspace in `root`. Of the programs what was handed
/// out counts, as far as that is known: what somebody tries in them is no new puzzle.
pub fn conditions(root: &Path, place: &Place) -> Fingerprint {
    let mut contents = Vec::new();
    for folder in DECIDING {
        collect(&root.join(folder), &mut contents);
    }
    let prints = handout::record(root).ok().flatten().unwrap_or_default();
    let programs = place.folder.join("examples");
    for (path, print) in prints.iter().filter(|(path, _)| root.join(path).starts_with(&programs)) {
        contents.push(format!("{} {print}", path.display()).into_bytes());
    }
    Fingerprint::of_all(contents.iter().map(Vec::as_slice))
}

/// The names and contents of the files in a folder, in order.
fn collect(folder: &Path, contents: &mut Vec<Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, contents);
        } else if let Ok(bytes) = std::fs::read(&path) {
            contents.push(path.file_name().unwrap_or_default().as_encoded_bytes().to_vec());
            contents.push(bytes);
        }
    }
}

/// What the items are called.
const LETTERS: &str = "abcdefghij";

const RANK: &str =
    "the fastest first, `=` between those that take equally long, such as `b a=c d`: ";

const CHOOSE: &str = "the letter of what you expect: ";

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox::scratch::Scratch;

    const RANKING: &str = r#"
format = 1
id = "rank"
form = "ranking"
ask = "Which is first?"
item = [{ text = "one", program = "p" }, { text = "two", program = "q" }, { text = "three", program = "r" }]
"#;

    const CHOICE: &str = r#"
format = 1
id = "why"
form = "choice"
ask = "Why?"
item = [{ text = "so", right = true }, { text = "or so", why = "no" }]
"#;

    fn question(text: &str) -> Question {
        Question::parse(text, &["p", "q", "r"]).expect("a question")
    }

    #[test]
    fn an_order_gives_each_item_its_place_and_ties_share_one() {
        let ranking = question(RANKING);
        for (text, places) in [
            ("b a c", [2, 1, 3]),
            ("cab", [2, 3, 1]),
            ("B, a = c", [2, 1, 2]),
            ("a=b=c", [1, 1, 1]),
            ("a=c b", [1, 3, 1]),
        ] {
            assert_eq!(ranking.answer(text), Ok(places.to_vec()), "{text}");
        }
    }

    #[test]
    fn an_answer_that_is_none_says_what_it_lacks() {
        let ranking = question(RANKING);
        for (text, why) in [
            ("a b", "`c` is missing; every letter has a place"),
            ("a b b c", "`b` is there twice"),
            ("a b x", "there is no `x`; the letters are `abc`"),
            ("", "`abc` is missing; every letter has a place"),
        ] {
            assert_eq!(ranking.answer(text), Err(why.to_owned()), "{text}");
        }
        let choice = question(CHOICE);
        assert_eq!(choice.answer("b\n"), Ok(vec![2]));
        assert_eq!(choice.answer("ab"), Err("one letter is the answer".to_owned()));
    }

    #[test]
    fn other_conditions_make_another_puzzle_and_what_somebody_tries_does_not() {
        let folder = Scratch::new().expect("a folder");
        let root = folder.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let place = Place::of(root.join("exercises/01_swift")).expect("a place");
        let now = || conditions(root, &place);
        write("exercises/lab/src/lib.rs", "// a");
        let mut before = now();
        let mut is_another = || std::mem::replace(&mut before, now()) != now();
        write("exercises/01_swift/examples/swift_slow.rs", "// tried");
        assert!(!is_another());
        for (path, text) in [
            ("exercises/lab/src/lib.rs", "// b"),
            ("checker/simulator/profiles/h200.toml", "rate = 2"),
            (
                ".handed_out",
                "handed out 1\n00000000000000ff exercises/01_swift/examples/swift_slow.rs\n",
            ),
        ] {
            write(path, text);
            assert!(is_another(), "{path}");
        }
        write(
            ".handed_out",
            "handed out 1\n00000000000000fe exercises/01_swift/examples/swift_slow.rs\n",
        );
        assert!(is_another());
    }

    #[test]
    fn a_question_that_cannot_be_decided_is_refused() {
        for (text, from, to, why) in [
            (RANKING, "format = 1", "format = 2", "of format 2"),
            (RANKING, "program = \"q\"", "program = \"x\"", "there is no program `x`"),
            (RANKING, ", program = \"q\"", "", "`two` needs a `program`"),
            (RANKING, "\"two\"", "\"two\", right = true", "the programs say what is right"),
            (CHOICE, ", why = \"no\"", "", "each item that is not `right` says `why`"),
            (CHOICE, "right = true", "why = \"no\"", "one item of a choice has to be `right`"),
            (CHOICE, "right = true", "program = \"p\"", "has no `program`"),
        ] {
            let text = text.replace(from, to);
            let error = Question::parse(&text, &["p", "q", "r"]).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
