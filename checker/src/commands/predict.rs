//! `checker predict EX`: the chapter's puzzle, answered before its programs have run.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use trace::draw::duration;

use crate::book;
use crate::cli;
use crate::commands::run;
use crate::device::DeviceChoice;
use crate::exercise::{self, Exercise};
use crate::exit::{Exit, Usage};
use crate::prediction::{self, Times};
use crate::print::{self, Style};
use crate::progress::{self, Progress};
use crate::question::{Answer, Form, Question};
use crate::status::Indicator;
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    exercise: &'a str,
    id: &'a str,
    form: Form,
    ask: &'a str,
    /// Whether there is an answer. Until there is one, nothing below says what happens.
    answered: bool,
    /// As they are shown: the first is `a`.
    items: Vec<ItemObject<'a>>,
}

#[derive(Serialize)]
struct ItemObject<'a> {
    text: &'a str,
    program: Option<&'a str>,
    /// Of a ranking: the place that was expected, and the one that it came to.
    predicted_place: Option<u32>,
    place: Option<usize>,
    /// On the simulated device.
    makespan_ns: Option<u64>,
    /// Of a choice: whether it was chosen, and whether it happens.
    chosen: Option<bool>,
    right: Option<bool>,
    why: Option<&'a str>,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Asks the puzzle, keeps the answer, and shows it beside what happens.
pub(super) fn predict(arguments: &cli::Predict) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let exercise = match &arguments.exercise {
        Some(wanted) => exercise::find(&workspace, wanted)?,
        None => exercise::current(&workspace)?,
    };
    let id = exercise.place.id.as_str();
    let Some(question) = exercise.question()? else {
        return Err(Usage(format!("`{id}` has no puzzle to predict")).into());
    };
    let look = arguments.look;
    let kept = question.kept(&Progress::read(&workspace), id);
    if kept.is_some() && arguments.answer.is_some() {
        let message = format!("`{id}` has your prediction already: it was made before you knew");
        return Err(Usage(message).into());
    }
    let answer = match (kept, &arguments.answer) {
        (Some(answer), _) => Some(answer),
        (None, Some(text)) => Some(question.answer(text).map_err(Usage)?),
        (None, None) if look.json => None,
        (None, None) => {
            show(&listing(&exercise, question)?);
            Some(ask(question)?)
        }
    };
    let conditions = prediction::conditions(workspace.root(), &exercise.place);
    if let Some(answer) = &answer {
        let note =
            progress::update(&workspace, |progress| progress.predict(id, &question.id, answer))?;
        note.iter().for_each(|note| print::err(&format!("note: {note}\n")));
        let progress = Progress::read(&workspace);
        run_programs(
            &exercise,
            question,
            &Times { progress: &progress, exercise: id, conditions },
        )?;
    }
    let progress = Progress::read(&workspace);
    let times = Times { progress: &progress, exercise: id, conditions };
    if look.json {
        print::json(&object(&exercise, question, answer.as_ref(), &times))?;
    } else if let Some(answer) = answer {
        let style = if look.plain { Style::Plain } else { Style::of_stdout() };
        print::out(&beside(&exercise, question, &answer, &times, style));
    }
    Ok(Exit::Passed)
}

