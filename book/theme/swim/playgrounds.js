// Playgrounds: the simulator runs in the page, from wasm that stands in it. The figure that is there
// at first was drawn by the same program; where anything is missing here, it stays.
(() => {
  "use strict";

  const { all, ask, closed, element, narrow, spoken } = swim;

  async function simulator() {
    const text = document.getElementById("play-wasm").textContent;
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer());
    const { memory, request, begin, finish } = instance.exports;
    let turns = 0;
    // Simulates, and gives what draws it: with thousands of calls each takes its time. With the next request the wasm
    // forgets the run.
    return function simulate(id, address) {
      const asked = new TextEncoder().encode(`${id}\n${address}`);
      const at = request(asked.length);
      new Uint8Array(memory.buffer, at, asked.length).set(asked);
      const run = begin(at, asked.length);
      const turn = (turns += 1);
      return () => {
        if (turn !== turns) return simulate(id, address)();
        const answered = finish(run);
        const [bytes, start] = [Number(answered >> 32n), Number(answered & 0xffffffffn)];
        return new TextDecoder().decode(new Uint8Array(memory.buffer, start, bytes));
      };
    };
  }

  function playground(figure, simulate) {
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
      played.innerHTML = simulate(`${figure.id}-drawing`, address())();
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
    simulator().then((simulate) => {
      figures.forEach((figure) => playground(figure, simulate));
      // On the pages that have one stands its script.
      editors.forEach((figure) => {
        const fit = (made) => narrow(made.querySelector("svg.swim-timeline"), figure.querySelector(".played"));
        window.swimEditor(figure, simulate, [fit, (made) => spoken(figure, made)]);
      });
    }, still);
  }

  Object.assign(swim, { playgrounds });
})();
