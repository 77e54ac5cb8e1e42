//! `checker explain`: the long form of a code.

use anyhow::Result;

use crate::exit::{Exit, Usage};
use crate::{explain, print};

/// Prints the page of a code, or all codes.
pub(super) fn explain(code: Option<&str>) -> Result<Exit> {
    match code {
        Some(wanted) => match explain::find(wanted) {
            Ok(page) => print::out(page.text),
            Err(hint) => {
                let message = format!("there is no code `{wanted}`\n\nhint: {hint}");
                return Err(Usage(message).into());
            }
        },
        None => {
            let list: String = explain::PAGES
                .iter()
                .map(|page| format!("{}  {}\n", page.code, page.name()))
                .collect();
            print::out(&list);
        }
    }
    Ok(Exit::Passed)
}
