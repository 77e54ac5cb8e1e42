//! A layout as text of limited width.

use crate::draw::Mark;
use crate::draw::layout::{Bar, Chart, Lane, Layout};
use crate::draw::raster::raster;
use crate::draw::scale::{Tick, duration, percent};

/// How a terminal tells the kinds of work apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// By glyph alone; no escape bytes.
    Plain,
    /// By glyph and colour.
    Colour,
    /// By glyph, and with no character outside ASCII.
    Ascii,
}

/// Fewer columns leave no room for bars.
/// The most rows of a stream or an engine here.
const MOST_ROWS: usize = 4;

const COLUMNS_AT_LEAST: usize = 40;

/// Columns to the right of the bars, for a share: ` 100 %`.
const SHARE: usize = 6;

/// `layout` as lines of at most `columns` columns, or of 40 if that is more. Each line
/// ends in a newline.
pub fn terminal(layout: &Layout, columns: usize, style: Style) -> String {
    let columns = columns.max(COLUMNS_AT_LEAST);
    let labels = layout.charts.iter().flat_map(|c| &c.lanes).map(|lane| width(&lane.label));
    let label = labels.max().unwrap_or(0).min(columns / 4);
    let page = Page { layout, columns, label, cells: columns - label - 1 - SHARE, style };
    let mut lines = Vec::new();
    for chart in &layout.charts {
        page.chart(chart, &mut lines);
    }
    lines.push(page.axis());
    page.legend(&mut lines);
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

struct Page<'a> {
    layout: &'a Layout,
    columns: usize,
    /// Columns of the lanes' labels.
    label: usize,
    /// Columns of the bars.
    cells: usize,
    style: Style,
}

