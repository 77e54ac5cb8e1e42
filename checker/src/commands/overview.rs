//! `checker` alone: where you are and the one thing to do next.

use anyhow::Result;
use serde::Serialize;

use crate::book;
use crate::cli::Look;
use crate::exercise::{self, Location, State};
use crate::exit::Exit;
use crate::print::{self, Style};
use crate::progress::Progress;
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object {
    format: u32,
    exercises: usize,
    passed: usize,
    begun: usize,
    /// The exercise to go on with; null when all are passed.
    next: Option<String>,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Says how far the exercises of this workspace have been solved and names the next command.
pub(super) fn overview(look: Look) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let progress = Progress::read(&workspace);
    let places = exercise::all(&workspace)?;
    let passed = places.iter().filter(|place| progress.is_passed(place)).count();
    let is_begun =
        |place: &&Location| !progress.is_passed(place) && place.state() == State::Changed;
    let begun = places.iter().filter(is_begun).count();
    let next = progress.next(&places);
    if look.json {
        let next = next.map(|place| place.id.clone());
        print::json(&Object { format: FORMAT, exercises: places.len(), passed, begun, next })?;
        return Ok(Exit::Passed);
    }

    let style = if look.plain { Style::Plain } else { Style::of_stdout() };
    let mut text = match places.len() {
        0 => "there are no exercises here\n".to_owned(),
        1 => format!("{passed} of 1 exercise passed\n"),
        all => {
            let marks: String =
                places.iter().map(|p| if progress.is_passed(p) { '#' } else { '.' }).collect();
            format!("{passed} of {all} exercises passed  [{marks}]\n")
        }
    };
    if let Some(next) = next {
        if passed + begun == 0 {
            text.push_str(WELCOME);
        }
        let exercise = next.clone().open(&workspace)?;
        let question = exercise.question()?;
        let asks = question.is_some_and(|question| question.kept(&progress, &next.id).is_none());
        let asks = match asks {
            true => format!(
                "      what do you expect? `cargo run -- predict {}` shows its puzzle and asks\n",
                next.id
            ),
            false => String::new(),
        };
        let page = book::command(&workspace, next);
        let page = page.map_or(String::new(), |page| format!("      read its chapter: {page}\n"));
        let file = workspace.relative(&next.file()).display().to_string();
        text.push_str(&format!(
            "\nnext: {}: {}\n{page}{asks}      edit `{file}`, then `cargo run -- run {}`\n      or let `cargo run -- watch` run it whenever you save\n",
            style.bold(&exercise.manifest.title),
            exercise.manifest.summary,
            next.id
        ));
    } else if !places.is_empty() {
        text.push_str(ALL_PASSED);
    }
    text.push_str(MORE);
    print::out(&text);
    Ok(Exit::Passed)
}

const WELCOME: &str = "
Each exercise is one file that you change. The checker runs it on a simulated GPU,
draws what the device did, and says how much of the possible overlap you got.
";

const ALL_PASSED: &str = "\nYou have passed them all.\n";

const MORE: &str =
    "\n`cargo run -- list` names all exercises, `cargo run -- --help` all commands\n";
