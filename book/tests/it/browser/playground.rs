//! The playground in a browser: a reader chooses, writes, makes mistakes and comes back.

use book::wasm;
use playground::{Played, Setting};

use super::book;
use super::clock::Clock;
use crate::needs::{Need, missing};

/// What a page says; none without browser or wasm. Compiling the wasm takes real time.
fn says(page: &str, act: &str) -> Option<String> {
    if wasm::PLAYGROUND.plain().is_err() {
        return missing(Need::Wasm);
    }
    let clock = Clock::with(Vec::new());
    book().says(page, &format!("{}{act}", clock.script()))
}

/// Until the controls are there; then four streams and pinned memory, as a reader chooses them.
const PLAY: &str = r#"
  const figure = document.querySelector("figure.play");
  const form = figure.querySelector(".controls");
  await until(() => !form.hidden);
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
    let Some(said) = says("free_sheet.html", PLAY) else { return };
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

/// A reader writes, makes mistakes, goes back, and starts from another program; by the keyboard where a key does it.
const WRITE: &str = r##"
  const figure = document.querySelector("figure.editor");
  const controls = figure.querySelector(".controls");
  await until(() => !controls.hidden);
  const text = (node) => node?.textContent.replace(/\s+/g, " ").trim() ?? "nothing";
  const field = figure.querySelector("textarea");
  const pause = (ms) => new Promise((r) => setTimeout(r, ms));
  const write = async (value, ms) => {
    field.focus();
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await pause(ms);
  };
  const say = (what) => {
    const numbers = ["makespan", "before"].map((name) => text(figure.querySelector(`[data-name=${name}] dd`)));
    const bad = [...figure.querySelectorAll(".line-numbers .is-wrong")].map(text).join(" ");
    said.push(`${what}: ${numbers.join(", before ")}; marked: ${bad || "none"}; ${text(figure.querySelector("p.races, .races strong"))}`);
  };
  say("at first");
  await write("in a: up 16 MiB pinned to x\nin b: kernel 2 ms on x\n", 400);
  say("typed");
  said.push(`menu: ${text(figure.querySelector(".from").selectedOptions[0])}`);
  said.push(`charts: ${figure.querySelectorAll("svg text.h").length}, address: ${location.hash || "none"}`);
  await pause(1500);
  said.push(`address: ${location.hash}`);
  said.push(`lines: ${[...figure.querySelectorAll(".races .at")].map(text).join(", ")}`);
  await write("in a: up 16 MiB pinned to x\nin b: wait a\nin b: kernel 2 ms on x\n", 2000);
  say("ordered");
  await write("in a: upp 16 MiB\nkernel 2\n", 400);
  say("wrong");
  for (const item of figure.querySelectorAll(".mistakes li")) said.push(text(item));
  figure.querySelectorAll(".mistakes .at")[1].click();
  const cursor = field.selectionStart;
  said.push(`the cursor is at ${cursor}, in ${document.activeElement.tagName}, invalid: ${field.getAttribute("aria-invalid")}`);
  history.back();
  await pause(500);
  say("back");
  said.push(text({ textContent: field.value }));
  const from = figure.querySelector(".from");
  from.value = "two_streams.two";
  from.dispatchEvent(new Event("change", { bubbles: true }));
  await pause(500);
  say("from a chapter");
  field.setSelectionRange(field.value.length, field.value.length);
  field.dispatchEvent(new Event("keyup"));
  said.push(`lit: ${[...figure.querySelectorAll("svg .lit title")].map(text).join("; ")}`);
  said.push(`tab stops in the drawing: ${figure.querySelectorAll("svg [tabindex='0']").length}`);
  said.push(`labelled: ${[from, field].every((it) => it.labels?.length || it.ariaLabel)}`);
  finish();
"##;

#[test]
fn a_reader_writes_a_program_is_told_of_mistakes_and_races_and_goes_back() {
    let Some(said) = says("playground.html", WRITE) else { return };
    insta::assert_snapshot!(said);
}

/// A bar is chosen, and then a mistake written: what is chosen in the text, and what is kept of it.
const CHOOSE: &str = r#"
  await until(() => document.querySelector("textarea"));
  const field = document.querySelector("textarea");
  const bars = [...document.querySelectorAll("svg [role=gridcell]")];
  bars.find((bar) => bar.textContent.startsWith("kernel")).dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  said.push(field.value.slice(field.selectionStart, field.selectionEnd).trim());
  field.value = field.value.replace("wait copy_in", "waait copy_in");
  field.dispatchEvent(new Event("input"));
  dispatchEvent(new Event("pagehide"));
  const [hash, text] = JSON.parse(sessionStorage.getItem("swim/draft"));
  said.push(`kept: ${hash === location.hash && text === field.value}`);
  finish();
"#;

