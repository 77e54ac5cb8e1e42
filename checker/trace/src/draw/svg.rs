//! A layout as SVG, to stand by itself or inside a page.
//!
//! Colours follow the reader's light or dark preference, and print in the light ones. A page with
//! themes of its own sets custom properties instead, which win: put [`theme`] into the rule of each
//! theme. Text takes the page's own colour and font. Wide figures belong into a container that
//! scrolls, with a least width of 560 px, below which the text becomes too small.

mod paint;
mod text;

use std::fmt::Write as _;
use std::marker::PhantomData;

use crate::draw::Mark;
use crate::draw::flaws::Flaw;
use crate::draw::layout::{Anchor, Arrow, Bar, Chart, Lane, Layout, MOST_SINGLE_BARS};
use crate::draw::raster::{Run, raster, raster_by_site};
use crate::draw::scale::{duration, percent};
use crate::words;

pub use paint::{Appearance, sheet, theme};
use paint::{Colours, OfPage, Own};
use text::{Hundredths, escape, identifier, text_width};

/// A playground's wasm does without: each kB of it counts.
const KEEPS_BARS: bool = !crate::IS_PLAYGROUND;

/// All lengths are in px.
const WIDTH: u64 = 720;
const MARGIN: u64 = 6;
/// Right of the bars, for a share (`100 %`) beside the end of the last label of the axis.
const SHARE: u64 = 54;
const TITLE: u64 = 24;
/// Height of a row, and of the bar in it.
const ROW: u64 = 20;
const BAR: u64 = 16;
/// Rows of a stream or an engine that have that height. Each further one adds `FURTHER`, and all of
/// them share the height: a hundred kernels at once are a stack of thin bars.
const FULL_ROWS: u64 = 4;
const FURTHER: u64 = 1;
/// Between lanes, and between charts.
const LANE_GAP: u64 = 3;
const CHART_GAP: u64 = 14;
const AXIS: u64 = 22;
const LEGEND_ROW: u64 = 20;

/// Two cells of a raster to a pixel, for screens that have two dots to one.
const CELLS_PER_PX: u64 = 2;

/// `layout` as one `svg` element of 720 px width, without blank lines, so that it can stand in a
/// page written in Markdown. `id` becomes the id of the element and the prefix of all ids in it, so
/// it must be the only one of its kind on the page.
///
/// Up to [`MOST_SINGLE_BARS`] bars stay apart, each with a tooltip and reachable with the keyboard.
/// Where there are more, bars of the same kind in the same row that lie closer than half a pixel
/// become one, whose tooltip sums them up.
pub fn svg(layout: &Layout, id: &str) -> String {
    draw::<Own>(layout, id)
}

/// The same, but up to `most` bars stay apart: for a page in which they are zoomed into.
pub fn svg_up_to(layout: &Layout, id: &str, most: usize) -> String {
    let mut picture = Picture::<Own>::new(layout, identifier(id));
    picture.single = layout.bars().count() <= most;
    finished(picture, &mut Vec::new())
}

/// The same without colours, for a page that has them: [`sheet`], and [`theme`] in the rule of each
/// of its themes.
pub fn svg_of_page(layout: &Layout, id: &str) -> String {
    draw::<OfPage>(layout, id)
}

/// A bar as it is drawn, in a group with the id `ID-bar-N`, where N is its place among all of them.
/// It is one bar of the layout, or several that cannot be told apart and come from one place in the
/// source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Index into [`Layout::charts`].
    pub chart: usize,
    /// Index into [`Chart::lanes`].
    pub lane: usize,
    /// Index into [`Lane::rows`].
    pub row: usize,
    /// Indices into the row.
    pub bars: Vec<usize>,
}

/// [`svg`], and what each bar of it stands for.
pub fn svg_and_bars(layout: &Layout, id: &str) -> (String, Vec<Drawn>) {
    let mut picture = Picture::<Own>::new(layout, identifier(id));
    picture.drawn = Some(Vec::new());
    let mut drawn = Vec::new();
    let svg = finished(picture, &mut drawn);
    (svg, drawn)
}

