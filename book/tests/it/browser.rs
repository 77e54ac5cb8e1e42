//! The page in a browser. Needs Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use book::proof::element::elements;
use book::{site, wasm};
use page::{Played, Setting};
use tempfile::TempDir;

use crate::needs::{Need, missing};
use crate::real::root;

/// Commits to predictions and answers questions as a reader does, then says what the page says.
const ACT: &str = r#"
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
    const bar = form.querySelector("svg g[role=button]");
    if (bar) bar.dispatchEvent(new MouseEvent("click"));
    form.requestSubmit();
    const give = form.querySelector(".give-up");
    said.push(`${form.dataset.kind}: ${text(form.querySelector(".verdict")).slice(0, 12).trim()}`);
    if (!give.hidden) give.click();
  }
  said.push(text(document.querySelector(".quiz-end")));
  document.querySelector(".retry").click();
  const again = [...document.querySelectorAll("form.question fieldset:not(:disabled)")].length;
  said.push(`to be tried again: ${again}`);
  finish();
"#;

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
      .filter((name) => !/^(file|blob|data):/.test(name));
    said.push(`asked of others: ${foreign.length ? foreign.join(" ") : "nothing"}`);
    const out = document.createElement("pre");
    out.id = "said";
    out.textContent = said.join("\n");
    document.body.append(out);
  }
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
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The book, built to be looked at.
struct Built {
    scratch: TempDir,
    site: PathBuf,
}

impl Built {
    fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a folder");
        let site = site::build(&root(), Some(scratch.path())).expect("the book builds").folder;
        Self { scratch, site }
    }

    /// What a page says when `act` runs in it; none where there is no Chromium.
    fn says(&self, page: &str, act: &str) -> Option<String> {
        let html = std::fs::read_to_string(self.site.join(page)).expect("a page");
        let html = html.replacen("<head>", &format!("<head>{LISTEN}{REPORT}"), 1);
        let acted = self.site.join(format!("acted-{page}"));
        let act = format!("<script>addEventListener(\"load\", async () => {{ {act} }})</script>");
        std::fs::write(&acted, html.replacen("</body>", &format!("{act}</body>"), 1))
            .expect("a file");
        self.answer(&acted)
    }

    fn answer(&self, page: &Path) -> Option<String> {
        assert!(page.starts_with(self.scratch.path()));
        let Some(dom) = dump(page) else { return missing(Need::Chromium) };
        let said = dom.split_once("<pre id=\"said\">").expect("the script ran").1;
        let said = said.split_once("</pre>").expect("and said what it saw").0;
        Some(said.replace("&amp;", "&"))
    }
}

