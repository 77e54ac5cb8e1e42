// Predictions, quizzes and playgrounds. Without this script every page can be read: answers are folded, and the
// reader unfolds them. Nothing leaves the browser; what the reader answered is kept in it.
(() => {
  "use strict";

  const store = {
    read(key) {
      try {
        return JSON.parse(localStorage.getItem(`swim/${key}`));
      } catch {
        return null; // switched off, or not ours
      }
    },
    write(key, value) {
      try {
        localStorage.setItem(`swim/${key}`, JSON.stringify(value));
      } catch {
        // Switched off or full: the page works, it only forgets.
      }
    },
  };
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const printing = /\/print\.html$/.test(location.pathname);

  function element(name, text, attributes = {}) {
    const made = Object.assign(document.createElement(name), attributes);
    made.textContent = text;
    return made;
  }

  // What the reader entered, as a list; null where something is missing.
  function entered(form) {
    const radios = all("input[type=radio]", form);
    if (radios.length > 0) {
      const chosen = radios.find((radio) => radio.checked);
      return chosen ? [chosen.value] : null;
    }
    const fields = all("select, input", form);
    // A slider that was not moved says nothing yet.
    if (fields.some((field) => field.type === "range" && !field.dataset.moved)) return null;
    return fields.every((field) => field.value.trim()) ? fields.map((field) => field.value) : null;
  }

  function enter(form, values) {
    const radios = all("input[type=radio]", form);
    if (radios.length > 0) {
      radios.forEach((radio) => (radio.checked = radio.value === values[0]));
    } else {
      all("select, input", form).forEach((field, index) => (field.value = values[index] ?? ""));
    }
  }

  function freeze(form, frozen) {
    form.querySelector("fieldset").disabled = frozen;
    form.classList.toggle(form.matches(".predict") ? "committed" : "done", frozen);
  }

  function say(form, kind, html) {
    const verdict = form.querySelector(".verdict");
    verdict.className = kind ? `verdict is-${kind}` : "verdict";
    verdict.innerHTML = html;
  }

  // Predictions: the answer that follows stays shut until the reader has committed to something.

  function duration(ns) {
    const [unit, name] = ns >= 1e6 ? [1e6, "ms"] : [1e3, "µs"];
    return `${(ns / unit).toPrecision(3)} ${name}`;
  }

  // The mark follows the slider, and says where it is.
  function follow(form) {
    const slider = form.querySelector("input[type=range]");
    if (!slider) return;
    const move = () => {
      form.querySelector(".line").style.setProperty("--at", slider.value / slider.max);
      const text = duration(Number(slider.value));
      slider.setAttribute("aria-valuetext", text);
      form.querySelector("output").textContent = `Your mark: ${text}`;
    };
    slider.addEventListener("input", () => {
      slider.dataset.moved = true;
      move();
    });
    if (slider.matches(":disabled")) move();
  }

  function committed(form) {
    freeze(form, true);
    if (form.dataset.form === "mark") {
      follow(form);
      const { value, max, dataset } = form.querySelector("input[type=range]");
      const truth = form.querySelector(".truth");
      truth.style.setProperty("--at", dataset.value / max);
      truth.hidden = false;
      // A twentieth of the axis is as exact as a hand can be.
      const hit = Math.abs(value - dataset.value) <= max / 20;
      const said = hit ? "✓ There it is" : "✗ It is elsewhere";
      say(form, hit ? "right" : "wrong", `${said}: at ${dataset.text}.`);
      return;
    }
    if (form.dataset.form === "ranking") {
      let right = 0;
      const selects = all("select", form);
      for (const select of selects) {
        // After a tie of two comes place 3, whatever number it was given.
        const before = selects.filter((other) => Number(other.value) < Number(select.value));
        const hit = before.length + 1 === Number(select.dataset.place);
        right += hit;
        const was = select.closest(".item").querySelector(".was");
        was.textContent = `${hit ? "✓" : "✗"} place ${select.dataset.place}, ${select.dataset.time}`;
        was.className = `was ${hit ? "is-right" : "is-wrong"}`;
      }
      const hit = right === selects.length;
      say(form, hit ? "right" : "wrong", `${right} of ${selects.length} places as they turned out.`);
    } else {
      const chosen = form.querySelector("input:checked");
      const hit = chosen.dataset.verdict === "right";
      const why = form.querySelector(`.whys [data-for="${chosen.value}"] .why`);
      say(form, hit ? "right" : "wrong", hit ? "✓ So it is." : `✗ ${why.innerHTML}`);
    }
  }

  function opened(gate) {
    const reveal = gate.querySelector("details.reveal");
    gate.classList.add("open");
    reveal.open = true;
    wide();
    marked();
    // The button that was pressed is gone: the keyboard goes on from what it brought. Nothing moves.
    reveal.querySelector("summary").focus({ preventScroll: true });
  }

  function prediction(gate) {
    const form = gate.previousElementSibling;
    const { key } = gate.dataset;
    const saved = store.read(key);
    follow(form);
    if (saved) {
      enter(form, saved.entered);
      committed(form);
      return;
    }
    freeze(form, false);
    gate.querySelector("button").addEventListener("click", () => {
      store.write(`skipped/${key}`, { at: new Date().toISOString() });
      opened(gate);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const values = entered(form);
      if (!values) {
        say(form, "", "Move the mark first.");
        return;
      }
      store.write(key, { entered: values, at: new Date().toISOString() });
      committed(form);
      opened(gate);
    });
  }

  // Links to what a gate keeps: they say so, and ask at the gate before they go on.

  const closed = (target) => {
    const gates = [];
    for (let at = target; at; at = at.parentElement) if (at.matches(".gated:not(.open)")) gates.unshift(at);
    return gates[0];
  };

  function target(link) {
    const url = new URL(link.href, location.href);
    const here = url.pathname === location.pathname && url.hash.length > 1;
    return here ? document.getElementById(decodeURIComponent(url.hash.slice(1))) : null;
  }

  function marked() {
    const says = "This leads past an open question.";
    for (const link of all("a[href*='#']")) {
      const there = target(link);
      const past = there && closed(there) && !link.closest(".beyond")?.contains(there.closest(".gated"));
      link.classList.toggle("past-gate", Boolean(past));
      if (past) link.title = says;
      else if (link.title === says) link.removeAttribute("title");
    }
  }

  function ask(gate, there) {
    const name = there.matches("h1, h2, h3, h4, h5, h6") ? `“${there.textContent.trim()}”` : "What you asked for";
    gate.querySelector(".asked").textContent = `${name} is past this open question.`;
    gate.previousElementSibling.scrollIntoView({ block: "nearest" });
    gate.querySelector(".gate button").focus();
  }

  function gates() {
    const gated = all(".gated");
    if (gated.length === 0) return;
    gated.forEach(prediction);
    addEventListener(
      "click",
      (event) => {
        const link = event.target.closest?.("a[href*='#']");
        const there = link && target(link);
        const gate = there && closed(there);
        if (!gate) return;
        event.preventDefault();
        event.stopPropagation();
        ask(gate, there);
      },
      true,
    );
    const arrived = () => {
      const there = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const gate = there && closed(there);
      if (gate) ask(gate, there);
    };
    addEventListener("hashchange", arrived);
    // The table of contents is filled in after this script.
    addEventListener("load", () => {
      marked();
      arrived();
    });
  }

  // What is wider than the page is scrolled, and has to be for whoever has no mouse.
  function wide() {
    for (const box of all("pre > code, .table-wrapper")) {
      if (box.scrollWidth <= box.clientWidth || box.tabIndex === 0) continue;
      box.tabIndex = 0;
      if (box.matches(".table-wrapper")) {
        box.setAttribute("role", "group");
        box.setAttribute("aria-label", "Table");
      }
    }
  }

  // Quizzes: each question is judged at once; a wrong choice says why, and may be tried again.

  const plain = (text) => text.trim().toLowerCase().replace(/\s+/g, " ");

  const judges = {
    choice(form) {
      const chosen = form.querySelector("input:checked");
      const why = form.querySelector(`.whys [data-for="${chosen.value}"] .why`);
      return { right: chosen.dataset.verdict === "right", why: why ? why.innerHTML : "" };
    },
    words(form) {
      const field = form.querySelector("input");
      const accepted = field.dataset.accepted.split("\n").map(plain);
      return { right: accepted.includes(plain(field.value)), why: "" };
    },
    number(form) {
      const { value, dataset } = form.querySelector("input");
      const target = Number(dataset.value);
      const off = Math.abs(Number(value) - target);
      const right = off <= Math.abs(target) * Number(dataset.tolerance) + 1e-9;
      return { right, why: right ? "" : Number(value) < target ? "It is more." : "It is less." };
    },
    timeline(form) {
      const field = form.querySelector("[data-bar]");
      const right = field.value === field.dataset.bar;
      return { right, why: right ? "" : "That is another one." };
    },
    order(form) {
      const selects = all("select", form);
      const place = Object.fromEntries(selects.map((s) => [s.dataset.item, Number(s.value)]));
      if (new Set(Object.values(place)).size < selects.length) {
        return { right: false, why: "Each place once." };
      }
      const pairs = form.querySelector("[data-before]").dataset.before.split(" ").filter(Boolean);
      const broken = pairs.map((pair) => pair.split("<")).find(([a, b]) => place[a] > place[b]);
      if (!broken) return { right: true, why: "" };
      const text = (item) => selects.find((s) => s.dataset.item === item).labels[0].innerHTML;
      return { right: false, why: `“${text(broken[1])}” comes later than “${text(broken[0])}”.` };
    },
  };

  // Questions that come back: those of which the reader has answered the original. Those that were
  // missed come first, then those that were answered longest ago; else the book's order holds.
  function due(section) {
    const answered = (form) => {
      const [quiz, question] = form.dataset.origin.split(" ");
      return (store.read(quiz) ?? {})[question];
    };
    const again = store.read(section.dataset.key) ?? {};
    const last = (form) => again[form.dataset.key] ?? answered(form);
    const forms = all("form.question", section).filter((form) => answered(form)?.done);
    const missed = (form) => (last(form).first ? 1 : 0);
    const when = (form) => last(form).at ?? "";
    forms.sort((a, b) => missed(a) - missed(b) || when(a).localeCompare(when(b)));
    const chosen = forms.slice(0, Number(section.dataset.most));
    for (const block of all(".again", section)) {
      block.hidden = !chosen.includes(block.querySelector("form"));
    }
    section.querySelector(".none").hidden = chosen.length > 0;
    return chosen;
  }

  function progress(section) {
    const keys = () => Object.keys(localStorage).filter((key) => key.startsWith("swim/"));
    const status = section.querySelector(".verdict");
    function fill() {
      for (const row of all("tbody tr", section)) {
        const { quiz, count, predictions } = row.dataset;
        const answers = Object.values(store.read(quiz) ?? {}).filter((answer) => answer.done);
        const made = keys().filter((key) => key.startsWith(`swim/${predictions}`));
        row.querySelector(".predicted").textContent = made.length;
        row.querySelector(".answered").textContent = `${answers.length} of ${count}`;
        row.querySelector(".at-first").textContent = answers.filter((answer) => answer.first).length;
      }
    }
    const kept = () => Object.fromEntries(keys().map((key) => [key, JSON.parse(localStorage[key])]));
    section.querySelector(".export").addEventListener("click", () => {
      const text = JSON.stringify(kept(), null, 2);
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      element("a", "", { href: url, download: "swimming-in-streams.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
    const code = section.querySelector(".code");
    section.querySelector(".encode").addEventListener("click", () => {
      const bytes = new TextEncoder().encode(JSON.stringify(kept()));
      code.value = btoa(String.fromCharCode(...bytes));
      code.focus();
      code.select();
      status.textContent = "Copy the code, and paste it on this page in another browser.";
    });
    // A file or a code. What was answered later holds; nothing is forgotten.
    function take(text) {
      let brought;
      try {
        const json = text.trim().startsWith("{")
          ? text
          : new TextDecoder().decode(Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0)));
        brought = Object.entries(JSON.parse(json)).filter(
          ([key, value]) => key.startsWith("swim/") && value !== null,
        );
      } catch {
        brought = [];
      }
      if (brought.length === 0) {
        status.textContent = "That is neither a saved file nor a code of this page. Nothing has changed.";
        return;
      }
      const later = (a, b) => ((a?.at ?? "") > (b?.at ?? "") ? a : b);
      for (const [key, value] of brought) {
        const name = key.slice("swim/".length);
        const own = store.read(name);
        if (typeof value !== "object" || value.at) {
          store.write(name, own && typeof own === "object" ? later(own, value) : value);
        } else {
          const both = { ...own, ...value };
          for (const question of Object.keys(own ?? {})) {
            both[question] = later(own[question], value[question] ?? own[question]);
          }
          store.write(name, both);
        }
      }
      status.textContent = `Taken over: ${brought.length} entries.`;
      fill();
      all(".recap").forEach((recap) => due(recap));
    }
    section.querySelector(".decode").addEventListener("click", () => take(code.value));
    const file = section.querySelector("input[type=file]");
    file.addEventListener("change", async () => {
      if (file.files[0]) take(await file.files[0].text());
      file.value = "";
    });
    section.querySelector(".clear").addEventListener("click", () => {
      if (!confirm("Forget all predictions and answers? This cannot be undone.")) return;
      keys().forEach((key) => localStorage.removeItem(key));
      status.textContent = "All forgotten.";
      fill();
      all(".recap").forEach((recap) => due(recap));
    });
    try {
      fill();
      all(".actions", section).forEach((actions) => (actions.hidden = false));
    } catch {
      status.textContent = "This browser keeps nothing for this page.";
    }
  }

  // A bar of a drawing is chosen as a button is pressed.
  function bars(form) {
    const field = form.querySelector("[data-bar]");
    if (!field) return;
    const drawn = all("svg g[tabindex]", form);
    const name = (bar) => bar.querySelector("title").textContent;
    const choose = (index) => {
      if (form.querySelector("fieldset").disabled) return;
      field.value = index;
      drawn.forEach((bar, other) => bar.setAttribute("aria-pressed", other === index));
      form.querySelector(".marked").textContent = `Marked: ${name(drawn[index])}`;
    };
    drawn.forEach((bar, index) => {
      bar.setAttribute("role", "button");
      bar.setAttribute("aria-label", name(bar));
      bar.setAttribute("aria-pressed", String(index) === field.value);
      bar.addEventListener("click", () => choose(index));
      bar.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(index);
      });
    });
  }

  // All parts of one quiz: those in the middle of a chapter, and the one that closes it.
  function quiz(sections) {
    const last = sections[sections.length - 1];
    const recap = last.matches(".recap");
    const forms = recap ? due(last) : sections.flatMap((section) => all("form.question", section));
    const end = last.querySelector(".quiz-end");
    const retry = last.querySelector(".retry");
    const stored = () => store.read(last.dataset.key) ?? {};
    // What comes back is asked anew each time the page is opened.
    const state = recap ? {} : stored();
    const save = () => store.write(last.dataset.key, recap ? { ...stored(), ...state } : state);
    const key = (form) => form.dataset.key;

    function finish(form) {
      freeze(form, true);
      form.querySelector(".answer").open = true;
      const done = forms.filter((f) => state[key(f)]?.done);
      if (done.length === forms.length) {
        const right = forms.filter((f) => state[key(f)].first).length;
        end.textContent = `${right} of ${forms.length} right at the first try.`;
        retry.hidden = right === forms.length;
      }
    }

    // The button that was pressed is gone: the keyboard goes on from what it brought.
    function answered(form) {
      finish(form);
      form.querySelector(".answer summary").focus({ preventScroll: true });
    }

    function begin(form) {
      freeze(form, false);
      say(form, "", "");
      form.querySelector(".give-up").hidden = true;
      form.querySelector(".answer").open = false;
    }

    for (const form of forms) {
      const mine = () => (state[key(form)] ??= {});
      if (mine().done) {
        if (mine().entered) enter(form, mine().entered);
        say(form, mine().solved ? "right" : "wrong", mine().solved ? "✓ Right." : "You looked.");
        finish(form);
      } else {
        begin(form);
      }
      bars(form);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const values = entered(form);
        if (!values) return;
        const { right, why } = judges[form.dataset.kind](form);
        mine().first ??= right; // the first try is the one that tells
        mine().entered = values;
        mine().at = new Date().toISOString();
        if (right) {
          Object.assign(mine(), { done: true, solved: true });
          say(form, "right", "✓ Right.");
          answered(form);
        } else {
          say(form, "wrong", `✗ ${why || "Not that."} Try again.`);
          form.querySelector(".give-up").hidden = false;
        }
        save();
      });
      form.querySelector(".give-up").addEventListener("click", () => {
        const at = new Date().toISOString();
        Object.assign(mine(), { done: true, solved: false, first: false, at });
        say(form, "wrong", "");
        answered(form);
        save();
      });
    }

    retry?.addEventListener("click", () => {
      const missed = forms.filter((form) => !state[key(form)].first);
      for (const form of missed) {
        delete state[key(form)];
        form.reset();
        all("[data-bar]", form).forEach((field) => (field.value = ""));
        all("[aria-pressed]", form).forEach((bar) => bar.setAttribute("aria-pressed", "false"));
        begin(form);
      }
      retry.hidden = true;
      end.textContent = "";
      save();
      missed[0]?.querySelector("input, select").focus();
    });
  }

  function quizzes() {
    const parts = {};
    for (const section of all(".quiz")) (parts[section.dataset.key] ??= []).push(section);
    Object.values(parts).forEach(quiz);
  }

  // Listings in several languages: a tab for each. The language that the reader chose last holds on every page.

  function tabs(listing, index, choosers) {
    const panels = all(":scope > .tab", listing).map((tab) => {
      const panel = document.createElement("div");
      // Out of the fold that they have without a script.
      panel.append(...[...tab.childNodes].filter((node) => node.nodeName !== "SUMMARY"));
      panel.className = "tab";
      panel.dataset.language = tab.dataset.language;
      tab.replaceWith(panel);
      return panel;
    });
    const list = element("div", "", { className: "tablist", role: "tablist" });
    list.setAttribute("aria-label", "Language of this listing");
    const buttons = panels.map((panel, place) => {
      const language = panel.dataset.language;
      const button = element("button", language, { type: "button", role: "tab" });
      button.id = `listing-${index}-tab-${place}`;
      panel.id = `listing-${index}-${place}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", button.id);
      button.setAttribute("aria-controls", panel.id);
      return button;
    });
    list.append(...buttons);
    listing.prepend(list);
    function show(language) {
      const chosen = Math.max(0, panels.findIndex((panel) => panel.dataset.language === language));
      panels.forEach((panel, place) => {
        panel.hidden = place !== chosen;
        buttons[place].setAttribute("aria-selected", place === chosen);
        buttons[place].tabIndex = place === chosen ? 0 : -1;
      });
    }
    choosers.push(show);
    function choose(place) {
      const button = buttons[(place + buttons.length) % buttons.length];
      const before = button.getBoundingClientRect().top;
      store.write("language", button.textContent);
      choosers.forEach((chooser) => chooser(button.textContent));
      // Listings further up may have become longer or shorter: what the reader looks at stays where it is.
      scrollBy(0, button.getBoundingClientRect().top - before);
      button.focus({ preventScroll: true });
      wide();
    }
    buttons.forEach((button, place) => {
      button.addEventListener("click", () => choose(place));
      button.addEventListener("keydown", (event) => {
        const end = buttons.length - 1;
        const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: end }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        choose(to);
      });
    });
    show(store.read("language"));
  }

  // Playgrounds: the simulator runs in the page, from wasm that stands in it. The figure that is there
  // at first was drawn by the same program; where anything is missing here, it stays.

  async function simulator() {
    const text = document.getElementById("play-wasm").textContent;
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer());
    const { memory, request, answer } = instance.exports;
    return (id, address) => {
      const asked = new TextEncoder().encode(`${id}\n${address}`);
      const at = request(asked.length);
      new Uint8Array(memory.buffer, at, asked.length).set(asked);
      const answered = answer(at, asked.length);
      const [bytes, start] = [Number(answered >> 32n), Number(answered & 0xffffffffn)];
      return new TextDecoder().decode(new Uint8Array(memory.buffer, start, bytes));
    };
  }

  function playground(figure, play) {
    const form = figure.querySelector(".controls");
    const played = figure.querySelector(".played");
    const said = figure.querySelector("[role=status]");
    const link = figure.querySelector(".link");
    const selects = all("select", form);
    const { sheet, first } = figure.dataset;
    const address = () => selects.reduce((a, s) => `${a}&${s.name}=${s.value}`, `sheet=${sheet}`);
    const number = (name) => played.querySelector(`[data-name=${name}] dd`);

    function choose(text) {
      const parts = new URLSearchParams(text);
      if (parts.get("sheet") !== sheet) return false;
      for (const select of selects) {
        const value = parts.get(select.name);
        if ([...select.options].some((option) => option.value === value)) select.value = value;
      }
      return true;
    }

    function show(kept) {
      const before = number("makespan").firstChild.textContent;
      const unfolded = played.querySelector("details").open;
      played.innerHTML = play(`${figure.id}-drawing`, address());
      played.querySelector("details").open = unfolded;
      link.href = `#${address()}`;
      const makespan = number("makespan");
      said.textContent = all(".numbers > div", played)
        .map((row) => `${row.firstChild.textContent}: ${row.lastChild.textContent}`)
        .join("; ");
      if (kept && before !== makespan.textContent) {
        makespan.append(element("small", `before: ${before}`));
      }
      if (kept) {
        try {
          history.replaceState(null, "", `#${address()}`);
        } catch {
          // Some browsers refuse it for files: the link below the controls is right all the same.
        }
      }
    }

    form.addEventListener("change", () => show(true));
    form.addEventListener("submit", (event) => event.preventDefault());
    figure.querySelector(".again").addEventListener("click", () => {
      choose(first);
      show(true);
    });
    addEventListener("hashchange", () => {
      if (choose(location.hash.slice(1))) show(false);
    });
    const linked = choose(location.hash.slice(1));
    if (linked || address() !== first) {
      // A browser that comes back to a page may keep what was chosen there.
      if (!linked) choose(first);
      show(false);
    }
    link.href = `#${address()}`;
    form.hidden = false;
    if (linked && closed(figure)) ask(closed(figure), figure);
    else if (linked) figure.scrollIntoView();
  }

  function playgrounds() {
    const figures = all("figure.play");
    if (figures.length === 0 || !document.getElementById("play-wasm")) return;
    simulator().then((play) => figures.forEach((figure) => playground(figure, play)));
  }

  // On paper folds are unfolded, except the tables that repeat a drawing; and answers stand at the back of
  // their chapter, on pages of their own.

  const moved = [];

  function chapterEnd(node) {
    const main = node.closest("main");
    let at = node;
    while (at.parentElement !== main) at = at.parentElement;
    while (at.nextElementSibling && !at.nextElementSibling.style.breakBefore) at = at.nextElementSibling;
    if (at.matches(".answers")) return at;
    const answers = element("section", "", { className: "answers" });
    answers.append(element("h2", "Answers"));
    at.after(answers);
    moved.push(() => answers.remove());
    return answers;
  }

  function unfold() {
    for (const details of all("main details:not(.timeline-more)")) {
      const { open } = details;
      details.open = true;
      moved.push(() => (details.open = open));
    }
    for (const details of all("main details:is(.reveal, .answer)")) {
      if (details.parentElement.closest("details")) continue;
      const answers = chapterEnd(details);
      const number = answers.querySelectorAll(":scope > .back").length + 1;
      const place = element("p", `Answer ${number} is at the back.`, { className: "at-back" });
      const back = element("div", "", { className: "back" });
      details.replaceWith(place);
      back.append(element("h3", `Answer ${number}`), details);
      answers.append(back);
      moved.push(() => place.replaceWith(details));
    }
  }

  function refold() {
    while (moved.length > 0) moved.pop()();
  }

  if (printing) {
    all(".gated").forEach((gate) => gate.classList.add("open"));
    unfold();
    return;
  }
  // The corner of a table is no header of anything.
  for (const corner of all("main th:empty")) corner.replaceWith(document.createElement("td"));
  gates();
  quizzes();
  const choosers = [];
  all(".listings").forEach((listing, index) => tabs(listing, index, choosers));
  all(".progress").forEach(progress);
  playgrounds();
  wide();
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", refold);
})();
