// Listings in several languages: a tab for each. The language that the reader chose last holds on every page.
(() => {
  "use strict";

  const { all, element, store, wide } = swim;

  function tabs(listing, index, choosers) {
    const panels = all(":scope > .tab", listing).map((tab) => {
      const panel = document.createElement("div");
      // Out of the fold that they have without a script.
      panel.append(...[...tab.childNodes].filter((node) => node.nodeName !== "SUMMARY"));
      panel.className = "tab";
      panel.dataset.language = tab.dataset.language;
      tab.replaceWith(panel);
      return panel;
    });
    const list = element("div", "", { className: "tablist", role: "tablist" });
    list.setAttribute("aria-label", "Language of this listing");
    const buttons = panels.map((panel, place) => {
      const language = panel.dataset.language;
      const button = element("button", language, { type: "button", role: "tab" });
      button.id = `listing-${index}-tab-${place}`;
      panel.id = `listing-${index}-${place}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", button.id);
      button.setAttribute("aria-controls", panel.id);
      return button;
    });
    list.append(...buttons);
    listing.prepend(list);
    function show(language) {
      const chosen = Math.max(0, panels.findIndex((panel) => panel.dataset.language === language));
      panels.forEach((panel, place) => {
        panel.hidden = place !== chosen;
        buttons[place].setAttribute("aria-selected", place === chosen);
        buttons[place].tabIndex = place === chosen ? 0 : -1;
      });
    }
    choosers.push(show);
    function choose(place) {
      const button = buttons[(place + buttons.length) % buttons.length];
      const before = button.getBoundingClientRect().top;
      store.write("language", button.textContent);
      choosers.forEach((chooser) => chooser(button.textContent));
      // Listings further up may have become longer or shorter: what the reader looks at stays where it is.
      scrollBy(0, button.getBoundingClientRect().top - before);
      button.focus({ preventScroll: true });
      wide();
    }
    buttons.forEach((button, place) => {
      button.addEventListener("click", () => choose(place));
      button.addEventListener("keydown", (event) => {
        const end = buttons.length - 1;
        const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: end }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        choose(to);
      });
    });
    show(store.read("language"));
  }

  Object.assign(swim, { tabs });
})();
