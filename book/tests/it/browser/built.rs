//! A book as Chromium shows it, and what a script in it says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use book::site;
use tempfile::TempDir;

use crate::needs::{Need, missing};
use crate::real::root;
use crate::tiny::Tiny;

const LISTEN: &str = r#"<script>
  window.failures = [];
  addEventListener("error", (event) => failures.push(event.message));
  addEventListener("unhandledrejection", (event) => failures.push(String(event.reason)));
</script>"#;

/// Says what a page reports in `said`, once `finish()` was called.
const REPORT: &str = r#"<script>
  const said = [];
  function finish() {
    said.push(`errors: ${window.failures.length ? window.failures.join("; ") : "none"}`);
    const foreign = performance.getEntriesByType("resource").map((entry) => entry.name)
      .filter((name) => !/^(file|blob|data):|^http:\/\/127\.0\.0\.1/.test(name)); // the test's own
    said.push(`asked of others: ${foreign.length ? foreign.join(" ") : "nothing"}`);
    const out = document.createElement("pre");
    out.id = "said";
    out.textContent = said.join("\n");
    document.body.append(out);
  }
</script>"#;

/// What Chromium makes of a page, and what it complains of; none where there is no Chromium.
fn dump(page: &Path) -> Option<(String, String)> {
    let profile = tempfile::tempdir().expect("a folder");
    let run = |program: &str| {
        Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-quic",
                "--no-first-run",
                "--allow-file-access-from-files",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--virtual-time-budget=20000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .ok()
    };
    let output = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(run)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&output.stdout), format!("{}\n{}", output.status, text(&output.stderr))))
}

/// A book, built to be looked at.
pub(crate) struct Built {
    pub(crate) site: PathBuf,
    /// Where the pages go with it.
    _scratch: Option<TempDir>,
}

/// The whole book, built once for all tests of one run.
pub(crate) fn book() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("looked-at");
        let site = site::build(&root(), Some(&folder)).expect("the book builds").folder;
        Built { site, _scratch: None }
    })
}

impl Built {
    /// What a page says when `act` runs in it; none where there is no Chromium.
    pub(crate) fn says(&self, page: &str, act: &str) -> Option<String> {
        self.says_after(page, "", act)
    }

    /// The same on a page where `before` ran first.
    pub(super) fn says_after(&self, page: &str, before: &str, act: &str) -> Option<String> {
        let html = std::fs::read_to_string(self.site.join(page)).expect("a page");
        let before = format!("<head>{LISTEN}{REPORT}<script>{before}</script>");
        let html = html.replacen("<head>", &before, 1);
        // Tests act on the same page at the same time.
        let name = format!("-{page}");
        let mut acted = tempfile::Builder::new();
        let acted = acted.prefix("acted-").suffix(&name).tempfile_in(&self.site).expect("a file");
        let act = format!(
            "<script>addEventListener(\"load\", async () => {{
  try {{ {act} }} catch (error) {{ failures.push(String(error)); finish(); }}
}})</script>"
        );
        std::fs::write(acted.path(), html.replacen("</body>", &format!("{act}</body>"), 1))
            .expect("a file");
        let Some((dom, complaints)) = dump(acted.path()) else { return missing(Need::Chromium) };
        let said = dom.split_once("<pre id=\"said\">");
        let said = said.unwrap_or_else(|| panic!("the script did not end: {complaints}")).1;
        let said = said.split_once("</pre>").expect("and said what it saw").0;
        Some(said.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    }

    /// Copies of all pages that keep in `failures` what goes wrong in them, by their names; removed
    /// when they are dropped.
    pub(crate) fn listening(&self) -> Vec<tempfile::NamedTempFile> {
        let files = std::fs::read_dir(&self.site).expect("a folder");
        let names = files.map(|file| file.expect("it").file_name().into_string().expect("UTF-8"));
        let is_page = |name: &String| {
            let kinds = ["acted-", "listening-", "axe", "alone", "404", "toc"];
            name.ends_with(".html") && !kinds.iter().any(|kind| name.starts_with(kind))
        };
        let mut pages: Vec<String> = names.filter(is_page).collect();
        pages.sort();
        let copy = |page: &String| {
            let html = std::fs::read_to_string(self.site.join(page)).expect("a page");
            let mut builder = tempfile::Builder::new();
            let builder = builder.prefix("listening-").suffix(page.as_str());
            let file = builder.tempfile_in(&self.site).expect("a file");
            let html = html.replacen("<head>", &format!("<head>{LISTEN}"), 1);
            std::fs::write(file.path(), html).expect("a file");
            file
        };
        pages.iter().map(copy).collect()
    }

    /// A page of nothing but `body`, beside the others.
    pub(crate) fn with(&self, page: &str, body: &str) -> &Self {
        let html = format!("<!doctype html><html><head></head><body>{body}</body></html>");
        std::fs::write(self.site.join(page), html).expect("a file");
        self
    }
}

/// A book of one page, built to be looked at.
pub(super) fn of(tiny: &Tiny) -> Built {
    let scratch = tempfile::tempdir().expect("a folder");
    let site = tiny.build(scratch.path());
    Built { site, _scratch: Some(scratch) }
}
