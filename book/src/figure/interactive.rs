//! The interactive part of a figure: the lines that issue work, what each bar waited for, and the
//! host's way through the program. All of it is computed here, from the record that the figure is
//! drawn from; the page only shows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use trace::causes::delays::{Awaited, Instants, instants, released_by};
use trace::draw::layout::{Bar, Layout};
use trace::draw::{Drawn, Mark, svg};
use trace::program::StreamId;
use trace::timeline::{HostSpan, Span, SpanKind};

use crate::exercises::Exercise;
use crate::markup::escape;
use crate::records::Recorded;

/// Into how many steps the axis is divided for the host's way through the program.
const STEPS: u64 = 200;

/// The facts that a script needs. Times are in ns from the start of the measured region.
#[derive(Serialize)]
struct Instrument {
    /// The length of the axis.
    axis: u64,
    /// Its steps.
    steps: u64,
    /// Where the axis begins in the drawing, and how long it is, in percent of the width.
    left: f64,
    span: f64,
    /// Texts that occur more than once.
    texts: Vec<String>,
    charts: Vec<Way>,
    bars: Vec<OfBar>,
}

/// The host's way through the program of one chart.
#[derive(Serialize)]
struct Way {
    title: String,
    /// The length of the chart.
    end: u64,
    /// The changes by step: the step, the host's line (-1 for none), whether it is blocked
    /// there, and of each stream how many operations wait and how many run.
    states: Vec<(u64, i64, bool, Vec<[u32; 2]>)>,
}

/// A bar: chart, line (-1 for none), what it is, its row, how many it stands for, and the first of
/// them and the last.
#[derive(Serialize)]
struct OfBar(usize, i64, usize, usize, usize, Vec<Timed>);

/// When something was issued, was ready, started and ended; and what it waited for: what, how long,
/// and which bar that was (-1 for none). Calls of the host are neither issued nor ready.
#[derive(Serialize)]
struct Timed(Option<i64>, Option<i64>, i64, i64, Vec<(usize, u64, i64)>);

/// A line of a program whose calls are drawn.
struct Line {
    file: String,
    number: u32,
    text: Option<String>,
}

#[derive(Default)]
struct Texts(Vec<String>);

impl Texts {
    fn index(&mut self, text: String) -> usize {
        let known = self.0.iter().position(|known| *known == text);
        known.unwrap_or_else(|| {
            self.0.push(text);
            self.0.len() - 1
        })
    }
}

/// A run with what follows from it.
struct Chart<'a> {
    recorded: &'a Recorded,
    instants: Vec<Option<Instants>>,
    lines: Vec<Line>,
    /// The line of each site of the program; none for those that are not drawn.
    of_site: Vec<Option<usize>>,
    start_ns: u64,
    /// Spans by the call that issued them.
    by_step: BTreeMap<u32, Vec<usize>>,
    host: BTreeMap<u32, &'a HostSpan>,
    /// The bar that each span is in.
    bar_of: BTreeMap<usize, usize>,
}

/// The part of a figure that only a script brings to life: lines, a place for what is said, the
/// host's way.
pub(crate) fn html(
    exercises: &BTreeMap<String, Exercise>,
    id: &str,
    records: &[&Recorded],
    layout: &Layout,
    drawn: &[Drawn],
) -> String {
    let mut charts: Vec<Chart<'_>> = records.iter().map(|recorded| Chart::of(recorded)).collect();
    for (index, chart) in charts.iter_mut().enumerate() {
        chart.find_lines(exercises, index, layout, drawn);
        chart.find_bars(index, layout, drawn);
    }
    let mut texts = Texts::default();
    let bars = drawn.iter().map(|bar| of_bar(&charts[bar.chart], bar, layout, &mut texts));
    let bars = bars.collect();
    let (left, right) = svg::margins(layout);
    let instrument = Instrument {
        axis: layout.axis_ns,
        steps: STEPS,
        left,
        span: 100.0 - left - right,
        charts: charts.iter().map(|chart| chart.way(layout.axis_ns)).collect(),
        bars,
        texts: texts.0,
    };
    // In a page, `</` could end the element that it stands in.
    let json = serde_json::to_string(&instrument).unwrap_or_default().replace("</", "<\\/");
    let lines: String = (0..).zip(&charts).map(|(index, chart)| chart.html(id, index)).collect();
    let hint = hint(!lines.is_empty());
    let lines = match lines.is_empty() {
        true => String::new(),
        false => format!(
            "<div class=\"lines\" role=\"listbox\" aria-label=\"Lines that issue work\">{lines}</div>"
        ),
    };
    let queues: String = charts.iter().map(Chart::queues).collect();
    format!(
        "<div class=\"instrument\" id=\"{id}-instrument\">\
         <div class=\"told\" role=\"status\">{hint}</div>{lines}\
         <div class=\"scrubber\"><p>At <output>0 ns</output>:</p><ul class=\"queues\">{queues}</ul></div>\
         <script type=\"application/json\">{json}</script></div>"
    )
}

