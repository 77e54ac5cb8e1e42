//! `book.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use mdbook_driver::config::HtmlConfig;
use serde::Deserialize;
use toml::Value;

use crate::preprocessors::STEPS;
use crate::problem::{Problem, line_at};

/// mdBook's own preprocessors.
const BUILT_IN: [&str; 2] = ["links", "index"];

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    output: Output,
}

#[derive(Default, Deserialize)]
struct Output {
    /// Read for its errors alone: from a table with an unknown key mdBook takes nothing at all.
    #[serde(default, rename = "html")]
    _html: HtmlConfig,
}

#[derive(Deserialize)]
struct Preprocessors {
    #[serde(default)]
    preprocessor: BTreeMap<String, BTreeMap<String, Value>>,
}

/// The problems in the configuration of the book in `root`.
pub fn check(root: &Path) -> Result<Vec<Problem>> {
    let path = root.join("book.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut problems = Vec::new();
    let mut complain = |line: Option<usize>, message: String| {
        problems.push(Problem::new(root, &path, line, message));
    };
    if let Err(error) = toml::from_str::<Config>(&text).map(|config| config.output) {
        let line = error.span().map(|span| line_at(&text, span.start));
        complain(line, format!("mdBook would drop all of [output.html]: {}", error.message()));
    }
    let tables = match toml::from_str::<Preprocessors>(&text) {
        Ok(tables) => tables.preprocessor,
        Err(error) => {
            complain(error.span().map(|s| line_at(&text, s.start)), error.message().to_owned());
            return Ok(problems);
        }
    };
    for (name, table) in &tables {
        let line = text.find(&format!("[preprocessor.{name}]")).map(|at| line_at(&text, at));
        let ours = STEPS.iter().any(|step| mdbook_preprocessor::Preprocessor::name(step) == name);
        if !ours && !BUILT_IN.contains(&name.as_str()) {
            complain(line, format!("there is no preprocessor `{name}` in this program"));
        }
        if table.get("optional") == Some(&Value::Boolean(true)) {
            complain(
                line,
                format!(
                    "preprocessor `{name}` may not be optional: its blocks would be left as they are"
                ),
            );
        }
        if ours && !table.contains_key("command") {
            complain(line, format!("stock mdBook needs a `command` for preprocessor `{name}`"));
        }
    }
    for step in &STEPS {
        let name = mdbook_preprocessor::Preprocessor::name(step);
        if !tables.contains_key(name) {
            complain(
                None,
                format!(
                    "[preprocessor.{name}] is missing: stock mdBook would leave its blocks as they are"
                ),
            );
        }
    }
    Ok(problems)
}
