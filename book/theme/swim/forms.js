// Forms that predictions and quizzes share: what the reader entered, and what is said of it.
(() => {
  "use strict";

  const { all } = swim;

  // Fields as the question's file has them: the page shows them in another order.
  const fieldsOf = (form) => all("select, input", form).sort((a, b) => (a.dataset.at ?? 0) - (b.dataset.at ?? 0));

  // What the reader entered, as a list; null where something is missing.
  function entered(form) {
    const radios = all("input[type=radio]", form);
    if (radios.length > 0) {
      const chosen = radios.find((radio) => radio.checked);
      return chosen ? [chosen.value] : null;
    }
    const fields = fieldsOf(form);
    // A slider that was not moved says nothing yet.
    if (fields.some((field) => field.type === "range" && !field.dataset.moved)) return null;
    return fields.every((field) => field.value.trim()) ? fields.map((field) => field.value) : null;
  }

  function enter(form, values) {
    const radios = all("input[type=radio]", form);
    if (radios.length > 0) {
      radios.forEach((radio) => (radio.checked = radio.value === values[0]));
    } else {
      fieldsOf(form).forEach((field, index) => (field.value = values[index] ?? ""));
    }
  }

  function freeze(form, frozen) {
    form.querySelector("fieldset").disabled = frozen;
    form.classList.toggle(form.matches(".predict") ? "committed" : "done", frozen);
  }

  function say(form, kind, html) {
    const verdict = form.querySelector(".verdict");
    verdict.className = kind ? `verdict is-${kind}` : "verdict";
    verdict.innerHTML = html;
  }

  Object.assign(swim, { enter, entered, freeze, say });
})();
