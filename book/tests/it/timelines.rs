//! Timelines as instruments, in a browser: bars, lines and the host, by keys and by hand. Needs Chromium.

use std::collections::BTreeMap;

use trace::Record;
use trace::causes::delays::{Instants, instants};
use trace::draw::duration;
use trace::program::Call;

use crate::browser::book;
use crate::real::root;

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
  const slider = document.querySelector("figure.timeline .clock input");
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
                match waiting + running {
                    0 => "empty".to_owned(),
                    _ => format!("{waiting} waiting, {running} running"),
                }
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

#[test]
fn of_many_streams_a_listener_is_told_the_sum() {
    let act = r#"
  document.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
  const scrubber = document.querySelector("figure.timeline .scrubber");
  const slider = document.querySelector("figure.timeline .clock input");
  for (const share of [0, 0.3, 0.7, 1]) {
    slider.value = Math.floor(share * Number(slider.max));
    slider.dispatchEvent(new Event("input"));
    said.push(slider.getAttribute("aria-valuetext"));
  }
  finish();
"#;
    let Some(said) = book().says("how_many_lanes.html", act) else { return };
    insta::assert_snapshot!(said, @"
0 ns. 128 kernels, 128 streams: the host is busy at line 13; all streams are empty. 129 kernels, 129 streams: the host is busy at line 13; all streams are empty
6.09 ms. 128 kernels, 128 streams: the host is blocked at line 15; 128 streams together: 0 waiting, 128 running. 129 kernels, 129 streams: the host is blocked at line 15; 129 streams together: 1 waiting, 128 running
14.2 ms. 128 kernels, 128 streams: all is done; all streams are empty. 129 kernels, 129 streams: the host is blocked at line 15; stream 129: 0 waiting, 1 running
20.3 ms. 128 kernels, 128 streams: all is done; all streams are empty. 129 kernels, 129 streams: all is done; all streams are empty
errors: none
asked of others: nothing
");
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