/// A slider below the drawing, as long as its axis, and a button that plays the run.
pub(crate) fn clock(layout: &Layout) -> String {
    let (left, right) = svg::margins(layout);
    format!(
        "<div class=\"clock\" style=\"--left:{left}%;--right:{right}%\">\
         <button type=\"button\" tabindex=\"-1\" aria-label=\"Play\"></button>\
         <input type=\"range\" min=\"0\" max=\"{STEPS}\" value=\"0\" step=\"1\" \
         aria-label=\"Instant that the host is at; Space plays, Escape goes back to the start\"></div>"
    )
}

/// The text in the place for a bar's facts, until a bar is chosen.
fn hint(has_lines: bool) -> String {
    let line = if has_lines { " or a line of code" } else { "" };
    format!(
        "<p>Choose a bar{line}: with the pointer, or with Tab and the arrow keys. A bar says when it was \
         issued, ready and started, and what it waited for. Zoom with + and −, or with a pinch; drag with Shift to measure.</p>"
    )
}

impl<'a> Chart<'a> {
    fn of(recorded: &'a Recorded) -> Self {
        let record = &recorded.record;
        let mut by_step: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, span) in record.timeline.spans.iter().enumerate() {
            by_step.entry(span.step).or_default().push(index);
        }
        Self {
            recorded,
            instants: instants(&record.program, &record.timeline),
            lines: Vec::new(),
            of_site: vec![None; record.program.sites.len()],
            start_ns: record.timeline.extent().start_ns,
            by_step,
            host: record.timeline.host.iter().map(|call| (call.step, call)).collect(),
            bar_of: BTreeMap::new(),
        }
    }

    /// The lines whose calls are drawn, in the order of the files.
    fn find_lines(
        &mut self,
        exercises: &BTreeMap<String, Exercise>,
        chart: usize,
        layout: &Layout,
        drawn: &[Drawn],
    ) {
        let sites = &self.recorded.record.program.sites;
        let of_chart = drawn.iter().filter(|bar| bar.chart == chart);
        let drawn = of_chart.filter_map(|bar| first(layout, bar)?.site);
        let mut drawn: Vec<usize> = drawn.map(|site| site as usize).collect();
        drawn.sort_by_key(|&site| (&sites[site].file, sites[site].line));
        for site in drawn {
            let of = &sites[site];
            let is_last = |line: &Line| line.file == of.file && line.number == of.line;
            if !self.lines.last().is_some_and(is_last) {
                let text = source(exercises, self.recorded, &of.file);
                let text = text.and_then(|text| {
                    Some(text.lines().nth(of.line as usize - 1)?.trim().to_owned())
                });
                self.lines.push(Line { file: of.file.clone(), number: of.line, text });
            }
        }
        for (site, place) in sites.iter().zip(&mut self.of_site) {
            let is_it = |line: &Line| line.file == site.file && line.number == site.line;
            *place = self.lines.iter().position(is_it);
        }
    }

    /// Which span is in which bar.
    fn find_bars(&mut self, chart: usize, layout: &Layout, drawn: &[Drawn]) {
        for (index, bar) in drawn.iter().enumerate().filter(|(_, bar)| bar.chart == chart) {
            for bar in bars(layout, bar) {
                if let Some(span) = self.span(bar) {
                    self.bar_of.entry(span).or_insert(index);
                }
            }
        }
    }

    fn line(&self, bar: &Bar) -> Option<usize> {
        *self.of_site.get(bar.site? as usize)?
    }

    fn spans(&self) -> &'a [Span] {
        &self.recorded.record.timeline.spans
    }

    /// The span that a bar shows; none for what the host does.
    fn span(&self, bar: &Bar) -> Option<usize> {
        let is_host = matches!(bar.mark, Mark::Call | Mark::Blocked | Mark::HostWork);
        let spans = self.by_step.get(&bar.step).filter(|_| !is_host)?;
        let starts =
            |index: &&usize| self.spans()[**index].start_ns == bar.start_ns + self.start_ns;
        spans.iter().find(starts).or(spans.first()).copied()
    }

    /// An instant, from the start of the region.
    fn since_start(&self, ns: u64) -> i64 {
        ns as i64 - self.start_ns as i64
    }

    fn timed(&self, bar: &Bar, texts: &mut Texts) -> Timed {
        let (start, end) = (bar.start_ns as i64, bar.end_ns as i64);
        let place = |span: Option<usize>| {
            span.and_then(|span| self.bar_of.get(&span)).map_or(-1, |bar| *bar as i64)
        };
        let Some(index) = self.span(bar) else {
            let call = self.host.get(&bar.step).filter(|_| bar.mark == Mark::Blocked);
            let released = call.and_then(|call| released_by(&self.recorded.record.timeline, call));
            let waits = released.map(|span| {
                let text = texts.index("the device".to_owned());
                (text, bar.end_ns - bar.start_ns, place(Some(span as usize)))
            });
            return Timed(None, None, start, end, waits.into_iter().collect());
        };
        let Some(Some(instants)) = self.instants.get(index) else {
            return Timed(None, None, start, end, Vec::new());
        };
        let mut waits = Vec::new();
        for wait in &instants.waits {
            let from = wait.time.start_ns.max(self.start_ns);
            let ns = wait.time.end_ns.saturating_sub(from);
            if ns > 0 {
                let (text, span) = self.words(wait.what, &self.spans()[index]);
                waits.push((texts.index(text), ns, place(span.map(|span| span as usize))));
            }
        }
        Timed(
            Some(self.since_start(instants.issued_ns)),
            Some(self.since_start(instants.ready_ns)),
            start,
            end,
            waits,
        )
    }

    /// The cause of a wait in words, and the operation that it was.
    fn words(&self, what: Awaited, span: &Span) -> (String, Option<u32>) {
        let (text, span) = match what {
            Awaited::Host => ("the host to issue it".to_owned(), None),
            Awaited::Stream(span) => ("its stream".to_owned(), Some(span)),
            Awaited::Event { wait, span } => {
                let program = &self.recorded.record.program;
                let site = program.steps.get(wait as usize).and_then(|step| program.site(step));
                let line = site.map(|site| format!(" (line {})", site.line)).unwrap_or_default();
                (format!("an event{line}"), span)
            }
            Awaited::DefaultStream(span) if self.is_default(span) => {
                ("the default stream".to_owned(), span)
            }
            Awaited::DefaultStream(span) => ("all blocking streams".to_owned(), span),
            Awaited::Graph(span) => ("an operation of its graph".to_owned(), Some(span)),
            Awaited::Engine(by) if span.kind == SpanKind::Kernel => {
                ("room on the multiprocessors".to_owned(), Some(by))
            }
            Awaited::Engine(by) => ("its engine".to_owned(), Some(by)),
            Awaited::Queue(by) => ("its work queue".to_owned(), Some(by)),
            Awaited::Staging => ("the host to fill the staging buffer".to_owned(), None),
            Awaited::Device => ("the device".to_owned(), None),
        };
        (text, span)
    }

    fn is_default(&self, span: Option<u32>) -> bool {
        span.is_some_and(|span| self.spans()[span as usize].stream == StreamId::LEGACY)
    }

    /// Where the host is at each step of the axis, and what its streams hold.
    fn way(&self, axis_ns: u64) -> Way {
        let timeline = &self.recorded.record.timeline;
        let end = timeline.extent().ns();
        let streams = self.streams();
        let mut states: Vec<(u64, i64, bool, Vec<[u32; 2]>)> = Vec::new();
        for step in 0..=STEPS {
            let ns = axis_ns * step / STEPS;
            let at = self.start_ns + ns;
            let is_over = ns >= end;
            let call = timeline.host.iter().find(|call| {
                !is_over
                    && call.start_ns <= at
                    && at < call.end_ns
                    && self.line_of(call.step).is_some()
            });
            let line = call.and_then(|call| self.line_of(call.step)).map_or(-1, |line| line as i64);
            let is_blocked = call.is_some_and(|call| call.blocked().start_ns <= at);
            let queues = streams.iter().map(|stream| {
                let mut counts = [0; 2];
                for (span, instants) in self.spans().iter().zip(&self.instants) {
                    if span.stream != *stream || span.end_ns <= at || is_over {
                        continue;
                    }
                    let issued = instants.as_ref().map_or(span.start_ns, |it| it.issued_ns);
                    match (issued <= at, span.start_ns <= at) {
                        (_, true) => counts[1] += 1,
                        (true, false) => counts[0] += 1,
                        _ => {}
                    }
                }
                counts
            });
            let queues: Vec<[u32; 2]> = queues.collect();
            let same = |last: &&(u64, i64, bool, Vec<[u32; 2]>)| {
                (last.1, last.2, &last.3) == (line, is_blocked, &queues)
            };
            if states.last().filter(same).is_none() {
                states.push((step, line, is_blocked, queues));
            }
        }
        Way { title: self.recorded.title.clone(), end, states }
    }

    fn streams(&self) -> Vec<StreamId> {
        let shown = self.bar_of.keys().map(|span| self.spans()[*span].stream);
        let mut streams: Vec<StreamId> = shown.collect();
        streams.sort_unstable();
        streams.dedup();
        streams
    }

    /// Where the host is and what its streams hold, before the first step.
    fn queues(&self) -> String {
        let title = escape(&self.recorded.title);
        let streams = self.streams().into_iter().map(|stream| {
            format!(
                "<span class=\"queue\">{stream}: <span class=\"count\">empty</span> \
                 <span class=\"bar\" aria-hidden=\"true\"></span></span>"
            )
        });
        let streams: String = streams.collect();
        format!("<li><b>{title}</b>: <span class=\"host\">the host begins</span>{streams}</li>")
    }

    fn line_of(&self, step: u32) -> Option<usize> {
        let site = self.recorded.record.program.steps.get(step as usize)?.site?;
        *self.of_site.get(site as usize)?
    }

    /// The lines, to be chosen.
    fn html(&self, id: &str, index: usize) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let title = escape(&self.recorded.title);
        let program =
            self.recorded.program().map_or(String::new(), |(of, own)| format!("{of}.{own}"));
        let mut html = format!(
            "<div role=\"group\" aria-labelledby=\"{id}-of-{index}\">\
             <div class=\"of\" id=\"{id}-of-{index}\" role=\"presentation\">{title}</div>"
        );
        for (place, line) in self.lines.iter().enumerate() {
            let Line { file, number, text } = line;
            let file = file.rsplit('/').next().unwrap_or_default();
            let code = match text {
                Some(text) => format!("<code>{}</code>", escape(text)),
                None => format!("<code>{}:{number}</code>", escape(file)),
            };
            let key = key(&program, file);
            _ = write!(
                html,
                "<div role=\"option\" id=\"{id}-line-{index}-{place}\" aria-selected=\"false\" \
                 data-line=\"{index} {place}\" data-source=\"{key} {number}\">\
                 <span class=\"number\">{number}</span> {code}</div>"
            );
        }
        html + "</div>"
    }
}

