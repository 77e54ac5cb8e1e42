//! `checker explain`: the long form of a code.

use anyhow::Result;
use serde::Serialize;

use crate::cli::Look;
use crate::exit::{Exit, Usage};
use crate::explain;
use crate::explain::Page;
use crate::print;

#[derive(Serialize)]
struct Object {
    format: u32,
    codes: Vec<CodeObject>,
}

#[derive(Serialize)]
struct CodeObject {
    code: &'static str,
    name: &'static str,
    /// Its page in Markdown; null in the list of all.
    text: Option<&'static str>,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Prints the page of a code, or all codes.
pub(super) fn explain(code: Option<&str>, look: Look) -> Result<Exit> {
    let page = match code.map(explain::find) {
        Some(Ok(page)) => Some(page),
        Some(Err(hint)) => {
            let wanted = code.unwrap_or_default();
            return Err(Usage(format!("there is no code `{wanted}`\n\nhint: {hint}")).into());
        }
        None => None,
    };
    if look.json {
        let object = |page: &Page, text| CodeObject { code: page.code, name: page.name(), text };
        let codes = match page {
            Some(page) => vec![object(page, Some(page.text))],
            None => explain::PAGES.iter().map(|page| object(page, None)).collect(),
        };
        print::json(&Object { format: FORMAT, codes })?;
        return Ok(Exit::Passed);
    }
    match page {
        Some(page) => print::out(page.text),
        None => {
            let line = |page: &Page| format!("{}  {}\n", page.code, page.name());
            print::out(&explain::PAGES.iter().map(line).collect::<String>());
        }
    }
    Ok(Exit::Passed)
}
