//! A quiz file as types, and what is wrong with it.

use std::ops::Range;

use playground::{Played, Setting};
use serde::Deserialize;
use toml::Spanned;
use trace::draw::layout::{Bar, MOST_SINGLE_BARS};
use trace::draw::{Lanes, Layout, Mark, Panel};

use crate::page::as_text;
use crate::problem::line_at;
use crate::quiz::lint;
use crate::quiz::question::{Form, Operations, OrderItem, Question, Which, Wrong};
use crate::records::Records;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    questions: Vec<Spanned<Raw>>,
}

/// Every key that any kind of question has; which of them a kind takes is checked after.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: Spanned<String>,
    #[serde(rename = "type")]
    kind: Kind,
    prompt: RawPrompt,
    answer: RawAnswer,
    /// Why the answer is right.
    context: Spanned<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Kind {
    MultipleChoice,
    ShortAnswer,
    Tracing,
    Order,
    Numeric,
    Timeline,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrompt {
    prompt: Spanned<String>,
    distractors: Option<Spanned<Vec<Wrong>>>,
    #[serde(rename = "sortAnswers")]
    sort_answers: Option<Spanned<bool>>,
    program: Option<Spanned<String>>,
    items: Option<Spanned<Vec<OrderItem>>>,
    unit: Option<Spanned<String>>,
    setting: Option<Spanned<String>>,
    operations: Option<Spanned<Operations>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawAnswer {
    answer: Option<Spanned<String>>,
    alternatives: Option<Spanned<Vec<String>>>,
    stdout: Option<Spanned<String>>,
    value: Option<Spanned<String>>,
    tolerance: Option<Spanned<f64>>,
    before: Option<Spanned<Vec<[String; 2]>>>,
    which: Option<Spanned<Which>>,
}

/// A problem, with its line.
pub type Flaw = (usize, String);

/// The questions of a quiz file, and what is wrong with it. Numbers come from `records`.
pub fn parse(source: &str, records: &Records) -> (Vec<Question>, Vec<Flaw>) {
    let file: File = match toml::from_str(source) {
        Ok(file) => file,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_at(source, span.start));
            return (Vec::new(), vec![(line, error.message().to_owned())]);
        }
    };
    let mut reader = Reader { source, records, flaws: Vec::new() };
    let mut questions: Vec<Question> = Vec::new();
    if file.questions.is_empty() {
        reader.flaws.push((1, "a quiz needs `[[questions]]`".into()));
    }
    for raw in file.questions {
        let (line, id) = (line_at(source, raw.span().start), raw.get_ref().id.clone());
        if questions.iter().any(|question| question.id == *id.get_ref()) {
            reader.flaw(id.span(), format!("there are two questions `{}`", id.get_ref()));
        }
        let prompt_line = line_at(source, raw.get_ref().prompt.prompt.span().start);
        if let Some(question) = reader.question(line, raw.into_inner()) {
            lint::lint(&question, |message| reader.flaws.push((prompt_line, message)));
            questions.push(question);
        }
    }
    let choices = questions.iter().filter_map(|question| match &question.form {
        Form::Choice { answer, distractors, .. } => Some(lint::of_choice(answer, distractors)),
        _ => None,
    });
    if let Some(message) = lint::too_many_longest(choices) {
        reader.flaws.push((1, message));
    }
    (questions, reader.flaws)
}

/// The place of the bar that is looked for, among all of a drawing's.
fn find(layout: &Layout, operations: Operations, which: Which) -> Option<usize> {
    let wanted = match operations {
        Operations::Kernels => Mark::Kernel,
        Operations::Uploads => Mark::HostToDevice,
        Operations::Downloads => Mark::DeviceToHost,
    };
    let work =
        |bar: &&Bar| matches!(bar.mark, Mark::Kernel | Mark::HostToDevice | Mark::DeviceToHost);
    let beside = |bar: &Bar| {
        let others = layout.bars().filter(work).filter(|other| other.mark != bar.mark);
        others.into_iter().any(|o| o.start_ns < bar.end_ns && bar.start_ns < o.end_ns)
    };
    let bars = layout.bars().enumerate().filter(|(_, bar)| bar.mark == wanted);
    let start = |(_, bar): &(usize, &Bar)| bar.start_ns;
    let found = match which {
        Which::First => bars.min_by_key(start),
        Which::Last => bars.max_by_key(|(_, bar)| bar.end_ns),
        Which::FirstBeside => bars.filter(|(_, bar)| beside(bar)).min_by_key(start),
        Which::FirstAlone => bars.filter(|(_, bar)| !beside(bar)).min_by_key(start),
    };
    found.map(|(place, _)| place)
}

