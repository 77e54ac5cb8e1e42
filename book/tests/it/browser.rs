//! The page in a browser. Needs Chromium.

use std::path::Path;
use std::process::Command;

use book::site;

use crate::real::root;

/// Commits to predictions and answers questions as a reader does, then says what the page says.
const ACT: &str = r#"<script>addEventListener("load", () => {
  const said = [];
  const text = (node) => node.textContent.replace(/\s+/g, " ").trim();
  const reveals = [...document.querySelectorAll("details.reveal")];
  said.push(`hidden before: ${reveals.filter((r) => r.hidden).length} of ${reveals.length}`);
  for (const form of document.querySelectorAll("form.predict")) {
    for (const select of form.querySelectorAll("select")) select.value = select.dataset.place;
    const right = form.querySelector("[data-verdict=wrong]");
    if (right) right.checked = true;
    form.requestSubmit();
    said.push(text(form.querySelector(".verdict")).slice(0, 40));
  }
  said.push(`hidden after: ${reveals.filter((r) => r.hidden || !r.open).length}`);
  for (const form of document.querySelectorAll("form.question")) {
    const wrong = form.querySelector("[data-verdict=wrong]");
    if (wrong) wrong.checked = true;
    form.querySelectorAll("select").forEach((select, index) => (select.value = index + 1));
    const number = form.querySelector("input[type=number]");
    if (number) number.value = number.dataset.value;
    form.requestSubmit();
    const give = form.querySelector(".give-up");
    said.push(`${form.dataset.kind}: ${text(form.querySelector(".verdict")).slice(0, 12).trim()}`);
    if (!give.hidden) give.click();
  }
  said.push(text(document.querySelector(".quiz-end")));
  document.querySelector(".retry").click();
  const again = [...document.querySelectorAll("form.question fieldset:not(:disabled)")].length;
  said.push(`to be tried again: ${again}`);
  said.push(`errors: ${window.failures.length ? window.failures.join("; ") : "none"}`);
  const out = document.createElement("pre");
  out.id = "said";
  out.textContent = said.join("\n");
  document.body.append(out);
})</script>"#;

const LISTEN: &str = r#"<script>
  window.failures = [];
  addEventListener("error", (event) => failures.push(event.message));
  addEventListener("unhandledrejection", (event) => failures.push(String(event.reason)));
</script>"#;

/// What Chromium makes of a page; none where there is no Chromium.
fn dump(page: &Path) -> Option<String> {
    let profile = tempfile::tempdir().expect("a folder");
    let run = |program: &str| {
        Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--virtual-time-budget=3000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .ok()
    };
    let output = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(run)?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
#[expect(clippy::print_stderr, reason = "the reader of the test's output is told what did not run")]
fn predictions_and_quiz_work_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let site = site::build(&root(), Some(folder.path())).expect("the book builds");
    let html = std::fs::read_to_string(site.folder.join("three_lanes.html")).expect("a page");
    let html = html.replacen("<head>", &format!("<head>{LISTEN}"), 1);
    let page = site.folder.join("acted.html");
    std::fs::write(&page, html.replacen("</body>", &format!("{ACT}</body>"), 1)).expect("a file");
    let Some(dom) = dump(&page) else {
        let required = std::env::var("SWIM_REQUIRE").unwrap_or_default();
        assert!(!required.split([',', ' ']).any(|name| name == "chromium"), "there is no chromium");
        eprintln!("not run: needs chromium");
        return;
    };
    let said = dom.split_once("<pre id=\"said\">").expect("the script ran").1;
    let said = said.split_once("</pre>").expect("and said what it saw").0;
    insta::assert_snapshot!(said, @"
hidden before: 4 of 4
4 of 4 places as they turned out.
✗ Nor does it in the blocking program: t
✗ One of them still synchronises after e
✗ The copies are as well hidden as befor
hidden after: 0
choice: ✗ Downloads
order: ✗ “the last
number: ✓ Right.
choice: ✗ Recording
1 of 4 right at the first try.
to be tried again: 3
errors: none
");
}
