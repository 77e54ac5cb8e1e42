//! `figure` blocks: timelines drawn from records, with a caption and a table of the same numbers.
//!
//! ```toml
//! id = "as-written"
//! caption = "The host comes back after {{#value three_lanes.blocking after_launches}}."
//! lanes = "streams"
//! records = ["three_lanes.blocking", "three_lanes.non_blocking"]
//! ```
//!
//! All records share one time axis. `{{#value RECORD METRIC}}` also works in the text around.

pub mod interactive;

use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use trace::draw::{self, Appearance, Lanes, Layout, Panel, Row};
use trace::timeline::{Method, Origin};

use crate::evidence::without_marks;
use crate::markup::{escape, identifier, in_markdown, inline};
use crate::page::{Fence, Page, as_text, directives, fences, replace};
use crate::records::metric::number;
use crate::records::{Recorded, Records, Source};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    id: String,
    caption: String,
    #[serde(default)]
    lanes: By,
    records: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    #[default]
    Streams,
    Engines,
}

impl From<By> for Lanes {
    fn from(by: By) -> Self {
        match by {
            By::Streams => Self::Streams,
            By::Engines => Self::Engines,
        }
    }
}

/// Replaces the `figure` blocks and the numbers of a chapter, and drops the marks that say what
/// shows a claim.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    let mut styled = false;
    for fence in fences(text, "figure") {
        let lines = fence.body.lines().count() + 1;
        let mut html = if std::mem::replace(&mut styled, true) { String::new() } else { palette() };
        html += &figure(page, &fence).unwrap_or_default();
        parts.push((fence.range, in_markdown(&html, lines)));
    }
    for directive in directives(text, "value") {
        let value = page.records.value(&directive.argument);
        let value = page.note(directive.line, value).unwrap_or_default();
        let Range { start, end } = directive.range;
        let value = as_text(&text[..start], value, &text[end..]);
        parts.push((directive.range, value));
    }
    without_marks(&replace(text, parts))
}

/// The colours of drawings in mdBook's themes, once on each page that has drawings.
pub(crate) fn palette() -> String {
    let (light, dark) = (draw::theme(Appearance::Light), draw::theme(Appearance::Dark));
    format!(
        "<style>.light,.rust{{{light}}}.ayu,.navy,.coal{{{dark}}}\
         @media (prefers-color-scheme:dark){{html:not(.js){{{dark}}}}}</style>\n"
    )
}

fn figure(page: &mut Page<'_>, fence: &Fence) -> Option<String> {
    let Figure { id, caption, lanes, records } = page.parse(fence)?;
    let caption = inline(&page.values(fence.line, &caption));
    let records: Result<Vec<&Recorded>, String> =
        records.iter().map(|name| page.records.get(name)).collect();
    let records = page.note(fence.line, records)?;
    if records.is_empty() {
        page.complain(fence.line, "a figure needs a record");
        return None;
    }
    let titles: Vec<String> = records.iter().map(|recorded| title(recorded)).collect();
    let id = format!("{}-{}", identifier(&page.name()), identifier(&id));
    let layout = laid_out(&records, &titles, lanes);
    let (svg, drawn) = draw::svg_and_bars(&layout, &format!("{id}-drawing"));
    let interactive = interactive::html(&page.records.exercises, &id, &records, &layout, &drawn);
    let clock = interactive::clock(&layout);
    let totals = totals(&records, lanes.into());
    let table = table(&records, &titles, lanes.into());
    let origins: String = records.iter().map(|recorded| origin(recorded)).collect();
    Some(format!(
        "<figure class=\"timeline\" id=\"{id}\">{totals}\
         <div class=\"timeline-scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}-caption\">\
         <div class=\"drawn\">{svg}{clock}</div></div>\
         <figcaption id=\"{id}-caption\">{caption}</figcaption>{interactive}\
         <details class=\"timeline-more\"><summary>In numbers, and where it comes from</summary>\
         <div class=\"table-wrapper\">{table}</div><ul class=\"origins\">{origins}</ul></details>\
         </figure>"
    ))
}

fn laid_out(records: &[&Recorded], titles: &[String], lanes: By) -> Layout {
    let panels: Vec<Panel<'_>> = records
        .iter()
        .zip(titles)
        .map(|(recorded, title)| Panel {
            title,
            timeline: &recorded.record.timeline,
            program: Some(&recorded.record.program),
        })
        .collect();
    Layout::new(&panels, lanes.into())
}

