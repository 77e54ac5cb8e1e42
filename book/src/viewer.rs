//! The page into which a reader drops a trace: `{{#viewer example=chunked_pipeline}}`.
//!
//! The reader of traces is larger than all other scripts together. So it lies beside the page in a
//! script of its own, with the example in it, and the page loads it when there is something to
//! read. A page that was opened from a file may load scripts, and nothing else.

use std::path::Path;

use anyhow::{Context, Result};

use crate::figure::palette;
use crate::markup::in_markdown;
use crate::page::{Directive, Page, directives, replace};
use crate::playground::on_one_line;
use crate::wasm::{self, VIEWER};

/// The script beside the page; `theme/viewer.js` loads it by that name.
const SCRIPT: &str = "trace-reader.js";

/// The chapter whose trace in PyTorch is the example.
const EXAMPLE: &str = "chunked_pipeline";

/// Replaces the viewer of a page.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let parts = directives(text, "viewer").into_iter().map(|directive| {
        let html = viewer(page, &directive).unwrap_or_default();
        (directive.range, in_markdown(&html, 1))
    });
    let parts = parts.collect();
    replace(text, parts)
}

fn viewer(page: &mut Page<'_>, at: &Directive) -> Option<String> {
    if at.argument != format!("example={EXAMPLE}") {
        page.complain(at.line, format!("the viewer's example is `{EXAMPLE}`"));
        return None;
    }
    Some(format!(
        "{}<div class=\"viewer\">\
         <div class=\"drop\" hidden><p><label>Your trace: <input type=\"file\"></label></p>\
         <p>Choose a file, or drop it anywhere on this page. It stays in your browser: nothing is sent anywhere.</p>\
         <p><button type=\"button\" class=\"example\">Read an example instead</button></p></div>\
         <noscript><p>A script of this page would read your trace. In a terminal, <code>cargo run -- trace FILE</code> \
         shows the same.</p></noscript>\
         <p class=\"busy\" hidden><progress aria-label=\"How much of the file is read\"></progress> \
         <button type=\"button\" class=\"cancel\">Cancel</button></p>\
         <p class=\"hidden-text\" role=\"status\"></p>\
         <div class=\"shown\"></div></div><script>{}</script><script>{}</script>",
        palette(),
        on_one_line(include_str!("../theme/traced.js")),
        on_one_line(include_str!("../theme/viewer.js")),
    ))
}

/// Puts the script beside the pages, where there is a wasm.
pub fn script(root: &Path, folder: &Path) -> Result<()> {
    let Ok(reader) = VIEWER.compressed() else { return Ok(()) };
    let example = root.join(format!("pytorch/traces/{EXAMPLE}.json.gz"));
    let example =
        std::fs::read(&example).with_context(|| format!("cannot read `{}`", example.display()))?;
    let script = format!(
        "window.swimReader={{wasm:\"{reader}\",example:{{name:\"{EXAMPLE}.json.gz\",gzip:\"{}\"}}}};\n",
        wasm::base64(&example)
    );
    let path = folder.join(SCRIPT);
    std::fs::write(&path, script).with_context(|| format!("cannot write `{}`", path.display()))
}

/// The script of a page that stands alone, as `--html` writes it: those parts of the book's scripts
/// that its figure needs. It is kept in the package `viewer`, which is handed out without the book.
pub fn alone() -> String {
    let parts = [
        include_str!("../theme/swim/base.js"),
        include_str!("../theme/swim/drawings.js"),
        include_str!("../theme/swim/zoom.js"),
        include_str!("../theme/traced.js"),
        "swim.all(\"figure.traced\").forEach((figure) => window.swimTraced(figure));\n",
    ];
    parts.concat()
}
