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
    all("button", form).forEach((button) => (button.hidden = frozen));
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
    slider.addEventListener("input", move);
    move();
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
        // Behind a tie of two comes place 3, whatever number it was given.
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
      form.querySelector(".answer").hidden = false;
    }
  }

  function predictions() {
    let form = null;
    for (const next of all("form.predict, details.reveal")) {
      if (next.matches("form")) {
        form = next;
      } else if (form) {
        prediction(form, next);
        form = null;
      }
    }
  }

  function prediction(form, reveal) {
    const saved = store.read(form.dataset.key);
    if (saved) {
      enter(form, saved.entered);
      committed(form);
      return;
    }
    freeze(form, false);
    follow(form);
    all(".answer", form).forEach((whys) => (whys.hidden = true));
    const gate = element("p", "What happened shows when you have committed. ", { className: "gate" });
    const skip = element("button", "Show it without", { type: "button", className: "quiet" });
    gate.append(skip);
    reveal.before(gate);
    reveal.hidden = true;
    const show = () => {
      gate.remove();
      reveal.hidden = false;
      reveal.open = true;
    };
    skip.addEventListener("click", show);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const values = entered(form);
      if (!values) return;
      store.write(form.dataset.key, { entered: values, at: new Date().toISOString() });
      committed(form);
      show();
    });
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
    section.querySelector(".export").addEventListener("click", () => {
      const kept = Object.fromEntries(keys().map((key) => [key, JSON.parse(localStorage[key])]));
      const text = JSON.stringify(kept, null, 2);
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      element("a", "", { href: url, download: "swimming-in-streams.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
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
      section.querySelector(".actions").hidden = false;
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

  function quiz(section) {
    const recap = section.matches(".recap");
    const forms = recap ? due(section) : all("form.question", section);
    const retry = section.querySelector(".retry");
    const stored = () => store.read(section.dataset.key) ?? {};
    // What comes back is asked anew each time the page is opened.
    const state = recap ? {} : stored();
    const save = () => store.write(section.dataset.key, recap ? { ...stored(), ...state } : state);
    const key = (form) => form.dataset.key;

    function finish(form) {
      freeze(form, true);
      form.querySelector(".answer").open = true;
      form.querySelector(".answer").hidden = false;
      const done = forms.filter((f) => state[key(f)]?.done);
      if (done.length === forms.length) {
        const right = forms.filter((f) => state[key(f)].first).length;
        section.querySelector(".quiz-end").textContent =
          `${right} of ${forms.length} right at the first try.`;
        retry.hidden = right === forms.length;
      }
    }

    function begin(form) {
      freeze(form, false);
      say(form, "", "");
      form.querySelector(".give-up").hidden = true;
      form.querySelector(".answer").open = false;
      form.querySelector(".answer").hidden = true;
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
          finish(form);
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
        finish(form);
        save();
      });
    }

    retry.addEventListener("click", () => {
      const missed = forms.filter((form) => !state[key(form)].first);
      for (const form of missed) {
        delete state[key(form)];
        form.reset();
        all("[data-bar]", form).forEach((field) => (field.value = ""));
        all("[aria-pressed]", form).forEach((bar) => bar.setAttribute("aria-pressed", "false"));
        begin(form);
      }
      retry.hidden = true;
      section.querySelector(".quiz-end").textContent = "";
      save();
      missed[0]?.querySelector("input, select").focus();
    });
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
      const before = number("makespan").textContent;
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
    if (linked) figure.scrollIntoView();
  }

  function playgrounds() {
    const figures = all("figure.play");
    if (figures.length === 0 || !document.getElementById("play-wasm")) return;
    simulator().then((play) => figures.forEach((figure) => playground(figure, play)));
  }

  // On paper everything is unfolded, except the tables that repeat a drawing.
  function unfold() {
    for (const details of all("details:not(.timeline-more)")) {
      details.dataset.folded = `${details.open}/${details.hidden}`;
      details.open = true;
      details.hidden = false;
    }
  }

  function refold() {
    for (const details of all("details[data-folded]")) {
      const [open, hidden] = details.dataset.folded.split("/");
      details.open = open === "true";
      details.hidden = hidden === "true";
      delete details.dataset.folded;
    }
  }

  if (printing) {
    unfold();
    return;
  }
  predictions();
  all(".quiz").forEach(quiz);
  all(".progress").forEach(progress);
  playgrounds();
  // What is wider than the page is scrolled, and has to be for whoever has no mouse.
  for (const code of all("pre > code")) if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", refold);
})();
