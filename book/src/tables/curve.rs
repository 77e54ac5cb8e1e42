//! `curve` blocks: a number of several programs, drawn against what they differ in.
//!
//! ```toml
//! id = "sweep"
//! caption = "The gain of the second stream."
//! x = "images of a batch"
//! y = "times as fast"
//! at = [1, 8, 64]
//!
//! [[line]]
//! title = "simulated H200"
//! values = "frozen_encoder.one_{} makespan over frozen_encoder.two_{} makespan"
//! ```
//!
//! `values` is what a `value` macro takes, with `{}` where each number of `at` goes; it is a ratio,
//! so that a value above 1 is a gain. The horizontal axis is logarithmic.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::markup::{escape, identifier, inline};
use crate::page::{Fence, Page};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Curve {
    id: String,
    caption: String,
    x: String,
    y: String,
    at: Vec<u32>,
    line: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    title: String,
    values: String,
}

/// A line with its numbers, as they are printed and as they are.
struct Drawn {
    title: String,
    values: Vec<(String, f64)>,
}

/// All lengths are in px.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
/// Around the plot: for the numbers of the axes, and for the names of the lines after their last
/// points.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 46.0;
/// The least distance of two names.
const NAME: f64 = 18.0;
/// From one grid line to the next: the first of these that makes no more than so many.
const GRIDS: [f64; 4] = [0.1, 0.2, 0.5, 1.0];
const MOST_GRID_LINES: f64 = 8.0;

/// The drawing of a block, and a table of the same numbers.
pub fn figure(page: &mut Page<'_>, fence: &Fence) -> Option<String> {
    let Curve { id, caption, x, y, at, line } = page.parse(fence)?;
    if at.len() < 2 || line.is_empty() || !at.is_sorted_by(|a, b| a < b) || at[0] == 0 {
        page.complain(
            fence.line,
            "a curve needs lines, and two or more numbers that grow from 1 on",
        );
        return None;
    }
    let mut lines = Vec::new();
    for Line { title, values } in line {
        let value = |at: &u32| {
            let argument = values.replace("{}", &at.to_string());
            let text = page.records.value(&argument)?;
            let number = text.parse().map_err(|_| format!("`{argument}` is not a ratio"))?;
            Ok((text, number))
        };
        let values: Result<Vec<(String, f64)>, String> = at.iter().map(value).collect();
        lines.push(Drawn { title, values: page.note(fence.line, values)? });
    }
    let caption = inline(&page.values(fence.line, &caption));
    let id = format!("{}-{}", identifier(&page.name()), identifier(&id));
    let (svg, table) = (drawing(&id, [&x, &y], &at, &lines), table(&x, &at, &lines));
    Some(format!(
        "<figure class=\"timeline curve\" id=\"{id}\">\
         <div class=\"timeline-scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}-caption\">{svg}</div>\
         <figcaption id=\"{id}-caption\">{caption}</figcaption>\
         <details class=\"timeline-more\"><summary>In numbers</summary>\
         <div class=\"table-wrapper\">{table}</div></details></figure>"
    ))
}

fn drawing(id: &str, [x, y]: [&str; 2], at: &[u32], lines: &[Drawn]) -> String {
    let all = || lines.iter().flat_map(|line| line.values.iter().map(|(_, value)| *value));
    let (least, most) = (all().fold(1.0, f64::min), all().fold(1.0, f64::max));
    let grid = GRIDS.into_iter().find(|grid| (most - least) / grid <= MOST_GRID_LINES);
    let grid = grid.unwrap_or((most - least) / MOST_GRID_LINES);
    let (low, high) = ((least / grid).floor() * grid, (most / grid).ceil() * grid);
    let place = |number: f64| {
        HEIGHT - BOTTOM - (number - low) / (high - low).max(grid) * (HEIGHT - TOP - BOTTOM)
    };
    let (first, last) = (f64::from(at[0]).log2(), f64::from(at[at.len() - 1]).log2());
    let along =
        |at: u32| LEFT + (f64::from(at).log2() - first) / (last - first) * (WIDTH - LEFT - RIGHT);
    let mut svg = format!(
        "<svg class=\"plot\" id=\"{id}-drawing\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-caption\">"
    );
    let steps = ((high - low) / grid).round() as u32;
    let right = WIDTH - RIGHT;
    for step in 0..=steps {
        let number = low + f64::from(step) * grid;
        let (at, class) = (place(number), if (number - 1.0).abs() < 1e-9 { "one" } else { "grid" });
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{LEFT} {at:.1}H{right}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{number:.1}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for number in at {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{number}</text>",
            along(*number),
            HEIGHT - BOTTOM + 18.0
        );
    }
    let _ = write!(
        svg,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text><text x=\"4\" y=\"14\">{}</text>",
        LEFT + (right - LEFT) / 2.0,
        HEIGHT - 8.0,
        escape(x),
        escape(y)
    );
    for (number, (line, name)) in lines.iter().zip(names(lines, place)).enumerate() {
        let points: Vec<(f64, f64)> = at
            .iter()
            .zip(&line.values)
            .map(|(at, (_, value))| (along(*at), place(*value)))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let _ = write!(
            svg,
            "<g class=\"line-{number}\"><path class=\"line\" d=\"M{}\"/>",
            path.join("L")
        );
        for ((x, y), (at, (text, _))) in points.iter().zip(at.iter().zip(&line.values)) {
            let _ = write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}, {at}: {text}</title></circle>",
                escape(&line.title)
            );
        }
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"{:.0}\" y=\"{:.1}\">{}</text></g>",
            right + 12.0,
            name + 4.0,
            escape(&line.title)
        );
    }
    svg + "</svg>"
}

/// How high the names of the lines are: beside their last points, and apart.
fn names(lines: &[Drawn], place: impl Fn(f64) -> f64) -> Vec<f64> {
    let last = |line: &Drawn| line.values.last().map_or(0.0, |(_, value)| place(*value));
    let mut order: Vec<(usize, f64)> = lines.iter().map(last).enumerate().collect();
    order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut names = vec![0.0; lines.len()];
    let mut free = f64::MIN;
    for (line, wanted) in order {
        names[line] = wanted.max(free);
        free = names[line] + NAME;
    }
    names
}

fn table(x: &str, at: &[u32], lines: &[Drawn]) -> String {
    let head: String = at.iter().map(|at| format!("<th scope=\"col\">{at}</th>")).collect();
    let row = |Drawn { title, values }: &Drawn| {
        let cells: String = values.iter().map(|(text, _)| format!("<td>{text}</td>")).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(title))
    };
    let rows: String = lines.iter().map(row).collect();
    let x = escape(x);
    format!(
        "<table><thead><tr><th scope=\"col\">{x}</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
}