/// The bars that one bar of the drawing stands for.
fn bars<'a>(layout: &'a Layout, drawn: &'a Drawn) -> impl Iterator<Item = &'a Bar> {
    let row = &layout.charts[drawn.chart].lanes[drawn.lane].rows[drawn.row];
    drawn.bars.iter().map(|index| &row[*index])
}

fn first<'a>(layout: &'a Layout, drawn: &'a Drawn) -> Option<&'a Bar> {
    bars(layout, drawn).next()
}

fn of_bar(chart: &Chart<'_>, drawn: &Drawn, layout: &Layout, texts: &mut Texts) -> OfBar {
    let lane = &layout.charts[drawn.chart].lanes[drawn.lane];
    let shown: Vec<&Bar> = bars(layout, drawn).collect();
    let line = shown.first().and_then(|bar| chart.line(bar)).map_or(-1, |line| line as i64);
    let what = match shown[..] {
        [bar] => what(bar, chart.span(bar).map(|span| &chart.spans()[span])),
        _ => shown.first().map(|bar| bar.mark.label().to_owned()).unwrap_or_default(),
    };
    let (what, row) = (texts.index(what), texts.index(lane.label.clone()));
    let mut timed = Vec::new();
    for bar in shown.first().into_iter().chain(shown.get(1..).and_then(<[_]>::last)) {
        timed.push(chart.timed(bar, texts));
    }
    OfBar(drawn.chart, line, what, row, shown.len(), timed)
}

/// A single bar in a few words.
fn what(bar: &Bar, span: Option<&Span>) -> String {
    let mut text = bar.mark.label().to_owned();
    if !bar.name.is_empty() {
        _ = write!(text, " {}", bar.name);
    }
    if let Some(span) = span.filter(|span| span.bytes > 0) {
        _ = write!(text, ", {} bytes", span.bytes);
    }
    text
}

/// The text of a program of a puzzle. Solutions are nobody's to read here.
fn source(
    exercises: &BTreeMap<String, Exercise>,
    recorded: &Recorded,
    file: &str,
) -> Option<String> {
    let (exercise, program) = recorded.program()?;
    let exercise = exercises.get(exercise)?;
    let is_puzzle = file.starts_with("examples/") && !file.contains("..");
    let program = exercise.program(program).filter(|_| is_puzzle)?;
    exercise.source(program, file).ok()
}

/// The key of a program's file, where a name would give something away. Programs may share a
/// file.
pub(crate) fn key(program: &str, file: &str) -> String {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let file = file.rsplit('/').next().unwrap_or_default();
    let bytes = program.bytes().chain([b' ']).chain(file.bytes());
    format!("{:x}", bytes.fold(0xcbf2_9ce4_8422_2325, fnv))
}
