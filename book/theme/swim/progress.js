// The page on the reader's own progress: what was answered, and how it goes to another browser.
(() => {
  "use strict";

  const { all, due, element, store } = swim;

  function progress(section) {
    const keys = () => Object.keys(localStorage).filter((key) => key.startsWith("swim/"));
    const status = section.querySelector(".verdict");
    function fill() {
      for (const row of all("tbody tr", section)) {
        const { quiz, count, predictions } = row.dataset;
        const answers = Object.values(store.read(quiz) ?? {}).filter((answer) => answer.done);
        const made = keys().filter((key) => key.startsWith(`swim/${predictions}`));
        row.querySelector(".predicted").textContent = made.length;
        row.querySelector(".answered").textContent = `${answers.length} of ${count}`;
        row.querySelector(".at-first").textContent = answers.filter((answer) => answer.first).length;
      }
    }
    const kept = () => Object.fromEntries(keys().map((key) => [key, JSON.parse(localStorage[key])]));
    section.querySelector(".export").addEventListener("click", () => {
      const text = JSON.stringify(kept(), null, 2);
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      element("a", "", { href: url, download: "swimming-in-streams.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
    const code = section.querySelector(".code");
    section.querySelector(".encode").addEventListener("click", () => {
      const bytes = new TextEncoder().encode(JSON.stringify(kept()));
      code.value = btoa(String.fromCharCode(...bytes));
      code.focus();
      code.select();
      status.textContent = "Copy the code, and paste it on this page in another browser.";
    });
    // A file or a code. What was answered later holds; nothing is forgotten.
    function take(text) {
      let brought;
      try {
        const json = text.trim().startsWith("{")
          ? text
          : new TextDecoder().decode(Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0)));
        brought = Object.entries(JSON.parse(json)).filter(
          ([key, value]) => key.startsWith("swim/") && value !== null,
        );
      } catch {
        brought = [];
      }
      if (brought.length === 0) {
        status.textContent = "That is neither a saved file nor a code of this page. Nothing has changed.";
        return;
      }
      const later = (a, b) => ((a?.at ?? "") > (b?.at ?? "") ? a : b);
      for (const [key, value] of brought) {
        const name = key.slice("swim/".length);
        const own = store.read(name);
        if (typeof value !== "object" || value.at) {
          store.write(name, own && typeof own === "object" ? later(own, value) : value);
        } else {
          const both = { ...own, ...value };
          for (const question of Object.keys(own ?? {})) {
            both[question] = later(own[question], value[question] ?? own[question]);
          }
          store.write(name, both);
        }
      }
      status.textContent = `Taken over: ${brought.length} entries.`;
      fill();
      all(".recap").forEach((recap) => due(recap));
    }
    section.querySelector(".decode").addEventListener("click", () => take(code.value));
    const file = section.querySelector("input[type=file]");
    file.addEventListener("change", async () => {
      if (file.files[0]) take(await file.files[0].text());
      file.value = "";
    });
    section.querySelector(".clear").addEventListener("click", () => {
      if (!confirm("Forget all predictions and answers? This cannot be undone.")) return;
      keys().forEach((key) => localStorage.removeItem(key));
      status.textContent = "All forgotten.";
      fill();
      all(".recap").forEach((recap) => due(recap));
    });
    try {
      fill();
      all(".actions", section).forEach((actions) => (actions.hidden = false));
    } catch {
      status.textContent = "This browser keeps nothing for this page.";
    }
  }

  Object.assign(swim, { progress });
})();
