//! The page in a browser. Needs Chromium.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use book::proof::element::elements;
use book::{site, wasm};
use page::{Played, Setting};
use tempfile::TempDir;
use trace::Record;
use trace::causes::waits::{Instants, instants};
use trace::draw::duration;
use trace::program::Call;

use crate::fragments::puzzle_with;
use crate::needs::{Need, missing};
use crate::real::root;
use crate::tiny::Tiny;

/// Commits to predictions and answers questions as a reader does, then says what the page says.
const ACT: &str = r#"
  const text = (node) => node.textContent.replace(/\s+/g, " ").trim();
  const reveals = [...document.querySelectorAll("details.reveal")];
  const shown = () => reveals.filter((reveal) => reveal.checkVisibility()).length;
  const forms = [...document.querySelectorAll("form.predict")].filter((form) => form.checkVisibility());
  said.push(`before: ${shown()} of ${reveals.length} reveals, ${forms.length} prediction`);
  for (const form of document.querySelectorAll("form.predict")) {
    for (const select of form.querySelectorAll("select")) select.value = select.dataset.place;
    const wrong = form.querySelector("[data-verdict=wrong]");
    if (wrong) wrong.checked = true;
    form.requestSubmit();
    const slider = form.querySelector("input[type=range]");
    if (slider) {
      said.push(text(form.querySelector(".verdict")));
      slider.value = slider.max;
      slider.dispatchEvent(new Event("input"));
      form.requestSubmit();
    }
    const verdict = text(form.querySelector(".verdict")).slice(0, 40);
    said.push(`${verdict} | ${shown()} shown, focus on ${document.activeElement.tagName}`);
  }
  said.push(`open: ${reveals.filter((reveal) => reveal.open).length}`);
  for (const form of document.querySelectorAll("form.question")) {
    const wrong = form.querySelector("[data-verdict=wrong]");
    if (wrong) wrong.checked = true;
    form.querySelectorAll("select").forEach((select, index) => (select.value = index + 1));
    const number = form.querySelector("input[type=number]");
    if (number) number.value = number.dataset.value;
    const bar = form.querySelector("svg g[role=gridcell]");
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

/// A book, built to be looked at.
struct Built {
    site: PathBuf,
    /// Where the pages go with it.
    _scratch: Option<TempDir>,
}

/// The whole book, built once for all tests of one run.
fn book() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("looked-at");
        let site = site::build(&root(), Some(&folder)).expect("the book builds").folder;
        Built { site, _scratch: None }
    })
}

impl Built {
    /// What a page says when `act` runs in it; none where there is no Chromium.
    fn says(&self, page: &str, act: &str) -> Option<String> {
        self.says_after(page, "", act)
    }

