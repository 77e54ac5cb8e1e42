//! Words, numbers and signs.

use super::mistake::{At, Mistake};
use super::number::Number;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A word as it stands in the text.
    Word(String),
    Number(Number),
    Sign(char),
    /// The end of a line, or a semicolon.
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: At,
}

/// The tokens of a text; each line ends with an [`Kind::End`].
pub(super) fn tokens(text: &str) -> (Vec<Token>, Vec<Mistake>) {
    let mut lexer = Lexer::default();
    for (line, text) in (1..).zip(text.lines()) {
        lexer.line(line, text);
    }
    (lexer.tokens, lexer.mistakes)
}

#[derive(Default)]
struct Lexer {
    tokens: Vec<Token>,
    mistakes: Vec<Mistake>,
}

impl Lexer {
    fn line(&mut self, line: u32, text: &str) {
        let letters: Vec<char> = text.chars().collect();
        let mut place = 0;
        while place < letters.len() {
            let at = At { line, column: place as u32 + 1 };
            let run = |is: fn(char) -> bool| {
                letters[place..].iter().copied().take_while(|&it| is(it)).collect::<String>()
            };
            let (letter, next) = (letters[place], letters.get(place + 1).copied());
            let mut length = 1;
            let kind = match letter {
                '#' => break,
                '/' if next == Some('/') => break,
                '-' if next == Some('>') => {
                    length = 2;
                    Kind::Word("to".to_owned())
                }
                '→' => Kind::Word("to".to_owned()),
                ';' => Kind::End,
                '{' | '}' | '(' | ')' | '[' | ']' | ':' | ',' | '=' | '+' | '-' | '*' | '/'
                | '%' => Kind::Sign(letter),
                '0'..='9' => {
                    let digits = run(|it| it.is_ascii_digit() || it == '_' || it == '.');
                    length = digits.len();
                    match Number::read(&digits) {
                        Some(number) => Kind::Number(number),
                        None => {
                            let text =
                                "this number has too many digits; six after the point are read";
                            self.mistakes.push(Mistake::new(at, text));
                            place += length;
                            continue;
                        }
                    }
                }
                _ if is_of_word(letter) => {
                    let word = run(is_of_word);
                    length = word.chars().count();
                    Kind::Word(word)
                }
                _ if letter.is_whitespace() => {
                    place += 1;
                    continue;
                }
                _ => {
                    let text = format!("`{letter}` means nothing here; leave it out");
                    self.mistakes.push(Mistake::new(at, text));
                    place += 1;
                    continue;
                }
            };
            self.tokens.push(Token { kind, at });
            place += length;
        }
        let at = At { line, column: letters.len() as u32 + 1 };
        self.tokens.push(Token { kind: Kind::End, at });
    }
}

/// Letters of ASCII, digits and `_`, and the two signs for micro.
fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | 'µ' | 'μ')
}
