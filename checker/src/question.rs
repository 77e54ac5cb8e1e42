//! The question of an exercise's puzzle, and its answers. It stands under `[puzzle]` in
//! `exercise.toml`; the book shows it too, from the same place.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use trace::shuffle;

/// A question.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Its name, of which the book makes an address.
    pub id: String,
    /// The sort of answer that is expected.
    pub form: Form,
    /// The question itself.
    pub ask: String,
    /// Whether the order of its items means something: then they are shown as they stand.
    #[serde(default)]
    pub in_order: bool,
    /// Items to be put in order, or chosen from.
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
    /// Its words.
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

/// An answer: of a ranking the place of each item, of a choice the number of the item, from 1.
/// Items are counted as they stand in the file, whatever order they are shown in.
pub type Answer = Vec<u32>;

impl Question {
    /// Whether it can be answered, and decided by `programs`.
    pub fn check(&self, programs: &[&str]) -> Result<()> {
        if !(2..=LETTERS.len()).contains(&self.items.len()) {
            bail!("it needs between 2 and {} items", LETTERS.len());
        }
        for Item { text, program, right, why } in &self.items {
            match (self.form, program) {
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
        let right = self.items.iter().filter(|item| item.right).count();
        if self.form == Form::Choice && right != 1 {
            bail!("one item of a choice has to be `right`");
        }
        Ok(())
    }

    /// Items in the order in which they are shown, as in the book: the first is `a`. With each goes
    /// its place in the file.
    pub fn shown(&self) -> impl Iterator<Item = (usize, &Item)> {
        let order = shuffle::order(&self.id, self.items.len(), self.in_order);
        order.into_iter().filter_map(|at| Some((at, self.items.get(at)?)))
    }

    /// The question with its items, and how to answer.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.ask);
        for (letter, (_, item)) in LETTERS.chars().zip(self.shown()) {
            text.push_str(&format!("  {letter}  {}\n", item.text));
        }
        text.push('\n');
        text.push_str(match self.form {
            Form::Ranking => RANK,
            Form::Choice => CHOOSE,
        });
        text
    }

    /// Reads the answer in `text`, or says what is wrong with it.
    pub fn answer(&self, text: &str) -> Result<Answer, String> {
        let letters = &LETTERS[..self.items.len()];
        let order: Vec<usize> = self.shown().map(|(at, _)| at).collect();
        let known = |letter: char| {
            let at = letters.find(letter.to_ascii_lowercase());
            let at = at.and_then(|place| order.get(place).copied());
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
            .zip(&order)
            .filter(|(_, at)| answer[**at].is_none())
            .map(|(letter, _)| letter)
            .collect();
        if !missing.is_empty() {
            return Err(format!("`{missing}` is missing; every letter has a place"));
        }
        Ok(answer.into_iter().flatten().collect())
    }

    /// The programs that decide it.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter_map(|item| item.program.as_deref())
    }
}

/// Letters of the items.
const LETTERS: &str = "abcdefghij";

const RANK: &str =
    "the fastest first, `=` between those that take equally long, such as `b a=c d`: ";

const CHOOSE: &str = "the letter of what you expect: ";

#[cfg(test)]
mod tests {
    use super::*;

    const RANKING: &str = r#"
id = "rank"
form = "ranking"
ask = "Which is first?"
item = [{ text = "one", program = "p" }, { text = "two", program = "q" }, { text = "three", program = "r" }]
"#;

    const CHOICE: &str = r#"
id = "why"
form = "choice"
ask = "Why?"
item = [{ text = "so", right = true }, { text = "or so", why = "no" }]
"#;

    fn question(text: &str) -> Question {
        toml::from_str(text).expect("a question")
    }

    /// The ranking with its items as they stand.
    fn ranking() -> Question {
        question(&format!("in_order = true\n{RANKING}"))
    }

    #[test]
    fn letters_go_by_the_order_that_is_shown_and_answers_by_that_of_the_file() {
        let shuffled = question(RANKING);
        let shown: Vec<&str> = shuffled.shown().map(|(_, item)| &*item.text).collect();
        let texts = ["one", "two", "three"];
        let expected = shuffled_as(&shuffled).map(|at| texts[at]);
        assert_eq!(shown, expected.collect::<Vec<_>>());
        assert_ne!(shown, texts, "this name shuffles");
        assert!(
            shuffled
                .text()
                .contains(&format!("  a  {}\n  b  {}\n  c  {}\n", shown[0], shown[1], shown[2]))
        );
        // The item that is shown first, then second, then third.
        let mut places = vec![0; 3];
        shuffled_as(&shuffled).zip(1..).for_each(|(at, place)| places[at] = place);
        assert_eq!(shuffled.answer("a b c"), Ok(places));
        let missing = shuffled.answer("a c").unwrap_err();
        assert!(missing.starts_with("`b` is missing"), "{missing}");
        let choice = question(CHOICE);
        let first = shuffled_as(&choice).next().expect("an item") as u32;
        assert_eq!(choice.answer("a"), Ok(vec![first + 1]));
    }

    fn shuffled_as(question: &Question) -> impl Iterator<Item = usize> + use<> {
        shuffle::shuffled(&question.id, question.items.len()).into_iter()
    }

    #[test]
    fn an_order_gives_each_item_its_place_and_ties_share_one() {
        let ranking = ranking();
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
        let ranking = ranking();
        for (text, why) in [
            ("a b", "`c` is missing; every letter has a place"),
            ("a b b c", "`b` is there twice"),
            ("a b x", "there is no `x`; the letters are `abc`"),
            ("", "`abc` is missing; every letter has a place"),
        ] {
            assert_eq!(ranking.answer(text), Err(why.to_owned()), "{text}");
        }
        let choice = question(&format!("in_order = true\n{CHOICE}"));
        assert_eq!(choice.answer("b\n"), Ok(vec![2]));
        assert_eq!(choice.answer("ab"), Err("one letter is the answer".to_owned()));
    }

    #[test]
    fn a_question_that_cannot_be_decided_is_refused() {
        assert!([RANKING, CHOICE].iter().all(|it| question(it).check(&["p", "q", "r"]).is_ok()));
        for (text, from, to, why) in [
            (RANKING, "program = \"q\"", "program = \"x\"", "there is no program `x`"),
            (RANKING, ", program = \"q\"", "", "`two` needs a `program`"),
            (RANKING, "\"two\"", "\"two\", right = true", "the programs say what is right"),
            (CHOICE, ", why = \"no\"", "", "each item that is not `right` says `why`"),
            (CHOICE, "right = true", "why = \"no\"", "one item of a choice has to be `right`"),
            (CHOICE, "right = true", "program = \"p\"", "has no `program`"),
        ] {
            let text = text.replace(from, to);
            let error = question(&text).check(&["p", "q", "r"]).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
