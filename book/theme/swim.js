// Predictions and quizzes. Without this script every page can be read: answers are folded, and the
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

  function committed(form) {
    freeze(form, true);
    if (form.dataset.form === "ranking") {
      let right = 0;
      const selects = all("select", form);
      for (const select of selects) {
        const hit = select.value === select.dataset.place;
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

  function quiz(section) {
    const forms = all("form.question", section);
    const retry = section.querySelector(".retry");
    const state = store.read(section.dataset.key) ?? {};
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
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const values = entered(form);
        if (!values) return;
        const { right, why } = judges[form.dataset.kind](form);
        mine().first ??= right; // the first try is the one that tells
        mine().entered = values;
        if (right) {
          Object.assign(mine(), { done: true, solved: true });
          say(form, "right", "✓ Right.");
          finish(form);
        } else {
          say(form, "wrong", `✗ ${why || "Not that."} Try again.`);
          form.querySelector(".give-up").hidden = false;
        }
        store.write(section.dataset.key, state);
      });
      form.querySelector(".give-up").addEventListener("click", () => {
        Object.assign(mine(), { done: true, solved: false, first: false });
        say(form, "wrong", "");
        finish(form);
        store.write(section.dataset.key, state);
      });
    }

    retry.addEventListener("click", () => {
      const missed = forms.filter((form) => !state[key(form)].first);
      for (const form of missed) {
        delete state[key(form)];
        form.reset();
        begin(form);
      }
      retry.hidden = true;
      section.querySelector(".quiz-end").textContent = "";
      store.write(section.dataset.key, state);
      missed[0]?.querySelector("input, select").focus();
    });
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
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", refold);
})();
