//! Zoom, pan and ruler of a figure, by keys and by pointers, and the address of a part.

use super::book;

const ACT: &str = r##"
  document.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
  document.querySelectorAll("details.reveal").forEach((reveal) => (reveal.open = true));
  const figure = document.querySelector("figure.timeline");
  const drawing = figure.querySelector("svg");
  const bars = [...drawing.querySelectorAll("[role=gridcell]")];
  const bar = bars[Math.floor(bars.length / 3)];
  const middle = (node) => { const box = node.getBoundingClientRect(); return (box.left + box.right) / 2; };
  const wide = (node) => node.getBoundingClientRect().width;
  const view = () => figure.querySelector(".view").textContent;
  const press = (key, more = {}) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  const near = (a, b) => Math.abs(a - b) <= 1;
  const labels = () => [...drawing.querySelectorAll("text")].filter((text) => !text.closest(".stretched")).map(middle);
  const ticks = () => [...drawing.querySelectorAll("text")].filter((text) => !text.closest("g") && /^[\d.]+ (ns|µs|ms)$/.test(text.textContent) && text.getAttribute("display") !== "none").length;

  const before = { middle: middle(bar), wide: wide(bar), label: labels()[0], letters: wide(drawing.querySelector("g > text")) };
  bar.focus();
  press("+");
  press("+");
  said.push(`two presses: the bar ${near(middle(bar), before.middle) ? "stays" : "moves"}, ${(wide(bar) / before.wide).toFixed(1)} times as wide`);
  said.push(`labels ${near(labels()[0], before.label) ? "stay" : "move"}, letters ${near(wide(drawing.querySelector("g > text")), before.letters) ? "keep their shape" : "are stretched"}`);
  said.push(`ticks: ${ticks() >= 2}, rows are still rows of the grid: ${bar.closest("[role=grid]") === drawing}`);
  const [from] = view().split(" to ");
  press("ArrowRight", { shiftKey: true });
  said.push(`a quarter on: ${view().split(" to ")[0] !== from}, the focus stays: ${document.activeElement === bar}`);
  await new Promise((done) => setTimeout(done, 500));
  const part = decodeURIComponent(location.hash);
  said.push(`address: ${/:[\d.]+ms\.\.[\d.]+ms$/.test(part)}`);

  press("0");
  said.push(`0: ${view()}`);
  await new Promise((done) => setTimeout(done, 500));
  said.push(`address: ${location.hash.includes("ms..") ? "of a part" : "of the figure"}`);

  const box = drawing.getBoundingClientRect();
  drawing.setPointerCapture = () => {}; // there is no such pointer
  const at = (type, share, more = {}) => bar.dispatchEvent(new PointerEvent(type, { pointerId: 1, pointerType: "mouse", bubbles: true, cancelable: true, clientX: box.left + box.width * share, clientY: box.top + 40, ...more }));
  at("pointerdown", 0.3, { shiftKey: true });
  at("pointermove", 0.4, { shiftKey: true });
  at("pointermove", 0.5, { shiftKey: true });
  at("pointerup", 0.5, { shiftKey: true });
  const told = figure.querySelector(".told");
  said.push(`ruler: ${/^From .+ to .+: .+\.$/.test(told.textContent)}, drawn: ${drawing.querySelectorAll(".ruler").length}`);
  bar.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  said.push(`after a click: ${drawing.querySelectorAll(".ruler").length}`);

  const wheel = (more) => { const event = new WheelEvent("wheel", { bubbles: true, cancelable: true, clientX: box.left + box.width / 2, ...more }); drawing.dispatchEvent(event); return event.defaultPrevented; };
  said.push(`a wheel alone is the page's: ${!wheel({ deltaY: 100 })}, with Ctrl the figure's: ${wheel({ deltaY: -200, ctrlKey: true })}`);
  const pinched = view();
  at("pointerdown", 0.5);
  at("pointermove", 0.4);
  at("pointermove", 0.3);
  at("pointerup", 0.3);
  said.push(`zoomed: ${pinched !== "All of the run"}, dragged: ${view() !== pinched}`);
  const touch = (type, pointerId, share) => at(type, share, { pointerId, pointerType: "touch" });
  const one = view();
  touch("pointerdown", 7, 0.4);
  touch("pointerdown", 8, 0.6);
  touch("pointermove", 8, 0.7);
  touch("pointermove", 8, 0.8);
  touch("pointerup", 7, 0.4);
  touch("pointerup", 8, 0.8);
  said.push(`two fingers: ${view() !== one}`);
  const [into, out] = figure.querySelectorAll(".zoom button");
  for (let times = 0; times < 30 && !out.disabled; times += 1) out.click();
  said.push(`out again: ${view()}, ${out.disabled}, stops: ${[into, out].map((button) => button.tabIndex)}`);
  finish();
"##;

