//! Pages for a browser: one file each, without scripts, in the colours of the book.
//!
//! All markup is written in this program. Everything else enters as text, as the value of an
//! attribute, or as a drawing that has been checked.

use quick_xml::events::{BytesStart, Event};
use trace::draw::{self, Appearance};

use super::plain;
use super::points::Points;
use crate::record::Row;
use checker::grade::Verdict;
use trace::words::escape;

/// A page that is being written.
pub(super) struct Html {
    text: String,
}

/// How wide a page may become.
#[derive(Clone, Copy, Debug)]
pub(super) enum Width {
    /// As wide as lines can be read.
    Text,
    /// As wide as tables need.
    Tables,
}

/// An attribute and its value.
pub(super) type Attribute<'a> = (&'static str, &'a str);

impl Html {
    /// The head of a page and the beginning of its body.
    pub(super) fn new(title: &str, width: Width) -> Self {
        let mut page = Self { text: String::new() };
        page.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        page.put(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
        );
        page.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.put("<meta name=\"color-scheme\" content=\"light dark\">\n");
        page.put("<meta name=\"referrer\" content=\"no-referrer\">\n");
        page.element("title", &[], title);
        page.put("\n<style>\n").put(include_str!("page.css"));
        page.colours();
        page.put("</style>\n</head>\n<body>\n");
        page.put(match width {
            Width::Text => "<main>\n",
            Width::Tables => "<main class=\"wide\">\n",
        });
        page
    }

    /// Writes the colours of the drawings, from where they are drawn.
    fn colours(&mut self) {
        let [light, dark] = [Appearance::Light, Appearance::Dark].map(draw::theme);
        self.text += &format!(
            ":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n\
             @media print{{:root{{{light}}}}}\n{}",
            draw::sheet()
        );
    }

    /// Markup of ours.
    pub(super) fn put(&mut self, markup: &'static str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// Text in a line.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&escape(&plain::line(text)));
        self
    }

    /// Text with its lines.
    pub(super) fn lines(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&escape(&plain::lines(text)));
        self
    }

    pub(super) fn open(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) -> &mut Self {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            self.text.push_str(&escape(&plain::line(value)));
            self.text.push('"');
        }
        self.text.push('>');
        self
    }

    pub(super) fn close(&mut self, tag: &'static str) -> &mut Self {
        self.text.push_str("</");
        self.text.push_str(tag);
        self.text.push('>');
        self
    }

    /// An element with text in it.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute<'_>],
        text: &str,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// A part of a page with a bar that shows a share of ten thousand.
    pub(super) fn bar(&mut self, share: u32) -> &mut Self {
        let width = format!("width:{}.{:02}%", share / 100, share % 100);
        self.put("<span class=\"bar\" aria-hidden=\"true\">");
        self.open("span", &[("style", &width)]).put("</span></span>")
    }

    /// A verdict in its colour, with a sign that needs none.
    pub(super) fn verdict(&mut self, verdict: Verdict) -> &mut Self {
        let (class, sign) = signs(verdict);
        let class = format!("verdict {class}");
        self.open("span", &[("class", &class)]);
        self.put("<span aria-hidden=\"true\">").text(sign).put("</span> ");
        self.text(&verdict.to_string()).put("</span>")
    }

    /// A drawing, unless there is anything in it that a drawing of ours has not.
    pub(super) fn drawing(&mut self, svg: &str) -> &mut Self {
        match is_drawing(svg) {
            true => self.text.push_str(svg.trim_end()),
            false => {
                self.put("<p>The drawing is left out: it holds what a timeline has not.</p>");
            }
        }
        self
    }

    /// A part that scrolls sideways where it is too wide, which the keyboard can do too.
    pub(super) fn scroll(&mut self, label: &str) -> &mut Self {
        self.open(
            "div",
            &[("class", "scroll"), ("role", "region"), ("tabindex", "0"), ("aria-label", label)],
        )
    }

    pub(super) fn finish(mut self) -> String {
        self.put("</main>\n</body>\n</html>\n");
        self.text
    }
}

/// The class and the sign of a verdict.
pub(super) fn signs(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Passed => ("passed", "✓"),
        Verdict::Failed => ("failed", "✗"),
        Verdict::Rejected => ("rejected", "⊘"),
        Verdict::Inconclusive => ("inconclusive", "?"),
        Verdict::Error => ("error", "!"),
    }
}

