//! The page into which a reader drops a trace. What it reads with is the checker's own.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use viewer::facts::Run;
use viewer::lines::{headline, lines};
use viewer::source::Source;
use viewer::{alone, view};

use super::book;
use super::clock::Clock;
use crate::needs::{Need, missing};
use crate::real::root;
use book::{viewer as book_viewer, wasm};

#[path = "../../../../checker/trace/tests/kineto/mod.rs"]
#[expect(dead_code, reason = "the tests of `trace` use all of it")]
mod kineto;

/// Gives a file to the page as the field does, and waits until it is read.
const GIVE: &str = r#"
  const place = document.querySelector(".viewer");
  const shown = place.querySelector(".shown");
  const field = place.querySelector("input");
  const text = (node) => node.textContent.replace(/\s+/g, " ").trim();
  const give = (given) => {
    const transfer = new DataTransfer();
    transfer.items.add(given);
    field.files = transfer.files;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const read = () => until(() => shown.firstElementChild);
"#;

/// What the page says when `act` runs in it, with `files` at hand; none without browser or wasm.
fn says(files: Vec<(String, Vec<u8>)>, act: &str) -> Option<(String, Clock)> {
    if wasm::VIEWER.plain().is_err() {
        return missing(Need::Wasm);
    }
    let clock = Clock::with(files);
    let script = format!("{}{GIVE}{act}", clock.script());
    Some((book().says("viewer.html", &script)?, clock))
}

/// The traces of the programs in PyTorch.
fn traces() -> Vec<PathBuf> {
    let folder = root().join("pytorch/traces");
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("it").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

#[test]
fn an_example_is_read_zoomed_into_and_told_of_its_part() {
    let act = r#"
  place.querySelector(".example").click();
  await read();
  said.push(text(shown.querySelector(".headline")));
  const figure = shown.querySelector("figure");
  const drawing = figure.querySelector("svg");
  const of = () => text(shown.querySelector(".of"));
  const facts = () => text(shown.querySelector(".facts td"));
  const whole = { facts: facts(), height: drawing.viewBox.baseVal.height };
  said.push(`${of()}: ${facts()}, stops: ${figure.querySelectorAll("[tabindex='0']").length}`);
  const bars = [...drawing.querySelectorAll("[role=gridcell]")];
  bars[20].focus();
  said.push(`told: ${text(figure.querySelector(".told")) === bars[20].querySelector("title").textContent}`);
  const press = (key, more = {}) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  for (let times = 0; times < 12; times += 1) press("+");
  await until(() => of().startsWith("From"));
  const part = shown.querySelector(".facts td").textContent;
  const fresh = [...drawing.querySelectorAll("[role=gridcell]")];
  said.push(`a part: ${part}; drawn anew: ${!fresh.includes(bars[20])}, as high: ${drawing.viewBox.baseVal.height === whole.height}`);
  said.push(`the keyboard is still in the drawing: ${drawing.contains(document.activeElement)}, stops: ${figure.querySelectorAll("[tabindex='0']").length}`);
  press("ArrowRight", { shiftKey: true });
  const before = of();
  await until(() => of() !== before);
  said.push(`moved: ${of() !== before}`);
  press("0");
  await until(() => of() === "All of the trace");
  said.push(`0: the same as at first: ${facts() === whole.facts}`);
  finish();
"#;
    let Some((said, _)) = says(Vec::new(), act) else { return };
    insta::assert_snapshot!(said, @"
chunked_pipeline.json.gz · a trace of PyTorch's profiler · driver for CUDA 13.0
All of the trace: 6.24 ms, stops: 1
told: true
a part: 1.52 µs; drawn anew: true, as high: true
the keyboard is still in the drawing: true, stops: 3
moved: true
0: the same as at first: true
errors: none
asked of others: nothing
");
}

#[test]
fn the_lines_of_thirteen_traces_are_those_of_the_terminal() {
    let traces = traces();
    assert!(traces.len() >= 13, "{}", traces.len());
    let bytes = |path: &PathBuf| (name(path), std::fs::read(path).expect("a file"));
    let names: Vec<String> = traces.iter().map(|path| format!("{:?}", name(path))).collect();
    let act = format!(
        r#"
  for (const name of [{}]) {{
    give(await file(name));
    await read();
    said.push(text(shown.querySelector(".headline")));
    for (const row of shown.querySelectorAll(".facts tr")) said.push(`${{row.dataset.level}} ${{row.firstChild.textContent}}: ${{row.lastChild.textContent}}`);
  }}
  finish();
"#,
        names.join(", ")
    );
    let Some((said, _)) = says(traces.iter().map(bytes).collect(), &act) else { return };
    let mut terminal = String::new();
    for path in &traces {
        let mut file = std::fs::File::open(path).expect("a file");
        let source = Source::read(&mut file, &name(path), u64::MAX).expect("a trace");
        terminal += &format!("{}\n", headline(&source));
        for device in source.runs(None, false).expect("devices") {
            for (name, value) in lines(&Run::of(&device)) {
                let level = (name.len() - name.trim_start().len()) / 2;
                terminal += &format!("{level} {}: {}\n", name.trim_start(), value.replace('`', ""));
            }
        }
    }
    let (page, end) = said.split_once("errors: ").expect("the script ends");
    assert_eq!(page, terminal);
    assert!(end.starts_with("none"), "{end}");
}

#[test]
fn kernels_have_their_names_once_a_part_has_few_enough_bars_to_tell_apart() {
    let act = r#"
  give(await file("prefetch.json.gz"));
  await read();
  const figure = shown.querySelector("figure");
  const titles = () => [...figure.querySelectorAll("svg g > title")].map((title) => title.textContent);
  said.push(`one by one: ${titles().every((title) => !title.includes(" × "))}`);
  for (let times = 0; times < 5; times += 1) figure.querySelector(".zoom button").click();
  await until(() => text(shown.querySelector(".of")).startsWith("From"));
  said.push(`one by one: ${titles().every((title) => !title.includes(" × "))}, with a name: ${titles().some((title) => /^K?,? ?kernel \w/.test(title))}`);
  finish();
"#;
    let Some((said, _)) = says(vec![name_and_bytes("prefetch.json.gz")], act) else { return };
    insta::assert_snapshot!(said, @"
one by one: false
one by one: true, with a name: true
errors: none
asked of others: nothing
");
}

#[test]
fn what_is_no_trace_is_said_with_its_place_and_a_second_file_takes_the_place_of_the_first() {
    let files = vec![
        ("broken.json".to_owned(), b"{\"traceEvents\": [\n  {\"ph\": \"X\",,}\n]}".to_vec()),
        ("picture.zip".to_owned(), b"PK\x03\x04 something".to_vec()),
        name_and_bytes("events.json.gz"),
    ];
    let act = r#"
  for (const name of ["broken.json", "picture.zip"]) {
    give(await file(name));
    await read();
    said.push(text(shown));
  }
  const good = await file("events.json.gz");
  give(good);
  place.querySelector(".cancel").click();
  said.push(`cancelled: ${text(place.querySelector("[role=status]"))} ${shown.childElementCount}, focus on the field: ${document.activeElement === field}`);
  const transfer = new DataTransfer();
  transfer.items.add(good);
  const drop = new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true });
  document.querySelector("main h1").dispatchEvent(drop);
  said.push(`a drop is not the browser's: ${drop.defaultPrevented}`);
  await read();
  said.push(text(shown.querySelector(".headline")));
  finish();
"#;
    let Some((said, _)) = says(files, act) else { return };
    insta::assert_snapshot!(said, @"
broken.json:2:14: expected the name of a field, found ,hint: look for a comma too many before it
picture.zip is a zip archive, not a trace in JSONhint: PyTorch's profiler writes one with export_chrome_trace; Perfetto and Chrome export one, too
cancelled: Nothing was read. 0, focus on the field: true
a drop is not the browser's: true
events.json.gz · a trace of PyTorch's profiler · driver for CUDA 13.0
errors: none
asked of others: nothing
");
}

#[test]
fn the_script_of_a_page_that_stands_alone_is_made_of_the_books() {
    let path = root().join("../checker/viewer/src/alone.js");
    let script = book_viewer::alone();
    if std::env::var_os("SWIM_UPDATE_ALONE").is_some() {
        std::fs::write(&path, &script).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("a file");
    assert!(kept == script, "SWIM_UPDATE_ALONE=1 writes it");
}

#[test]
fn a_page_that_stands_alone_is_zoomed_and_its_bars_stay_apart_up_to_four_thousand() {
    let page = |periods: u64| {
        let mut trace = Vec::new();
        kineto::pipeline(periods, &mut trace).expect("memory takes all");
        let source = Source::read(&mut trace.as_slice(), "run.json", u64::MAX).expect("a trace");
        let devices = source.runs(None, true).expect("a device");
        let runs: Vec<Run<'_>> = devices.iter().map(Run::of).collect();
        alone::trace(&source, &runs, &view::layout(&runs, view::lanes(&devices)))
    };
    let single = |page: &str| page.matches("tabindex=\"0\" role=\"img\"").count();
    // Four calls and four operations in each.
    let (all, most) = (page(300), page(600));
    assert!((2000..=alone::MOST_BARS).contains(&single(&all)), "{}", single(&all));
    assert!(single(&most) == 0 && most.contains("<code>--window</code>"));
    let act = r#"
  const figure = document.querySelector("figure");
  const bars = [...figure.querySelectorAll("[role=gridcell]")];
  const wide = () => bars[1000].getBoundingClientRect().width;
  const before = wide();
  bars[1000].focus();
  for (let times = 0; times < 6; times += 1) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
  said.push(`64 times as wide: ${Math.abs(wide() / before - 64) < 1}`);
  said.push(`told: ${figure.querySelector(".told").textContent === bars[1000].querySelector("title").textContent}`);
  finish();
"#;
    std::fs::write(book().site.join("alone.html"), all).expect("a file");
    let Some(said) = book().says("alone.html", act) else { return };
    insta::assert_snapshot!(said, @"
64 times as wide: true
told: true
errors: none
asked of others: nothing
");
}

fn name_and_bytes(name: &str) -> (String, Vec<u8>) {
    let path = root().join("pytorch/traces").join(name);
    (name.to_owned(), std::fs::read(path).expect("a file"))
}

/// Counts what goes through it.
struct Counted(usize, GzEncoder<Vec<u8>>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.1.write(bytes)?;
        self.0 += written;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.1.flush()
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "how long it takes is told, and fails nothing")]
fn a_trace_of_182_mb_is_read_in_less_than_600_mb() {
    let mut trace = Counted(0, GzEncoder::new(Vec::new(), Compression::fast()));
    kineto::pipeline(63_000, &mut trace).expect("memory takes all");
    let Counted(bytes, trace) = trace;
    let trace = trace.finish().expect("memory takes all");
    let megabytes = bytes as f64 / 1e6;
    assert!(megabytes > 182.0, "{megabytes}");
    let begun = std::time::Instant::now();
    let source = Source::read(&mut trace.as_slice(), "large.json.gz", u64::MAX).expect("a trace");
    let device = &source.runs(None, false).expect("a device")[0];
    let known = lines(&Run::of(device))[1].1.clone();
    let native = begun.elapsed();
    let act = r#"
  const large = await file("large.json.gz");
  await mark();
  give(large);
  await read();
  await mark();
  said.push(text(shown.querySelectorAll(".facts td")[1]));
  said.push(`${Number(shown.dataset.memory) / 1e6}`);
  finish();
"#;
    let Some((said, clock)) = says(vec![("large.json.gz".to_owned(), trace)], act) else { return };
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some(known.as_str()));
    let memory: f64 = lines.next().and_then(|line| line.parse().ok()).expect("a number");
    assert!(memory < 600.0, "{memory} MB");
    let page = clock.between_marks()[0];
    eprintln!(
        "{megabytes:.0} MB: {memory:.0} MB of memory, {:.1} s, {:.1} times as long as here",
        page.as_secs_f64(),
        page.as_secs_f64() / native.as_secs_f64()
    );
}
