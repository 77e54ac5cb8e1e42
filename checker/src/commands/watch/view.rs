//! The view as lines: a function of what is known.

use std::path::PathBuf;
use std::time::Duration;

use trace::draw;
use unicode_width::UnicodeWidthChar;

use super::Ended;
use crate::commands::list::Entry;
use crate::exercise::Location;
use crate::grade::Verdict;
use crate::print::{COLUMNS_AT_MOST, Style};
use crate::report::terminal;
use crate::status::{Status, spinner};

/// Which of the things that can be seen.
pub(super) enum View {
    /// The report of the last run.
    Report,
    /// The drawing alone, as wide as there is room.
    Timeline,
    /// The exercises, one of which can be chosen.
    List { entries: Vec<Entry>, cursor: usize },
    /// Something to read.
    Text(String),
}

/// Activities of the checker.
pub(super) enum Activity<'a> {
    Busy(&'a Status, Duration),
    Waiting,
}

/// All that decides what is to be seen.
pub(super) struct Scene<'a> {
    pub(super) place: &'a Location,
    /// The student's file, as it is called from the workspace.
    pub(super) file: PathBuf,
    /// The words about the last key.
    pub(super) said: Option<&'a str>,
    pub(super) view: &'a View,
    pub(super) ended: Option<&'a Ended>,
    pub(super) status: Activity<'a>,
    /// After a pass: the exercise to go on with, if there is one.
    pub(super) next: Option<Option<&'a str>>,
    pub(super) note: Option<&'a str>,
    pub(super) style: Style,
}

/// Lines of a screen.
pub(super) struct Frame {
    pub(super) lines: Vec<String>,
    /// Lines of the view above the screen: no more than there are.
    pub(super) scroll: usize,
}

/// Lines below the view: the file to edit, the status, and the keys.
const FOOT: usize = 3;

/// The screen, of which every line fits.
pub(super) fn frame(scene: &Scene<'_>, columns: usize, rows: usize, scroll: usize) -> Frame {
    let columns = columns.max(1);
    let room = rows.saturating_sub(FOOT);
    let all = wrap(&text(scene, columns), columns);
    let hidden = all.len().saturating_sub(room);
    let scroll = match scene.view {
        View::List { cursor, .. } => (cursor + 1).saturating_sub(room).min(hidden),
        _ => scroll.min(hidden),
    };
    let mut lines: Vec<String> = all.into_iter().skip(scroll).take(room).collect();
    lines.resize(room, String::new());
    let more = match (scroll, hidden) {
        (_, 0) => "",
        (0, _) => "↓ more  ",
        (scroll, hidden) if scroll < hidden => "↑↓ more  ",
        _ => "↑ more  ",
    };
    let keys = match scene.view {
        View::List { .. } => {
            keys(&[("↑↓", "choose"), ("Enter", "go there"), ("Esc", "back"), ("q", "quit")])
        }
        _ => keys(&[
            ("h", "hint"),
            ("l", "list"),
            ("n", "next"),
            ("t", "timeline"),
            ("r", "run"),
            ("q", "quit"),
        ]),
    };
    let file = match scene.said {
        Some(said) => scene.style.unsure(said),
        None => format!("edit `{}`", scene.file.display()),
    };
    for line in [file, status(scene), format!("{more}{}", keys(scene.style))] {
        lines.push(wrap(&line, columns).into_iter().next().unwrap_or_default());
    }
    lines.truncate(rows);
    Frame { lines, scroll }
}

fn keys<'a>(keys: &'a [(&'a str, &'a str)]) -> impl Fn(Style) -> String + 'a {
    move |style| {
        let keys: Vec<_> =
            keys.iter().map(|(key, what)| format!("{} {what}", style.bold(key))).collect();
        keys.join("  ")
    }
}

/// The text of the view.
pub(super) fn text(scene: &Scene<'_>, columns: usize) -> String {
    let note = scene.note.map(|note| format!("note: {note}\n\n")).unwrap_or_default();
    match (scene.view, scene.ended) {
        (View::Text(text), _) => text.clone(),
        (View::List { entries, cursor }, _) => list(entries, *cursor, scene.style),
        (_, None) => format!("watching `{}`\n{note}", scene.file.display()),
        (_, Some(Ended::Trouble(message))) => format!("{note}error: {message}\n"),
        (View::Timeline, Some(Ended::Ran(ran))) if ran.presentation.charts.is_empty() => {
            NO_TIMELINE.to_owned()
        }
        (View::Timeline, Some(Ended::Ran(ran))) => {
            let style = match scene.style {
                Style::Plain => draw::Style::Plain,
                Style::Colour => draw::Style::Colour,
            };
            draw::terminal(&terminal::layout(&ran.presentation.charts), columns, style)
        }
        (View::Report, Some(Ended::Ran(ran))) => {
            let columns = columns.min(COLUMNS_AT_MOST);
            let report = terminal::text(&ran.report, &ran.presentation, columns, scene.style);
            format!("{note}{}{report}", ran.presentation.compiler)
        }
    }
}

fn list(entries: &[Entry], cursor: usize, style: Style) -> String {
    let width = entries.iter().map(|entry| entry.exercise.chars().count()).max().unwrap_or(0);
    let line = |(index, entry): (usize, &Entry)| {
        let mark = if index == cursor { '>' } else { ' ' };
        let name = format!("{:<width$}", entry.exercise);
        let name = if index == cursor { style.bold(&name) } else { name };
        format!("{mark} {:02} {name}  {} ({})\n", entry.number, entry.title, entry.reached(style))
    };
    entries.iter().enumerate().map(line).collect()
}