impl Page<'_> {
    fn chart(&self, chart: &Chart, lines: &mut Vec<String>) {
        let makespan = self.text(&duration(chart.makespan_ns));
        let title = self.fit(&chart.title, self.columns - makespan.chars().count() - 2);
        let gap = self.columns - width(&title) - makespan.chars().count();
        lines.push(format!("{title}{}{makespan}", " ".repeat(gap)));
        for (index, lane) in chart.lanes.iter().enumerate() {
            self.lane(lane, chart.makespan_ns, lines);
            self.flaws(chart, index, lines);
        }
        self.edges(chart, lines);
    }

    /// Below a lane, where something is wrong in it: `^^^ H01 reads`. One that would run into
    /// another is left to the next line.
    fn flaws(&self, chart: &Chart, lane: usize, lines: &mut Vec<String>) {
        let spots = chart.flaws.iter().flat_map(|flaw| flaw.spots.iter().map(move |it| (flaw, it)));
        let mut left: Vec<(usize, usize, String)> = spots
            .filter(|(_, spot)| spot.lane == lane)
            .map(|(flaw, spot)| {
                let along = |ns: u64| u128::from(ns) * self.cells as u128;
                let axis = u128::from(self.layout.axis_ns);
                let first = ((along(spot.start_ns) / axis) as usize).min(self.cells - 1);
                let end = (along(spot.end_ns).div_ceil(axis) as usize).min(self.cells);
                let cells = end.max(first + 1) - first;
                (first, cells, format!("{} {}", flaw.short(), spot.label).trim_end().to_owned())
            })
            .collect();
        left.sort();
        left.dedup();
        while !left.is_empty() {
            let (mut text, mut used) = (" ".repeat(self.label + 1), self.label + 1);
            let mut later = Vec::new();
            for (first, cells, words) in left {
                // The words go after what they describe, before it if the line ends there, or into
                // it if it fills the line. None begins in the column of the labels, so each line
                // takes one at the least.
                let wide = width(&words) + 1;
                let start = self.label + 1 + first;
                let before = start.checked_sub(wide).filter(|from| *from > self.label);
                let marks = |count| "^".repeat(count);
                let (from, line) = match before {
                    _ if start + cells + wide <= self.columns => {
                        (start, format!("{} {words}", marks(cells)))
                    }
                    Some(from) => (from, format!("{words} {}", marks(cells))),
                    None => {
                        let around = cells.saturating_sub(wide + 1).max(2);
                        let left = around / 2;
                        (start, format!("{} {words} {}", marks(left), marks(around - left)))
                    }
                };
                if from < used {
                    later.push((first, cells, words));
                    continue;
                }
                text.push_str(&" ".repeat(from - used));
                let line = self.fit(&line, self.columns - from);
                self.paint("31", &line, &mut text);
                used = from + width(&line) + 1;
                text.push(' ');
            }
            lines.push(text);
            left = later;
        }
    }

    /// Writes the missing edges, once for each code that is marked.
    fn edges(&self, chart: &Chart, lines: &mut Vec<String>) {
        let mut told: Vec<&str> = Vec::new();
        for flaw in &chart.flaws {
            if !told.contains(&flaw.code) {
                told.push(flaw.code);
                let legend = format!("{}: {}", flaw.code, flaw.legend);
                let legend = self.fit(&legend, self.columns - self.label - 1);
                lines.push(format!("{}{legend}", " ".repeat(self.label + 1)));
            }
        }
    }

    fn lane(&self, lane: &Lane, makespan_ns: u64, lines: &mut Vec<String>) {
        let label = self.fit(&lane.label, self.label);
        let pad = " ".repeat(self.label - width(&label) + 1);
        // What does not fit goes into the last one.
        let (first, rest) = lane.rows.split_at(lane.rows.len().min(MOST_ROWS - 1));
        let mut last: Vec<Bar> = rest.iter().flatten().cloned().collect();
        last.sort_by_key(|bar| (bar.start_ns, bar.step));
        let last = (!rest.is_empty()).then_some(&last);
        for (index, row) in first.iter().chain(last).enumerate() {
            let cells = self.row(row, makespan_ns);
            let share = lane.busy_ns.filter(|_| index == 0);
            let share = share.map(|ns| percent(ns, makespan_ns)).unwrap_or_default();
            let head =
                if index == 0 { format!("{label}{pad}") } else { " ".repeat(self.label + 1) };
            lines.push(format!("{head}{cells}{share:>SHARE$}"));
        }
    }

    /// The cells of one row; past the end of its chart they are blank, not idle.
    fn row(&self, bars: &[Bar], makespan_ns: u64) -> String {
        let scaled = u128::from(makespan_ns) * self.cells as u128;
        let used = scaled.div_ceil(u128::from(self.layout.axis_ns)) as usize;
        let mut text = String::new();
        let mut at = 0;
        for run in raster(bars, self.layout.axis_ns, self.cells) {
            self.idle(run.first - at, &mut text);
            let glyphs = String::from(glyph(run.mark, self.style)).repeat(run.end - run.first);
            self.paint(colour(run.mark), &glyphs, &mut text);
            at = run.end;
        }
        self.idle(used.saturating_sub(at), &mut text);
        text.extend(std::iter::repeat_n(' ', self.cells - at.max(used)));
        text
    }

    fn idle(&self, cells: usize, text: &mut String) {
        let glyph = if self.style == Style::Ascii { "." } else { "·" };
        if cells > 0 {
            self.paint("2", &glyph.repeat(cells), text);
        }
    }

    /// Adds `glyphs` in a colour, given as the parameter of the escape sequence that sets it.
    fn paint(&self, colour: &str, glyphs: &str, text: &mut String) {
        match self.style {
            Style::Colour => text.push_str(&format!("\u{1b}[{colour}m{glyphs}\u{1b}[0m")),
            Style::Plain | Style::Ascii => text.push_str(glyphs),
        }
    }

    /// Labels of ticks, the first character of each below the place it names: all of them, or every
    /// second and so on where they would run into each other.
    fn axis(&self) -> String {
        let labels: Vec<(usize, String)> =
            self.layout.ticks.iter().map(|tick| self.tick(tick)).collect();
        let apart = |pair: &[&(usize, String)]| pair[0].0 + width(&pair[0].1) < pair[1].0;
        let stride = (1..labels.len()).find(|&stride| {
            labels.iter().step_by(stride).collect::<Vec<_>>().windows(2).all(apart)
        });
        let mut text = " ".repeat(self.label + 1);
        for (at, label) in labels.iter().step_by(stride.unwrap_or(labels.len())) {
            if at + width(label) <= self.columns {
                text.push_str(&" ".repeat(at - width(&text)));
                text.push_str(label);
            }
        }
        text
    }

    /// Column and label of a tick.
    fn tick(&self, tick: &Tick) -> (usize, String) {
        let cell = u128::from(tick.at_ns) * self.cells as u128 / u128::from(self.layout.axis_ns);
        (self.label + 1 + cell as usize, self.text(&tick.label))
    }

    fn legend(&self, lines: &mut Vec<String>) {
        let indent = self.label + 1;
        let (mut line, mut used) = (" ".repeat(indent), indent);
        let mut add = |glyph: String, label: &str, columns: usize| {
            let gap = if used == indent { 0 } else { 2 };
            if used + gap + columns > self.columns {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                used = indent;
            } else {
                line.push_str(&" ".repeat(gap));
                used += gap;
            }
            line.push_str(&format!("{glyph} {label}"));
            used += columns;
        };
        for mark in self.layout.marks() {
            let mut painted = String::new();
            self.paint(colour(mark), &glyph(mark, self.style).to_string(), &mut painted);
            add(painted, mark.label(), 2 + mark.label().len());
        }
        let mut idle = String::new();
        self.idle(1, &mut idle);
        add(idle, "idle", 6);
        add("%".into(), "busy", 6);
        lines.push(line);
    }

    /// `text` as this style may show it.
    fn text(&self, text: &str) -> String {
        let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        match self.style {
            Style::Plain | Style::Colour => shown.collect(),
            Style::Ascii => shown
                .map(|c| match c {
                    'µ' => 'u',
                    c if c.is_ascii() => c,
                    _ => '?',
                })
                .collect(),
        }
    }

    /// `text`, cut to `columns` with an ellipsis where it is longer.
    fn fit(&self, text: &str, columns: usize) -> String {
        let text = self.text(text);
        if width(&text) <= columns {
            return text;
        }
        let mut cut = String::new();
        for c in text.chars() {
            if width(&cut) + char_width(c) + 1 > columns {
                break;
            }
            cut.push(c);
        }
        cut.push(if self.style == Style::Ascii { '~' } else { '…' });
        cut
    }
}