/// The drawing of the first figure in the text of a page.
pub(crate) fn first(records: &Records, text: &str) -> Option<Layout> {
    let fence = fences(text, "figure").into_iter().next()?;
    let figure: Figure = toml::from_str(&fence.body).ok()?;
    let shown: Result<Vec<&Recorded>, String> =
        figure.records.iter().map(|name| records.get(name)).collect();
    let shown = shown.ok()?;
    let titles: Vec<String> = shown.iter().map(|recorded| title(recorded)).collect();
    Some(laid_out(&shown, &titles, figure.lanes))
}

/// The title above a timeline: the run, and whether it was simulated or measured.
fn title(recorded: &Recorded) -> String {
    let name = &recorded.title;
    match &recorded.record.timeline.origin {
        Origin::Simulated { profile } => format!("{name} · simulated {}", profile.to_uppercase()),
        Origin::Measured { device, .. } => format!("{name} · measured, {device}"),
    }
}

/// The numbers at the right edge of the drawing: how long each record took, and how busy its rows
/// were.
fn totals(records: &[&Recorded], lanes: Lanes) -> String {
    let items = records.iter().map(|recorded| {
        let rows = draw::table(&recorded.record.timeline, lanes);
        let busy: Vec<String> = rows
            .iter()
            .filter(|row| row.busy_ns > 0)
            .filter_map(|row| Some(format!("{} {:.0} %", escape(&row.lane), row.share? * 100.0)))
            .collect();
        let makespan = number(&recorded.record, "makespan").map(|time| time.to_string());
        let makespan = makespan.unwrap_or_default();
        let (title, busy) = (escape(&recorded.title), busy.join(", "));
        format!("<li><b>{title}</b>: <b>{makespan}</b>; busy: {busy}</li>")
    });
    format!("<ul class=\"timeline-totals\" aria-hidden=\"true\">{}</ul>", items.collect::<String>())
}

/// One row for each row of the drawing and each sum, one column for each record.
fn table(records: &[&Recorded], titles: &[String], lanes: Lanes) -> String {
    let columns: Vec<Vec<Row>> =
        records.iter().map(|r| draw::table(&r.record.timeline, lanes)).collect();
    let mut rows: Vec<&str> = Vec::new();
    for row in columns.iter().flatten().filter(|row| row.busy_ns > 0) {
        if !rows.contains(&row.lane.as_str()) {
            rows.push(&row.lane);
        }
    }
    let mut html = String::from("<table><thead><tr><th scope=\"col\">busy</th>");
    for title in titles {
        _ = write!(html, "<th scope=\"col\">{}</th>", escape(title));
    }
    html.push_str("</tr></thead><tbody>");
    for lane in rows {
        _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(lane));
        for column in &columns {
            let cell = column.iter().find(|row| row.lane == lane).map(|row| {
                let share = row.share.map(|share| format!(" ({:.0} %)", share * 100.0));
                draw::duration(row.busy_ns) + &share.unwrap_or_default()
            });
            _ = write!(html, "<td>{}</td>", cell.unwrap_or_default());
        }
        html.push_str("</tr>");
    }
    for (label, metric) in [
        ("from start to end", "makespan"),
        ("copying beside kernels", "hidden"),
        ("kernels and both directions at once", "all_lanes"),
    ] {
        _ = write!(html, "<tr><th scope=\"row\">{label}</th>");
        for recorded in records {
            let cell = number(&recorded.record, metric).map(|number| number.to_string());
            _ = write!(html, "<td>{}</td>", cell.unwrap_or_default());
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table>"
}

/// Where a record comes from, and the record itself to take away.
fn origin(recorded: &Recorded) -> String {
    let Recorded { name, title, source, record } = recorded;
    let (title, name) = (escape(title), escape(name));
    let how = match (&record.timeline.origin, source) {
        (Origin::Measured { device, method, .. }, Source::Measured(measured)) => {
            let method = match method {
                Method::Cupti => "CUPTI activity records",
                Method::EventPairs => "pairs of events",
                Method::Untraced => "no trace",
            };
            format!(
                "measured on {} with {} on {}, by {method}: <code>{}</code>",
                escape(device),
                escape(&measured.release),
                escape(&measured.date),
                escape(&measured.command)
            )
        }
        (Origin::Simulated { profile }, Source::Run(arguments)) => format!(
            "simulated, profile <code>{}</code>: <code>cargo run -- run {}</code>",
            escape(profile),
            escape(&arguments.join(" "))
        ),
        (Origin::Simulated { profile }, Source::Variant { of, more_launches }) => format!(
            "simulated, profile <code>{}</code>: the program of <code>{}</code> with {more_launches} more \
             launches at its end",
            escape(profile),
            escape(of)
        ),
        // The manifest and the record were compared when they were read.
        _ => String::new(),
    };
    format!(
        "<li><b>{title}</b>: {how}. <a href=\"traces/{name}.json\" download>Trace for Perfetto</a></li>"
    )
}