#[test]
fn a_bar_of_the_playground_leads_to_its_line_and_what_is_written_is_kept() {
    let Some(said) = says("playground.html", CHOOSE) else { return };
    insta::assert_snapshot!(said, @"
in compute: kernel 300 us 64 blocks on x[i]
kept: true
errors: none
asked of others: nothing
");
}

/// A program of two thousand lines, to which a comment is added; until it counts as a run.
const LONG: &str = r#"
  const figure = document.querySelector("figure.editor");
  await until(() => !figure.querySelector(".controls").hidden);
  const field = figure.querySelector("textarea");
  const pause = (ms) => new Promise((r) => setTimeout(r, ms));
  const calls = ["up 1 MiB to x pinned", "kernel 100 us on x", "down x pinned"];
  const others = ["up 1 MiB to y pinned", "kernel 60 us on y", "down y pinned"];
  const line = (_, number) => (number % 6 < 3 ? `in a: ${calls[number % 3]}` : `in b: ${others[number % 3]}`);
  const write = async (value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await pause(2000);
  };
  await write(Array.from({ length: 2000 }, line).join("\n"));
  // They are laid out a thousand at a time.
  const bars = () => [...figure.querySelectorAll(".played svg [role=gridcell]")];
  const left = (bar) => Number(bar.querySelector("rect").getAttribute("x"));
  const isSorted = (row) => [...row.children].every((bar, index, all) => index === 0 || left(all[index - 1]) <= left(bar));
  const rows = [...new Set(bars().map((bar) => bar.parentElement))];
  said.push(`bars: ${bars().length} in ${rows.length} rows, ${rows.every(isSorted) ? "in order" : "mixed"}`);
  said.push(`stops: ${bars().filter((bar) => bar.tabIndex === 0).length}`);
  let [drawings, numbers] = [0, 0];
  const watch = (selector, tell) => new MutationObserver((changes) => changes.forEach(tell))
    .observe(figure.querySelector(selector), { childList: true, subtree: selector === ".line-numbers" });
  watch(".played", () => (drawings += 1));
  watch(".line-numbers", ({ addedNodes, removedNodes }) => (numbers += addedNodes.length + removedNodes.length));
  await write(`${field.value}\n# the end`);
  said.push(`drawings: ${drawings}, numbers touched: ${numbers}, of ${figure.querySelectorAll(".line-numbers > span").length}`);
  said.push(`addressed: ${decodeURIComponent(location.hash).endsWith("end")}`);
  await write("waait a");
  const marked = () => figure.querySelectorAll(".line-numbers .is-wrong").length;
  said.push(`marked: ${marked()}`);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  said.push(`while it is written: ${marked()}`);
  await pause(400);
  said.push(`when it is as before: ${marked()}`);
  finish();
"#;

#[test]
fn a_long_program_is_drawn_once_with_all_its_bars_a_new_line_adds_its_number_alone_and_marks_come_back_with_the_text()
 {
    let Some(said) = says("playground.html", LONG) else { return };
    insta::assert_snapshot!(said, @"
bars: 1567 in 7 rows, in order
stops: 1
drawings: 1, numbers touched: 1, of 2001
addressed: true
marked: 1
while it is written: 0
when it is as before: 1
errors: none
asked of others: nothing
");
}

/// A page that was left with a mistake in the program is opened again.
const REOPEN: &str = r##"
  sessionStorage.setItem("swim/draft", JSON.stringify(["", "waait a"]));
  const frame = document.createElement("iframe");
  frame.src = "playground.html";
  document.body.append(frame);
  const at = (selector) => frame.contentDocument?.querySelector(selector);
  await until(() => at(".wrong li"));
  said.push(`${at("textarea").value}: ${at(".wrong li").textContent.trim()}`);
  finish();
"##;

#[test]
fn what_was_written_in_the_playground_outlives_a_reload_with_its_mistakes() {
    book().with("again.html", "<p>Again</p>");
    let Some(said) = says("again.html", REOPEN) else { return };
    insta::assert_snapshot!(said, @"
waait a: Line 1, column 1: waait is no call; did you mean wait?
errors: none
asked of others: nothing
");
}

/// The playground in windows of several widths; from 1080 on the list of pages takes 300 of them.
const WIDTHS: &str = r#"
  const frame = Object.assign(document.createElement("iframe"), { height: 900 });
  document.body.append(frame);
  for (const width of [390, 800, 1024, 1280, 1600]) {
    frame.width = width;
    frame.src = `playground.html?${width}`;
    await until(() => frame.contentDocument?.URL.endsWith(width) && frame.contentDocument.querySelector("textarea"));
    const page = frame.contentDocument;
    const [text, played] = [".written", ".played"].map((name) => page.querySelector(name).getBoundingClientRect());
    const scroll = page.querySelector(".played .timeline-scroll");
    const drawn = scroll.querySelector("svg").matches(".narrow") ? "for a phone" : "for a wide screen";
    const room = page.querySelector("textarea");
    const letter = parseFloat(frame.contentWindow.getComputedStyle(room).fontSize) * 0.6;
    const said_of = [
      text.right <= played.left ? "beside" : text.bottom <= played.top ? "above" : "over",
      `drawn ${drawn}`,
      `all of it in view: ${scroll.scrollWidth <= scroll.clientWidth}`,
      `40 letters in a line: ${room.clientWidth >= 40 * letter}`,
      `the page is as wide as the window: ${page.documentElement.scrollWidth <= width}`,
    ];
    said.push(`${width}: ${said_of.join(", ")}`);
  }
  finish();
"#;

#[test]
fn in_a_window_of_a_laptop_the_program_stands_beside_its_timeline_and_all_of_both_is_in_view() {
    book().with("widths.html", "<p>Widths</p>");
    let Some(said) = says("widths.html", WIDTHS) else { return };
    insta::assert_snapshot!(said, @"
390: above, drawn for a phone, all of it in view: true, 40 letters in a line: false, the page is as wide as the window: true
800: above, drawn for a wide screen, all of it in view: true, 40 letters in a line: true, the page is as wide as the window: true
1024: beside, drawn for a phone, all of it in view: true, 40 letters in a line: true, the page is as wide as the window: true
1280: beside, drawn for a phone, all of it in view: true, 40 letters in a line: true, the page is as wide as the window: true
1600: beside, drawn for a wide screen, all of it in view: true, 40 letters in a line: true, the page is as wide as the window: true
errors: none
asked of others: nothing
");
}
