//! Text as HTML that can stand inside Markdown.

use mdbook_markdown::pulldown_cmark::{Event, Tag, TagEnd, html};
use mdbook_markdown::{MarkdownOptions, new_cmark_parser};
pub use trace::words::escape;

/// A short text in Markdown as HTML that can stand inside a paragraph: one paragraph loses its
/// tags.
pub fn inline(text: &str) -> String {
    let parser = new_cmark_parser(text.trim(), &MarkdownOptions::default());
    let mut events: Vec<Event<'_>> = parser.map(without_html).collect();
    let paragraphs =
        events.iter().filter(|event| matches!(event, Event::Start(Tag::Paragraph))).count();
    if paragraphs == 1 && matches!(events.last(), Some(Event::End(TagEnd::Paragraph))) {
        events.retain(|event| {
            !matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph))
        });
    }
    let mut out = String::new();
    html::push_html(&mut out, events.into_iter());
    out.trim().to_owned()
}

/// HTML in a short text is meant as text.
fn without_html(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    }
}

/// `html` on one line, with as many empty lines after it as make up for a block of `lines` lines.
///
/// An empty line would end the block of HTML that it stands in, and mdBook then drops what follows.
/// The number of lines stays, so that complaints about what comes after name the right ones. Inside
/// `pre` a line break becomes a character reference; elsewhere a space means the same.
pub fn in_markdown(html: &str, lines: usize) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find("<pre") {
        let end = rest[start..].find("</pre>").map_or(rest.len(), |end| start + end);
        out.push_str(&rest[..start].replace('\n', " "));
        out.push_str(&rest[start..end].replace('\n', "&#10;"));
        rest = &rest[end..];
    }
    out.push_str(&rest.replace('\n', " "));
    out.push_str(&"\n".repeat(lines.max(1)));
    out
}

/// `name` as part of an id: letters, digits and `-`.
pub fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_in_markdown_keeps_the_number_of_lines_and_the_lines_of_listings() {
        let html = "<div>\n\n<pre>a\n\nb</pre>\n</div>";
        assert_eq!(in_markdown(html, 3), "<div>  <pre>a&#10;&#10;b</pre> </div>\n\n\n");
    }

    #[test]
    fn one_paragraph_stands_without_its_tags() {
        assert_eq!(inline("a `b` *c*"), "a <code>b</code> <em>c</em>");
        assert_eq!(inline("a\n\nb"), "<p>a</p>\n<p>b</p>");
    }
}