/// The points of a row, or a dash.
pub(super) fn points(row: Option<&Row>) -> String {
    row.and_then(Points::of).map_or("–".to_owned(), |points| points.to_string())
}

/// Elements of a drawing.
const ELEMENTS: [&str; 10] =
    ["svg", "title", "style", "defs", "pattern", "rect", "path", "marker", "g", "text"];

/// Whether `svg` is one `svg` element that holds shapes and letters and nothing else: no script, no
/// address, nothing that HTML reads otherwise than XML.
fn is_drawing(svg: &str) -> bool {
    let mut reader = quick_xml::Reader::from_str(svg);
    let mut depth = 0_u32;
    let mut drawings = 0;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                if depth == 0 {
                    drawings += 1;
                }
                if !is_shape(&start, depth) {
                    return false;
                }
                depth += 1;
            }
            Ok(Event::Empty(start)) if depth > 0 => {
                if !is_shape(&start, depth) {
                    return false;
                }
            }
            Ok(Event::End(_)) => depth = depth.saturating_sub(1),
            Ok(Event::Text(text)) => {
                let is_space = text.iter().all(u8::is_ascii_whitespace);
                if depth == 0 && !is_space {
                    return false;
                }
            }
            // `&lt;` and its like.
            Ok(Event::GeneralRef(_)) if depth > 0 => {}
            Ok(Event::Eof) => return depth == 0 && drawings == 1,
            Ok(_) | Err(_) => return false,
        }
    }
}

fn is_shape(start: &BytesStart<'_>, depth: u32) -> bool {
    let name = start.name();
    let is_known = ELEMENTS.iter().any(|known| known.as_bytes() == name.as_ref());
    let is_in_place = (name.as_ref() == b"svg") == (depth == 0);
    let are_plain = start.attributes().all(|attribute| {
        attribute.is_ok_and(|attribute| {
            let (key, value) = (attribute.key.as_ref(), attribute.value.as_ref());
            let value = String::from_utf8_lossy(value).to_lowercase();
            let is_address = key != b"xmlns" && (value.contains(':') && value.contains("//"));
            // In HTML a drawing's own patterns are all that `url` may mean.
            let is_elsewhere = value.replace("url(#", "").contains("url(");
            !key.starts_with(b"on")
                && !key.ends_with(b"href")
                && key != b"src"
                && !is_address
                && !is_elsewhere
        })
    });
    is_known && is_in_place && are_plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_of_ours_are_let_in() {
        let timeline =
            trace::Timeline::new(trace::timeline::Origin::Simulated { profile: "h200".to_owned() });
        let panel = draw::Panel { title: "a <b> & 'c'", timeline: &timeline, program: None };
        let layout = draw::Layout::new(&[panel], draw::Lanes::Streams);
        assert!(is_drawing(&draw::svg(&layout, "a")));
        assert!(is_drawing(&draw::svg_of_page(&layout, "a")));
    }

    #[test]
    fn a_value_does_not_leave_its_attribute() {
        let mut page = Html { text: String::new() };
        page.element("p", &[("title", "\" onclick='x' <b>\n&amp;")], "");
        let escaped = "<p title=\"&quot; onclick=&#39;x&#39; &lt;b&gt; &amp;amp;\"></p>";
        assert_eq!(page.text, escaped);
    }

    #[test]
    fn nothing_else_is_let_in() {
        for svg in [
            "",
            "text",
            "<p>x</p>",
            "<svg></svg><svg></svg>",
            "<svg></svg><script></script>",
            "<svg><script>alert(1)</script></svg>",
            "<svg onload=\"alert(1)\"></svg>",
            "<svg><g onclick='x'/></svg>",
            "<svg><a href=\"x\"/></svg>",
            "<svg><image href=\"data:x\"/></svg>",
            "<svg><foreignObject><p/></foreignObject></svg>",
            "<svg><rect fill=\"url(http://x)\"/></svg>",
            "<svg><style><![CDATA[</style><script>]]></style></svg>",
            "<svg><!-- --><g/></svg>",
            "<!DOCTYPE svg [<!ENTITY x 'y'>]><svg>&x;</svg>",
            "<svg><svg/></svg>",
            "<svg><g></svg>",
        ] {
            assert!(!is_drawing(svg), "{svg}");
        }
    }
}
