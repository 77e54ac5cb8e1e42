//! The page in a browser. Needs Chromium.

mod built;
mod clock;
mod paper;
mod playground;
mod viewer;
mod zoom;

use book::proof::element::elements;

use crate::fragments::puzzle_with;
use crate::needs::{Need, missing};
use crate::real::root;
use crate::tiny::Tiny;

pub(crate) use built::book;
use built::of;

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
    if (bar) bar.dispatchEvent(new MouseEvent("click", { bubbles: true }));
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

#[test]
fn predictions_and_quiz_work_from_a_file() {
    let Some(said) = book().says("three_lanes.html", ACT) else { return };
    insta::assert_snapshot!(said, @"
before: 0 of 4 reveals, 1 prediction
✗ That would be true if copies of pageab | 1 shown, focus on SUMMARY
4 of 4 places as they turned out. | 2 shown, focus on SUMMARY
Move the mark first.
✗ It is elsewhere: at 26.0 ms. | 3 shown, focus on SUMMARY
✗ Both hosts do the same work and return | 4 shown, focus on SUMMARY
open: 4
order: ✗ “the last
number: ✓ Right.
choice: ✗ These wait
choice: ✗ No call in
choice: ✗ That would
timeline: ✗ That is an
1 of 6 right at the first try.
to be tried again: 5
errors: none
asked of others: nothing
");
}

/// What is kept of an answer counts the items as the file has them, so that it outlives a change of their order.
#[test]
fn a_kept_answer_comes_back_to_the_items_that_it_was_given_for() {
    let kept = r#"
      localStorage.setItem("swim/three-lanes-why", JSON.stringify({ entered: ["1", "2", "3", "4"] }));
      localStorage.setItem("swim/three-lanes-flag", JSON.stringify({ entered: ["3"] }));
    "#;
    let act = r#"
      const form = (key) => document.querySelector(`form.predict[data-key="three-lanes-${key}"]`);
      const places = [...form("why").querySelectorAll("select")].map((select) => [select.dataset.at, select.value]);
      said.push(`shown as ${places.map(([at]) => at).join("")}`);
      said.push(`wrong places: ${places.filter(([at, value]) => Number(at) + 1 !== Number(value)).length}`);
      said.push(`chosen: ${form("flag").querySelector("input:checked").value}`);
      finish();
    "#;
    let Some(said) = book().says_after("three_lanes.html", kept, act) else { return };
    insta::assert_snapshot!(said, @"
shown as 0321
wrong places: 0
chosen: 3
errors: none
asked of others: nothing
");
}

/// An answer that is given now is kept as the file counts, whatever the page shows first.
#[test]
fn an_answer_is_kept_by_the_places_of_the_file() {
    let act = r#"
      const form = document.querySelector('form.predict[data-key="three-lanes-why"]');
      for (const select of form.querySelectorAll("select")) select.value = 4 - Number(select.dataset.at);
      form.requestSubmit();
      said.push(`kept: ${JSON.parse(localStorage.getItem("swim/three-lanes-why")).entered.join("")}`);
      finish();
    "#;
    let Some(said) = book().says("three_lanes.html", act) else { return };
    insta::assert_snapshot!(said, @"
kept: 4321
errors: none
asked of others: nothing
");
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
        "playground.html",
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
playground.html: fits
progress.html: fits
machine.html: fits
myths.html: fits
codes.html: fits
why_no_overlap.html: fits
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
    let pages = pages.unwrap_or_else(|_| "two_streams progress playground".to_owned());
    let frames = pages.split_whitespace().map(|page| {
        format!("<iframe data-page=\"{page}.html\" width=\"1280\" height=\"900\"></iframe>")
    });
    let built = book().with("axe.html", &frames.collect::<String>());
    let Some(said) = built.says("axe.html", AXE) else { return };
    assert_eq!(said, "errors: none\nasked of others: nothing");
}

#[test]
fn no_script_of_any_page_fails_and_all_its_figures_can_be_walked_through() {
    let pages = book().listening();
    let name = |page: &tempfile::NamedTempFile| {
        page.path().file_name().expect("it").to_string_lossy().into_owned()
    };
    let frames = pages.iter().map(|page| {
        format!("<iframe data-page=\"{}\" width=\"1280\" height=\"900\"></iframe>", name(page))
    });
    let built = book().with("acted-all.html", &frames.collect::<String>());
    let act = r#"
  const frames = [...document.querySelectorAll("iframe")];
  let figures = 0;
  for (const frame of frames) {
    frame.src = frame.dataset.page;
    await new Promise((done) => frame.addEventListener("load", done));
    await new Promise((done) => setTimeout(done, 100));
    const page = frame.contentDocument;
    if (frame.contentWindow.failures.length) said.push(`${frame.dataset.page}: ${frame.contentWindow.failures}`);
    for (const figure of page.querySelectorAll("figure.timeline:has(.instrument)")) {
      figures += 1;
      if (!figure.querySelector("svg[role=grid]")) said.push(`${frame.dataset.page}: ${figure.id} has no grid`);
    }
    frame.remove();
  }
  said.push(`${frames.length > 38} ${figures > 80}`);
  finish();
"#;
    let Some(said) = built.says("acted-all.html", act) else { return };
    assert_eq!(said, "true true\nerrors: none\nasked of others: nothing");
}

#[test]
fn with_many_arrows_only_those_of_the_chosen_bar_are_shown() {
    let act = r#"
  document.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
  document.querySelectorAll("details.reveal").forEach((reveal) => (reveal.open = true));
  for (const id of ["buffer-lifetime-solved", "buffer-lifetime-order"]) {
    const figure = document.getElementById(id);
    const arrows = [...figure.querySelectorAll("path[marker-end]")];
    const shown = () => arrows.filter((arrow) => getComputedStyle(arrow).visibility === "visible").length;
    said.push(`${arrows.length} arrows, ${shown()} shown`);
    const counts = [...figure.querySelectorAll("[role=gridcell]")].map((bar) => {
      bar.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return shown();
    });
    said.push(`by bar: ${Math.min(...counts)} to ${Math.max(...counts)}, each arrow twice: ${counts.reduce((a, b) => a + b) === 2 * arrows.length}`);
  }
  finish();
"#;
    let Some(said) = book().says("buffer_lifetime.html", act) else { return };
    insta::assert_snapshot!(said, @"
32 arrows, 0 shown
by bar: 0 to 2, each arrow twice: true
30 arrows, 0 shown
by bar: 0 to 2, each arrow twice: true
errors: none
asked of others: nothing
");
}

/// What only a script can do is hidden until the script runs; nothing else is.
#[test]
fn without_a_script_nothing_to_read_is_hidden() {
    for page in ["three_lanes.html", "free_sheet.html", "playground.html", "progress.html"] {
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

/// The first page as a reader comes to it: keys choose, a pointer's click commits, and the run plays.
const DOOR: &str = r#"
  const form = document.querySelector("form.predict");
  const [first, second] = form.querySelectorAll("input");
  const reveal = document.querySelector("details.reveal");
  const visible = (selector) => document.querySelector(selector).checkVisibility();
  said.push(`before: ways ${visible(".ways")}, reveal ${reveal.checkVisibility()}`);
  form.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  first.click();
  said.push(`by keys: committed ${form.matches(".committed")}`);
  form.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  second.click();
  const button = document.querySelector(".clock button");
  said.push(`by a click: committed ${form.matches(".committed")}, reveal ${reveal.checkVisibility()}`);
  said.push(`button: ${button.getAttribute("aria-label")}`);
  const slider = document.querySelector(".clock input");
  await until(() => Number(slider.value) > 0);
  said.push(`under way: ${slider.value > 0}, covered: ${document.querySelectorAll(".ahead").length} charts`);
  slider.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  said.push(`paused: ${button.getAttribute("aria-label")}, covered: ${document.querySelectorAll(".ahead").length} charts`);
  said.push(`told: ${document.querySelector(".scrubber").checkVisibility()}`);
  slider.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  said.push(`at the start: ${slider.value}, told: ${document.querySelector(".scrubber").checkVisibility()}`);
  finish();
"#;

#[test]
fn on_the_first_page_a_click_answers_and_plays_and_what_stands_below_waits_for_nothing() {
    let clock = clock::Clock::with(Vec::new()); // Chromium draws frames in real time
    let act = format!("{}{DOOR}", clock.script());
    let Some(said) = book().says("introduction.html", &act) else { return };
    insta::assert_snapshot!(said, @"
before: ways true, reveal false
by keys: committed false
by a click: committed true, reveal true
button: Pause
under way: true, covered: 2 charts
paused: Play, covered: 0 charts
told: true
at the start: 0, told: false
errors: none
asked of others: nothing
");
}

#[test]
fn several_words_find_the_page_that_has_most_of_them_though_none_has_all() {
    let act = r#"
  const find = async (text) => {
    const field = document.querySelector('#mdbook-searchbar');
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent("keyup", { key: "a", bubbles: true }));
    await new Promise((done) => setTimeout(done, 2500));
    const found = [...document.querySelectorAll('#mdbook-searchresults li a')];
    return `${found.length > 0}, ${found[0]?.textContent.split(" »")[0]}`;
  };
  document.querySelector('#mdbook-search-toggle').click();
  said.push(await find("pinned memory blocks zebra"));
  said.push(await find("zebra"));
  finish();
"#;
    let Some(said) = book().says("machine.html", act) else { return };
    insta::assert_snapshot!(said, @"
true, Pinned memory: the wall you cannot see
false, undefined
errors: none
asked of others: nothing
");
}
