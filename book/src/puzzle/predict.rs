//! Predictions: a ranking, a choice, or a mark on an empty timeline. What is right in a ranking,
//! and where a mark belongs, follows from the records.
//!
//! ```toml
//! id = "rank"
//! form = "ranking"
//! ask = "Which of the four is done first?"
//! [[item]]
//! text = "blocking"
//! record = "three_lanes.blocking"
//! ```
//!
//! The puzzle that an exercise begins with is asked in the terminal too, so it stands in the
//! exercise's manifest, and the block says of which:
//!
//! ```toml
//! from = "three_lanes"
//! ```
//!
//! The answer comes in the `<details class="reveal">` that follows the block. A
//! [`gate`](super::gate) keeps it and all below it until the reader has committed to something;
//! without a script the reader opens it.

use serde::Deserialize;
use trace::draw::{self, Lanes, Layout, Panel};
use trace::metrics::ranking::{TIE, places};
use trace::shuffle;

use crate::exercises::{self, Form, Puzzle};
use crate::markup::{identifier, inline};
use crate::page::{Fence, Page};
use crate::quiz::lint::{self, Longest};
use crate::records::metric::{Number, number};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Predict {
    id: String,
    form: Form,
    ask: String,
    /// Whether the order of its items means something, as that of numbers does: then they are shown
    /// as they stand.
    #[serde(default)]
    in_order: bool,
    #[serde(default)]
    item: Vec<Item>,
    /// For a mark: the run whose timeline is drawn without its bars.
    record: Option<String>,
    /// For a mark: the instant to be marked, as a metric.
    metric: Option<String>,
    /// Numbers that the reader is told before and the reveal repeats: `RECORD METRIC`, as printed,
    /// or a record whose figure was shown.
    #[serde(default)]
    given: Vec<String>,
    /// Whether its gate keeps the reveal alone and not what stands below it, and one click on an
    /// answer commits to it.
    #[serde(default)]
    alone: bool,
}

/// A block that leaves everything to an exercise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct From {
    from: String,
    #[serde(default)]
    given: Vec<String>,
}

