// What the scripts of the pages share: storage, elements, how times are said, and keys that walk through a list.
// Without any script every page can be read: answers are folded, and the reader unfolds them. Nothing leaves the browser;
// what the reader answered is kept in it. Each feature has a file, each takes what it uses from `swim` and puts in it
// what others use; `start.js` comes last and looks for what the page has.
window.swim = {};
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

  // One of `items` can be reached by Tab: the one that was last. `to` says where a key leads. There may be thousands of them, so
  // what holds them all listens for them.
  function rove(holder, items, to, leave) {
    let last = items[0];
    items.forEach((item) => (item.tabIndex = item === last ? 0 : -1));
    const known = new Set(items);
    const of = (event) => event.composedPath().find((node) => known.has(node));
    holder.addEventListener("focusin", (event) => {
      const item = of(event);
      if (!item) return;
      last.tabIndex = -1;
      item.tabIndex = 0;
      last = item;
    });
    holder.addEventListener("keydown", (event) => {
      const item = of(event);
      if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Escape" && leave) leave();
      else if (event.key === "Enter" || event.key === " ") item.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      else {
        const next = to(event.key, item);
        if (!next) return;
        next.focus({ preventScroll: true });
        next.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
      event.preventDefault();
    });
  }

  Object.assign(swim, { all, duration, element, printing, rove, store, wide });
})();
// Drawings of timelines: one stop for the Tab key each, and arrow keys inside.
(() => {
  "use strict";

  const { narrow, rove } = swim;

  // A bar begins with its name and its rectangle. There may be thousands of them, so nothing is searched for.
  const isBar = (node) => node.localName === "g" && node.children[0]?.localName === "title" && node.children[1]?.localName === "rect";
  const named = (bar) => bar.firstElementChild.textContent;
  const rectangle = (bar) => bar.children[1];

  // Makes a drawing a grid of its bars, and gives these in their order. One that is not on the page yet has its place given.
  function walk(drawing, leave, place) {
    narrow?.(drawing, place);
    const drawn = [...drawing.children].filter(isBar);
    const rows = [];
    let at;
    for (const bar of drawn) {
      const y = rectangle(bar).getAttribute("y");
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
      const rect = rectangle(bar);
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
    rove(drawing, drawn, to, leave);
    return drawn;
  }

  // In a playground a bar says what its tooltip says, where the reader can see it without a pointer too.
  // What was made for it may not be on the page yet.
  function spoken(figure, made = figure) {
    const place = figure.querySelector(".spoken");
    const drawing = made.querySelector("svg.swim-timeline");
    place.textContent = "";
    walk(drawing, undefined, figure.querySelector(".played"));
    for (const event of ["focusin", "click", "pointerover"]) {
      drawing.addEventListener(event, ({ target }) => {
        const bar = target.closest("[role=gridcell]");
        if (bar) place.textContent = named(bar);
      });
    }
  }

  Object.assign(swim, { named, spoken, walk });
})();
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
// The figure of a trace: its bars say what they are, and it is zoomed into. `detail` draws a part anew, where that can be done;
// it answers through `redraw`. It stands on the page that reads traces and in the files that `--html` writes.
window.swimTraced = (figure, detail) => {
  "use strict";

  const { all, named, narrow, walk, zoom } = swim;

  const HINT = "Choose a bar: with the pointer, or with Tab and the arrow keys. Zoom with + and −, or with a pinch; drag with Shift to measure.";

  const drawing = figure.querySelector("svg");
  const told = figure.querySelector(".told");
  const known = Object.fromEntries(["axis", "left", "span"].map((name) => [name, Number(figure.dataset[name])]));
  // Files that stand alone have a single size.
  const { axis, left, span } = { ...known, ...narrow?.(drawing) };
  const number = (node, name) => Number(node.getAttribute(name));
  const bottom = () => Math.max(...all("rect[fill-opacity='.06']", drawing).map((row) => number(row, "y") + number(row, "height")));
  const edges = (item) => {
    const rect = item.querySelector("rect");
    return [number(rect, "x"), number(rect, "x") + number(rect, "width")];
  };
  const about = () => {
    const item = document.activeElement?.closest("[role=gridcell]");
    return item && drawing.contains(item) ? view.share(edges(item).reduce((a, b) => (a + b) / 2)) : NaN;
  };
  // A bar says what its tooltip says, where it can be seen without a pointer too.
  function speak() {
    told.textContent = HINT;
    walk(drawing).forEach((item) => {
      const say = () => (told.textContent = named(item));
      ["focus", "click", "pointerenter"].forEach((event) => item.addEventListener(event, say));
      item.addEventListener("focus", () => view.reveal(...edges(item).map(view.share)));
    });
  }
  const view = zoom(figure, { drawing, axis, left, span, bottom, about, detail });
  speak();
  return {
    axis,
    // What was drawn of the part between two shares of the axis.
    redraw(text, from, to) {
      const had = drawing.contains(document.activeElement);
      const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("svg");
      narrow?.(fresh);
      view.replace(fresh, from, to);
      speak();
      if (had) (drawing.querySelector("[tabindex='0']") ?? figure.querySelector("button")).focus({ preventScroll: true });
    },
  };
};
swim.all("figure.traced").forEach((figure) => window.swimTraced(figure));
