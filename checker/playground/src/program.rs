//! A program that the reader writes as HTML: its mistakes, or numbers, races and the drawing.

use std::fmt::Write as _;

use trace::draw::layout::Chart;
use trace::draw::scale::percent;
use trace::draw::{Findings, Lanes, Layout, Panel, duration, svg_of_page};
use trace::hazards::{Edge, Hazard, StreamNames};
use trace::metrics::Metrics;
use trace::words::escape;

use crate::fragment::{in_numbers, named};
use crate::language::Mistake;
use crate::run::Run;

/// Races that are told: the first ones mostly bring about the others.
const MOST_RACES: usize = 5;

/// A text and the one before it, simulated.
pub struct Simulated<'a> {
    text: &'a str,
    /// With the run of the text before, where that is another program without mistakes.
    runs: Result<(Run, Option<Run>), Vec<Mistake>>,
}

impl<'a> Simulated<'a> {
    /// Simulates `text` and, if it has no mistakes, the other program `before`.
    pub fn new(text: &'a str, before: &str) -> Self {
        let is_other = !before.is_empty() && before.trim_end() != text.trim_end();
        let before = || if is_other { Run::new(before).ok() } else { None };
        Self { text, runs: Run::new(text).map(|run| (run, before())) }
    }

    /// As HTML: `<div class="run">`, or `<div class="mistakes">` where the text has some. The run
    /// before stands on the same axis. Ids begin with `id`.
    pub fn html(&self, id: &str) -> String {
        match &self.runs {
            Err(mistakes) => self::mistakes(mistakes),
            Ok((run, before)) => self::run(self.text, run, before.as_ref(), id),
        }
    }
}

fn mistakes(mistakes: &[Mistake]) -> String {
    let mut html = String::from("<div class=\"mistakes\"><ol>");
    for Mistake { at, text } in mistakes {
        let (line, column) = (at.line, at.column);
        _ = write!(
            html,
            "<li><button type=\"button\" class=\"at\" data-line=\"{line}\" data-column=\"{column}\">\
             Line {line}, column {column}</button>: {}</li>",
            prose(text)
        );
    }
    html + "</ol></div>"
}

fn run(text: &str, run: &Run, before: Option<&Run>, id: &str) -> String {
    let timeline = &run.timeline;
    let metrics = Metrics::of(timeline);
    let makespan = metrics.makespan_ns;
    let mut html =
        format!("<div class=\"run\" data-makespan=\"{makespan}\"><dl class=\"numbers\">");
    let mut number = |name: &str, label: &str, value: &str| {
        _ = write!(html, "<div data-name=\"{name}\"><dt>{label}</dt><dd>{value}</dd></div>");
    };
    number("makespan", "from start to end", &duration(makespan));
    if let Some(before) = before {
        number("before", "the run before", &duration(before.timeline.extent().ns()));
    }
    number("blocked", "host blocked", &duration(metrics.host_blocked_ns));
    let hidden = match metrics.copies_ns {
        0 => "none".to_owned(),
        copies => percent(metrics.hidden_copy_ns, copies),
    };
    number("hidden", "copying hidden", &hidden);
    html.push_str("</dl>");

    let races = run.races();
    let names: StreamNames =
        run.compiled.named_streams().map(|(stream, name)| (stream, name.to_owned())).collect();
    self::races(&mut html, text, races.as_deref(), &names);

    let mut panels = vec![panel(run, "this run")];
    panels.extend(before.map(|before| panel(before, "the run before")));
    let findings = Findings { hazards: races.as_deref().unwrap_or_default(), causes: &[] };
    let mut layout = Layout::with_findings(&panels, Lanes::Streams, &[findings]);
    let all = std::iter::once(run).chain(before);
    layout.charts.iter_mut().zip(all).for_each(|(chart, run)| name_lanes(chart, run));
    for flaw in &mut layout.charts[0].flaws {
        let of = |race: &&Hazard| race.headline() == flaw.title;
        if let Some(race) = races.iter().flatten().find(of) {
            flaw.title = race.headline_with(&names).replace(['`'], "");
        }
    }
    _ = write!(
        html,
        "<div class=\"timeline-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">{}</div>",
        svg_of_page(&layout, id)
    );
    in_numbers(&mut html, timeline, makespan, &run.compiled.streams);
    html + "</div>"
}

