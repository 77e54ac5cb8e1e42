//! Pictures that other sites show beside a link to a page: its title and its first figure.

use std::fmt::Write as _;

use trace::draw::{self, Layout};

use crate::markup::escape;

/// Width and height of a card in px, as [Open Graph](https://ogp.me) pictures are shown.
const SIZE: (usize, usize) = (1200, 630);
/// The space around everything, in px.
const GAP: usize = 48;
/// Heights of a line of the title and of a line of text, in px.
const TITLE: usize = 62;
const TEXT: usize = 40;
/// Characters of the title and of the text that fit into a line.
const TITLE_CHARS: usize = 38;
const TEXT_CHARS: usize = 72;

/// The card of a page as SVG, with a line above its title, and its text where it has no figure.
pub fn card(above: &str, title: &str, text: &str, figure: Option<&Layout>) -> String {
    let (width, height) = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"system-ui,sans-serif\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let mut y = GAP + 20;
    write(&mut svg, y, "font-size=\"26\" fill=\"#555\"", above);
    for line in lines(title, TITLE_CHARS) {
        y += TITLE;
        write(&mut svg, y, "font-size=\"54\" font-weight=\"700\" fill=\"#1b1b1b\"", &line);
    }
    y += TEXT;
    let Some(layout) = figure else {
        for line in lines(text, TEXT_CHARS) {
            y += TEXT;
            write(&mut svg, y, "font-size=\"30\" fill=\"#333\"", &line);
        }
        return svg + "</svg>\n";
    };
    let drawing = draw::svg(layout, "card");
    let (wide, high) = (width - 2 * GAP, height - y - GAP / 2);
    let view = drawing.split_once("viewBox=\"").and_then(|(_, rest)| rest.split_once('"'));
    let view = view.map_or("", |(view, _)| view);
    // As large as there is room for, below the title.
    svg + &format!(
        "<svg x=\"{GAP}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" viewBox=\"{view}\" \
         preserveAspectRatio=\"xMidYMin meet\">{drawing}</svg>\n</svg>\n"
    )
}

/// Adds a line of text.
fn write(svg: &mut String, y: usize, look: &str, text: &str) {
    _ = writeln!(svg, "<text x=\"{GAP}\" y=\"{y}\" {look}>{}</text>", escape(text));
}

/// A text in lines of at most `most` characters, where no word is longer: three at most, and then
/// an ellipsis.
fn lines(text: &str, most: usize) -> Vec<String> {
    const MOST_LINES: usize = 3;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_full = lines.len() == MOST_LINES;
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) if is_full => {
                line.push('…');
                break;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_parted_between_words_and_ends_in_an_ellipsis() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("a b c d", 1), ["a", "b", "c…"]);
        assert_eq!(lines("", 7), Vec::<String>::new());
    }

    #[test]
    fn a_card_without_a_figure_has_its_text_and_escapes_it() {
        let card = card("Book", "Streams & <events>", "Two of them.", None);
        assert!(card.contains(">Streams &amp; &lt;events&gt;</text>"), "{card}");
        assert!(card.contains(">Two of them.</text>"), "{card}");
    }
}
