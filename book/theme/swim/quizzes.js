// Quizzes: each question is judged at once; a wrong choice says why, and may be tried again.
(() => {
  "use strict";

  const { all, enter, entered, freeze, named, say, store, walk } = swim;

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

  Object.assign(swim, { due, quizzes });
})();
