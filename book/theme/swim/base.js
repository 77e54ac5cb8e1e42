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

  // Some of `items` can be reached by Tab: the one that was last. `to` says where a key leads.
  function rove(items, to, leave) {
    items.forEach((item, index) => (item.tabIndex = index === 0 ? 0 : -1));
    const stop = (item) => items.forEach((other) => (other.tabIndex = other === item ? 0 : -1));
    for (const item of items) {
      item.addEventListener("focus", () => stop(item));
      item.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
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
  }

  Object.assign(swim, { all, duration, element, printing, rove, store, wide });
})();
