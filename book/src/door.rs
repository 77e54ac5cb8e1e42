//! The puzzle of the first page as two pictures, for the README: the programs and the question, and what happened.

use std::fmt::Write as _;
use std::path::Path;

use trace::draw::{self, Lanes, Layout, Panel};

use crate::listing::{Line, compare, function_in};
use crate::markup::escape;
use crate::page::{Page, fences};
use crate::puzzle::predict::outcome;
use crate::records::Records;

/// The two programs, by their records.
const PROGRAMS: [&str; 2] = ["pinned_memory.copy_first", "pinned_memory.kernels_first"];
/// The function that is shown of each.
const FUNCTION: &str = "issue";
/// The page that asks.
const PAGE: &str = "chapters/introduction.md";

/// Width of the picture, of the space around a listing, and heights of a line and of the rest, in px.
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
    let [left, right] = PROGRAMS.map(|name| listing(records, name));
    let ((left_title, left), (right_title, right)) = (left?, right?);
    let (a, b) = compare(&left, &right);
    let question = question(root, records)?;
    let lines = a.len().max(b.len());
    let panel = GAP + lines * LINE;
    let height = GAP + TITLE + panel + QUESTION;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"door\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n\
         <title>{question}</title>\n<style>{STYLE}</style>\n"
    );
    let width = (WIDTH - 3 * GAP) / 2;
    for (x, title, lines) in [(GAP, left_title, a), (2 * GAP + width, right_title, b)] {
        _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{}\" font-weight=\"600\">{}</text>\n\
             <rect class=\"panel\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{panel}\" rx=\"4\"/>",
            GAP + 14,
            escape(&title),
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

/// What both programs did, on one axis, as one SVG.
pub fn answer(records: &Records) -> Result<String, String> {
    let [left, right] = PROGRAMS.map(|name| records.get(name));
    let runs = [left?, right?];
    let panels = runs.map(|run| Panel {
        title: &run.title,
        timeline: &run.record.timeline,
        program: Some(&run.record.program),
    });
    Ok(draw::svg(&Layout::new(&panels, Lanes::Streams), "answer") + "\n")
}

/// A program's title, and the function that is shown.
fn listing(records: &Records, name: &str) -> Result<(String, String), String> {
    let (exercise, program) = name.split_once('.').ok_or("no program")?;
    let exercise = records.exercises.get(exercise).ok_or("no such exercise")?;
    let program = exercise.program(program).ok_or("no such program")?;
    let source = exercise.source(program, &program.file)?;
    let part = function_in(&source, Path::new(&program.file), FUNCTION)?;
    Ok((program.title.clone(), part.text))
}

/// What the page asks.
fn question(root: &Path, records: &Records) -> Result<String, String> {
    let path = root.join(PAGE);
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let asked = fences(&text, "predict").into_iter().next().ok_or("the page asks nothing")?;
    let outcome = outcome(&mut Page::new(root, path, records), &asked);
    let question = outcome.and_then(|outcome| outcome.asked.into_iter().next());
    Ok(escape(&question.ok_or("the page asks nothing")?))
}