struct Reader<'a> {
    source: &'a str,
    records: &'a Records,
    flaws: Vec<Flaw>,
}

impl Reader<'_> {
    fn flaw(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.flaws.push((line_at(self.source, span.start), message.into()));
    }

    /// The value of a key that the kind needs.
    fn need<T>(&mut self, line: usize, key: &str, value: Option<Spanned<T>>) -> Option<T> {
        if value.is_none() {
            self.flaws.push((line, format!("this kind of question needs `{key}`")));
        }
        value.map(Spanned::into_inner)
    }

    /// A key that has no meaning in this kind.
    fn refuse<T>(&mut self, key: &str, value: Option<&Spanned<T>>) {
        if let Some(value) = value {
            self.flaw(value.span(), format!("`{key}` has no meaning in this kind of question"));
        }
    }

    /// `text` with its numbers.
    fn values(&mut self, text: Spanned<String>) -> String {
        let (span, mut text) = (text.span(), text.into_inner());
        while let Some(start) = text.find("{{#value ") {
            let Some(length) = text[start..].find("}}") else { break };
            let value = self.records.value(&text[start + "{{#value ".len()..start + length]);
            let value = value.unwrap_or_else(|message| {
                self.flaw(span.clone(), message);
                String::new()
            });
            let end = start + length + 2;
            let value = as_text(&text[..start], value, &text[end..]);
            text.replace_range(start..end, &value);
        }
        text
    }

    fn question(&mut self, line: usize, raw: Raw) -> Option<Question> {
        let Raw { id, kind, prompt, answer, context } = raw;
        let (p, a) = (&prompt, &answer);
        if kind != Kind::MultipleChoice {
            self.refuse("prompt.distractors", p.distractors.as_ref());
            self.refuse("prompt.sortAnswers", p.sort_answers.as_ref());
        }
        if kind != Kind::Tracing {
            self.refuse("prompt.program", p.program.as_ref());
            self.refuse("answer.stdout", a.stdout.as_ref());
        }
        if kind != Kind::Order {
            self.refuse("prompt.items", p.items.as_ref());
            self.refuse("answer.before", a.before.as_ref());
        }
        if kind != Kind::Numeric {
            self.refuse("prompt.unit", p.unit.as_ref());
            self.refuse("answer.value", a.value.as_ref());
            self.refuse("answer.tolerance", a.tolerance.as_ref());
        }
        if kind != Kind::Timeline {
            self.refuse("prompt.setting", p.setting.as_ref());
            self.refuse("prompt.operations", p.operations.as_ref());
            self.refuse("answer.which", a.which.as_ref());
        }
        if kind != Kind::ShortAnswer {
            self.refuse("answer.alternatives", a.alternatives.as_ref());
        }
        if !matches!(kind, Kind::MultipleChoice | Kind::ShortAnswer) {
            self.refuse("answer.answer", a.answer.as_ref());
        }
        let form = match kind {
            Kind::MultipleChoice => Form::Choice {
                answer: self.need(line, "answer.answer", answer.answer)?,
                distractors: self.need(line, "prompt.distractors", prompt.distractors)?,
                sorted: prompt.sort_answers.is_some_and(Spanned::into_inner),
            },
            Kind::ShortAnswer => {
                let mut answers = vec![self.need(line, "answer.answer", answer.answer)?];
                answers.extend(answer.alternatives.map(Spanned::into_inner).unwrap_or_default());
                Form::Words { program: None, answers }
            }
            Kind::Tracing => Form::Words {
                program: Some(self.need(line, "prompt.program", prompt.program)?),
                answers: vec![self.need(line, "answer.stdout", answer.stdout)?],
            },
            Kind::Numeric => self.number(line, prompt.unit, answer.value, answer.tolerance)?,
            Kind::Order => self.order(line, prompt.items, answer.before)?,
            Kind::Timeline => {
                self.timeline(line, prompt.setting, prompt.operations, answer.which)?
            }
        };
        let (prompt, context) = (self.values(prompt.prompt), self.values(context));
        Some(Question { id: id.into_inner(), prompt, form, context })
    }

    /// A value that is a record and a metric is computed; the unit then has to be that of the
    /// metric.
    fn number(
        &mut self,
        line: usize,
        unit: Option<Spanned<String>>,
        value: Option<Spanned<String>>,
        tolerance: Option<Spanned<f64>>,
    ) -> Option<Form> {
        let unit = self.need(line, "prompt.unit", unit)?;
        let tolerance = self.need(line, "answer.tolerance", tolerance)?;
        let span = value.as_ref().map(Spanned::span).unwrap_or_default();
        let value = self.need(line, "answer.value", value)?;
        let value = match (value.parse(), value.split_once(' ')) {
            (Ok(value), _) => Ok(value),
            (Err(_), Some((name, metric))) => self
                .records
                .get(name)
                .and_then(|recorded| crate::records::metric::number(&recorded.record, metric))
                .map(crate::records::metric::Number::value),
            (Err(_), None) => {
                Err(format!("`{value}` is neither a number nor a record and a metric"))
            }
        };
        match value {
            Ok(value) => Some(Form::Number { value, tolerance, unit }),
            Err(message) => {
                self.flaw(span, message);
                None
            }
        }
    }

    /// The drawing of a setting of the playground, and the bar that is looked for on it.
    fn timeline(
        &mut self,
        line: usize,
        setting: Option<Spanned<String>>,
        operations: Option<Spanned<Operations>>,
        which: Option<Spanned<Which>>,
    ) -> Option<Form> {
        let span = setting.as_ref().map(Spanned::span).unwrap_or_default();
        let setting = self.need(line, "prompt.setting", setting)?;
        let operations = self.need(line, "prompt.operations", operations)?;
        let (place, which) = (which.as_ref().map(Spanned::span).unwrap_or_default(), which);
        let which = self.need(line, "answer.which", which)?;
        let setting = match Setting::parse_strictly(&setting) {
            Ok(setting) => setting,
            Err(unknown) => {
                self.flaw(span, format!("no playground has `{}`", unknown.0));
                return None;
            }
        };
        let Played { program, timeline, .. } = Played::new(&setting);
        let panel = Panel {
            title: playground::profiles::device(setting.device()),
            timeline: &timeline,
            program: Some(&program),
        };
        let layout = Layout::new(&[panel], Lanes::Streams);
        if layout.bars().count() > MOST_SINGLE_BARS {
            self.flaw(span, "too many operations to mark one of them");
            return None;
        }
        let answer = find(&layout, operations, which);
        if answer.is_none() {
            self.flaw(place, "no operation of this setting is what is asked for");
        }
        Some(Form::Timeline { layout, answer: answer? })
    }

    fn order(
        &mut self,
        line: usize,
        items: Option<Spanned<Vec<OrderItem>>>,
        before: Option<Spanned<Vec<[String; 2]>>>,
    ) -> Option<Form> {
        let items = self.need(line, "prompt.items", items)?;
        let span = before.as_ref().map(Spanned::span).unwrap_or_default();
        let before = self.need(line, "answer.before", before)?;
        let place = |id: &String| items.iter().position(|item| item.id == *id);
        for [first, second] in &before {
            match (place(first), place(second)) {
                (Some(a), Some(b)) if a < b => {}
                (Some(_), Some(_)) => self.flaw(
                    span.clone(),
                    format!(
                        "the items are to be written in a right order: `{first}` before `{second}`"
                    ),
                ),
                _ => self.flaw(span.clone(), format!("no item is called `{first}` or `{second}`")),
            }
        }
        Some(Form::Order { items, before })
    }
}