impl Predict {
    /// Reads the question of the exercise `from`.
    fn read(page: &mut Page<'_>, fence: &Fence, from: &str) -> Option<Self> {
        let exercise = page.records.exercises.get(from);
        let exercise = exercise.ok_or_else(|| format!("there is no exercise `{from}`"));
        let exercise = page.note(fence.line, exercise)?;
        let puzzle = exercise.puzzle.clone();
        let puzzle = puzzle.ok_or_else(|| format!("the exercise `{from}` has no `[puzzle]`"));
        let Puzzle { id, form, ask, in_order, item: items } = page.note(fence.line, puzzle)?;
        let item = |exercises::Item { text, program, right, why }| {
            let record = program.map(|program| format!("{from}.{program}"));
            Item { text, record, right, why }
        };
        let item = items.into_iter().map(item).collect();
        let (record, metric, given, alone) = (None, None, Vec::new(), false);
        Some(Self { id, form, ask, in_order, item, record, metric, given, alone })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    text: String,
    /// For a ranking: the run that decides.
    record: Option<String>,
    /// For a choice: whether this is what happens.
    #[serde(default)]
    right: bool,
    /// For a choice that is not: why it does not happen.
    why: Option<String>,
}

/// Whether the block's gate keeps its reveal alone, as on a page that is no chapter.
pub fn is_alone(fence: &Fence) -> bool {
    toml::from_str::<Predict>(&fence.body).is_ok_and(|predict| predict.alone)
}

/// Reads the question of a block.
fn predict(page: &mut Page<'_>, fence: &Fence) -> Option<Predict> {
    match toml::from_str(&fence.body) {
        Ok(From { from, given }) => Some(Predict { given, ..Predict::read(page, fence, &from)? }),
        Err(_) => page.parse(fence),
    }
}

/// The question of a prediction and its answers, for the search for texts that give it away.
#[derive(Debug)]
pub struct Outcome {
    /// Its name in the chapter.
    pub id: String,
    /// Whether runs are put in order.
    pub ranking: bool,
    /// The numbers and texts that the reader sees in the form before an answer.
    pub asked: Vec<String>,
    /// Numbers that answer it, as printed, and what each is.
    pub numbers: Vec<(String, String)>,
    /// Texts that answer it.
    pub texts: Vec<String>,
    /// Records whose timelines answer it.
    pub records: Vec<String>,
    /// The numbers that the reader is told before.
    pub given: Vec<String>,
    /// Whether its gate keeps the reveal alone.
    pub alone: bool,
}

/// The question of the block `fence`, and its answers. Its problems are noted elsewhere.
pub fn outcome(page: &mut Page<'_>, fence: &Fence) -> Option<Outcome> {
    let Predict { id, form, ask, item, record, metric, given, alone, .. } = predict(page, fence)?;
    let mut asked = vec![page.values(fence.line, &ask)];
    asked.extend(item.iter().map(|item| page.values(fence.line, &item.text)));
    let (mut numbers, mut texts, mut records) = (Vec::new(), Vec::new(), Vec::new());
    let print = |of: String| page.records.value(&of).ok().map(|printed| (printed, of));
    match form {
        Form::Ranking => {
            for record in item.into_iter().filter_map(|item| item.record) {
                numbers.extend(print(format!("{record} makespan")));
                records.push(record);
            }
            // What the question itself tells is no answer; the timelines of such runs have been
            // seen.
            let told = |printed: &str| asked.iter().any(|asked| asked.contains(printed));
            let untold = |record: &String| {
                numbers
                    .iter()
                    .any(|(printed, of)| of.starts_with(&format!("{record} ")) && !told(printed))
            };
            records.retain(untold);
            numbers.retain(|(printed, _)| !told(printed));
        }
        Form::Mark => {
            let record = record?;
            numbers.extend(print(format!("{record} {}", metric?)));
            records.push(record);
        }
        Form::Choice => {
            texts.extend(item.iter().filter(|item| item.right).map(|item| item.text.clone()));
            texts.extend(item.into_iter().filter_map(|item| item.why));
            texts = texts.iter().map(|text| page.values(fence.line, text)).collect();
        }
    }
    let given =
        given.into_iter().map(|given| page.records.value(&given).unwrap_or(given)).collect();
    let ranking = matches!(form, Form::Ranking);
    Some(Outcome { id, ranking, asked, numbers, texts, records, given, alone })
}

/// The questions of a chapter so far.
#[derive(Default)]
pub(super) struct Asked {
    /// The names of its predictions.
    pub ids: Vec<String>,
    /// Whether the last one keeps its reveal alone.
    pub alone: bool,
    /// How long the right items of its choices are.
    pub choices: Vec<Longest>,
}

/// The form of one `predict` block.
pub(super) fn form(page: &mut Page<'_>, fence: &Fence, asked: &mut Asked) -> Option<String> {
    let Predict { id, form, ask, in_order, mut item, record, metric, alone, .. } =
        predict(page, fence)?;
    asked.alone = alone;
    if asked.ids.contains(&id) {
        page.complain(fence.line, format!("there are two predictions `{id}`"));
    }
    asked.ids.push(id.clone());
    for Item { text, why, .. } in &mut item {
        *text = page.values(fence.line, text);
        *why = why.take().map(|why| page.values(fence.line, &why));
    }
    let mark = matches!(form, Form::Mark);
    if mark != item.is_empty() || (!mark && item.len() < 2) {
        page.complain(
            fence.line,
            "a ranking or a choice needs at least two items, a mark has none",
        );
    }
    if mark != record.is_some() || mark != metric.is_some() {
        page.complain(fence.line, "a mark, and nothing else, needs a `record` and a `metric`");
    }
    let order = shuffle::order(&id, item.len(), in_order);
    // As they are shown, with their places in the file: a browser keeps answers by these.
    let shown: Vec<(usize, &Item)> = order.into_iter().map(|at| (at, &item[at])).collect();
    let name = key(page, &id);
    let (kind, hint, rows) = match form {
        Form::Ranking => {
            let hint = format!(
                "1 is the fastest. Where you expect a tie, give the same place: up to {:.0} % apart is one. \
                 After a tie any higher number will do.",
                TIE * 100.0
            );
            ("ranking", hint, ranking(page, fence, &name, &shown)?)
        }
        Form::Choice => {
            let others = item.iter().filter(|item| !item.right).map(|item| item.text.as_str());
            let right = item.iter().find(|item| item.right).map_or("", |item| &item.text);
            let found = lint::longest(right, others);
            if found == Longest::ByFar {
                page.complain(fence.line, lint::BY_FAR);
            }
            asked.choices.push(found);
            ("choice", String::new(), choice(page, fence, &name, &shown)?)
        }
        Form::Mark => {
            let field = empty_timeline(page, fence, &name, &record?, &metric?)?;
            ("mark", "Move the mark to where you expect it.".to_owned(), field)
        }
    };
    let hint =
        if hint.is_empty() { String::new() } else { format!("<p class=\"hint\">{hint}</p>") };
    let ask = inline(&page.values(fence.line, &ask));
    Some(format!(
        "<form class=\"predict{}\" data-form=\"{kind}\" data-key=\"{name}\">\
         <fieldset><legend>{ask}</legend>{hint}{rows}</fieldset>\
         <p class=\"actions\"><button type=\"submit\">Commit</button></p>\
         <p class=\"verdict\" role=\"status\"></p></form>",
        if alone { " alone" } else { "" }
    ))
}

/// The key under which a browser keeps a prediction.
pub(super) fn key(page: &Page<'_>, id: &str) -> String {
    format!("{}-{}", identifier(&page.name()), identifier(id))
}

fn ranking(
    page: &mut Page<'_>,
    fence: &Fence,
    name: &str,
    shown: &[(usize, &Item)],
) -> Option<String> {
    let mut times = Vec::new();
    for (_, item) in shown {
        if item.right || item.why.is_some() {
            page.complain(fence.line, "in a ranking the records say what is right");
        }
        let record = item.record.as_ref().ok_or("an item of a ranking needs a `record`".to_owned());
        let record = record.and_then(|record| page.records.get(record));
        times.push(number(&page.note(fence.line, record)?.record, "makespan").ok()?);
    }
    let places = places(&times.iter().map(|time| time.value()).collect::<Vec<_>>());
    let count = shown.len();
    let rows = shown.iter().zip(times).zip(places).map(|(((index, item), time), place)| {
        let text = inline(&item.text);
        let options: String =
            (1..=count).map(|place| format!("<option value=\"{place}\">{place}</option>")).collect();
        let id = format!("{name}-{index}");
        format!(
            "<p class=\"item\"><select id=\"{id}\" data-at=\"{index}\" data-place=\"{place}\" data-time=\"{time}\" required>\
             <option value=\"\">–</option>{options}</select> <label for=\"{id}\">{text}</label> \
             <span class=\"was\"></span></p>"
        )
    });
    Some(rows.collect())
}

fn choice(
    page: &mut Page<'_>,
    fence: &Fence,
    name: &str,
    shown: &[(usize, &Item)],
) -> Option<String> {
    if shown.iter().filter(|(_, item)| item.right).count() != 1 {
        page.complain(fence.line, "one item of a choice has to be `right`");
    }
    if shown.iter().any(|(_, item)| item.right == item.why.is_some() || item.record.is_some()) {
        page.complain(fence.line, "each item that is not `right` says `why`, and no other does");
    }
    let rows = shown.iter().map(|(index, item)| {
        let (text, verdict) = (inline(&item.text), if item.right { "right" } else { "wrong" });
        format!(
            "<p class=\"item\"><label><input type=\"radio\" name=\"{name}\" value=\"{index}\" \
             data-verdict=\"{verdict}\" required> {text}</label></p>"
        )
    });
    let rows: String = rows.collect();
    let whys = shown.iter().filter_map(|(index, item)| {
        let (text, why) = (inline(&item.text), inline(item.why.as_deref()?));
        let why = format!("<span class=\"why\">{why}</span>");
        Some(format!("<li data-for=\"{index}\"><em>{text}:</em> {why}</li>"))
    });
    let whys: String = whys.collect();
    Some(format!(
        "{rows}<details class=\"answer\"><summary>Why not the others</summary>\
         <ul class=\"whys\">{whys}</ul></details>"
    ))
}

/// The rows and the axis of a run, and a mark to be moved along them.
fn empty_timeline(
    page: &mut Page<'_>,
    fence: &Fence,
    name: &str,
    record: &str,
    metric: &str,
) -> Option<String> {
    let recorded = page.records.get(record);
    let recorded = page.note(fence.line, recorded)?;
    let instant = number(&recorded.record, metric).and_then(|number| match number {
        Number::Time(ns) => Ok(ns),
        _ => Err(format!("`{metric}` is not a time")),
    });
    let instant = page.note(fence.line, instant)?;
    let panel =
        Panel { title: &recorded.title, timeline: &recorded.record.timeline, program: None };
    let mut layout = Layout::new(&[panel], Lanes::Streams);
    for chart in &mut layout.charts {
        chart.arrows.clear();
        for lane in &mut chart.lanes {
            lane.rows = vec![Vec::new()];
            lane.busy_ns = None;
        }
    }
    let axis = layout.axis_ns;
    // Where the axis begins and ends, as shares of the drawing's width.
    let (left, right) = draw::svg::margins(&layout);
    let drawing = draw::svg(&layout, &format!("{name}-drawing"));
    Some(format!(
        "<div class=\"timeline-scroll\"><div class=\"mark\" style=\"--left:{left}%;--right:{right}%\">{drawing}\
         <span class=\"line\" aria-hidden=\"true\"></span><span class=\"line truth\" aria-hidden=\"true\" hidden></span>\
         <input type=\"range\" min=\"0\" max=\"{axis}\" value=\"0\" step=\"{}\" data-value=\"{instant}\" data-text=\"{}\" \
         aria-label=\"The instant that you expect\"></div></div><p class=\"marked\"><output>–</output></p>",
        (axis / 200).max(1),
        draw::duration(instant),
    ))
}