#[test]
fn predictions_and_quiz_work_from_a_file() {
    let Some(said) = Built::new().says("three_lanes.html", ACT) else { return };
    insta::assert_snapshot!(said, @"
    hidden before: 4 of 4
    4 of 4 places as they turned out.
    4 of 4 places as they turned out.
    ✗ It is elsewhere: at 24.0 ms.
    ✗ It is held for that time indeed, but a
    hidden after: 0
    choice: ✗ Downloads
    order: ✗ “the last
    number: ✓ Right.
    choice: ✗ Recording
    timeline: ✗ That is an
    1 of 5 right at the first try.
    to be tried again: 4
    errors: none
    asked of others: nothing
    ");
}

/// Until the controls are there; then four streams and pinned memory, as a reader chooses them.
const PLAY: &str = r#"
  const figure = document.querySelector("figure.play");
  const form = figure.querySelector(".controls");
  for (let turns = 0; form.hidden && turns < 200; turns++) await new Promise((r) => setTimeout(r, 50));
  said.push(`controls: ${form.hidden ? "hidden" : form.querySelectorAll("select").length}`);
  const choose = (name, value) => {
    const select = form.querySelector(`[name=${name}]`);
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const number = (name) => figure.querySelector(`[data-name=${name}] dd`).dataset.value;
  said.push(`makespan: ${number("makespan")}`);
  choose("up", "pinned");
  choose("down", "pinned");
  choose("chunks", "8");
  choose("streams", "4");
  said.push(`makespan: ${number("makespan")}`);
  said.push(`address: ${decodeURI(figure.querySelector(".link").getAttribute("href"))}`);
  const labelled = [...form.querySelectorAll("select")].every((select) => select.labels.length === 1);
  said.push(`labelled: ${labelled}`);
  finish();
"#;

#[test]
fn a_playground_follows_its_controls_and_says_what_the_native_simulator_says() {
    if wasm::plain().is_err() {
        return missing(Need::Wasm).unwrap_or_default();
    }
    let Some(said) = Built::new().says("free_sheet.html", PLAY) else { return };
    let makespan =
        |address: &str| Played::new(&Setting::parse(address)).timeline.extent().ns().to_string();
    let chosen = "sheet=pipeline&up=pinned&down=pinned&host=goes-on&streams=4&chunks=8&order=depth\
                  &kernel=one&device=h200";
    let expected = format!(
        "controls: 8\nmakespan: {}\nmakespan: {}\naddress: #{chosen}\nlabelled: true\n\
         errors: none\nasked of others: nothing",
        makespan("sheet=pipeline"),
        makespan(chosen)
    );
    assert_eq!(said, expected);
}

/// Answers kept by a chapter, as the page on progress finds them.
const PROGRESS: &str = r#"
  const text = (node) => node.textContent.replace(/\s+/g, " ").trim();
  const rows = [...document.querySelectorAll(".progress tbody tr")];
  const row = rows.find((row) => text(row).startsWith("Three lanes"));
  said.push([...row.cells].map(text).join(" | "));
  said.push(`recap: ${document.querySelectorAll(".again:not([hidden])").length}`);
  finish();
"#;

#[test]
fn the_page_on_progress_counts_what_was_kept_and_asks_again() {
    let built = Built::new();
    let kept = r#"
      localStorage.setItem("swim/three-lanes-rank", "{}");
      localStorage.setItem("swim/quiz-three-lanes", JSON.stringify({
        "quiz-three-lanes-uploads": { done: true, solved: true, first: true, at: "2026-11-20" },
        "quiz-three-lanes-order": { done: true, solved: true, first: false, at: "2026-11-21" },
      }));
    "#;
    let page = built.site.join("progress.html");
    let html = std::fs::read_to_string(&page).expect("a page");
    let html = html.replacen("<head>", &format!("<head><script>{kept}</script>"), 1);
    std::fs::write(&page, html).expect("a file");
    let Some(said) = built.says("progress.html", PROGRESS) else { return };
    insta::assert_snapshot!(said, @"
Three lanes: swimming in streams | 1 | 2 of 5 | 1
recap: 2
errors: none
asked of others: nothing
");
}

#[test]
fn no_page_is_wider_than_a_phone() {
    let built = Built::new();
    let pages = [
        "three_lanes.html",
        "free_sheet.html",
        "progress.html",
        "machine.html",
        "myths.html",
        "codes.html",
        "why_no_overlap.html",
    ];
    let frames: String = pages
        .map(|page| format!("<iframe src=\"{page}\" width=\"390\" height=\"844\"></iframe>"))
        .concat();
    let act = r#"
      await new Promise((r) => setTimeout(r, 3000));
      for (const frame of document.querySelectorAll("iframe")) {
        const { scrollWidth } = frame.contentDocument.scrollingElement;
        said.push(`${frame.getAttribute("src")}: ${scrollWidth <= 390 ? "fits" : scrollWidth}`);
      }
      finish();
    "#;
    let page = built.site.join("phone.html");
    let html = format!("<!doctype html><html><head></head><body>{frames}</body></html>");
    std::fs::write(&page, html).expect("a file");
    let Some(said) = built.says("phone.html", act) else { return };
    insta::assert_snapshot!(said, @"
three_lanes.html: fits
free_sheet.html: fits
progress.html: fits
machine.html: fits
myths.html: fits
codes.html: fits
why_no_overlap.html: fits
errors: none
asked of others: nothing
");
}

#[test]
fn print_unfolds_what_the_page_folds() {
    let act = r#"
      const folded = () => document.querySelectorAll(
        "main details:not([open]):not(.timeline-more), main details[hidden]").length;
      const before = folded();
      dispatchEvent(new Event("beforeprint"));
      said.push(`folded on the page: ${before > 0}; on paper: ${folded()}`);
      dispatchEvent(new Event("afterprint"));
      said.push(`as before: ${folded() === before}`);
      finish();
    "#;
    let Some(said) = Built::new().says("three_lanes.html", act) else { return };
    insta::assert_snapshot!(said, @"
folded on the page: true; on paper: 0
as before: true
errors: none
asked of others: nothing
");
}

#[test]
fn axe_finds_nothing_serious_in_any_theme() {
    let Some(axe) = std::env::var_os("SWIM_AXE") else {
        return missing(Need::Axe).unwrap_or_default();
    };
    let axe = std::fs::read_to_string(&axe).expect("SWIM_AXE names axe.min.js");
    let built = Built::new();
    for page in
        ["three_lanes.html", "events.html", "traces.html", "free_sheet.html", "progress.html"]
    {
        std::fs::write(built.site.join("axe.js"), &axe).expect("a file");
        let act = r#"
          await new Promise((done) => {
            const script = Object.assign(document.createElement("script"), { src: "axe.js" });
            script.addEventListener("load", done);
            document.head.append(script);
          });
          // Colours that are on their way from one theme to the next are nobody's.
          const still = document.createElement("style");
          still.textContent = "* { transition: none !important; }";
          document.head.append(still);
          for (const theme of ["light", "rust", "coal", "navy", "ayu"]) {
            // As a reader does it: code has a style sheet of its own for each, which comes along.
            document.getElementById(`mdbook-theme-${theme}`).click();
            if (!document.documentElement.classList.contains(theme)) said.push(`no ${theme}`);
            const sheets = [...document.querySelectorAll("link[rel=stylesheet]")];
            const awaited = sheets.filter((sheet) => !sheet.disabled && !sheet.sheet);
            await Promise.all(awaited.map((sheet) => new Promise((done) => sheet.addEventListener("load", done))));
            const { violations } = await axe.run("main", { resultTypes: ["violations"] });
            for (const { id, impact, nodes } of violations) {
              if (impact === "serious" || impact === "critical") {
                said.push(`${theme}: ${id}: ${nodes.slice(0, 3).map((n) => n.html.slice(0, 60) + " " + n.any.map((a) => a.message).join()).join(" | ")}`);
              }
            }
          }
          finish();
        "#;
        let Some(said) = built.says(page, act) else { return };
        assert_eq!(said, "errors: none\nasked of others: nothing", "{page}");
    }
}

/// What only a script can do is hidden until the script runs; nothing else is.
#[test]
fn without_a_script_nothing_to_read_is_hidden() {
    let built = Built::new();
    for page in ["three_lanes.html", "free_sheet.html", "progress.html"] {
        let html = std::fs::read_to_string(built.site.join(page)).expect("a page");
        let (_, main) = html.split_once("<main>").expect("a main part");
        let (main, _) = main.split_once("</main>").expect("its end");
        for element in elements(main).iter().filter(|element| element.get("hidden").is_some()) {
            let class = element.get("class").unwrap_or_default();
            let known = element.name == "button"
                || ["controls", "actions", "none", "line truth"].contains(&class);
            assert!(known, "{page}: {element:?}");
        }
        assert!(
            !main.contains("controls\" aria-label=\"Controls\">"),
            "{page}: controls that do nothing"
        );
    }
}