/// The text of the programs that the question is about. Where it names none, it is about the first
/// two.
fn listing(exercise: &Exercise, question: &Question) -> Result<String> {
    let named: Vec<&str> = question.programs().collect();
    let programs = exercise.manifest.programs.iter().enumerate();
    let asked = programs.filter(|(at, program)| match named.is_empty() {
        true => *at < PAIR,
        false => named.contains(&program.name.as_str()),
    });
    let mut text = String::new();
    for (_, program) in asked {
        let source = exercise.source(program)?;
        text.push_str(&format!(
            "program `{}` ({})\n\n",
            program.name,
            exercise.program_file(program)
        ));
        for line in code(&source) {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    Ok(text)
}

/// A puzzle is two programs, where its question does not name them.
const PAIR: usize = 2;

/// The code of a program: without the remarks of its file, which may be the answer, and without the
/// lines that all have.
fn code(source: &str) -> Vec<&str> {
    let is_head =
        |line: &&str| line.starts_with("//!") || line.starts_with("use ") || line.trim().is_empty();
    let mut lines: Vec<&str> = source.lines().skip_while(is_head).collect();
    // Each `main` only names the function above it, unless there is none.
    if let Some(main @ 1..) = lines.iter().position(|line| line.starts_with("fn main")) {
        lines.truncate(main);
    }
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    lines
}

/// Shows a long text: a page at a time where there is a terminal.
fn show(text: &str) {
    let at_terminal = io::stdout().is_terminal() && io::stdin().is_terminal() && !print::is_dumb();
    if !(at_terminal && paged(text).is_ok()) {
        print::out(text);
    }
}

/// Through the pager that `PAGER` names, else through `less`, which ends by itself where all fits
/// on the screen and leaves the text there.
fn paged(text: &str) -> io::Result<()> {
    let chosen = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    let words = chosen.unwrap_or_else(|| "less -FRX".to_owned());
    let mut words = words.split_whitespace();
    let mut pager = Command::new(words.next().unwrap_or("less"));
    let mut pager = pager.args(words).stdin(Stdio::piped()).spawn()?;
    // One who has read enough closes it before all is written.
    let written = pager.stdin.take().map_or(Ok(()), |mut to| to.write_all(text.as_bytes()));
    pager.wait()?;
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Asks until there is an answer. At a terminal one may try again.
fn ask(question: &Question) -> Result<Answer> {
    print::out(&question.text());
    for line in io::stdin().lock().lines() {
        match question.answer(&line.context("cannot read your answer")?) {
            Ok(answer) => {
                print::out("\n");
                return Ok(answer);
            }
            Err(why) if io::stdin().is_terminal() => print::out(&format!("{why}: ")),
            Err(why) => return Err(Usage(why).into()),
        }
    }
    print::out("\n");
    Err(Usage(NO_ANSWER.to_owned()).into())
}

/// Runs what has to run for the truth to be known, on the simulated device.
fn run_programs(exercise: &Exercise, question: &Question, times: &Times<'_>) -> Result<()> {
    let id = &exercise.place.id;
    let indicator = Indicator::start();
    for program in question.programs().filter(|program| times.took(program).is_none()) {
        let arguments = cli::Run {
            program: Some(program.to_owned()),
            device: DeviceChoice::Sim,
            ..cli::Run::of(id)
        };
        let ran = run::perform(&arguments, Style::Plain, &|stage| indicator.tell(stage))?;
        if ran.report.makespan_ns.is_none() {
            bail!("program `{program}` does not run: {}", ran.report.message);
        }
    }
    Ok(())
}

fn beside(
    exercise: &Exercise,
    question: &Question,
    answer: &Answer,
    times: &Times<'_>,
    style: Style,
) -> String {
    let id = &exercise.place.id;
    let mut text =
        format!("{}\n\n", style.bold(&format!("{id} · what you expected, and what happened")));
    match question.form {
        Form::Choice => {
            let chosen = answer.first().map_or(0, |number| *number as usize - 1);
            for (at, item) in question.shown() {
                let mark = match (at == chosen, item.right) {
                    (true, true) => style.good("you, right  "),
                    (true, false) => style.bad("you         "),
                    (false, true) => style.good("right       "),
                    (false, false) => "            ".to_owned(),
                };
                text.push_str(&format!("{mark} {}\n", item.text));
                let why = item.why.iter().filter(|_| at == chosen);
                why.for_each(|why| text.push_str(&format!("             {why}\n")));
            }
        }
        Form::Ranking => {
            let Some(places) = question.happened(times) else { return text };
            let mut order: Vec<usize> = (0..places.len()).collect();
            order.sort_by_key(|at| (places[*at], *at));
            text.push_str("expected  happened\n");
            for at in order {
                let (expected, place, item) = (answer[at], places[at], &question.items[at]);
                let time = item.program.as_ref().and_then(|it| times.took(it));
                let hit = expected as usize == place;
                let expected = format!("{expected:^8}");
                let expected = if hit { style.good(&expected) } else { style.bad(&expected) };
                let time = duration(time.unwrap_or_default());
                text.push_str(&format!("{expected}  {place:^8}  {time:>8}  {}\n", item.text));
            }
            let hits = places.iter().zip(answer).filter(|(a, b)| **a == **b as usize).count();
            let count = places.len();
            text.push_str(&format!("\n{hits} of {count} have the place that you expected\n"));
        }
    }
    let draws = question
        .programs()
        .next()
        .map(|program| format!("`cargo run -- run {id} --program {program}` draws one of them; "));
    let draws = draws.unwrap_or_default();
    let page = Workspace::find().ok().and_then(|it| book::command(&it, &exercise.place));
    let page = page.map_or(String::new(), |page| format!(": {page}"));
    text.push_str(&format!("\nnext: {draws}the chapter says why{page}\n"));
    text
}

fn object<'a>(
    exercise: &'a Exercise,
    question: &'a Question,
    answer: Option<&Answer>,
    times: &Times<'_>,
) -> Object<'a> {
    let id = &exercise.place.id;
    let places = question.happened(times).filter(|_| answer.is_some());
    let chosen = answer.and_then(|answer| answer.first()).copied();
    let choice = answer.is_some() && question.form == Form::Choice;
    let items = question.shown().map(|(at, item)| ItemObject {
        text: &item.text,
        program: item.program.as_deref(),
        predicted_place: answer
            .filter(|_| question.form == Form::Ranking)
            .and_then(|answer| answer.get(at).copied()),
        place: places.as_ref().and_then(|places| places.get(at).copied()),
        makespan_ns: places
            .as_ref()
            .and_then(|_| times.took(item.program.as_deref().unwrap_or_default())),
        chosen: choice.then(|| chosen == Some(at as u32 + 1)),
        right: choice.then_some(item.right),
        why: item.why.as_deref().filter(|_| choice),
    });
    Object {
        format: FORMAT,
        exercise: id,
        id: &question.id,
        form: question.form,
        ask: &question.ask,
        answered: answer.is_some(),
        items: items.collect(),
    }
}

const NO_ANSWER: &str = "there was no answer

hint: `--answer` gives one without being asked";
