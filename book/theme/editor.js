// The playground for programs that the reader writes. Its HTML is that of `src/playground/editor.rs`; what is simulated and
// drawn comes from the wasm that stands in the page. Without it the page keeps the program and its figure.
window.swimEditor = (figure, simulator, preparations) => {
  "use strict";

  // Until a reader who writes has stopped to look, and until what stands there counts as a run of its own, in ms.
  const PAUSE = 150;
  const RUN = 1200;
  // Bars that are laid out at once, and the time until the next ones, in ms: that of a frame.
  const AT_ONCE = 500;
  const FRAME = 16;

  const LAST = "The timeline is that of the last run without mistakes.";

  const played = figure.querySelector(".played");
  const wrong = figure.querySelector(".wrong");
  const from = figure.querySelector(".from");
  const link = figure.querySelector(".link");
  const shown = figure.querySelector("pre.sheet");

  const box = document.createElement("div");
  const numbers = document.createElement("div");
  const field = document.createElement("textarea");
  const said = document.createElement("p");
  box.className = "written";
  numbers.className = "line-numbers";
  numbers.setAttribute("aria-hidden", "true");
  Object.assign(field, { id: shown.id, value: shown.textContent, spellcheck: false, autocomplete: "off" });
  Object.assign(field, { autocapitalize: "off", wrap: "off" });
  field.setAttribute("aria-label", "The program");
  said.className = "hidden-text";
  said.setAttribute("role", "status");
  // What the menu says once the program is none of its own.
  from.append(Object.assign(new Option("Your own program", ""), { hidden: true }));
  box.append(numbers, field);
  shown.replaceWith(box);
  wrong.removeAttribute("role");
  wrong.after(said);

  // What the run on the page was made of, and the run before it.
  let current = field.value;
  let before = "";
  // The program that a link leads to has none before it.
  let isOpen = false;
  let waiting = [];
  // The simulator's last answer, and the programs whose runs are drawn; with mistakes, those that were tried.
  let simulated = {};
  let drawnOf = "";
  // The bars by the line that issued them, and the lines that are marked.
  let issued = new Map();
  let marked = [];

  const address = (text) => `#${new URLSearchParams({ p: text })}`;
  const linked = () => new URLSearchParams(location.hash.slice(1)).get("p");
  const at = (button) => [Number(button.dataset.line), Number(button.dataset.column)];

  // The numbers beside the text; some lines are marked. Only what changes is touched: a program may have thousands of lines.
  function count(marks) {
    const lines = field.value.split("\n").length;
    const rows = Math.min(Math.max(lines, 6), 24);
    if (field.rows !== rows) field.rows = rows;
    marked.forEach((line) => numbers.children[line - 1]?.removeAttribute("class"));
    while (numbers.childElementCount > lines) numbers.lastElementChild.remove();
    const missing = Array.from({ length: lines - numbers.childElementCount }, (_, index) => {
      const number = document.createElement("span");
      number.textContent = numbers.childElementCount + index + 1;
      return number;
    });
    numbers.append(...missing);
    marked = marks;
    marked.forEach((line) => numbers.children[line - 1]?.setAttribute("class", "is-wrong"));
  }

  // Marks the lines that mistakes and races are at.
  const mark = () => count([...figure.querySelectorAll("button.at")].map((button) => at(button)[0]));

  // The line that issued a bar; the previous run, drawn below, had lines of its own.
  const lineOf = (bar) => Number(/ program:(\d+)$/.exec(bar.firstElementChild.textContent)?.[1]);

  function sorted(made) {
    const lines = new Map();
    for (const bar of made.querySelectorAll("svg [role=gridcell]")) {
      const line = lineOf(bar);
      if (!line) continue;
      if (!lines.has(line)) lines.set(line, []);
      lines.get(line).push(bar);
    }
    return lines;
  }

  // The bars of the line that the cursor is in.
  function light() {
    const line = field.value.slice(0, field.selectionStart).split("\n").length;
    for (const bar of played.querySelectorAll("svg .lit")) bar.classList.remove("lit");
    if (document.activeElement === field) issued.get(line)?.forEach((bar) => bar.classList.add("lit"));
  }

  // Where a line begins, and how long it is.
  function extent(line) {
    const lines = field.value.split("\n");
    return [lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0), lines[line - 1]?.length ?? 0];
  }

  function select(line) {
    const [start, length] = extent(line);
    field.focus();
    field.setSelectionRange(start, start + length);
    light();
  }

  function go(button) {
    const [line, column] = at(button);
    select(line);
    if (!button.closest(".mistakes")) return;
    const [start] = extent(line);
    field.setSelectionRange(start + column - 1, start + column - 1);
  }

  // What is written outlives a reload, with its mistakes: the address has the last run without.
  const DRAFT = "swim/draft";
  function keep() {
    try {
      sessionStorage.setItem(DRAFT, JSON.stringify([location.hash, field.value]));
    } catch {
      // Switched off: the address is kept all the same.
    }
  }
  function kept() {
    try {
      const [hash, text] = JSON.parse(sessionStorage.getItem(DRAFT));
      return hash === location.hash ? text : null;
    } catch {
      return null;
    }
  }

  // The program that is written and the one that it is compared with, one below the other for the simulator.
  const both = () => `${field.value}\0${field.value === current || !isOpen ? before : current}`;

  // The way from the text to its drawing, each step on top of the one before. With two thousand lines a step takes up to some tens of
  // milliseconds, so each is a task of its own, and a key that is pressed in between waits for no more than one.
  function simulate() {
    const programs = both();
    if (simulated.programs !== programs) {
      simulated = { programs, write: simulator(`${figure.id}-drawing`, `program\n${programs}`), prepared: 0 };
    }
    return simulated;
  }

  function write() {
    const answer = simulate();
    answer.html ??= answer.write();
    return answer;
  }

  // The elements of the answer, which are not on the page yet.
  function parse() {
    const answer = write();
    if (!answer.made) {
      const template = document.createElement("template");
      template.innerHTML = answer.html;
      answer.made = template.content.firstElementChild;
      answer.right = answer.made.matches(".run");
    }
    return answer;
  }

  // While they are not, bars are moved and nothing is laid out.
  const makers = preparations.map((prepare, index) => () => {
    const answer = makers[index - 1]?.() ?? parse();
    if (answer.right && answer.prepared === index) {
      prepare(answer.made);
      answer.prepared += 1;
    }
    return answer;
  });

  // Takes bars off a drawing if there are too many to be laid out at once, and gives what puts them back.
  function spread(made) {
    const steps = [];
    let room = AT_ONCE;
    for (const row of made.querySelectorAll("svg [role=row]")) {
      const bars = [...row.children].slice(Math.max(room, 0));
      room -= row.childElementCount;
      for (let at = 0; at < bars.length; at += AT_ONCE) {
        const some = bars.slice(at, at + AT_ONCE);
        some.forEach((bar) => bar.remove());
        steps.push(() => row.append(...some));
      }
    }
    return steps;
  }

  function inTurn([step, ...others]) {
    if (!step) return;
    setTimeout(() => {
      step();
      inTurn(others);
    }, FRAME);
  }

  // Draws what is written; says whether it has no mistakes.
  function draw() {
    const { programs, made, right } = makers.at(-1)();
    if (drawnOf === programs) {
      mark();
      return !wrong.hasChildNodes();
    }
    drawnOf = programs;
    const unfolded = played.querySelector("details").open;
    if (!right) made.append(Object.assign(document.createElement("p"), { textContent: LAST }));
    wrong.replaceChildren(...(right ? [] : [made]));
    played.classList.toggle("stale", !right);
    if (right) {
      made.querySelector("details").open = unfolded;
      issued = sorted(made);
      const steps = spread(made);
      played.replaceChildren(made);
      inTurn(steps);
    }
    field.setAttribute("aria-invalid", !right);
    mark();
    for (const button of made.querySelectorAll("button.at")) button.addEventListener("click", () => go(button));
    link.href = address(field.value);
    const known = [...from.options].find((option) => option.dataset.program === field.value.trimEnd());
    from.value = known?.value ?? "";
    light();
    return right;
  }

  function speak() {
    const rows = [...played.querySelectorAll(".numbers > div")];
    const numbers = rows.map((row) => `${row.firstChild.textContent}: ${row.lastChild.textContent}`);
    const mistakes = [...wrong.querySelectorAll("li")].map((item) => item.textContent);
    const races = played.querySelector(".races strong, p.races")?.textContent ?? "";
    said.textContent = mistakes.length > 0 ? mistakes.join(" ") : [...numbers, races].join("; ");
  }

  // What is written counts as a run: the one before it is kept, and Back leads to it.
  function run() {
    if (field.value === current) return speak();
    if (draw()) {
      // The run on the page is compared with this one already.
      [before, current] = [current, field.value];
      try {
        history.pushState(null, "", address(current));
      } catch {
        // Some browsers refuse it for files: the link above the program is right all the same.
      }
    }
    keep();
    speak();
  }

  function load(text) {
    waiting.forEach(clearTimeout);
    field.value = text;
    run();
  }

  field.addEventListener("input", () => {
    waiting.forEach(clearTimeout);
    count([]);
    waiting = [simulate, write, parse, ...makers, draw].map((step) => setTimeout(step, PAUSE));
    waiting.push(setTimeout(run, RUN));
  });
  field.addEventListener("change", () => {
    waiting.forEach(clearTimeout);
    run();
  });
  field.addEventListener("scroll", () => (numbers.scrollTop = field.scrollTop));
  for (const event of ["keyup", "click", "focus", "blur"]) field.addEventListener(event, light);
  played.addEventListener("click", (event) => {
    const bar = event.target.closest("svg [role=gridcell]");
    if (bar && lineOf(bar)) select(lineOf(bar));
  });
  from.addEventListener("change", () => load(from.selectedOptions[0].dataset.program));
  figure.querySelector(".controls").addEventListener("submit", (event) => event.preventDefault());

  const first = field.value;
  function arrive() {
    const text = linked() ?? first;
    if (text === field.value && text === current) return;
    waiting.forEach(clearTimeout);
    before = isOpen ? current : "";
    field.value = text;
    if (draw()) current = text;
    if (isOpen) speak();
  }
  addEventListener("pagehide", keep);
  addEventListener("popstate", arrive);
  addEventListener("hashchange", arrive);
  const draft = kept();
  if (linked() === null) draw();
  else arrive();
  isOpen = true;
  if (draft !== null && draft !== field.value) {
    field.value = draft;
    if (draw()) current = draft;
  }
  figure.querySelector(".controls").hidden = false;
};
