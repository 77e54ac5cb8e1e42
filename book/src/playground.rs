//! Playgrounds: `{{#play sheet=three_lanes&host=goes-on}}`, with controls that start as it says,
//! and `{{#play program=start}}`, with a program that the reader writes ([`editor`]).
//!
//! The first state of the page is drawn here, by the same function that runs as wasm when the
//! reader changes something. So there is a figure without a script, and on paper. (mdBook has a
//! `playground` of its own, for code that is sent away to be run.)

pub mod editor;

use std::fmt::Write as _;

use playground::setting::{Control, Setting};

use trace::draw;

use crate::figure::palette;
use crate::markup::{escape, identifier, in_markdown};
use crate::page::{Directive, Page, directives, replace};
use crate::wasm;

/// Replaces the playgrounds of a chapter.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    let mut ids = Vec::new();
    for directive in directives(text, "play") {
        let html = playground(page, &directive, &mut ids).unwrap_or_default();
        parts.push((directive.range, in_markdown(&html, 1)));
    }
    replace(text, parts)
}

fn playground(page: &mut Page<'_>, at: &Directive, ids: &mut Vec<String>) -> Option<String> {
    let program = at.argument.strip_prefix("program=");
    let (id, class, data, inside, caption) = match program {
        Some(name) => {
            let id = format!("play-{}-program", identifier(&page.name()));
            let inside = editor::editor(page, at.line, name, &id)?;
            let caption = "Simulated here and now. Nothing leaves your browser.";
            (id, "play editor", String::new(), inside, caption)
        }
        None => {
            let setting = Setting::parse_strictly(&at.argument);
            let unknown = |unknown: playground::setting::Unknown| {
                format!("no playground has `{}`", unknown.0)
            };
            let setting = page.note(at.line, setting.map_err(unknown))?;
            let name = setting.sheet.name();
            let id = format!("play-{}-{}", identifier(&page.name()), identifier(name));
            let address = escape(&setting.address());
            let data = format!(" data-sheet=\"{name}\" data-first=\"{address}\"");
            let inside = sheet(&setting, &id);
            let caption = "Simulated here and now; \u{201c}floor\u{201d} is the time of the busiest engine alone.";
            (id, "play", data, inside, caption)
        }
    };
    if ids.contains(&id) {
        page.complain(at.line, "this page has that sheet already, and one address");
    }
    let first = ids.is_empty();
    ids.push(id.clone());
    let mut scripts = match program {
        Some(_) => format!("<script>{}</script>", on_one_line(include_str!("../theme/editor.js"))),
        None => String::new(),
    };
    // The program itself, once on each page: pages opened from a file cannot fetch anything.
    if let Ok(wasm) = wasm::PLAYGROUND.compressed()
        && first
    {
        _ = write!(scripts, "<script type=\"text/plain\" id=\"play-wasm\">{wasm}</script>");
    }
    Some(format!(
        "{}<style>{}</style><figure class=\"{class}\" id=\"{id}\"{data}>{inside}\
         <p class=\"spoken\" aria-hidden=\"true\"></p>\
         <figcaption>{caption}</figcaption></figure>{scripts}",
        palette(),
        draw::sheet(),
    ))
}

/// A script without its comments, which would end with its one line only. Among the files of the
/// theme it would be loaded on every page.
pub(crate) fn on_one_line(script: &str) -> String {
    let lines = script.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    lines.collect::<Vec<_>>().join(" ")
}

/// A program with controls.
fn sheet(setting: &Setting, id: &str) -> String {
    let controls: String = setting
        .sheet
        .controls()
        .iter()
        .map(|control| choices(control, setting.index(control.key), id))
        .collect();
    let shown = playground::answer(&setting.address(), &format!("{id}-drawing"));
    format!(
        "<form class=\"controls\" aria-label=\"Controls\" hidden>{controls}\
         <p class=\"actions\"><button type=\"button\" class=\"again\">As it was</button> \
         <a class=\"link\">Link to this setting</a></p></form>\
         <p class=\"hidden-text\" role=\"status\"></p>\
         <div class=\"played\">{shown}</div>"
    )
}

fn choices(control: &Control, chosen: usize, id: &str) -> String {
    let id = format!("{id}-{}", control.name);
    let mut html = format!(
        "<p class=\"control\"><label for=\"{id}\">{}</label> <select id=\"{id}\" name=\"{}\">",
        escape(control.label),
        control.name
    );
    for index in 0..control.count() {
        let (value, text) = control.choice(index);
        let selected = if index == chosen { " selected" } else { "" };
        _ = write!(html, "<option value=\"{value}\"{selected}>{}</option>", escape(text));
    }
    html + "</select></p>"
}
