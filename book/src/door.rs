//! The puzzle of the first page as two pictures, for the README: the programs and the question, and
//! what happened.

use std::fmt::Write as _;
use std::path::Path;

use trace::draw::{self, Lanes, Layout, Panel};

use crate::listing::{Line, compare};
use crate::markup::escape;
use crate::page::{Page, fences};
use crate::puzzle::predict::outcome;
use crate::puzzle::{Shown, programs};
use crate::records::Records;

/// The page that asks.
const PAGE: &str = "chapters/introduction.md";

/// Width of the picture, of the space around a listing, and heights of a line and of the rest, in
/// px.
const WIDTH: usize = 980;
const GAP: usize = 16;
const LINE: usize = 21;
const TITLE: usize = 30;
const QUESTION: usize = 40;

/// Light and dark, as the page has them.
const STYLE: &str = "#door{color:#1b1b1b;background:#fff;font:14px system-ui,sans-serif}\
    #door .code{font:12px ui-monospace,Menlo,Consolas,monospace;white-space:pre}\
    #door text{fill:currentColor}#door .panel{fill:#f6f7f6}#door .marked{fill:#fff1b8}#door .edge{fill:#b58900}\
    @media (prefers-color-scheme:dark){#door{color:#e6e6e6;background:#16181d}\
    #door .panel{fill:#1f232b}#door .marked{fill:#3d3520}#door .edge{fill:#e6b450}}";

/// The programs side by side with the question below them, as one SVG.
pub fn puzzle(root: &Path, records: &Records) -> Result<String, String> {
    let Asked { programs: [left, right], question } = asked(root, records)?;
    let (a, b) = compare(&left.part.text, &right.part.text);
    let lines = a.len().max(b.len());
    let panel = GAP + lines * LINE;
    let height = GAP + TITLE + panel + QUESTION;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"door\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>{question}</title>\n<style>{STYLE}</style>\n"
    );
    let width = (WIDTH - 3 * GAP) / 2;
    for (x, title, lines) in [(GAP, &left.title, a), (2 * GAP + width, &right.title, b)] {
        _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{}\" font-weight=\"600\">{}</text>\n\
             <rect class=\"panel\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{panel}\" rx=\"4\"/>",
            GAP + 14,
            escape(title),
            GAP + TITLE - 6
        );
        for (index, line) in lines.iter().enumerate() {
            let y = GAP + TITLE + index * LINE;
            let (Line::Shared(text) | Line::Different(text)) = line;
            if matches!(line, Line::Different(_)) {
                _ = writeln!(
                    svg,
                    "<rect class=\"marked\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{LINE}\"/>\
                     <rect class=\"edge\" x=\"{x}\" y=\"{y}\" width=\"3\" height=\"{LINE}\"/>"
                );
            }
            let text = escape(text);
            _ = writeln!(
                svg,
                "<text class=\"code\" xml:space=\"preserve\" x=\"{}\" y=\"{}\">{text}</text>",
                x + 10,
                y + 15
            );
        }
    }
    let y = height - 12;
    _ = writeln!(svg, "<text x=\"{GAP}\" y=\"{y}\" font-weight=\"600\">{question}</text>");
    Ok(svg + "</svg>\n")
}

/// Both programs' timelines on one axis, as one SVG.
pub fn answer(root: &Path, records: &Records) -> Result<String, String> {
    let [left, right] = asked(root, records)?.programs.map(|program| records.get(&program.name));
    let runs = [left?, right?];
    let panels = runs.map(|run| Panel {
        title: &run.title,
        timeline: &run.record.timeline,
        program: Some(&run.record.program),
    });
    Ok(draw::svg(&Layout::new(&panels, Lanes::Streams), "answer") + "\n")
}

/// The puzzle of the page.
struct Asked {
    programs: [Shown; 2],
    /// As character data.
    question: String,
}

fn asked(root: &Path, records: &Records) -> Result<Asked, String> {
    let path = root.join(PAGE);
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let mut page = Page::new(root, path, records);
    let block = |kind: &str| fences(&text, kind).into_iter().next();
    let programs = block("puzzle").and_then(|fence| programs(&mut page, &fence));
    let outcome = block("predict").and_then(|fence| outcome(&mut page, &fence));
    let question = outcome.and_then(|outcome| outcome.asked.into_iter().next());
    let (programs, question) = programs.zip(question).ok_or("the page has no puzzle")?;
    Ok(Asked { programs, question: escape(&question) })
}
