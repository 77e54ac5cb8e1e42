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