fn draw<C: Colours>(layout: &Layout, id: &str) -> String {
    finished(Picture::<C>::new(layout, identifier(id)), &mut Vec::new())
}

fn finished<C: Colours>(mut picture: Picture<'_, C>, drawn: &mut Vec<Drawn>) -> String {
    let layout = picture.layout;
    let mut y = MARGIN;
    for (index, chart) in layout.charts.iter().enumerate() {
        if index > 0 {
            y += CHART_GAP;
        }
        y = picture.chart(index, chart, y);
    }
    drawn.extend(picture.drawn.take().into_iter().flatten());
    picture.axis(y);
    y = picture.legend(y + AXIS);
    picture.finish(y + MARGIN)
}

/// How much of the width of a drawing lies before its axis and after it, in percent.
pub fn margins(layout: &Layout) -> (f64, f64) {
    let picture = Picture::<Own>::new(layout, String::new());
    let percent = |px: u64| px as f64 * 100.0 / WIDTH as f64;
    (percent(picture.left), percent(WIDTH - picture.left - picture.span))
}

/// The place of the bars of a row.
#[derive(Clone, Copy)]
struct Stripe {
    top: Hundredths,
    height: Hundredths,
}

/// The height of all rows together, in px.
fn lane_height(lane: &Lane) -> u64 {
    let rows = lane.rows.len() as u64;
    rows.min(FULL_ROWS) * ROW + rows.saturating_sub(FULL_ROWS) * FURTHER
}

/// The height of each of the rows.
fn row_height(lane: &Lane) -> Hundredths {
    Hundredths(lane_height(lane) * 100 / (lane.rows.len() as u64).max(1))
}

struct Picture<'a, C> {
    colours: PhantomData<C>,
    layout: &'a Layout,
    id: String,
    marks: Vec<Mark>,
    /// Where the bars begin, and how far they reach at most.
    left: u64,
    span: u64,
    single: bool,
    /// The bars of the layout that the bars so far stand for, where that is wanted.
    drawn: Option<Vec<Drawn>>,
    /// Grid lines lie under the bars, so the two are written apart.
    body: String,
    grid: String,
}

impl<'a, C: Colours> Picture<'a, C> {
    fn new(layout: &'a Layout, id: String) -> Self {
        let labels = layout.charts.iter().flat_map(|c| &c.lanes).map(|l| text_width(&l.label, 12));
        let left = MARGIN + labels.max().unwrap_or(0).min(140) + 10;
        Self {
            colours: PhantomData,
            layout,
            id,
            marks: layout.marks(),
            left,
            span: WIDTH - left - SHARE - MARGIN,
            single: layout.bars().count() <= MOST_SINGLE_BARS,
            drawn: None,
            body: String::new(),
            grid: String::new(),
        }
    }