#[test]
fn a_figure_is_zoomed_moved_and_measured_by_keys_and_pointers() {
    let Some(said) = book().says("two_streams.html", ACT) else { return };
    insta::assert_snapshot!(said, @"
two presses: the bar stays, 4.0 times as wide
labels stay, letters keep their shape
ticks: true, rows are still rows of the grid: true
a quarter on: true, the focus stays: true
address: true
0: All of the run
address: of the figure
ruler: true, drawn: 1
after a click: 0
a wheel alone is the page's: true, with Ctrl the figure's: true
zoomed: true, dragged: true
two fingers: true
out again: All of the run, true, stops: -1,-1
errors: none
asked of others: nothing
");
}

#[test]
fn an_address_of_a_part_shows_that_part() {
    let act = r##"
      const plain = location.pathname.split("/").pop();
      const figure = document.querySelector("figure.timeline");
      const frame = document.createElement("iframe");
      frame.width = 1200;
      frame.src = `${plain.replace(/^acted-.*?-/, "")}#${figure.id}:1ms..2ms`;
      const loaded = new Promise((done) => (frame.onload = done));
      document.body.append(frame);
      await loaded;
      const shown = frame.contentDocument.getElementById(figure.id);
      const view = () => shown.querySelector(".view").textContent;
      said.push(`behind its question: ${shown.checkVisibility()}, ${view() || "nothing"}`);
      frame.contentDocument.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
      shown.scrollIntoView();
      for (let turns = 0; !view() && turns < 50; turns += 1) await new Promise((done) => setTimeout(done, 50));
      said.push(`when it is answered: ${view()}`);
      finish();
    "##;
    let Some(said) = book().says("two_streams.html", act) else { return };
    insta::assert_snapshot!(said, @"
behind its question: false, nothing
when it is answered: 1.00 ms to 2.00 ms
errors: none
asked of others: nothing
");
}

/// Of a drawing on a telephone: what reaches beyond its frame, and where its parts meet the axis.
#[test]
fn on_a_narrow_screen_a_drawing_has_all_of_its_axis_in_view_and_its_buttons_work() {
    let act = r#"
  const frame = Object.assign(document.createElement("iframe"), { width: 390, height: 800 });
  document.body.append(frame);
  const open = async (src) => {
    frame.src = src;
    await new Promise((done) => frame.addEventListener("load", done, { once: true }));
    const page = frame.contentDocument;
    page.querySelectorAll(".gated").forEach((gate) => gate.querySelector("button").click());
    page.querySelectorAll("details.reveal").forEach((reveal) => (reveal.open = true));
    return page;
  };
  const round = (number) => Math.round(number * 10) / 10;
  for (const src of ["two_streams.html", "events.html", "buffer_lifetime.html", "graphs.html", "how_many_lanes.html"]) {
    const page = await open(src);
    const drawings = [...page.querySelectorAll(".drawn > svg")].filter((drawing) => drawing.checkVisibility());
    const outside = drawings.flatMap((drawing) => {
      const { left, right } = drawing.getBoundingClientRect();
      return [...drawing.querySelectorAll("text, rect, path")].filter((node) => {
        if (node.closest("defs, clipPath")) return false;
        const box = node.getBoundingClientRect();
        return box.left < left - 1 || box.right > right + 1;
      });
    });
    const scrolled = drawings.filter((drawing) => drawing.closest(".timeline-scroll").scrollWidth > drawing.closest(".timeline-scroll").clientWidth);
    said.push(`${src}: ${drawings.length} drawings, ${scrolled.length} wider than the page, ${outside.length} parts outside`);
    for (const node of outside.slice(0, 3)) said.push(node.outerHTML);
  }
  const page = await open("two_streams.html");
  const figure = [...page.querySelectorAll("figure.timeline")].find((figure) => figure.checkVisibility());
  const box = (node) => node.getBoundingClientRect();
  const axis = box(figure.querySelector("svg rect[fill-opacity]"));
  const slider = figure.querySelector(".clock input");
  said.push(`the slider begins with the axis: ${Math.abs(box(slider).left + 8 - axis.left) < 2}, and ends with it: ${Math.abs(box(slider).right - 8 - axis.right) < 2}`);
  const buttons = [...figure.querySelectorAll(".clock button")];
  const apart = buttons.every((one) => [...buttons, slider].every((other) => one === other || box(one).right <= box(other).left || box(other).right <= box(one).left || box(one).bottom <= box(other).top || box(other).bottom <= box(one).top));
  said.push(`buttons: ${buttons.length}, in view: ${buttons.every((button) => box(button).left >= 0 && box(button).right <= 390)}, apart: ${apart}`);
  frame.width = 800;
  await new Promise((done) => requestAnimationFrame(done));
  const beside = (one, other) => box(one).bottom <= box(other).top;
  said.push(`turned: buttons below the slider: ${beside(slider, buttons[1])}, totals: ${figure.querySelector(".timeline-totals").checkVisibility()}`);
  frame.width = 390;
  await new Promise((done) => requestAnimationFrame(done));
  slider.value = slider.max;
  slider.dispatchEvent(new Event("input"));
  const end = Math.max(...[...figure.querySelectorAll("svg [role=gridcell]")].map((bar) => box(bar).right));
  said.push(`the mark at the end of the last bar: ${Math.abs(box(figure.querySelector(".now")).left - end) < 2}`);
  const wide = box(figure.querySelector("svg [role=gridcell]")).width;
  buttons[1].click();
  said.push(`zoomed in: ${round(box(figure.querySelector("svg [role=gridcell] > rect")).width / wide)} times as wide`);
  finish();
"#;
    let Some(said) = book().with("narrow.html", "<p>Narrow</p>").says("narrow.html", act) else {
        return;
    };
    insta::assert_snapshot!(said, @"
two_streams.html: 5 drawings, 0 wider than the page, 0 parts outside
events.html: 6 drawings, 0 wider than the page, 0 parts outside
buffer_lifetime.html: 4 drawings, 0 wider than the page, 0 parts outside
graphs.html: 3 drawings, 0 wider than the page, 0 parts outside
how_many_lanes.html: 5 drawings, 0 wider than the page, 0 parts outside
the slider begins with the axis: true, and ends with it: true
buttons: 3, in view: true, apart: true
turned: buttons below the slider: true, totals: true
the mark at the end of the last bar: true
zoomed in: 2 times as wide
errors: none
asked of others: nothing
");
}
