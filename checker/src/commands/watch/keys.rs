//! Keys: single ones on a screen, lines where there is none.

use std::io::BufRead;
use std::sync::mpsc::Sender;

use crossterm::event::{Event as Terminal, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Event;

/// Something that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Hint,
    List,
    Next,
    Timeline,
    Run,
    Quit,
    /// Back to the report.
    Back,
    /// The thing that the cursor is on.
    Choose,
    /// The exercise of this name.
    Named(String),
    Up,
    Down,
    PageUp,
    PageDown,
    /// A letter that stands for nothing.
    Unknown(char),
}

/// Sends keys, and that the terminal has another size.
pub(super) fn from_terminal(sender: Sender<Event>) {
    std::thread::spawn(move || {
        loop {
            let event = match crossterm::event::read() {
                Ok(Terminal::Key(key)) if key.kind != KeyEventKind::Release => {
                    pressed(key).map(Event::Key)
                }
                Ok(Terminal::Resize(..)) => Some(Event::Resized),
                Ok(_) => None,
                Err(_) => Some(Event::KeyboardGone),
            };
            let Some(event) = event else { continue };
            let is_last = matches!(event, Event::KeyboardGone);
            if sender.send(event).is_err() || is_last {
                return;
            }
        }
    });
}

fn pressed(key: KeyEvent) -> Option<Key> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c' | 'd') => Some(Key::Quit),
            _ => None,
        };
    }
    Some(match key.code {
        KeyCode::Char(letter) => of_letter(letter),
        KeyCode::Esc | KeyCode::Backspace => Key::Back,
        KeyCode::Enter => Key::Choose,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    })
}

fn of_letter(letter: char) -> Key {
    match letter {
        'h' => Key::Hint,
        'l' => Key::List,
        'n' => Key::Next,
        't' => Key::Timeline,
        'r' => Key::Run,
        'q' => Key::Quit,
        'k' => Key::Up,
        'j' => Key::Down,
        ' ' => Key::PageDown,
        other => Key::Unknown(other),
    }
}

/// Sends what is typed in lines: a letter, or the name of an exercise.
pub(super) fn from_lines(sender: Sender<Event>) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let Some(key) = of_line(line.trim()) else { continue };
            if sender.send(Event::Key(key)).is_err() {
                return;
            }
        }
        _ = sender.send(Event::KeyboardGone); // nobody listens after the end
    });
}

fn of_line(line: &str) -> Option<Key> {
    let mut letters = line.chars();
    match (letters.next(), letters.next()) {
        (None, _) => None,
        (Some(letter), None) if letter.is_alphabetic() => Some(of_letter(letter)),
        _ => Some(Key::Named(line.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_letter_or_the_name_of_an_exercise() {
        assert_eq!(of_line("h"), Some(Key::Hint));
        assert_eq!(of_line("three_lanes"), Some(Key::Named("three_lanes".to_owned())));
        assert_eq!(of_line("7"), Some(Key::Named("7".to_owned())));
        assert_eq!((of_line(""), of_line("z")), (None, Some(Key::Unknown('z'))));
    }

    #[test]
    fn ctrl_c_quits_and_other_chords_do_nothing() {
        let chord = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        assert_eq!(pressed(chord('c')), Some(Key::Quit));
        assert_eq!(pressed(chord('h')), None);
    }
}