/// The line below the view.
fn status(scene: &Scene<'_>) -> String {
    let id = scene.style.bold(&scene.place.id);
    match scene.status {
        Activity::Busy(stage, elapsed) => {
            let seconds = match elapsed.as_secs() {
                0 => String::new(),
                seconds => format!(" · {seconds} s"),
            };
            format!("{id}  {} {}{seconds}", spinner(elapsed), stage.words())
        }
        Activity::Waiting => match next(scene) {
            Some(next) => format!("{}  {next}", verdict(scene)),
            None => verdict(scene),
        },
    }
}

/// After a pass: what to do now.
pub(super) fn next(scene: &Scene<'_>) -> Option<String> {
    let key = scene.style.bold("n");
    scene.next.map(|next| match next {
        Some(next) => format!("{key} goes on to `{next}`"),
        None => "you have passed them all".to_owned(),
    })
}

/// The outcome of the last run, in a line.
pub(super) fn verdict(scene: &Scene<'_>) -> String {
    let id = scene.style.bold(&scene.place.id);
    match scene.ended {
        None => format!("{id}  not run yet"),
        Some(Ended::Trouble(_)) => format!("{id}  {}", scene.style.unsure("error")),
        Some(Ended::Ran(ran)) => {
            let gate = ran.report.gate.map(|gate| format!("gate `{gate}`: ")).unwrap_or_default();
            let message = ran.report.message.lines().next().unwrap_or_default();
            let word = match ran.report.verdict {
                Some(verdict @ Verdict::Passed) => scene.style.good(&verdict.to_string()),
                Some(verdict @ (Verdict::Failed | Verdict::Rejected)) => {
                    scene.style.bad(&verdict.to_string())
                }
                Some(verdict) => scene.style.unsure(&verdict.to_string()),
                None => String::new(),
            };
            format!("{id}  {word}: {gate}{message}")
        }
    }
}

const NO_TIMELINE: &str = "there is no timeline of the last run\n";

/// Lines of at most `columns` columns. Escape sequences take no room and are kept whole.
fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut current, mut width) = (String::new(), 0);
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            if letter == '\x1b' {
                current.push(letter);
                for letter in letters.by_ref() {
                    current.push(letter);
                    if letter.is_ascii_alphabetic() {
                        break;
                    }
                }
                continue;
            }
            // A tab could take any room; a program may have printed one.
            let letter = if letter == '\t' { ' ' } else { letter };
            let takes = letter.width().unwrap_or(0);
            if width + takes > columns && width > 0 {
                lines.push(std::mem::take(&mut current));
                width = 0;
            }
            current.push(letter);
            width += takes;
        }
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests {
    use trace::draw::Lanes;
    use trace::program::StreamId;
    use trace::timeline::{Interval, Origin, Span, SpanKind};
    use trace::{Program, Timeline};

    use super::*;
    use crate::commands::run::Ran;
    use crate::report::{Chart, Presentation, Report};

    /// A run whose drawing fills the width.
    fn ran() -> Ended {
        let mut timeline = Timeline::new(Origin::Simulated { profile: "h200".to_owned() });
        timeline.region = Some(Interval::new(0, 1_000_000));
        timeline.spans = vec![Span {
            step: 0,
            kind: SpanKind::Kernel,
            name: Some("map_a".into()),
            stream: StreamId(1),
            start_ns: 0,
            end_ns: 1_000_000,
            bytes: 0,
            host_memory: None,
        }];
        let (title, program) = ("your file".to_owned(), Program::new(1));
        let (hazards, causes) = (Vec::new(), Vec::new());
        let chart = Chart { title, lanes: Lanes::Streams, program, timeline, hazards, causes };
        let message = "a long word of the verdict ".repeat(9);
        let report = Report { message, verdict: Some(Verdict::Failed), ..Report::default() };
        let presentation = Presentation { charts: vec![chart], ..Presentation::default() };
        Ended::Ran(Box::new(Ran { report, presentation }))
    }

    #[test]
    fn every_line_fits_whatever_the_size_and_a_drawing_takes_all_the_room() {
        let (place, ended) =
            (Location::of(PathBuf::from("exercises/01_swift")).expect("a place"), ran());
        let views = [View::Report, View::Timeline, View::Text("a long word of a hint ".repeat(20))];
        for view in &views {
            let scene = Scene {
                place: &place,
                file: place.file(),
                said: None,
                view,
                ended: Some(&ended),
                status: Activity::Waiting,
                next: Some(Some("sluggish")),
                note: Some("what has to be said once"),
                style: Style::Colour,
            };
            for (columns, rows) in [(1, 1), (3, 20), (39, 12), (50, 3), (100, 40), (200, 60)] {
                let frame = frame(&scene, columns, rows, 0);
                assert_eq!(frame.lines.len(), rows);
                for line in &frame.lines {
                    assert!(wrap(line, columns).len() <= 1, "{columns} columns: {line}");
                }
                let mut drawn = frame.lines.iter().take(rows.saturating_sub(FOOT));
                let fills = drawn.any(|line| wrap(line, columns - 1).len() > 1);
                if matches!(view, View::Timeline) && rows > 3 {
                    assert!(fills, "{columns} columns: {:#?}", frame.lines);
                }
            }
        }
    }

    #[test]
    fn lines_are_broken_where_the_screen_ends_and_colours_take_no_room() {
        assert_eq!(wrap("abcdef\n\ngh", 4), ["abcd", "ef", "", "gh"]);
        assert_eq!(wrap("\x1b[31;1mabcd\x1b[0mef", 4), ["\x1b[31;1mabcd\x1b[0m", "ef"]);
        assert_eq!(wrap("流流流", 4), ["流流", "流"], "a wide letter takes two columns");
        assert_eq!(wrap("流", 1), ["流"], "nor does a screen that is too small loop for ever");
    }
}
