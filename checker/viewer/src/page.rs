//! A trace as a page: its drawing, and the lines that the terminal has, as HTML.

use std::fmt::Write as _;

use trace::Program;
use trace::draw::layout::{Chart, Lane, Layout, MOST_SINGLE_BARS};
use trace::draw::{self, svg};
use trace::timeline::Interval;
use trace::words::escape;

use crate::facts::Run;
use crate::lessons::lessons;
use crate::lines::{NOT_SHOWN, headline, lines};
use crate::source::{Device, Source};
use crate::view;

/// Hazards of a run of ours that are told; more than these have the same few causes.
const MOST_HAZARDS: usize = 6;

/// The label of a host thread that is the only one; several have a number after it.
const HOST: &str = "host";

/// Where the chapters lie, seen from the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chapters {
    /// Beside it.
    Beside,
    /// Nowhere: it stands alone.
    None,
}

/// A trace that is looked at.
#[derive(Debug)]
pub struct Page<'a> {
    source: &'a Source,
    devices: Vec<Device<'a>>,
    /// From the first operation of each device to the end of its last.
    extents: Vec<Interval>,
    lanes: draw::Lanes,
    /// The rows of the whole, so that a part has the same ones.
    rows: Vec<Vec<(String, usize)>>,
    axis_ns: u64,
    chapters: Chapters,
}

impl<'a> Page<'a> {
    /// All of `devices`, which are of `source`, drawn as the terminal draws them.
    pub fn new(source: &'a Source, devices: Vec<Device<'a>>, chapters: Chapters) -> Self {
        let extent = |device: &Device<'_>| device.observed.timeline.extent();
        let lanes = view::lanes(&devices);
        Self {
            source,
            extents: devices.iter().map(extent).collect(),
            devices,
            lanes,
            rows: Vec::new(),
            axis_ns: 0,
            chapters,
        }
    }

    /// The whole page's inside. Ids begin with `id`.
    pub fn html(&mut self, id: &str) -> String {
        let runs: Vec<Run<'_>> = self.devices.iter().map(Run::of).collect();
        let layout = view::layout(&runs, self.lanes);
        let of_chart = |chart: &Chart| chart.lanes.iter().map(rows).collect();
        self.rows = layout.charts.iter().map(of_chart).collect();
        self.axis_ns = layout.axis_ns;
        inside(self.source, &runs, &figure(&layout, id, MOST_SINGLE_BARS), self.chapters)
    }

    /// A part of the whole, from `from_ns` to `to_ns` of the axis: its drawing, and its lines.
    pub fn part(&mut self, id: &str, from_ns: u64, to_ns: u64) -> (String, String) {
        for (device, extent) in self.devices.iter_mut().zip(&self.extents) {
            let at = |ns: u64| extent.start_ns.saturating_add(ns);
            let whole = from_ns == 0 && to_ns >= self.axis_ns;
            let part = if whole { *extent } else { Interval::new(at(from_ns), at(to_ns)) };
            device.observed.timeline.region = Some(part);
        }
        let runs: Vec<Run<'_>> = self.devices.iter().map(Run::of).collect();
        let mut layout = view::layout(&runs, self.lanes);
        let charts = layout.charts.iter_mut().zip(&self.rows).zip(&self.devices);
        for ((chart, rows), device) in charts {
            number_host(&mut chart.lanes, rows, device.program);
            keep(&mut chart.lanes, rows);
        }
        let drawing = draw::svg(&layout, &format!("{id}-drawing"));
        (drawing, facts(&runs, self.chapters))
    }
}

