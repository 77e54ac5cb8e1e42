//! A playground for programs that the reader writes: `{{#play program=start}}`.
//!
//! The programs to start from lie in `programs`: `EXERCISE.PROGRAM.swim` beside the record of the
//! same name, others without a point. The first line of each is a comment with its title.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use playground::program::Simulated;

use crate::markup::escape;
use crate::page::{Listed, Page};

/// Where the programs lie.
const FOLDER: &str = "programs";

/// The id of the program on the page that holds the book's playground.
pub const ID: &str = "play-playground-program-program";

/// One program.
pub struct Program {
    /// Its file's name, without the ending.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The text.
    pub text: String,
}

/// All programs of the book in `root`, by their names.
pub fn programs(root: &Path) -> Result<Vec<Program>> {
    let folder = root.join(FOLDER);
    let files = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut programs = Vec::new();
    for file in files {
        let path = file?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(name) = name.strip_suffix(".swim") else { continue };
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let title = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
        programs.push(Program { name: name.to_owned(), title: title.to_owned(), text });
    }
    programs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(programs)
}

/// The form of a text in an address, as a browser writes it.
pub fn address(text: &str) -> String {
    let mut address = String::from("p=");
    for byte in text.bytes() {
        match byte {
            b' ' => address.push('+'),
            b'*' | b'-' | b'.' | b'_' => address.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => address.push(byte.into()),
            byte => _ = write!(address, "%{byte:02X}"),
        }
    }
    address
}

/// The playground, with the program `name` at first; and the id of its drawing is `id`.
pub fn editor(page: &mut Page<'_>, line: usize, name: &str, id: &str) -> Option<String> {
    let programs = programs(page.root).map_err(|error| format!("{error:#}"));
    let programs = page.note(line, programs)?;
    let Some(first) = programs.iter().find(|program| program.name == name) else {
        page.complain(line, format!("there is no `{FOLDER}/{name}.swim`"));
        return None;
    };
    let chapters = page.contents(line)?;
    let shown = Simulated::new(&first.text, "").html(&format!("{id}-drawing"));
    Some(format!(
        "<form class=\"controls\" aria-label=\"Controls\" hidden>\
         <p class=\"control\"><label for=\"{id}-from\">Start from</label> <select id=\"{id}-from\" class=\"from\">{}</select></p>\
         <p class=\"actions\"><a class=\"link\">Link to this program</a></p></form>\
         <pre class=\"sheet\" id=\"{id}-program\" tabindex=\"0\" role=\"region\" aria-label=\"The program\">{}</pre>\
         <div class=\"wrong\" role=\"status\"></div>\
         <div class=\"played\">{shown}</div>",
        choices(&programs, &chapters, name),
        escape(first.text.trim_end())
    ))
}

fn choices(programs: &[Program], chapters: &[Listed], chosen: &str) -> String {
    let choice = |program: &Program| {
        let selected = if program.name == chosen { " selected" } else { "" };
        let Program { name, title, text } = program;
        let (title, text) = (escape(title), escape(text.trim_end()));
        // A line break would end the line of Markdown that this stands in.
        let text = text.replace('\n', "&#10;");
        format!("<option value=\"{name}\" data-program=\"{text}\"{selected}>{title}</option>")
    };
    let own = programs.iter().filter(|program| !program.name.contains('.'));
    let mut html: String = own.map(choice).collect();
    for Listed { title, name } in chapters {
        let of = |program: &&Program| {
            program.name.split_once('.').is_some_and(|(chapter, _)| chapter == name)
        };
        let choices: String = programs.iter().filter(of).map(choice).collect();
        if !choices.is_empty() {
            let title = escape(title);
            _ = write!(html, "<optgroup label=\"{title}\">{choices}</optgroup>");
        }
    }
    html
}
