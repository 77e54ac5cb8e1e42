// Starts what the page has.
(() => {
  "use strict";

  const { all, figure, gates, playgrounds, printing, progress, quizzes, refold, spoken, tabs, unfold, wide } = swim;

  if (printing) {
    all(".gated").forEach((gate) => gate.classList.add("open"));
    all(".instrument").forEach((box) => box.remove());
    unfold();
    return;
  }
  // mdBook turns the page with these keys. Where something has the focus, they are that thing's.
  document.querySelector("main").addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") event.stopPropagation();
  });
  // The corner of a table is no header of anything.
  for (const corner of all("main th:empty")) corner.replaceWith(document.createElement("td"));
  gates();
  quizzes();
  const choosers = [];
  all(".listings").forEach((listing, index) => tabs(listing, index, choosers));
  all("figure.timeline:not(.curve)").forEach(figure);
  all("figure.play").forEach((figure) => spoken(figure));
  all(".progress").forEach(progress);
  // On the page that has one stands its script.
  all(".viewer").forEach((place) => window.swimViewer(place));
  playgrounds();
  wide();
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", refold);
})();