/// The glyph of a mark. The two directions point as they do in the SVG, with the device to the
/// right; both are ASCII, since the Unicode triangles are two columns wide in some terminals.
fn glyph(mark: Mark, style: Style) -> char {
    let ascii = style == Style::Ascii;
    match mark {
        Mark::Kernel if ascii => '#',
        Mark::Kernel => '█',
        Mark::HostToDevice => '>',
        Mark::DeviceToHost => '<',
        Mark::DeviceToDevice => '=',
        Mark::PeerToPeer => 'x',
        Mark::HostToHost => 'h',
        Mark::Memset => 'o',
        Mark::HostFunction => 'f',
        Mark::HostWork => 'w',
        Mark::Call => '-',
        Mark::Blocked => '/',
    }
}

/// The colour of a mark, from the sixteen that the user's own theme keeps legible.
fn colour(mark: Mark) -> &'static str {
    match mark {
        Mark::Kernel => "34",
        Mark::HostToDevice => "33",
        Mark::DeviceToHost => "32",
        Mark::DeviceToDevice | Mark::PeerToPeer | Mark::Memset => "35",
        Mark::HostToHost | Mark::HostFunction | Mark::HostWork => "36",
        Mark::Call => "39",
        Mark::Blocked => "31",
    }
}

fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Columns of a character: 2 for the wide blocks (East Asian scripts, emoji), 0 for what joins the
/// character before it. Titles are the only text here that an author writes, so blocks will do.
fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff => 2,
        0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
