// Predictions: the answer that follows stays shut until the reader has committed to something.
(() => {
  "use strict";

  const { all, duration, enter, entered, freeze, say, store, wide } = swim;

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

  const reveal = (gate) => gate.querySelector("details.reveal");

  function opened(gate) {
    gate.classList.add("open");
    reveal(gate).open = true;
    wide();
    marked();
    // The button that was pressed is gone: the keyboard goes on from what it brought. Nothing moves.
    reveal(gate).querySelector("summary").focus({ preventScroll: true });
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
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      if (form.matches(".alone") && !still) gate.querySelector(".clock button")?.click();
    });
    // Where a prediction stands alone, a pointer's click on an answer commits to it. Keys go through the answers first.
    if (form.matches(".alone")) {
      let pointed = false;
      form.addEventListener("pointerdown", () => (pointed = true));
      form.addEventListener("keydown", () => (pointed = false));
      form.addEventListener("change", () => pointed && form.requestSubmit());
    }
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

  Object.assign(swim, { ask, closed, gates });
})();
