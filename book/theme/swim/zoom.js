// Zoom and pan of a figure: what lies between its margins is stretched along the axis, and its labels stay where they are.
// A part is named in the address as `--window` names it, `#the-figure:1.2ms..1.6ms`, so it can be handed on.
(() => {
  "use strict";

  const { all, duration, element } = swim;

  // As near as a reader gets where what is drawn stays the same: a thousandth of the axis fills the figure.
  const NEAREST = 1 / 1000;
  // Where each part is drawn anew it may be this short, in ns.
  const SHORTEST = 1000;
  // What one press of a key or a button makes of the part in view, and what one step along is of it.
  const FACTOR = 2;
  const STEP = 1 / 4;
  // A pointer that has moved less has clicked, in px.
  const CLICK = 4;
  // The address follows when nothing has moved for so long, in ms.
  const REST = 300;

  const between = (low, value, high) => Math.min(Math.max(value, low), high);

  // Instants of the axis that are round and not too many, with what stands at them.
  function ticks(from, to) {
    const rough = (to - from) / 6;
    const ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 5, 10].find((times) => times * ten >= rough);
    const [unit, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([unit]) => to >= unit) ?? [1, "ns"];
    const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
    const made = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      made.push([at, at === 0 ? "0" : `${(at / unit).toFixed(decimals)} ${name}`]);
    }
    return made;
  }

  // `about` is the instant that keys and buttons keep
  // where it is, as a share of the axis; `bottom` gives the end of the bars. Where `detail` is given, it is asked to draw
  // the part that is in view once nothing moves, and answers through `replace`.
  function zoom(figure, { drawing, axis, left, span, bottom, about, detail }) {
    const nearest = detail ? Math.min(1, SHORTEST / axis) : NEAREST;
    const make = (name, attributes) => {
      const made = document.createElementNS(drawing.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return made;
    };
    const { width } = drawing.viewBox.baseVal;
    const [begin, room] = [(width * left) / 100, (width * span) / 100];
    let view = [0, 1];
    // What is drawn, as `view`: all of the axis, or a part that was drawn anew.
    let drawn = [0, 1];
    let parts = null;
    const isAll = ([from, to]) => from === 0 && to === 1;

    // What is stretched is put together when it is first needed.
    function take() {
      if (parts || !drawing.checkVisibility()) return parts !== null;
      const inside = (node) => {
        const { x, y, width } = node.getBBox();
        return x >= begin - 2 && x + width <= begin + room + 2 && y < bottom();
      };
      const nodes = [...drawing.children].filter((node) => /^(g|path|rect)$/.test(node.tagName) && inside(node));
      const marks = all(":scope > text[text-anchor=middle]", drawing).filter((text) => Number(text.getAttribute("y")) > bottom());
      const clip = make("clipPath", { id: `${drawing.id}-part` });
      clip.append(make("rect", { x: begin, y: 0, width: room, height: bottom() + 4 }));
      const frame = make("g", { "clip-path": `url(#${drawing.id}-part)`, role: "presentation" });
      const stretched = make("g", { class: "stretched", role: "presentation" });
      const focused = document.activeElement;
      nodes[0]?.before(clip, frame);
      frame.append(stretched);
      stretched.append(...nodes);
      // What is moved loses the focus.
      if (stretched.contains(focused)) focused.focus({ preventScroll: true });
      // Letters and signs keep their shape.
      const shapes = all("text, .flaw rect[rx='3']", stretched).map((node) => {
        const [x, width] = ["x", "width"].map((name) => Number(node.getAttribute(name) ?? 0));
        return [node, x + width / 2];
      });
      // So do hatchings. The signs below the axis have patterns of their own.
      const patterns = all("pattern", drawing).map((node) => {
        const copy = node.cloneNode(true);
        copy.id += "-part";
        node.after(copy);
        all(`[fill="url(#${node.id})"]`, stretched).forEach((bar) => bar.setAttribute("fill", `url(#${copy.id})`));
        return [copy, node.getAttribute("patternTransform") ?? ""];
      });
      parts = { stretched, shapes, patterns, marks, ticks: [] };
      return true;
    }

    function draw() {
      const [from, to] = view;
      const whole = isWhole();
      // What is drawn fills the room: how often it is stretched, and where its beginning comes to lie.
      const times = (drawn[1] - drawn[0]) / (to - from);
      const first = begin + (room * (drawn[0] - from)) / (to - from);
      drawing.classList.toggle("zoomed", !whole);
      parts.stretched.setAttribute("transform", `translate(${first - times * begin} 0) scale(${times} 1)`);
      for (const [node, x] of parts.shapes) {
        node.setAttribute("transform", `translate(${x - x / times} 0) scale(${1 / times} 1)`);
      }
      for (const [node, before] of parts.patterns) {
        node.setAttribute("patternTransform", `scale(${1 / times} 1) ${before}`);
      }
      parts.ticks.forEach((tick) => tick.remove());
      parts.marks.forEach((mark) => mark.toggleAttribute("display", false));
      parts.ticks = [];
      if (!whole || !isAll(drawn)) {
        const { y = bottom() + 14 } = { y: parts.marks[0]?.getAttribute("y") };
        parts.marks.forEach((mark) => mark.setAttribute("display", "none"));
        parts.ticks = ticks(from * axis, to * axis).map(([at, text]) => {
          const x = begin + (room * (at / axis - from)) / (to - from);
          const tick = make("text", { x, y, "font-size": 11, "text-anchor": "middle" });
          tick.textContent = text;
          return tick;
        });
        drawing.append(...parts.ticks);
      }
      buttons.forEach(([button, works]) => (button.disabled = !works()));
      said.textContent = whole ? "All of the run" : `${duration(Math.round(from * axis))} to ${duration(Math.round(to * axis))}`;
      clearTimeout(rest);
      rest = setTimeout(() => {
        address();
        if (detail && (drawn[0] !== from || drawn[1] !== to)) detail(from, to);
      }, REST);
    }

    // Another drawing of the same rows, of the part from one share of the axis to another.
    function replace(fresh, from, to) {
      for (const name of ["viewBox", "height"]) {
        if (fresh.hasAttribute(name)) drawing.setAttribute(name, fresh.getAttribute(name));
      }
      drawing.replaceChildren(...fresh.childNodes);
      [drawn, parts, ruler] = [[from, to], null, null];
      if (take()) draw();
    }

    let rest = 0;
    const inMs = (share) => `${Number(((share * axis) / 1e6).toPrecision(6))}ms`;
    function address() {
      const mine = location.hash.startsWith(`#${figure.id}:`);
      const [from, to] = view;
      const part = from === 0 && to === 1 ? "" : `:${inMs(from)}..${inMs(to)}`;
      if (!part && !mine) return;
      try {
        history.replaceState(history.state, "", `#${figure.id}${part}`);
      } catch {
        // Some browsers forbid it in a file: then the address stays.
      }
    }

    function look(from, to) {
      if (!take()) return;
      const wide = between(nearest, to - from, 1);
      const start = between(0, from, 1 - wide);
      view = [start, start + wide];
      draw();
    }
    // `at` stays where it is.
    function scale(times, at) {
      const [from, to] = view;
      const wide = between(nearest, (to - from) / times, 1);
      const start = at - ((at - from) / (to - from)) * wide;
      look(start, start + wide);
    }
    const pan = (share) => look(view[0] + share, view[1] + share);
    const middle = () => {
      const at = about();
      return at >= view[0] && at <= view[1] ? at : (view[0] + view[1]) / 2;
    };
    const isWhole = () => isAll(view);

    const bar = element("span", "", { className: "zoom" });
    const said = element("output", "", { className: "view" });
    const button = (text, name, act, works) => {
      const made = element("button", text, { type: "button", tabIndex: -1, title: name });
      made.setAttribute("aria-label", name);
      made.addEventListener("click", act);
      bar.append(made);
      return [made, works];
    };
    const buttons = [
      button("+", "Zoom in", () => scale(FACTOR, middle()), () => view[1] - view[0] > nearest),
      button("−", "Zoom out", () => scale(1 / FACTOR, middle()), () => !isWhole()),
    ];
    buttons[1][0].disabled = true;
    bar.append(said);
    figure.querySelector(".clock").append(bar);

    figure.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || !event.target.closest(".drawn")) return;
      const wide = view[1] - view[0];
      const along = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
      if (event.key === "+" || event.key === "=") scale(FACTOR, middle());
      else if (event.key === "-") scale(1 / FACTOR, middle());
      else if (event.key === "0") look(0, 1);
      else if (event.shiftKey && along && !isWhole()) pan(along * wide);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }, true);

    const share = (clientX) => {
      const box = drawing.getBoundingClientRect();
      const x = ((clientX - box.left) / box.width) * width;
      return view[0] + between(0, (x - begin) / room, 1) * (view[1] - view[0]);
    };
    const ofView = (px) => ((px / drawing.getBoundingClientRect().width) * width) / room;
    // A pinch of a touch pad is a wheel with Ctrl. A wheel alone moves the page.
    drawing.addEventListener("wheel", (event) => {
      const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
      if (event.ctrlKey) scale(Math.exp(-event.deltaY / 200), share(event.clientX));
      else if (!isWhole() && Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
        pan(ofView(sideways) * (view[1] - view[0]));
      } else return;
      event.preventDefault();
    }, { passive: false });

    // One pointer moves the part that is in view, two stretch it; with Shift, one measures.
    const pointers = new Map();
    let ruler = null;
    function measure(a, b) {
      ruler?.remove();
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      if (!take()) return;
      const at = (share) => begin + (room * (share - drawn[0])) / (drawn[1] - drawn[0]);
      ruler = make("rect", { class: "ruler", x: at(from), y: 0, width: at(to) - at(from), height: bottom() });
      parts.stretched.append(ruler);
      const [start, end] = [from, to].map((share) => Math.round(share * axis));
      figure.querySelector(".told").replaceChildren(
        element("p", `From ${duration(start)} to ${duration(end)}: ${duration(end - start)}.`),
      );
    }
    drawing.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { clientX, pointerType, shiftKey } = event;
      if (pointerType !== "touch" && !shiftKey && isWhole()) return;
      pointers.set(event.pointerId, { x: clientX, moved: 0, from: shiftKey ? share(clientX) : null });
      if (shiftKey) event.preventDefault();
    });
    drawing.addEventListener("pointermove", (event) => {
      const pointer = pointers.get(event.pointerId);
      if (!pointer) return;
      const before = [...pointers.values()].map(({ x }) => x);
      const moved = event.clientX - pointer.x;
      pointer.moved += Math.abs(moved);
      if (pointer.moved < CLICK) return;
      if (pointer.from !== null) return measure(pointer.from, share(event.clientX));
      pointer.x = event.clientX;
      if (pointers.size === 2) {
        const after = [...pointers.values()].map(({ x }) => x);
        const apart = ([a, b]) => Math.max(1, Math.abs(a - b));
        scale(apart(after) / apart(before), share((after[0] + after[1]) / 2));
      } else if (event.pointerType !== "touch") {
        drawing.setPointerCapture(event.pointerId);
        pan(-ofView(moved) * (view[1] - view[0]));
      }
    });
    for (const end of ["pointerup", "pointercancel"]) {
      drawing.addEventListener(end, ({ pointerId }) => pointers.delete(pointerId));
    }

    addEventListener("beforeprint", () => isWhole() || look(0, 1));
    const asked = decodeURIComponent(location.hash).match(/^#(.+):([\d.e-]+)ms\.\.([\d.e-]+)ms$/);
    if (asked?.[1] === figure.id) {
      const show = () => look((asked[2] * 1e6) / axis, (asked[3] * 1e6) / axis);
      // Behind an open question it is shown when that is answered.
      const shown = new IntersectionObserver((entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        shown.disconnect();
        show();
      });
      shown.observe(figure);
      if (drawing.checkVisibility()) figure.scrollIntoView({ block: "center" });
    }

    return {
      // Where places of the whole axis are drawn.
      layer: () => parts?.stretched ?? drawing,
      replace,
      // The instant of a place in what is drawn, as a share of the axis.
      share: (x) => drawn[0] + ((x - begin) / room) * (drawn[1] - drawn[0]),
      // So that what the keyboard is at can be seen.
      reveal(from, to) {
        if (isWhole() || (to >= view[0] && from <= view[1])) return;
        const wide = view[1] - view[0];
        look((from + to - wide) / 2, (from + to + wide) / 2);
      },
      forget() {
        ruler?.remove();
        ruler = null;
      },
    };
  }

  Object.assign(swim, { zoom });
})();
