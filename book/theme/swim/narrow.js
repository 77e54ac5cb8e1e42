// Drawings on a phone, and beside a program. Those in the pages are 720 units wide and would have to be scrolled: here the axis is drawn anew, with
// the letters as large as they were, so that all of a run is in view. Shares of the axis stand in the summary and the table.
(() => {
  "use strict";

  // The width of such a drawing, and its margins, in units: a phone shows about a pixel for each. On the right half of the
  // slider's thumb has its place.
  const WIDTH = 340;
  const MARGIN = 6;
  const RIGHT = 10;
  // The legend below: the height of a row, and the room of a sign and of what comes between two.
  const ROW = 20;
  const SIGN = 30;
  const GAP = 14;
  // The bend of an arrow, and the least length of a bar that has letters or an outline.
  const BEND = 6;
  const ROOM = 4;
  const OUTLINED = 3;

  // The least width of a drawing that is not, in px: that of the style sheet.
  const FULL = 560;

  const phone = matchMedia("(max-width: 620px)");
  // The widths of the places beside programs. To ask for one once bars are new would lay out all of them before they are
  // drawn anew.
  const widths = new Map();
  const places = new ResizeObserver((all) => all.forEach(({ target, contentRect }) => widths.set(target, contentRect.width)));
  function hasRoom(place) {
    if (phone.matches || !place) return !phone.matches;
    if (!widths.has(place)) {
      widths.set(place, place.clientWidth);
      places.observe(place);
    }
    return widths.get(place) >= FULL;
  }
  const pen = document.createElement("canvas").getContext("2d");
  const number = (node, name) => Number(node.getAttribute(name));
  // Of letters that may not be on the page yet.
  function length(text) {
    const family = text.ownerSVGElement?.getAttribute("font-family") ?? "sans-serif";
    pen.font = `${text.getAttribute("font-weight") ?? 400} ${text.getAttribute("font-size")}px ${family}`;
    return pen.measureText(text.textContent).width;
  }
  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  };

  // Draws anew what was drawn for a wide screen, if its place here is narrow. Gives where the axis begins and how long it is, in
  // percent of the width; null where the drawing stays as it is.
  function narrow(drawing, beside = drawing.closest(".played")) {
    if (drawing.classList.contains("narrow")) return axis(drawing);
    const { width, height } = drawing.viewBox.baseVal;
    const rows = [...drawing.children].filter((node) => node.matches("rect[fill-opacity]"));
    if (width <= WIDTH || rows.length === 0 || hasRoom(beside)) return null;
    const left = number(rows[0], "x");
    const times = (WIDTH - left - RIGHT) / Math.max(...rows.map((row) => number(row, "width")));
    const along = (x) => left + (x - left) * times;

    const stretch = (rect) => {
      const x = number(rect, "x");
      const [from, to] = [along(x), along(x + number(rect, "width"))];
      set(rect, { x: from, width: Math.max(to - from, 0.75) });
      return [from, to];
    };
    const flaw = (group) => {
      const sign = group.querySelector("rect[rx='3']");
      [...group.querySelectorAll("rect:not([rx='3'])")].forEach(stretch);
      const path = group.querySelector("path");
      path?.setAttribute("d", path.getAttribute("d").replace(/([ML])([\d.]+)/g, (_, letter, x) => `${letter}${along(Number(x))}`));
      const wide = number(sign, "width");
      const middle = Math.min(along(number(sign, "x") + wide / 2), WIDTH - RIGHT - wide / 2);
      set(sign, { x: middle - wide / 2 });
      set(group.querySelector("text"), { x: middle });
    };
    const bar = (group) => {
      const rect = group.querySelector("rect");
      const [from, to] = stretch(rect);
      if (to - from < OUTLINED) set(rect, { "stroke-width": 0.25 });
      const text = group.querySelector("text");
      if (text && length(text) + ROOM > to - from) text.remove();
      else if (text) set(text, { x: (from + to) / 2 });
    };

    const texts = [];
    const legend = [];
    for (const node of [...drawing.children]) {
      const previous = node.previousElementSibling;
      if (node.localName === "g") (node.matches(".flaw") ? flaw : bar)(node);
      else if (node.matches("rect[fill-opacity]")) stretch(node);
      else if (node.matches("text") && previous && legend.some(([sign]) => sign === previous)) legend[legend.length - 1].push(node);
      else if (node.matches("text")) texts.push(node);
      else if (node.matches("rect") || (node.matches("path") && /H/.test(node.getAttribute("d")))) legend.push([node]);
      else if (node.matches("path[marker-end]")) {
        const [x1, y1, , , , , x2, y2] = node.getAttribute("d").match(/[\d.]+/g).map(Number);
        const [from, to] = [along(x1), along(x2)];
        set(node, { d: `M${from} ${y1}C${from + BEND} ${y1} ${to - BEND} ${y2} ${to} ${y2}` });
      } else if (node.matches("path")) set(node, { d: node.getAttribute("d").replace(/^M[\d.]+/, (d) => `M${along(Number(d.slice(1)))}`) });
    }

    const is = (text, anchor) => text.getAttribute("text-anchor") === anchor;
    const atEnd = texts.filter((text) => is(text, "end") && number(text, "x") > left);
    const makespans = atEnd.filter((text) => text.hasAttribute("font-weight"));
    atEnd.filter((text) => !makespans.includes(text)).forEach((text) => text.remove());
    makespans.forEach((text) => set(text, { x: WIDTH - RIGHT }));
    texts.filter((text) => text.matches(".h")).forEach((title, chart) => {
      const room = WIDTH - 2 * MARGIN - RIGHT - length(makespans[chart]);
      const size = number(title, "font-size");
      if (length(title) > room) set(title, { "font-size": Math.max(9, (size * room) / length(title)) });
      if (length(title) > room) set(title, { textLength: room, lengthAdjust: "spacingAndGlyphs" });
    });
    // Of the instants on the axis each second or third stays, as many as have room.
    const ticks = texts.filter((text) => is(text, "middle"));
    const place = (tick) => Math.min(along(number(tick, "x")), WIDTH - length(tick) / 2);
    const ends = (tick) => [place(tick) - length(tick) / 2, place(tick) + length(tick) / 2];
    const every = (step) => ticks.filter((_, index) => index % step === 0);
    const fit = (some) => some.every((tick, index) => index === 0 || ends(some[index - 1])[1] + ROOM <= ends(tick)[0]);
    const step = ticks.findIndex((_, step) => step > 0 && fit(every(step)));
    const kept = every(step === -1 ? ticks.length : step);
    kept.map((tick) => [tick, place(tick)]).forEach(([tick, x]) => set(tick, { x }));
    ticks.filter((tick) => !kept.includes(tick)).forEach((tick) => tick.remove());

    const top = (sign) => number(sign, "y") || Number(sign.getAttribute("d")?.match(/[\d.]+/g)[1]) - ROW / 2 + 2;
    const first = legend.length > 0 ? top(legend[0][0]) : 0;
    const last = legend.length > 0 ? top(legend[legend.length - 1][0]) : 0;
    let [x, y] = [MARGIN, first];
    for (const [sign, text] of legend) {
      const wide = SIGN + length(text);
      if (x > MARGIN && (x + wide > WIDTH || !sign.matches("rect"))) [x, y] = [MARGIN, y + ROW];
      const down = y - top(sign);
      if (sign.matches("rect")) set(sign, { x, y });
      else set(sign, { d: `M${x} ${y + ROW / 2 - 2}h${SIGN - ROW / 3}` });
      set(text, { x: x + SIGN, y: number(text, "y") + down });
      if (wide > WIDTH - 2 * MARGIN) set(text, { textLength: WIDTH - SIGN - 2 * MARGIN, lengthAdjust: "spacingAndGlyphs" });
      x += wide + GAP;
    }
    const high = height + y - last;
    set(drawing, { viewBox: `0 0 ${WIDTH} ${high}`, width: WIDTH, height: high });
    drawing.classList.add("narrow");
    const made = axis(drawing);
    const clock = drawing.parentElement?.querySelector(":scope > .clock");
    clock?.style.setProperty("--left", `${made.left}%`);
    clock?.style.setProperty("--right", `${100 - made.left - made.span}%`);
    return made;
  }

  function axis(drawing) {
    const left = number(drawing.querySelector("rect[fill-opacity]"), "x");
    return { left: (100 * left) / WIDTH, span: (100 * (WIDTH - left - RIGHT)) / WIDTH };
  }

  Object.assign(swim, { narrow });
})();