/// Headline, figure, lines and notes.
pub(crate) fn inside(
    source: &Source,
    runs: &[Run<'_>],
    figure: &str,
    chapters: Chapters,
) -> String {
    let title = escape(&headline(source));
    // Where no worker is, the numbers are those of all that is drawn.
    let of = match chapters {
        Chapters::Beside => "<p class=\"of\" role=\"status\">All of the trace</p>",
        Chapters::None => "",
    };
    let mut html = format!(
        "<p class=\"headline\"><strong>{title}</strong></p>{figure}{of}<div class=\"facts\">{}</div>",
        facts(runs, chapters),
    );
    for note in source.notes() {
        _ = write!(html, "<p class=\"note\">Note: {}</p>", prose(&note));
    }
    if runs.iter().any(|run| run.hazards.is_none()) {
        _ = write!(html, "<p class=\"note\">Note: {}</p>", prose(NOT_SHOWN));
    }
    html
}

/// The drawing, in a figure that a script can zoom into. Ids begin with `id`; up to `most` bars
/// stay apart.
pub(crate) fn figure(layout: &Layout, id: &str, most: usize) -> String {
    let (left, right) = svg::margins(layout);
    format!(
        "<figure class=\"timeline traced\" id=\"{id}\" data-axis=\"{}\" data-left=\"{left}\" data-span=\"{}\">\
         <div class=\"timeline-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">\
         <div class=\"drawn\">{}<div class=\"clock\" style=\"--left:{left}%;--right:{right}%\"></div></div></div>\
         <div class=\"told\" aria-live=\"polite\"></div></figure>",
        layout.axis_ns,
        100.0 - left - right,
        svg::svg_up_to(layout, &format!("{id}-drawing"), most),
    )
}

/// The label in the drawing, and how many rows it stands for.
fn rows(lane: &Lane) -> (String, usize) {
    (lane.label.clone(), lane.rows.len())
}

/// Numbers the one host thread of a part as the whole does, which has several.
fn number_host(lanes: &mut [Lane], whole: &[(String, usize)], program: Option<&Program>) {
    if whole.iter().any(|(label, _)| label == HOST) {
        return;
    }
    for lane in lanes.iter_mut().filter(|lane| lane.label == HOST) {
        let step = lane.rows.iter().flatten().next().map(|bar| bar.step as usize);
        if let Some(step) = step.and_then(|step| program?.steps.get(step)) {
            lane.label = format!("{HOST} {}", step.thread);
        }
    }
}

/// Gives a part the labels of the whole: where nothing happens, an empty row stays.
fn keep(lanes: &mut Vec<Lane>, whole: &[(String, usize)]) {
    let mut part = std::mem::take(lanes);
    for (label, rows) in whole {
        let found = part.iter().position(|lane| lane.label == *label);
        let mut lane = match found {
            Some(place) => part.remove(place),
            None => Lane { label: label.clone(), busy_ns: Some(0), rows: Vec::new() },
        };
        lane.rows.resize_with(lane.rows.len().max(*rows), Vec::new);
        lanes.push(lane);
    }
    lanes.append(&mut part);
}

/// The lines of each device as a table.
fn facts(runs: &[Run<'_>], chapters: Chapters) -> String {
    let mut html = String::new();
    for run in runs {
        if runs.len() > 1 {
            _ = write!(html, "<h3>{}</h3>", escape(&run.device.title()));
        }
        read_on(&mut html, run, chapters);
        html.push_str("<div class=\"table-wrapper\"><table><tbody>");
        for (name, value) in lines(run) {
            let level = (name.len() - name.trim_start().len()) / 2;
            let name = escape(name.trim_start());
            _ = write!(
                html,
                "<tr data-level=\"{level}\"><th scope=\"row\">{name}</th><td>{}</td></tr>",
                prose(&value)
            );
        }
        html.push_str("</tbody></table></div>");
        hazards(&mut html, run);
    }
    html
}

/// The chapters about what time was lost to.
fn read_on(html: &mut String, run: &Run<'_>, chapters: Chapters) {
    let lessons = lessons(run);
    if lessons.is_empty() {
        return;
    }
    html.push_str(
        "<p>What the time was lost to, and the chapters about it:</p><ul class=\"lessons\">",
    );
    for lesson in &lessons {
        let (name, text) = (lesson.chapter, escape(&lesson.text()));
        let chapter = match chapters {
            Chapters::Beside => format!("<a href=\"{name}.html\">{name}</a>"),
            Chapters::None => format!("<code>{name}</code>"),
        };
        _ = write!(html, "<li>{chapter}: {text}</li>");
    }
    html.push_str("</ul>");
}

fn hazards(html: &mut String, run: &Run<'_>) {
    let Some(hazards) = &run.hazards else { return };
    if hazards.is_empty() {
        html.push_str("<p>No hazards: every two uses of the same memory are in order.</p>");
        return;
    }
    html.push_str("<ul class=\"hazards\">");
    for hazard in hazards.iter().take(MOST_HAZARDS) {
        let (code, headline) = (hazard.code.as_str(), prose(&hazard.headline()));
        _ = write!(html, "<li><strong>{code}</strong>: {headline}</li>");
    }
    if hazards.len() > MOST_HAZARDS {
        _ = write!(html, "<li>and {} more hazards</li>", hazards.len() - MOST_HAZARDS);
    }
    html.push_str("</ul>");
}

/// Text as HTML, with what stands in backticks as code, and each paragraph after the first as one.
pub fn prose(text: &str) -> String {
    let mut html = String::new();
    for (place, part) in text.split('`').enumerate() {
        let part = escape(part).replace("\n\n", "<br>").replace('\n', " ");
        html += &if place % 2 == 1 { format!("<code>{part}</code>") } else { part };
    }
    html
}

#[cfg(test)]
mod tests {
    use trace::program::{Call, Step};

    use super::*;

    fn lane(label: &str, rows: usize) -> Lane {
        Lane { label: label.to_owned(), busy_ns: None, rows: vec![Vec::new(); rows] }
    }

    #[test]
    fn a_part_has_the_rows_of_the_whole_and_its_one_host_thread_its_number() {
        let mut program = Program::new(1);
        for thread in [0, 1] {
            program.steps.push(Step {
                call: Call::ContextSynchronize,
                site: None,
                thread,
                gap_ns: 0,
                result: 0,
                device: 0,
            });
        }
        let whole = [("host 0", 1), ("host 1", 1), ("stream 1", 2)];
        let whole = whole.map(|(label, rows)| (label.to_owned(), rows));
        let mut part = vec![lane("host", 1)];
        part[0].rows[0].push(trace::draw::layout::Bar {
            mark: draw::Mark::Call,
            start_ns: 0,
            end_ns: 1,
            name: String::new(),
            note: String::new(),
            step: 1,
            site: None,
        });
        number_host(&mut part, &whole, Some(&program));
        keep(&mut part, &whole);
        let rows: Vec<_> = part.iter().map(|lane| (lane.label.as_str(), lane.rows.len())).collect();
        assert_eq!(rows, [("host 0", 1), ("host 1", 1), ("stream 1", 2)]);
        assert_eq!(part[1].rows[0].len(), 1);
    }
}
