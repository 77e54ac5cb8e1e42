//! A trace or a run as one file that stands alone: any browser shows it, and it loads nothing.

use trace::draw::layout::Layout;
use trace::words::escape;

use crate::facts::Run;
use crate::page::{Chapters, figure, inside};
use crate::source::Source;

/// Bars that stay apart, so that zooming shows each: one to two megabytes of them. With more,
/// neighbours of a kind are one bar, as in the terminal, and `--window` shows a part.
pub const MOST_BARS: usize = 4000;

/// Ids of the drawing begin with it.
const ID: &str = "trace";

/// The page of a trace, whose devices are drawn as `layout`.
pub fn trace(source: &Source, runs: &[Run<'_>], layout: &Layout) -> String {
    let drawing = figure(layout, ID, MOST_BARS);
    let mut inside = inside(source, runs, &drawing, Chapters::None);
    if layout.bars().count() > MOST_BARS {
        inside += "<p class=\"note\">Note: there are more operations than this page shows one by one; \
                   <code>--window</code> shows a part of them in full</p>";
    }
    document(&source.name, &inside)
}

/// The page of a run: a headline, its drawing, and the report that a terminal shows.
pub fn run(headline: &str, layout: Option<&Layout>, report: &str) -> String {
    let drawing = layout.map(|layout| figure(layout, ID, MOST_BARS)).unwrap_or_default();
    let (title, report) = (escape(headline), escape(report.trim()));
    let inside =
        format!("<p class=\"headline\"><strong>{title}</strong></p>{drawing}<pre>{report}</pre>");
    document(headline, &inside)
}

fn document(title: &str, inside: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{}</title>\n\
         <style>\n{}</style></head>\n<body><main>{inside}</main>\n<script>\n{}</script></body></html>\n",
        escape(title),
        include_str!("alone.css"),
        include_str!("alone.js"),
    )
}
