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
