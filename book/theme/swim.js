// Timelines, predictions, quizzes and playgrounds. Without this script every page can be read: answers are folded, and the
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
  // So many streams a listener is told of one by one.
  const SPOKEN = 4;
  const printing = /\/print\.html$/.test(location.pathname);

  function element(name, text, attributes = {}) {
    const made = Object.assign(document.createElement(name), attributes);
    made.textContent = text;
    return made;
  }

  // Fields as the question's file has them: the page shows them in another order.
  const fieldsOf = (form) => all("select, input", form).sort((a, b) => (a.dataset.at ?? 0) - (b.dataset.at ?? 0));

  // What the reader entered, as a list; null where something is missing.
  function entered(form) {
    const radios = all("input[type=radio]", form);
    if (radios.length > 0) {
      const chosen = radios.find((radio) => radio.checked);
      return chosen ? [chosen.value] : null;
    }
    const fields = fieldsOf(form);
    // A slider that was not moved says nothing yet.
    if (fields.some((field) => field.type === "range" && !field.dataset.moved)) return null;
    return fields.every((field) => field.value.trim()) ? fields.map((field) => field.value) : null;
  }

  function enter(form, values) {
    const radios = all("input[type=radio]", form);
    if (radios.length > 0) {
      radios.forEach((radio) => (radio.checked = radio.value === values[0]));
    } else {
      fieldsOf(form).forEach((field, index) => (field.value = values[index] ?? ""));
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

  // To three digits, as the drawings and the text say it.
  function duration(ns) {
    if (ns < 1000) return `${ns} ns`;
    for (const [unit, name] of [[1e3, "µs"], [1e6, "ms"], [1e9, "s"]]) {
      for (const decimals of [2, 1, 0]) {
        const rounded = Math.floor((ns * 10 ** decimals + unit / 2) / unit);
        if (rounded < 1000) return `${(rounded / 10 ** decimals).toFixed(decimals)} ${name}`;
      }
    }
    return `${Math.round(ns / 1e9)} s`;
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

  // A bar of a drawing is chosen as an answer.
  function bars(form) {
    const field = form.querySelector("[data-bar]");
    const drawing = field && form.querySelector("svg");
    if (!drawing) return;
    const drawn = walk(drawing);
    const choose = (index) => {
      if (form.querySelector("fieldset").disabled) return;
      field.value = index;
      drawn.forEach((bar, other) => bar.setAttribute("aria-selected", other === index));
      form.querySelector(".marked").textContent = `Marked: ${named(drawn[index])}`;
    };
    drawn.forEach((bar, index) => {
      bar.setAttribute("aria-selected", String(index) === field.value);
      bar.addEventListener("click", () => choose(index));
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
        all("svg [aria-selected]", form).forEach((bar) => bar.setAttribute("aria-selected", "false"));
        begin(form);
      }
      retry.hidden = true;
      end.textContent = "";
      save();
      missed[0]?.querySelector("input:not([type=hidden]), select, svg [tabindex='0']").focus();
    });
  }

  function quizzes() {
    const parts = {};
    for (const section of all(".quiz")) (parts[section.dataset.key] ??= []).push(section);
    Object.values(parts).forEach(quiz);
  }

  // Timelines: one stop for the Tab key each, and arrow keys inside.

  const named = (bar) => bar.querySelector("title").textContent;

  // Some of `items` can be reached by Tab: the one that was last. `to` says where a key leads.
  function rove(items, to, leave) {
    items.forEach((item, index) => (item.tabIndex = index === 0 ? 0 : -1));
    const stop = (item) => items.forEach((other) => (other.tabIndex = other === item ? 0 : -1));
    for (const item of items) {
      item.addEventListener("focus", () => stop(item));
      item.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        if (event.key === "Escape" && leave) leave();
        else if (event.key === "Enter" || event.key === " ") item.dispatchEvent(new MouseEvent("click"));
        else {
          const next = to(event.key, item);
          if (!next) return;
          next.focus({ preventScroll: true });
          next.scrollIntoView({ block: "nearest", inline: "nearest" });
        }
        event.preventDefault();
      });
    }
  }

  // Makes a drawing a grid of its bars, and gives these in their order.
  function walk(drawing, leave) {
    const drawn = all(":scope > g", drawing).filter((bar) => bar.querySelector(":scope > title + rect"));
    const rows = [];
    let at;
    for (const bar of drawn) {
      const y = bar.querySelector("rect").getAttribute("y");
      if (y !== at) {
        const row = document.createElementNS(drawing.namespaceURI, "g");
        row.setAttribute("role", "row");
        bar.before(row);
        rows.push({ row, bars: [] });
        at = y;
      }
      const { row, bars } = rows[rows.length - 1];
      bar.setAttribute("role", "gridcell");
      row.append(bar);
      bars.push(bar);
    }
    if (drawn.length === 0) return drawn;
    drawing.setAttribute("role", "grid");
    drawing.closest(".timeline-scroll")?.removeAttribute("tabindex");
    const middle = (bar) => {
      const rect = bar.querySelector("rect");
      return Number(rect.getAttribute("x")) + Number(rect.getAttribute("width")) / 2;
    };
    const nearest = (bars, x) =>
      bars.reduce((a, b) => (Math.abs(middle(b) - x) < Math.abs(middle(a) - x) ? b : a));
    // Up and down keep to where the reader came from, though bars are longer and shorter.
    let column = null;
    const to = (key, bar) => {
      const row = rows.findIndex(({ bars }) => bars.includes(bar));
      const { bars } = rows[row];
      const place = bars.indexOf(bar);
      const step = { ArrowUp: -1, ArrowDown: 1 }[key];
      if (step) {
        column ??= middle(bar);
        return rows[row + step] ? nearest(rows[row + step].bars, column) : bar;
      }
      const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: bars.length - 1 }[key];
      if (next === undefined) return null;
      column = null;
      return bars[Math.min(Math.max(next, 0), bars.length - 1)];
    };
    rove(drawn, to, leave);
    return drawn;
  }

  // A figure: its lines, its bars, and what is said of them. All that is said was computed from its record.
  function figure(figure) {
    const drawing = figure.querySelector("svg.swim-timeline");
    const box = figure.querySelector(".instrument");
    const told = box.querySelector(".told");
    const hint = told.innerHTML;
    const { axis, steps, left, span, texts, charts, bars } = JSON.parse(box.querySelector("script").textContent);
    const lines = all("[data-line]", box);
    const line = (bar) => lines.find(({ dataset }) => dataset.line === `${bar[0]} ${bar[1]}`);
    const listed = (option) => {
      const [key, number] = option.dataset.source.split(" ");
      const listing = document.querySelector(`pre[data-source^="${key} "]`);
      const first = Number(listing?.dataset.source.split(" ")[1]);
      return listing?.querySelectorAll(".line")[number - first];
    };
    let chosen = null;
    let drawn = [];

    function light(lit, option, awaited = []) {
      drawing.classList.toggle("lighting", lit.length > 0);
      drawn.forEach((bar, index) => {
        bar.classList.toggle("lit", lit.includes(index));
        bar.classList.toggle("awaited", awaited.includes(index));
      });
      for (const other of lines) {
        other.classList.toggle("lit", other === option);
        listed(other)?.classList.toggle("lit", other === option);
      }
    }

    const where = (index) => {
      const option = line(bars[index]);
      const place = option ? `, line ${option.dataset.source.split(" ")[1]}` : "";
      return `${texts[bars[index][2]].split(",")[0]}, ${texts[bars[index][3]]}${place}`;
    };
    const instant = (name, ns) => {
      const made = element("span", `${name} `, { className: name });
      made.append(element("b", ns < 0 ? "before the start" : duration(ns)));
      return made;
    };

    // What is known of a bar, in place of what was said before.
    function tell(index) {
      const [, , what, row, count, timed] = bars[index];
      const option = line(bars[index]);
      const head = element("p", "");
      head.append(element("b", count > 1 ? `${count} × ${texts[what]}` : texts[what]), `, ${texts[row]}`);
      if (option) head.append(`, line ${option.dataset.source.split(" ")[1]}: `, option.querySelector("code").cloneNode(true));
      told.replaceChildren(head);
      timed.forEach(([issued, ready, start, end, waits], place) => {
        const instants = element("p", timed.length > 1 ? `${place ? "The last" : "The first"}: ` : "", { className: "instants" });
        if (issued !== null) instants.append(instant("issued", issued), ", ", instant("ready", ready), ", ");
        instants.append(instant("started", start), ", ", instant("ended", end), `, took ${duration(end - start)}`);
        told.append(instants);
        for (const [text, ns, by] of waits) {
          const after = by >= 0 && by !== index ? ` (${where(by)})` : "";
          told.append(element("p", `Waited ${duration(ns)} for ${texts[text]}${after}.`, { className: "wait" }));
        }
      });
      light([index], option, timed.flatMap(([, , , , waits]) => waits.map(([, , by]) => by)));
    }

    function tellLine(option) {
      const [of, place] = option.dataset.line.split(" ").map(Number);
      const lit = bars.flatMap(([chart, line], index) => (chart === of && line === place ? [index] : []));
      const counts = {};
      for (const index of lit) {
        const kind = `${texts[bars[index][2]].split(",")[0]}, ${texts[bars[index][3]]}`;
        counts[kind] = (counts[kind] ?? 0) + bars[index][4];
      }
      const head = element("p", `Line ${option.dataset.source.split(" ")[1]}, ${charts[of].title}: `);
      head.append(option.querySelector("code").cloneNode(true));
      const all = Object.entries(counts).map(([kind, count]) => `${count} × ${kind}`);
      told.replaceChildren(head, element("p", `${all.join("; ")}.`));
      light(lit, option);
    }

    function show(what) {
      if (what === null) {
        told.innerHTML = hint;
        light([], null);
      } else if (typeof what === "number") tell(what);
      else tellLine(what);
      for (const option of lines) option.setAttribute("aria-selected", option === chosen);
    }
    function choose(what) {
      chosen = what;
      show(what);
    }
    // The keyboard goes on from what was said.
    function leave() {
      choose(null);
      told.tabIndex = -1;
      told.focus({ preventScroll: true });
    }

    drawn = walk(drawing, leave);
    const react = (item, what) => {
      item.addEventListener("focus", () => choose(what));
      item.addEventListener("click", () => {
        choose(what);
        item.focus({ preventScroll: true });
      });
      item.addEventListener("pointerenter", () => show(what));
      item.addEventListener("pointerleave", () => show(chosen));
    };
    drawn.forEach(react);
    lines.forEach((option) => {
      react(option, option);
      const shown = listed(option);
      shown?.addEventListener("pointerenter", () => show(option));
      shown?.addEventListener("pointerleave", () => show(chosen));
      shown?.addEventListener("click", () => choose(option));
    });
    const lineTo = (key, option) => {
      const place = lines.indexOf(option);
      const next = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: lines.length - 1 }[key];
      return next === undefined ? null : lines[Math.min(Math.max(next, 0), lines.length - 1)];
    };
    rove(lines, lineTo, leave);

    // The host's way through the program.
    const scrubber = box.querySelector(".scrubber");
    const slider = scrubber.querySelector("input");
    const now = document.createElementNS(drawing.namespaceURI, "path");
    now.setAttribute("class", "now");
    const { width } = drawing.viewBox.baseVal;
    const edge = (bar) => Number(bar.querySelector("rect").getAttribute("y")) + 20;
    const bottom = Math.max(...drawn.map(edge));
    const most = charts.map(({ states }) => Math.max(1, ...states.flatMap(([, , , queues]) => queues.map(([a, b]) => a + b))));
    function move() {
      const at = Number(slider.value);
      const ns = Math.floor((axis * at) / steps);
      const x = (width * (left + (span * at) / steps)) / 100;
      now.setAttribute("d", `M${x} 0V${bottom}`);
      if (scrubber.open) drawing.append(now);
      else now.remove();
      scrubber.querySelector("output").textContent = duration(ns);
      const said = charts.map(({ title, end, states }, chart) => {
        const [, place, blocked, queues] = states.findLast(([step]) => step <= at);
        const option = lines.find(({ dataset }) => dataset.line === `${chart} ${place}`);
        for (const other of lines) {
          if (other.dataset.line.startsWith(`${chart} `)) other.classList.toggle("now", scrubber.open && other === option);
        }
        const item = all(".queues > li", scrubber)[chart];
        const number = option?.dataset.source.split(" ")[1];
        const host = option ? `the host is ${blocked ? "blocked" : "busy"} at line ${number}` : ns < end ? "the host is between these lines" : "all is done";
        item.querySelector(".host").textContent = host;
        const count = (waiting, running) => (waiting + running ? `${waiting} waiting, ${running} running` : "empty");
        const busy = queues.flatMap(([waiting, running], place) => {
          const queue = item.querySelectorAll(".queue")[place];
          queue.querySelector(".count").textContent = count(waiting, running);
          queue.querySelector(".bar").style.setProperty("--full", (waiting + running) / most[chart]);
          return waiting + running ? [[queue.firstChild.textContent, waiting, running]] : [];
        });
        // Who listens is told of every stream only where these are few.
        const sum = (of) => busy.reduce((all, queue) => all + queue[of], 0);
        const together = `${busy.length} streams together: ${count(sum(1), sum(2))}`;
        const each = busy.map(([name, waiting, running]) => `${name}${count(waiting, running)}`);
        const counts = busy.length > SPOKEN ? [together] : busy.length ? each : ["all streams are empty"];
        return `${title}: ${[host, ...counts].join("; ")}`;
      });
      slider.setAttribute("aria-valuetext", `${duration(ns)}. ${said.join(". ")}`);
    }
    slider.addEventListener("input", move);
    scrubber.addEventListener("toggle", move);
  }

  // In a playground a bar says what its tooltip says, where the reader can see it without a pointer too.
  function spoken(figure) {
    const place = figure.querySelector(".spoken");
    place.textContent = "";
    for (const bar of walk(figure.querySelector("svg.swim-timeline"))) {
      const say = () => (place.textContent = named(bar));
      ["focus", "click", "pointerenter"].forEach((event) => bar.addEventListener(event, say));
    }
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
      spoken(figure);
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
    const figures = all("figure.play:not(.editor)");
    const editors = all("figure.editor");
    const still = () => all("figure.play .controls").forEach((controls) => controls.remove());
    if (!document.getElementById("play-wasm")) return still();
    simulator().then((play) => {
      figures.forEach((figure) => playground(figure, play));
      // On the pages that have one stands its script.
      editors.forEach((figure) => window.swimEditor(figure, play, () => spoken(figure)));
    }, still);
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
    for (const details of all("main details:not(.timeline-more, .scrubber)")) {
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
    all(".instrument").forEach((box) => box.remove());
    unfold();
    return;
  }
  // mdBook turns the page with these keys. Where something has the focus, they are that thing's.
  document.querySelector("main").addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") event.stopPropagation();
  });
  // The corner of a table is no header of anything.
  for (const corner of all("main th:empty")) corner.replaceWith(document.createElement("td"));
  gates();
  quizzes();
  const choosers = [];
  all(".listings").forEach((listing, index) => tabs(listing, index, choosers));
  all("figure.timeline").forEach(figure);
  all("figure.play").forEach(spoken);
  all(".progress").forEach(progress);
  playgrounds();
  wide();
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", refold);
})();
