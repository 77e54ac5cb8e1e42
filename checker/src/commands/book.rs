//! `checker book [EX]`: the page of a chapter, in the browser.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use crate::book::{self, Page};
use crate::cli;
use crate::exercise;
use crate::exit::{Exit, Usage};
use crate::print;
use crate::progress::Progress;
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object {
    format: u32,
    /// Null for the book's first page.
    exercise: Option<String>,
    page: PathBuf,
    /// Whether a browser was started.
    opened: bool,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Opens the page of the exercise that is named, else of the one to go on with. Builds it before,
/// where it has to be built; without a browser its path is said.
pub(super) fn book(arguments: &cli::Book) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let place = match &arguments.exercise {
        Some(wanted) => Some(exercise::locate(&workspace, wanted)?),
        None => {
            let places = exercise::all(&workspace)?;
            Progress::read(&workspace).next(&places).cloned()
        }
    };
    let page = match &place {
        Some(place) => book::page(&workspace, place),
        None => book::first_page(&workspace),
    };
    let Some(page) = page else { return Err(Usage(NO_BOOK.to_owned()).into()) };
    if !page.is_built() {
        print::err(BUILDING);
        page.build(&workspace)?;
    }
    let opened = !arguments.look.json && book::open(&page.path);
    if arguments.look.json {
        let exercise = place.map(|place| place.id);
        print::json(&Object { format: FORMAT, exercise, page: page.path, opened })?;
        return Ok(Exit::Passed);
    }
    print::out(&said(&page, opened));
    Ok(Exit::Passed)
}

fn said(page: &Page, opened: bool) -> String {
    let path = page.path.display();
    match opened {
        true => format!("opened `{path}` in the browser\n"),
        false => format!("{path}\n{NO_BROWSER}"),
    }
}

const BUILDING: &str = "building the book; the first time this takes a few minutes\n";

const NO_BROWSER: &str = "
no browser can be started from here: open this file in one; `BROWSER` names a program to open it with
";

const NO_BOOK: &str = "there is no book in this workspace

hint: its pages come with the repository, and with a workspace that was made where the book had been built";