    /// Keeps what the next bar stands for, and says which attribute tells it from others.
    fn keep(&mut self, place: [usize; 3], bars: Vec<usize>) -> String {
        let [chart, lane, row] = place;
        let Some(drawn) = self.drawn.as_mut().filter(|_| KEEPS_BARS) else { return String::new() };
        drawn.push(Drawn { chart, lane, row, bars });
        format!(r#" id="{}-bar-{}""#, self.id, drawn.len() - 1)
    }

    /// Where an instant lies.
    fn x(&self, ns: u64) -> Hundredths {
        let along = u128::from(ns) * u128::from(self.span * 100) / u128::from(self.layout.axis_ns);
        Hundredths(self.left * 100 + along as u64)
    }

    fn chart(&mut self, index: usize, chart: &Chart, top: u64) -> u64 {
        let (right, baseline) = (WIDTH - MARGIN, top + 15);
        let (title, makespan) = (escape(&chart.title), duration(chart.makespan_ns));
        line(
            &mut self.body,
            format_args!(
                r#"<text x="{MARGIN}" y="{baseline}" class="h" font-size="13" font-weight="600">{title}</text>"#
            ),
        );
        line(
            &mut self.body,
            format_args!(
                r#"<text x="{right}" y="{baseline}" font-size="12" font-weight="600" text-anchor="end">{makespan}</text>"#
            ),
        );
        let first = top + TITLE;
        let mut y = first;
        let mut tops = Vec::new();
        for (place, lane) in chart.lanes.iter().enumerate() {
            tops.push(y);
            self.lane([index, place], lane, chart.makespan_ns, y);
            y += lane_height(lane) + LANE_GAP;
        }
        self.grid(first, y);
        // The end of this chart, where the axis goes on for a longer one.
        if chart.makespan_ns < self.layout.axis_ns {
            let end = self.x(chart.makespan_ns);
            line(
                &mut self.body,
                format_args!(
                    r#"<path d="M{end} {first}V{y}" stroke="currentColor" stroke-width="1.5"/>"#
                ),
            );
        }
        let row = |lane: usize, row: usize| {
            let height = row_height(&chart.lanes[lane]);
            (Hundredths(tops[lane] * 100 + row as u64 * height.0), height)
        };
        for arrow in &chart.arrows {
            self.arrow(*arrow, row);
        }
        for flaw in &chart.flaws {
            self.flaw(flaw, row);
        }
        y
    }

    /// Draws a flaw: a frame around each of the bars that it is about, a broken line where an edge
    /// is missing, and the code on it.
    fn flaw(&mut self, flaw: &Flaw, row: impl Fn(usize, usize) -> (Hundredths, Hundredths)) {
        /// Height of the sign with the code, and its room beside the letters.
        const SIGN: u64 = 14;
        const ROOM: u64 = 8;
        let [line_of, ground, ink] = C::flaw();
        let mut marks = String::new();
        let mut middles: Vec<(u64, u64)> = Vec::new();
        for spot in &flaw.spots {
            let (start, end) = (self.x(spot.start_ns).0, self.x(spot.end_ns).0);
            // What takes no time is seen too.
            let width = Hundredths((end - start).max(300) + 200);
            let (top, height) = row(spot.lane, spot.row);
            // Of a full row it leaves the edges.
            let inset = height.0 / (ROW * 100) * 100;
            let (x, y) = (Hundredths(start - 100), Hundredths(top.0 + inset));
            let height = Hundredths(height.0 - 2 * inset);
            marks += &format!(
                r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="2" fill="none" {line_of} stroke-width="2.5"/>"#
            );
            middles.push((start + width.0 / 2, (y.0 + height.0 / 2) / 100));
        }
        let (mut x, mut y) = middles.first().copied().unwrap_or_default();
        if let [(x1, y1), (x2, y2)] = middles[..] {
            let [from, to] = [x1, x2].map(Hundredths);
            marks += &format!(
                r#"<path d="M{from} {y1}L{to} {y2}" fill="none" {line_of} stroke-width="2" stroke-dasharray="4 3"/>"#
            );
            (x, y) = (x1.midpoint(x2), y1.midpoint(y2));
        }
        let code = flaw.short();
        let wide = (text_width(code, 11) + ROOM) * 100;
        let left = x.saturating_sub(wide / 2).min((WIDTH - MARGIN) * 100 - wide);
        let (at, wide, middle) = (Hundredths(left), Hundredths(wide), Hundredths(left + wide / 2));
        let (top, baseline) = (y.saturating_sub(SIGN / 2), y.saturating_sub(SIGN / 2) + 11);
        let title = escape(&format!("{}: {}", flaw.code, flaw.title));
        line(
            &mut self.body,
            format_args!(
                r#"<g class="flaw" tabindex="0" role="img"><title>{title}</title>{marks}<rect x="{at}" y="{top}" width="{wide}" height="{SIGN}" rx="3" {ground} stroke-width="1"/><text x="{middle}" y="{baseline}" font-size="11" font-weight="600" text-anchor="middle" {ink}>{code}</text></g>"#
            ),
        );
    }

    fn lane(&mut self, place: [usize; 2], lane: &Lane, makespan_ns: u64, top: u64) {
        let (left, width) = (self.left, self.x(makespan_ns).0 - self.left * 100);
        let (height, baseline) = (lane_height(lane), top + 14);
        let width = Hundredths(width);
        line(
            &mut self.grid,
            format_args!(
                r#"<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="currentColor" fill-opacity=".06"/>"#
            ),
        );
        let label = escape(&lane.label);
        let end = left - 8;
        line(
            &mut self.body,
            format_args!(
                r#"<text x="{end}" y="{baseline}" font-size="12" text-anchor="end">{label}</text>"#
            ),
        );
        if let Some(busy) = lane.busy_ns {
            let (right, share) = (WIDTH - MARGIN, percent(busy, makespan_ns));
            line(
                &mut self.body,
                format_args!(
                    r#"<text x="{right}" y="{baseline}" font-size="11" text-anchor="end">{share}</text>"#
                ),
            );
        }
        for (index, row) in lane.rows.iter().enumerate() {
            let height = row_height(lane);
            let bar = Hundredths(height.0 * BAR / ROW);
            let top = top * 100 + index as u64 * height.0 + (height.0 - bar.0) / 2;
            let at = Stripe { top: Hundredths(top), height: bar };
            let place = [place[0], place[1], index];
            if self.single {
                for (index, bar) in row.iter().enumerate() {
                    let id = self.keep(place, vec![index]);
                    self.bar(&id, bar, at);
                }
            } else if KEEPS_BARS && self.drawn.is_some() {
                self.runs_by_site(place, row, at);
            } else {
                self.runs(row, at);
            }
        }
    }

    /// One bar, with its letters where they fit.
    fn bar(&mut self, id: &str, bar: &Bar, at: Stripe) {
        let (start, end) = (self.x(bar.start_ns), self.x(bar.end_ns));
        let width = end.0 - start.0;
        let rect = self.rect(bar.mark, start, Hundredths(width), at);
        let letters = letters(bar)
            .into_iter()
            .find(|text| !text.is_empty() && (text_width(text, 11) + 6) * 100 <= width)
            .filter(|_| at.height.0 == BAR * 100);
        // Who speaks to the computer calls a bar by what is to be read on it (WCAG 2.5.3).
        let title = match (letters, bar.describe()) {
            (Some(letters), title) if !words::contains(&title, letters) => {
                format!("{letters}, {title}")
            }
            (_, title) => title,
        };
        let title = escape(&title);
        let letters = letters.map(|text| {
            let baseline = Hundredths(at.top.0 + 1200);
            let middle = Hundredths(start.0 + width / 2);
            let (class, attributes) = (paint::class(bar.mark), C::text(bar.mark));
            let text = escape(text);
            format!(
                r#"<text x="{middle}" y="{baseline}" class="t {class}-t" font-size="11" text-anchor="middle" {attributes}>{text}</text>"#
            )
        });
        let letters = letters.unwrap_or_default();
        line(
            &mut self.body,
            format_args!(
                r#"<g{id} tabindex="0" role="img"><title>{title}</title>{rect}{letters}</g>"#
            ),
        );
    }

    /// A row of more bars than can be told apart.
    fn runs(&mut self, row: &[Bar], at: Stripe) {
        for run in raster(row, self.layout.axis_ns, self.cells()) {
            self.run("", run, at);
        }
    }

    /// The same where each bar stands for calls of one place in the source.
    fn runs_by_site(&mut self, place: [usize; 3], row: &[Bar], at: Stripe) {
        let (axis, cells) = (u128::from(self.layout.axis_ns), self.cells() as u128);
        for (run, site) in raster_by_site(row, self.layout.axis_ns, self.cells()) {
            let (from, to) = (run.first as u128 * axis, run.end as u128 * axis);
            let meets = |bar: &Bar| {
                let start = u128::from(bar.start_ns).min(axis - 1) * cells;
                start < to && (u128::from(bar.end_ns) * cells).max(start + cells) > from
            };
            let of_run = |bar: &Bar| bar.mark == run.mark && bar.site == site && meets(bar);
            let bars = row.iter().enumerate().filter(|(_, bar)| of_run(bar));
            let id = self.keep(place, bars.map(|(index, _)| index).collect());
            self.run(&id, run, at);
        }
    }

    fn cells(&self) -> usize {
        (self.span * CELLS_PER_PX) as usize
    }

    fn run(&mut self, id: &str, run: Run, at: Stripe) {
        let place = |cell: usize| self.left * 100 + cell as u64 * 100 / CELLS_PER_PX;
        let (start, width) = (place(run.first), place(run.end) - place(run.first));
        let rect = self.rect(run.mark, Hundredths(start), Hundredths(width), at);
        let (bars, mark, busy) = (run.bars.max(1), run.mark.label(), duration(run.busy_ns));
        line(
            &mut self.body,
            format_args!("<g{id}><title>{bars} × {mark}, {busy}</title>{rect}</g>"),
        );
    }

    fn rect(&self, mark: Mark, x: Hundredths, width: Hundredths, at: Stripe) -> String {
        let Stripe { top: y, height } = at;
        // Thinner would not be seen, and of a thin bar the outline would be all that is.
        let outline = if width.0 < 300 || height.0 < 800 { ".25" } else { ".75" };
        let width = Hundredths(width.0.max(75));
        let (class, attributes) = (paint::class(mark), C::bar(mark, &self.id));
        format!(
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{class}-b" {attributes} stroke-width="{outline}"/>"#
        )
    }

    fn arrow(&mut self, arrow: Arrow, row: impl Fn(usize, usize) -> (Hundredths, Hundredths)) {
        let y = |at: Anchor| {
            let (top, height) = row(at.lane, at.row);
            Hundredths(top.0 + height.0 / 2)
        };
        let (x1, y1, x2, y2) =
            (self.x(arrow.from.at_ns), y(arrow.from), self.x(arrow.to.at_ns), y(arrow.to));
        let id = &self.id;
        let (bend, back) = (Hundredths(x1.0 + 1000), Hundredths(x2.0.saturating_sub(1000)));
        line(
            &mut self.body,
            format_args!(
                r##"<path d="M{x1} {y1}C{bend} {y1} {back} {y2} {x2} {y2}" fill="none" stroke="currentColor" stroke-width="1.5" marker-end="url(#{id}-arrow)"/>"##
            ),
        );
    }

    /// Labels of the ticks and of the shares, below all charts.
    fn axis(&mut self, bottom: u64) {
        let baseline = bottom + 15;
        for tick in &self.layout.ticks {
            let (x, label) = (self.x(tick.at_ns), &tick.label);
            line(
                &mut self.body,
                format_args!(
                    r#"<text x="{x}" y="{baseline}" font-size="11" text-anchor="middle">{label}</text>"#
                ),
            );
        }
        let right = WIDTH - MARGIN;
        line(
            &mut self.body,
            format_args!(
                r#"<text x="{right}" y="{baseline}" font-size="11" text-anchor="end">busy</text>"#
            ),
        );
    }

    /// Draws grid lines under one chart.
    fn grid(&mut self, top: u64, bottom: u64) {
        for tick in &self.layout.ticks {
            let x = self.x(tick.at_ns);
            line(
                &mut self.grid,
                format_args!(
                    r#"<path d="M{x} {top}V{bottom}" stroke="currentColor" stroke-opacity=".2"/>"#
                ),
            );
        }
    }

    fn legend(&mut self, top: u64) -> u64 {
        const SWATCH: u64 = 24;
        let (mut x, mut y) = (self.left, top + 4);
        for mark in self.marks.clone() {
            let width = SWATCH + 6 + text_width(mark.label(), 12);
            if x + width > WIDTH - MARGIN && x > self.left {
                (x, y) = (self.left, y + LEGEND_ROW);
            }
            let at = Stripe { top: Hundredths(y * 100), height: Hundredths(BAR * 100) };
            let rect = self.rect(mark, Hundredths(x * 100), Hundredths(SWATCH * 100), at);
            let (after, baseline, label) = (x + SWATCH + 6, y + 12, mark.label());
            line(
                &mut self.body,
                format_args!(
                    r#"{rect}<text x="{after}" y="{baseline}" font-size="12">{label}</text>"#
                ),
            );
            x += width + 16;
        }
        let mut told: Vec<&str> = Vec::new();
        for flaw in self.layout.charts.iter().flat_map(|chart| &chart.flaws) {
            if told.contains(&flaw.code) {
                continue;
            }
            told.push(flaw.code);
            y += LEGEND_ROW;
            let (x, line_of) = (self.left, &C::flaw()[0]);
            let (middle, end, after, baseline) = (y + 8, x + SWATCH, x + SWATCH + 6, y + 12);
            let (code, legend) = (flaw.code, flaw.legend);
            let dash = if flaw.spots.len() > 1 { r#" stroke-dasharray="4 3""# } else { "" };
            line(
                &mut self.body,
                format_args!(
                    r#"<path d="M{x} {middle}H{end}" {line_of} stroke-width="2"{dash}/><text x="{after}" y="{baseline}" font-size="12">{code}: {legend}</text>"#
                ),
            );
        }
        y + LEGEND_ROW
    }

    fn finish(self, height: u64) -> String {
        let Self { layout, id, marks, grid, body, single, .. } = self;
        let mut out = String::new();
        // An image hides what is in it from assistive technology, so one with parts that take the
        // focus is a group of images instead.
        let role = if single { "group" } else { "img" };
        line(
            &mut out,
            format_args!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" id="{id}" class="swim-timeline" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="{role}" aria-labelledby="{id}-title" font-family="system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif" fill="currentColor">"#
            ),
        );
        let charts = layout.charts.iter();
        let name: Vec<String> =
            charts.map(|c| format!("{}: {}", c.title, duration(c.makespan_ns))).collect();
        let name = escape(&format!("Timeline. {}", name.join("; ")));
        line(&mut out, format_args!(r#"<title id="{id}-title">{name}</title>"#));
        let has_flaws = layout.charts.iter().any(|chart| !chart.flaws.is_empty());
        out.push_str(&C::style(&id, &marks));
        if has_flaws {
            out.push_str(&C::style_of_flaws(&id));
        }
        out.push_str(&paint::definitions::<C>(&id, &marks));
        out.push_str(&grid);
        out.push_str(&body);
        out.push_str("</svg>\n");
        out
    }
}

/// Letters that may stand in a bar, the longest first.
fn letters(bar: &Bar) -> [&str; 2] {
    match bar.mark {
        Mark::Kernel => [&bar.name, "K"],
        Mark::HostToDevice => ["H2D", ""],
        Mark::DeviceToHost => ["D2H", ""],
        Mark::DeviceToDevice => ["D2D", ""],
        Mark::PeerToPeer => ["P2P", ""],
        Mark::HostToHost => ["H2H", ""],
        Mark::Memset => ["set", ""],
        Mark::HostFunction => ["function", "f"],
        Mark::HostWork => ["work", ""],
        Mark::Call => ["", ""],
        Mark::Blocked => ["blocked", ""],
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let written = writeln!(out, "{text}");
    debug_assert!(written.is_ok(), "a string takes all that is written to it");
}
