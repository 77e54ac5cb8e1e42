//! `{{#start three_lanes}}`: the commands from nothing to a first run of an exercise.

use std::path::Path;

use crate::markup::escape;
use crate::page::{Directive, Page};

/// Where `book.toml` says where the repository is, mdBook takes it from here too: who publishes the
/// book says it so.
const REPOSITORY: &str = "MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL";

/// A listing of them. Where nothing says where the repository is, a reader has it already.
pub fn listing(page: &mut Page<'_>, directive: &Directive) -> Option<String> {
    let clone = std::env::var(REPOSITORY).ok().or_else(|| configured(page.root));
    Some(of(clone.as_deref(), &directive.argument))
}

fn of(repository: Option<&str>, exercise: &str) -> String {
    let clone = repository.map_or_else(String::new, |repository| {
        format!("git clone {} swimming-in-streams\ncd swimming-in-streams\n", escape(repository))
    });
    format!(
        "<pre><code class=\"language-sh\">{clone}cargo run -- run {}\n</code></pre>",
        escape(exercise)
    )
}

/// The address of the repository in `book.toml`.
fn configured(root: &Path) -> Option<String> {
    let config: toml::Table = std::fs::read_to_string(root.join("book.toml")).ok()?.parse().ok()?;
    let repository = config.get("output")?.get("html")?.get("git-repository-url")?;
    Some(repository.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_cloned_where_it_is_known() {
        assert!(of(None, "x").contains("\">cargo run"));
        let shown = of(Some("https://example.org/a?b&c"), "x");
        assert!(shown.contains("git clone https://example.org/a?b&amp;c swimming-in-streams\ncd "));
    }
}
