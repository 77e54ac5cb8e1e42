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