fn panel<'a>(run: &'a Run, title: &'a str) -> Panel<'a> {
    Panel { title, timeline: &run.timeline, program: Some(&run.compiled.program) }
}

/// Gives rows the names that streams have in the text.
fn name_lanes(chart: &mut Chart, run: &Run) {
    for lane in &mut chart.lanes {
        let Some(name) = named(&lane.label, &run.compiled.streams) else { continue };
        for bar in lane.rows.iter_mut().flatten() {
            if let Some(rest) = bar.note.strip_prefix(lane.label.as_str()) {
                bar.note = format!("stream {name}{rest}");
            }
        }
        name.clone_into(&mut lane.label);
    }
}

fn races(html: &mut String, text: &str, races: Option<&[Hazard]>, names: &StreamNames) {
    let Some(races) = races else {
        html.push_str(
            "<p class=\"races\">There are too many calls to look for races while you write.</p>",
        );
        return;
    };
    let title = match races.len() {
        0 => return html.push_str("<p class=\"races\">No races.</p>"),
        1 => "1 race".to_owned(),
        count => format!("{count} races"),
    };
    _ = write!(html, "<div class=\"races\"><p><strong>{title}</strong></p><ol>");
    for race in races.iter().take(MOST_RACES) {
        let (headline, help) = (race.headline_with(names), race.help_with(names));
        let code = race.code.as_str();
        let page = code.to_ascii_lowercase();
        _ = write!(html, "<li><a href=\"codes.html#{page}\">{code}</a>: {}.<ul>", prose(&headline));
        for (call, label) in &race.uses() {
            // What is set up before the first line has none.
            let Some(site) = &call.site else { continue };
            let line = site.line;
            let written = text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default();
            _ = write!(
                html,
                "<li><button type=\"button\" class=\"at\" data-line=\"{line}\" data-column=\"1\">Line {line}</button> \
                 <code>{}</code>: {}</li>",
                escape(written.trim()),
                prose(label)
            );
        }
        let help = in_this_language(race, names).unwrap_or(help);
        _ = write!(html, "</ul>To put it right, {}.</li>", prose(&help));
    }
    html.push_str("</ol>");
    if races.len() > MOST_RACES {
        _ = write!(html, "<p>And {} more.</p>", races.len() - MOST_RACES);
    }
    html.push_str("</div>");
}

/// The line that is missing, where it is one of two streams or of the host.
fn in_this_language(race: &Hazard, names: &StreamNames) -> Option<String> {
    let line = race.second.call.site.as_ref()?.line;
    let written = match race.missing {
        Edge::Wait { record_in, wait_in, .. } => {
            format!("in {}: wait {}", names.of(wait_in)?, names.of(record_in)?)
        }
        Edge::Synchronise { stream, .. } => format!("sync {}", names.of(stream)?),
        _ => return None,
    };
    Some(format!("write `{written}` above line {line}"))
}

/// Text as HTML, with what stands in backticks as code.
fn prose(text: &str) -> String {
    let mut html = String::new();
    for (place, part) in text.split(['`']).enumerate() {
        let is_code = place % 2 == 1;
        // So kernels are called that have no name.
        if is_code && part == "kernel" && html.ends_with("kernel ") {
            html.truncate(html.len() - "kernel ".len());
            html += "the kernel";
            continue;
        }
        let part = escape(part);
        html += &if is_code { format!("<code>{part}</code>") } else { part };
    }
    html
}
