// On paper folds are unfolded, except the tables that repeat a drawing; and answers stand at the back of
// their chapter, on pages of their own.
(() => {
  "use strict";

  const { all, element } = swim;

  const moved = [];

  function chapterEnd(node) {
    const main = node.closest("main");
    let at = node;
    while (at.parentElement !== main) at = at.parentElement;
    while (at.nextElementSibling && !at.nextElementSibling.style.breakBefore) at = at.nextElementSibling;
    if (at.matches(".answers")) return at;
    const answers = element("section", "", { className: "answers" });
    answers.append(element("h2", "Answers"));
    at.after(answers);
    moved.push(() => answers.remove());
    return answers;
  }

  function unfold() {
    for (const details of all("main details:not(.timeline-more)")) {
      const { open } = details;
      details.open = true;
      moved.push(() => (details.open = open));
    }
    for (const details of all("main details:is(.reveal, .answer)")) {
      if (details.parentElement.closest("details")) continue;
      const answers = chapterEnd(details);
      const number = answers.querySelectorAll(":scope > .back").length + 1;
      const place = element("p", `Answer ${number} is at the back.`, { className: "at-back" });
      const back = element("div", "", { className: "back" });
      details.replaceWith(place);
      back.append(element("h3", `Answer ${number}`), details);
      answers.append(back);
      moved.push(() => place.replaceWith(details));
    }
  }

  function refold() {
    while (moved.length > 0) moved.pop()();
  }

  Object.assign(swim, { refold, unfold });
})();