    /// The same on a page where `before` ran first.
    fn says_after(&self, page: &str, before: &str, act: &str) -> Option<String> {
        let html = std::fs::read_to_string(self.site.join(page)).expect("a page");
        let before = format!("<head>{LISTEN}{REPORT}<script>{before}</script>");
        let html = html.replacen("<head>", &before, 1);
        // Tests act on the same page at the same time.
        let name = format!("-{page}");
        let mut acted = tempfile::Builder::new();
        let acted = acted.prefix("acted-").suffix(&name).tempfile_in(&self.site).expect("a file");
        let act = format!("<script>addEventListener(\"load\", async () => {{ {act} }})</script>");
        std::fs::write(acted.path(), html.replacen("</body>", &format!("{act}</body>"), 1))
            .expect("a file");
        let Some(dom) = dump(acted.path()) else { return missing(Need::Chromium) };
        let said = dom.split_once("<pre id=\"said\">").expect("the script ran").1;
        let said = said.split_once("</pre>").expect("and said what it saw").0;
        Some(said.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    }

    /// A page of nothing but `body`, beside the others.
    fn with(&self, page: &str, body: &str) -> &Self {
        let html = format!("<!doctype html><html><head></head><body>{body}</body></html>");
        std::fs::write(self.site.join(page), html).expect("a file");
        self
    }
}

#[test]
fn predictions_and_quiz_work_from_a_file() {
    let Some(said) = book().says("three_lanes.html", ACT) else { return };
    insta::assert_snapshot!(said, @"
before: 0 of 4 reveals, 1 prediction
✗ There are enough kernels to run beside | 1 shown, focus on SUMMARY
4 of 4 places as they turned out. | 2 shown, focus on SUMMARY
Move the mark first.
✗ It is elsewhere: at 24.0 ms. | 3 shown, focus on SUMMARY
✗ That would be true if the end waited f | 4 shown, focus on SUMMARY
open: 4
order: ✗ “the first
number: ✓ Right.
choice: ✗ A priority
choice: ✗ Recording
choice: ✗ That would
timeline: ✗ That is an
1 of 6 right at the first try.
to be tried again: 5
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
    let Some(said) = book().says("free_sheet.html", PLAY) else { return };
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
    let kept = r#"
      localStorage.setItem("swim/three-lanes-makespan", "{}");
      localStorage.setItem("swim/quiz-three-lanes", JSON.stringify({
        "quiz-three-lanes-earlier": { done: true, solved: true, first: true, at: "2026-11-20" },
        "quiz-three-lanes-order": { done: true, solved: true, first: false, at: "2026-11-21" },
      }));
    "#;
    let Some(said) = book().says_after("progress.html", kept, PROGRESS) else { return };
    insta::assert_snapshot!(said, @"
Three lanes: swimming in streams | 1 | 2 of 6 | 1
recap: 2
errors: none
asked of others: nothing
");
}

#[test]
fn no_page_is_wider_than_a_phone() {
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
    let built = book().with("phone.html", &frames);
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
fn print_unfolds_what_the_page_folds_and_puts_answers_at_the_back() {
    let act = r#"
      const count = (selector) => document.querySelectorAll(selector).length;
      const folded = () => count("main details:not([open]):not(.timeline-more, .scrubber)");
      const [before, html] = [folded(), document.querySelector("main").innerHTML];
      dispatchEvent(new Event("beforeprint"));
      said.push(`folded on the page: ${before > 0}; on paper: ${folded()}`);
      const answers = "details:is(.reveal, .answer)";
      said.push(`in place: ${count(`main ${answers}`) - count(`main .answers ${answers}`)}`);
      said.push(`at the back: ${count(`main .answers > .back > ${answers}`) === count(".at-back")}`);
      const last = document.querySelector("main").lastElementChild;
      said.push(`last: ${last.className}, of ${count(".answers")}`);
      dispatchEvent(new Event("afterprint"));
      said.push(`as before: ${document.querySelector("main").innerHTML === html}`);
      finish();
    "#;
    let Some(said) = book().says("three_lanes.html", act) else { return };
    insta::assert_snapshot!(said, @"
folded on the page: true; on paper: 0
in place: 0
at the back: true
last: answers, of 1
as before: true
errors: none
asked of others: nothing
");
}

/// Each frame as it is and with everything open, in all themes: all rules in the first, contrast in the others.
const AXE: &str = r#"
  const loaded = (node) => new Promise((done) => node.addEventListener("load", done));
  const frames = [...document.querySelectorAll("iframe")];
  await Promise.all(frames.map((frame) => {
    frame.src = frame.dataset.page;
    return loaded(frame);
  }));
  for (const frame of frames) {
    const page = frame.contentDocument;
    const script = Object.assign(page.createElement("script"), { src: "axe.js" });
    // Colours that are on their way from one theme to the next are nobody's.
    const still = page.createElement("style");
    still.textContent = "* { transition: none !important; }";
    page.head.append(script, still);
    await loaded(script);
    for (const open of [false, true]) {
      if (open) {
        // Committed and judged as far as that goes without thought.
        for (const form of page.querySelectorAll("form.predict, form.question")) {
          form.querySelectorAll("select").forEach((select) => (select.value = 1));
          const wrong = form.querySelector("[data-verdict=wrong]");
          if (wrong) wrong.checked = true;
          form.requestSubmit();
        }
        const gates = page.querySelectorAll(".gated");
        gates.forEach((gate) => gate.querySelector("button").click());
        page.querySelectorAll("main details").forEach((details) => (details.open = true));
      }
      for (const theme of ["light", "rust", "coal", "navy", "ayu"]) {
        // As a reader does it: code has a style sheet of its own for each, which comes along.
        page.getElementById(`mdbook-theme-${theme}`).click();
        if (!page.documentElement.classList.contains(theme)) said.push(`no ${theme}`);
        const sheets = [...page.querySelectorAll("link[rel=stylesheet]")];
        await Promise.all(sheets.filter((sheet) => !sheet.disabled && !sheet.sheet).map(loaded));
        const rules = theme === "light" ? {} : { runOnly: ["color-contrast"] };
        const { violations } = await frame.contentWindow.axe.run("main", { resultTypes: ["violations"], ...rules });
        for (const { id, nodes } of violations) {
          const where = nodes.slice(0, 3).map((n) => n.html.slice(0, 80) + " " + n.any.map((a) => a.message).join());
          said.push(`${frame.dataset.page}, ${theme}${open ? ", open" : ""}: ${id}: ${where.join(" | ")}`);
        }
      }
    }
  }
  finish();
"#;

/// One page of each kind; `SWIM_AXE_PAGES` names others, such as `three_lanes events`.
#[test]
fn axe_finds_nothing_in_any_theme_with_reveals_open_and_closed() {
    let Some(axe) = std::env::var_os("SWIM_AXE") else {
        return missing(Need::Axe).unwrap_or_default();
    };
    std::fs::copy(&axe, book().site.join("axe.js")).expect("SWIM_AXE names axe.min.js");
    let pages = std::env::var("SWIM_AXE_PAGES");
    let pages = pages.unwrap_or_else(|_| "two_streams progress".to_owned());
    let frames = pages.split_whitespace().map(|page| {
        format!("<iframe data-page=\"{page}.html\" width=\"1280\" height=\"900\"></iframe>")
    });
    let built = book().with("axe.html", &frames.collect::<String>());
    let Some(said) = built.says("axe.html", AXE) else { return };
    assert_eq!(said, "errors: none\nasked of others: nothing");
}

/// What only a script can do is hidden until the script runs; nothing else is.
#[test]
fn without_a_script_nothing_to_read_is_hidden() {
    for page in ["three_lanes.html", "free_sheet.html", "progress.html"] {
        let html = std::fs::read_to_string(book().site.join(page)).expect("a page");
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

/// A book of one page, built to be looked at.
fn of(tiny: &Tiny) -> Built {
    let scratch = tempfile::tempdir().expect("a folder");
    let site = tiny.build(scratch.path());
    Built { site, _scratch: Some(scratch) }
}

/// Arrow keys on the tabs of a listing, then the same page as the reader finds it next time.
const TABS: &str = r#"
  const shown = () => [...document.querySelectorAll("[role=tabpanel]")]
    .filter((panel) => !panel.hidden).map((panel) => panel.dataset.language).join();
  const focused = () => document.activeElement.textContent;
  said.push(`first: ${shown()}`);
  const press = (key) =>
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  document.querySelector("[role=tab][tabindex='0']").focus();
  press("ArrowRight");
  said.push(`right: ${shown()}, on ${focused()}`);
  press("End");
  said.push(`end: ${shown()}, on ${focused()}`);
  press("ArrowRight");
  said.push(`right: ${shown()}, on ${focused()}`);
  press("ArrowRight");
  const stops = [...document.querySelectorAll("[role=tab]")].filter((tab) => tab.tabIndex === 0).length;
  said.push(`stops: ${stops}, kept: ${localStorage.getItem("swim/language")}`);
  finish();
"#;

#[test]
fn tabs_follow_the_arrow_keys_and_remember_the_language() {
    let also = "[[also]]\nlanguage = \"PyTorch\"\nfile = \"one.py\"\nfunction = \"f\"\n\
                [[also]]\nlanguage = \"CUDA C++\"\nfile = \"one.cu\"\nanchor = \"f\"\n";
    let Some(said) = of(&puzzle_with(also)).says("page.html", TABS) else { return };
    insta::assert_snapshot!(said, @r#"
first: Rust
right: PyTorch, on PyTorch
end: CUDA C++, on CUDA C++
right: Rust, on Rust
stops: 1, kept: "PyTorch"
errors: none
asked of others: nothing
"#);
}

#[test]
fn keys_that_move_in_something_on_the_page_do_not_turn_the_page() {
    let act = r#"
      document.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
      document.querySelectorAll(".nav-chapters").forEach((link) => (link.href = '#turned'));
      const press = (node) => node.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
      for (const name of ["[role=tab]", "[role=gridcell]", "[role=option]", "pre.sheet", "summary"]) {
        press(document.querySelector(name));
        said.push(`${name}: ${location.hash || "stays"}`);
      }
      press(document.body);
      said.push(`the page itself: ${location.hash}`);
      finish();
    "#;
    let Some(said) = book().says("three_lanes.html", act) else { return };
    insta::assert_snapshot!(said, @"
[role=tab]: stays
[role=gridcell]: stays
[role=option]: stays
pre.sheet: stays
summary: stays
the page itself: #turned
errors: none
asked of others: nothing
");
}

/// All pages with a prediction in frames of two widths, with nothing committed.
const CRAWL: &str = r#"
  const plain = (text) => text.replace(/\s+/g, " ");
  const frames = [...document.querySelectorAll("iframe")];
  for (let turns = 0; turns < 200; turns++) {
    if (frames.every((frame) => frame.contentDocument?.readyState === "complete")) break;
    await new Promise((done) => setTimeout(done, 50));
  }
  let sentences = 0, numbers = 0, gates = 0;
  for (const frame of frames) {
    const page = frame.contentDocument;
    const seen = plain(page.body.innerText);
    const leak = (what) => said.push(`${frame.getAttribute("src")} at ${frame.width}: ${what}`);
    gates += page.querySelectorAll(".gated").length;
    for (const reveal of page.querySelectorAll("details.reveal")) {
      if (reveal.checkVisibility()) leak("a reveal");
      const copy = reveal.cloneNode(true);
      copy.querySelectorAll("script, style, svg, pre, form").forEach((node) => node.remove());
      for (const sentence of plain(copy.textContent).split(/(?<=[.?!:]) /)) {
        if (sentence.split(" ").length < 5) continue;
        sentences += 1;
        if (seen.includes(sentence)) leak(sentence);
      }
      for (const link of reveal.querySelectorAll("a[href^=traces]")) {
        const name = link.getAttribute("href").replace(/^traces.|.json$/g, "");
        if (seen.includes(name)) leak(name);
      }
    }
    for (const number of JSON.parse(frame.dataset.numbers)) {
      numbers += 1;
      const at = seen.indexOf(number);
      const inside = /[\p{L}\p{N}.,]/u.test(seen[at - 1] ?? "") || /[\p{L}\p{N}]/u.test(seen[at + number.length] ?? "");
      if (at >= 0 && !inside) leak(number);
    }
  }
  said.push(`looked for enough: ${gates > 20 && sentences > 500 && numbers > 100}`);
  finish();
"#;

#[test]
fn with_nothing_committed_no_page_shows_a_number_a_name_or_a_sentence_of_a_reveal() {
    let text = std::fs::read_to_string(root().join("style.toml")).expect("the style");
    let style: book::proof::style::Style = toml::from_str(&text).expect("TOML");
    let frames: String = book::proof::secret_numbers(&root())
        .expect("a book")
        .into_iter()
        .filter(|(_, numbers)| !numbers.is_empty())
        .flat_map(|(page, numbers)| {
            // What such a page gives away is known, and named in `style.toml`.
            let numbers = if style.leaking.contains(&page) { Vec::new() } else { numbers };
            let numbers = serde_json::to_string(&numbers).expect("texts are JSON").replace('"', "&quot;");
            [1280, 390].map(|width| {
                format!("<iframe src=\"{page}.html\" width=\"{width}\" height=\"844\" data-numbers=\"{numbers}\"></iframe>")
            })
        })
        .collect();
    let built = book().with("crawl.html", &frames);
    let Some(said) = built.says("crawl.html", CRAWL) else { return };
    assert_eq!(said, "looked for enough: true\nerrors: none\nasked of others: nothing");
}

/// A link from above an open question to below it, then the way past it, and the same page the next time.
const PAST: &str = r#"
  const gate = document.querySelector(".gated");
  const button = gate.querySelector("button");
  const link = document.querySelector("main a[href='#quiz']");
  const shown = () => document.getElementById("quiz").checkVisibility();
  said.push(`link says: ${link.title}`);
  link.click();
  said.push(`asked: ${gate.querySelector(".asked").textContent} ${shown()}, at the button: ${document.activeElement === button}`);
  button.click();
  said.push(`gone on: ${shown()}, focus on ${document.activeElement.tagName}, link says: ${link.title || "nothing"}`);
  said.push(`kept: ${Object.keys(localStorage).filter((key) => key.startsWith("swim/")).join()}`);
  const again = document.createElement("iframe");
  again.src = "page.html";
  document.body.append(again);
  await new Promise((done) => again.addEventListener("load", done));
  const page = again.contentDocument;
  said.push(`next time: ${page.getElementById("quiz").checkVisibility()}, reveal ${page.querySelector(".reveal").open}`);
  finish();
"#;

#[test]
fn a_link_past_an_open_question_asks_first_and_going_on_is_remembered() {
    let chapter = "# A\n\nSee [the quiz](#quiz).\n\n```predict\nid = \"p\"\nform = \"choice\"\nask = \"Which?\"\n\
                   [[item]]\ntext = \"a\"\nright = true\n[[item]]\ntext = \"b\"\nwhy = \"c\"\n```\n\n\
                   <details class=\"reveal\">\n<summary>So</summary>\n\nIt is so.\n\n</details>\n\n## Quiz\n\nText.\n";
    let Some(said) = of(&Tiny::new(chapter)).says("page.html", PAST) else { return };
    insta::assert_snapshot!(said, @"
link says: This leads past an open question.
asked: “Quiz” is past this open question. false, at the button: true
gone on: true, focus on SUMMARY, link says: nothing
kept: swim/skipped/page-p
next time: true, reveal true
errors: none
asked of others: nothing
");
}

/// A code from one browser, taken over in another that has answered something since.
const CARRY: &str = r#"
  const section = document.querySelector(".progress");
  const [encode, code, decode] = [".encode", ".code", ".decode"].map((name) => section.querySelector(name));
  const keep = (key, value) => localStorage.setItem(`swim/${key}`, JSON.stringify(value));
  keep("three-lanes-rank", { entered: ["1"], at: "2026-11-20" });
  keep("quiz-three-lanes", { uploads: { done: true, at: "2026-11-20" }, order: { done: true, at: "2026-11-22" } });
  encode.click();
  const carried = code.value;
  localStorage.clear();
  keep("quiz-three-lanes", { uploads: { done: true, at: "2026-11-21" }, ahead: { done: true, at: "2026-11-21" } });
  code.value = carried;
  decode.click();
  said.push(section.querySelector(".verdict").textContent);
  said.push(localStorage.getItem("swim/three-lanes-rank"));
  said.push(localStorage.getItem("swim/quiz-three-lanes"));
  code.value = "nonsense";
  decode.click();
  said.push(section.querySelector(".verdict").textContent);
  const file = section.querySelector("input[type=file]");
  const brought = new DataTransfer();
  brought.items.add(new File(['{"swim/events-fast": {"entered": ["2"], "at": "2026-11-23"}}'], "a.json"));
  file.files = brought.files;
  file.dispatchEvent(new Event("change"));
  for (let turns = 0; !localStorage.getItem("swim/events-fast") && turns < 50; turns++) await new Promise((r) => setTimeout(r, 20));
  said.push(localStorage.getItem("swim/events-fast"));
  finish();
"#;

#[test]
fn progress_is_taken_over_from_a_code_or_a_file_and_the_later_answer_holds() {
    let quiz = "[[questions]]\nid = \"q\"\ntype = \"Numeric\"\nprompt.prompt = \"How many?\"\n\
                prompt.unit = \"parts\"\nanswer.value = \"1\"\nanswer.tolerance = 0.1\ncontext = \"So.\"\n";
    let tiny = Tiny::new("# A\n\n{{#progress ../quizzes}}\n").with("quizzes/page.toml", quiz);
    let Some(said) = of(&tiny).says("page.html", CARRY) else { return };
    insta::assert_snapshot!(said, @r#"
Taken over: 2 entries.
{"entered":["1"],"at":"2026-11-20"}
{"uploads":{"done":true,"at":"2026-11-21"},"ahead":{"done":true,"at":"2026-11-21"},"order":{"done":true,"at":"2026-11-22"}}
That is neither a saved file nor a code of this page. Nothing has changed.
{"entered":["2"],"at":"2026-11-23"}
errors: none
asked of others: nothing
"#);
}

/// Each bar and each line of a chapter's figures, reached by keys alone: what is said of them, and what is lit.
const WALK: &str = r#"
  const text = (node) => node.textContent.replace(/\s+/g, " ").trim();
  document.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
  const press = (key) =>
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  for (const figure of document.querySelectorAll("figure.timeline")) {
    const svg = figure.querySelector("svg");
    const [stop, ...others] = svg.querySelectorAll("[tabindex='0']");
    if (!stop || others.length > 0) said.push(`${figure.id}: not one stop`);
    stop.focus();
    for (const [row, { children }] of [...svg.querySelectorAll("[role=row]")].entries()) {
      press("Home");
      for (const [place, bar] of [...children].entries()) {
        if (bar !== document.activeElement) said.push(`${figure.id}: row ${row}, bar ${place} is not reached`);
        const [number] = text(figure.querySelector(".told p")).match(/line \d+/) ?? ["no line"];
        const instants = [...figure.querySelectorAll(".told .instants")].map(text).join(" | ");
        said.push(`bar ${figure.id}: ${number}: ${instants}`);
        press("ArrowRight");
      }
      press("ArrowDown");
    }
    press("Escape");
    if (!document.activeElement.matches(".told") || svg.matches(".lighting")) said.push("Escape does not leave");
    const options = [...figure.querySelectorAll("[role=option]")];
    if (options.filter((option) => option.tabIndex === 0).length !== Math.min(1, options.length)) said.push("lines: not one stop");
    options[0]?.focus();
    for (const option of options) {
      if (option !== document.activeElement) said.push(`${option.id} is not reached`);
      const title = text(option.parentElement.querySelector(".of"));
      const lit = [...svg.querySelectorAll(".lit")].map((bar) => bar.querySelector("title").textContent);
      said.push(`line ${figure.id}: ${title}: ${text(option.querySelector(".number"))}: ${lit.join(" | ")}`);
      press("ArrowDown");
    }
  }
  finish();
"#;

/// The same from the records of a chapter whose bars stay apart.
fn walked(page: &str, figures: &[(&str, &[&str])]) -> (Vec<String>, Vec<String>) {
    let records = book::records::Records::read(&root()).expect("the records");
    let (mut bars, mut lines) = (Vec::new(), Vec::new());
    for (figure, names) in figures {
        for name in *names {
            let recorded = records.get(name).expect("it is there");
            let Record { program, timeline, .. } = &recorded.record;
            let extent = timeline.extent();
            let from = |ns: u64| duration(ns.saturating_sub(extent.start_ns));
            let line =
                |step: u32| program.site(&program.steps[step as usize]).map(|site| site.line);
            let said =
                |step: u32| line(step).map_or("no line".to_owned(), |line| format!("line {line}"));
            let mut lit: BTreeMap<u32, usize> = BTreeMap::new();
            let all = instants(program, timeline);
            for (span, instants) in timeline.spans.iter().zip(all) {
                if span.start_ns < extent.start_ns {
                    continue; // work that is over before the region
                }
                let Instants { issued_ns, ready_ns, started_ns, .. } = instants.expect("a call");
                bars.push(format!(
                    "bar {page}-{figure}: {}: issued {}, ready {}, started {}, ended {}, took {}",
                    said(span.step),
                    from(issued_ns),
                    from(ready_ns),
                    from(started_ns),
                    from(span.end_ns),
                    duration(span.interval().ns())
                ));
                line(span.step).into_iter().for_each(|line| *lit.entry(line).or_default() += 1);
            }
            for call in timeline.host.iter().filter(|call| call.start_ns >= extent.start_ns) {
                let blocked = call.blocked();
                for (start, end) in
                    [(call.start_ns, blocked.start_ns), (blocked.start_ns, call.end_ns)]
                {
                    let is_mark = matches!(
                        program.steps[call.step as usize].call,
                        Call::RegionBegin | Call::RegionEnd
                    );
                    if start < end && start < extent.end_ns && !is_mark {
                        bars.push(format!(
                            "bar {page}-{figure}: {}: started {}, ended {}, took {}",
                            said(call.step),
                            from(start),
                            from(end),
                            duration(end - start)
                        ));
                        line(call.step)
                            .into_iter()
                            .for_each(|line| *lit.entry(line).or_default() += 1);
                    }
                }
            }
            let of_line =
                |(line, count)| format!("{page}-{figure}: {}: {line}: {count}", recorded.title);
            lines.extend(lit.into_iter().map(of_line));
        }
    }
    bars.sort();
    (bars, lines)
}

#[test]
fn keys_alone_reach_every_bar_and_line_and_what_is_said_is_the_records_own() {
    let Some(said) = book().says("two_streams.html", WALK) else { return };
    let (bars, lines) = walked(
        "two-streams",
        &[
            ("as-written", &["two_streams.one", "two_streams.two"]),
            ("measured", &["two_streams.one.h200", "two_streams.two.h200"]),
        ],
    );
    let shown = |kind: &str| {
        let own = |line: &&str| {
            line.starts_with(&format!("{kind} two-streams-as-written"))
                || line.starts_with(&format!("{kind} two-streams-measured"))
        };
        said.lines().filter(own).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut told = shown("bar");
    told.sort();
    assert_eq!(told, bars);
    // A line lights as many bars as it has calls and operations, and each of them names it.
    let mut lit = Vec::new();
    for line in shown("line") {
        let mut parts = line.splitn(4, ": ");
        let (figure, title, number, titles) =
            (parts.next(), parts.next(), parts.next(), parts.next().expect("titles"));
        let (figure, title, number) =
            (figure.expect("a figure"), title.expect("a title"), number.expect("a number"));
        let titles: Vec<&str> = titles.split(" | ").collect();
        for title in &titles {
            assert!(title.ends_with(&format!(":{number}")), "line {number} lights {title}");
        }
        lit.push(format!("{}: {title}: {number}: {}", &figure["line ".len()..], titles.len()));
    }
    assert_eq!(lit, lines);
    let others =
        said.lines().filter(|line| !line.starts_with("bar ") && !line.starts_with("line "));
    let others: Vec<&str> = others.collect();
    assert_eq!(others, ["errors: none", "asked of others: nothing"]);
}

#[test]
fn a_line_of_a_puzzle_lights_what_the_same_line_of_its_figure_lights_and_a_tap_keeps_it() {
    let act = r#"
      document.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
      const figure = document.querySelector("figure.timeline");
      const lit = () => [...figure.querySelectorAll("svg .lit")].map((bar) => bar.id).join();
      const [first, second] = document.querySelectorAll(".puzzle pre[data-source]");
      for (const listing of [first, second]) {
        const from = Number(listing.dataset.source.split(" ")[1]);
        for (const [index, line] of [...listing.querySelectorAll(".line")].entries()) {
          const source = `${listing.dataset.source.split(" ")[0]} ${from + index}`;
          const option = figure.querySelector(`[data-source="${source}"]`);
          line.dispatchEvent(new PointerEvent("pointerenter"));
          const pointed = lit();
          line.dispatchEvent(new PointerEvent("pointerleave"));
          if (lit()) said.push("still lit");
          if (!option) {
            if (pointed) said.push(`${source} lights ${pointed}`);
            continue;
          }
          option.click();
          const own = lit() === pointed && pointed !== "" && line.matches(".lit");
          said.push(`${line.textContent.trim()}: ${own}`);
          option.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
        }
      }
      finish();
    "#;
    let Some(said) = book().says("two_streams.html", act) else { return };
    insta::assert_snapshot!(said, @"
stream.memcpy_htod(&fresh[0].host, &mut fresh[0].device)?;: true
resident[0].map(&stream)?;: true
context.synchronize()?;: true
first.memcpy_htod(&fresh[0].host, &mut fresh[0].device)?;: true
resident[0].map(&second)?;: true
context.synchronize()?;: true
errors: none
asked of others: nothing
");
}

/// The host's way through a program: at each step, what the page says of streams and host.
const SCRUB: &str = r#"
  document.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
  const figure = document.querySelector("figure.timeline");
  const scrubber = figure.querySelector(".scrubber");
  scrubber.querySelector("summary").click();
  await new Promise((done) => setTimeout(done, 50));
  const slider = scrubber.querySelector("input");
  for (let at = 0; at <= Number(slider.max); at++) {
    slider.value = at;
    slider.dispatchEvent(new Event("input"));
    const queues = [...scrubber.querySelectorAll("li")].map((item) =>
      [...item.querySelectorAll(".count")].map((count) => count.textContent).join("; "));
    said.push(`${at}: ${scrubber.querySelector("output").textContent}: ${queues.join(" / ")}`);
  }
  said.push(slider.getAttribute("aria-valuetext"));
  finish();
"#;

#[test]
fn the_host_moves_through_the_program_and_queues_fill_and_drain_as_recorded() {
    let Some(said) = book().says("three_lanes.html", SCRUB) else { return };
    let records = book::records::Records::read(&root()).expect("the records");
    let runs = ["three_lanes.blocking", "three_lanes.non_blocking"];
    let runs = runs.map(|name| &records.get(name).expect("it is there").record);
    let axis = runs.iter().map(|record| record.timeline.extent().ns()).max().expect("two");
    let mut lines = said.lines();
    let mut most = 0;
    for step in 0..=200 {
        let ns = axis * step / 200;
        let of_run = |Record { program, timeline, .. }: &Record| {
            let extent = timeline.extent();
            let at = extent.start_ns + ns;
            let all = instants(program, timeline);
            let count = |stream: u32, most: &mut usize| {
                let all = timeline.spans.iter().zip(&all).filter(|(span, _)| {
                    span.stream.0 == stream && span.end_ns > at && ns < extent.ns()
                });
                let (mut waiting, mut running) = (0, 0);
                for (span, instants) in all {
                    let issued = instants.as_ref().expect("a call").issued_ns;
                    waiting += usize::from(issued <= at && at < span.start_ns);
                    running += usize::from(span.start_ns <= at);
                }
                *most = waiting.max(*most);
                format!("{waiting} waiting, {running} running")
            };
            let mut own = 0;
            let queues = [2, 3, 4].map(|stream| count(stream, &mut own)).join("; ");
            (queues, own)
        };
        let queues = runs.map(of_run);
        most = queues.iter().map(|(_, own)| *own).max().expect("two").max(most);
        let queues = queues.map(|(queues, _)| queues).join(" / ");
        assert_eq!(lines.next(), Some(&*format!("{step}: {}: {queues}", duration(ns))));
    }
    assert!(most > 500, "the queue of kernels fills: {most}");
    let rest: Vec<&str> = lines.collect();
    assert!(rest[0].contains("all is done"), "{rest:?}");
    assert_eq!(rest[1..], ["errors: none", "asked of others: nothing"]);
}

/// Every page with everything open: how many stops a drawing has, and how many a figure.
const STOPS: &str = r#"
  const frames = [...document.querySelectorAll("iframe")];
  for (let turns = 0; turns < 200; turns++) {
    if (frames.every((frame) => frame.contentDocument?.readyState === "complete")) break;
    await new Promise((done) => setTimeout(done, 50));
  }
  let drawings = 0;
  for (const frame of frames) {
    const page = frame.contentDocument;
    page.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
    const count = (root) => [...root.querySelectorAll("a, button, input, select, summary, [tabindex]")]
      .filter((node) => node.tabIndex >= 0 && !node.disabled && node.checkVisibility()).length;
    const leak = (what) => said.push(`${frame.getAttribute("src")}: ${what}`);
    for (const svg of page.querySelectorAll("svg.swim-timeline")) {
      if (!svg.checkVisibility()) continue;
      drawings += 1;
      if (svg.querySelectorAll("[tabindex='0']").length > 1) leak(`${svg.id} has several stops`);
    }
    for (const figure of page.querySelectorAll("figure.timeline")) {
      if (count(figure) > 4) leak(`${figure.id} has ${count(figure)} stops`);
    }
  }
  said.push(`drawings: ${drawings > 40}`);
  finish();
"#;

#[test]
fn a_timeline_is_one_stop_of_the_tab_key_and_a_figure_at_most_four() {
    let frames: String = std::fs::read_dir(&book().site)
        .expect("the pages")
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".html") && !name.starts_with("acted-"))
        .filter(|name| !["print.html", "toc.html", "404.html"].contains(&&**name))
        .filter(|name| root().join("chapters").join(name.replace(".html", ".md")).exists())
        .map(|page| format!("<iframe src=\"{page}\" width=\"1280\" height=\"844\"></iframe>"))
        .collect();
    let built = book().with("stops.html", &frames);
    let Some(said) = built.says("stops.html", STOPS) else { return };
    assert_eq!(said, "drawings: true\nerrors: none\nasked of others: nothing");
}
