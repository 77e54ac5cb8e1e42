// A figure: its lines, its bars, and what is said of them. All that is said was computed from its record.
(() => {
  "use strict";

  const { all, duration, element, narrow, rove, walk, zoom } = swim;

  // So many streams a listener is told of one by one.
  const SPOKEN = 4;
  // With more arrows than these only those of the chosen bar are shown: the others would hide what they explain.
  const ARROWS = 4;
  // A run plays for so long, in ms.
  const PLAY = 5000;

  function figure(figure) {
    const drawing = figure.querySelector("svg.swim-timeline");
    const box = figure.querySelector(".instrument");
    const told = box.querySelector(".told");
    const hint = told.innerHTML;
    const known = JSON.parse(box.querySelector("script").textContent);
    const { axis, steps, left, span, texts, charts, bars } = { ...known, ...narrow(drawing) };
    const lines = all("[data-line]", box);
    const line = (bar) => lines.find(({ dataset }) => dataset.line === `${bar[0]} ${bar[1]}`);
    const listed = (option) => {
      const [key, number] = option.dataset.source.split(" ");
      const listing = document.querySelector(`pre[data-source^="${key} "]`);
      const first = Number(listing?.dataset.source.split(" ")[1]);
      return listing?.querySelectorAll(".line")[number - first];
    };
    let chosen = null;
    let drawn = [];

    // Each arrow, with the bars from which and to which it leads.
    const arrows = all("path[marker-end]", drawing).map((path) => {
      const [x1, y1, , , , , x2, y2] = path.getAttribute("d").match(/[\d.]+/g).map(Number);
      const at = (x, y) => (bar) => {
        const [left, top, wide, high] = ["x", "y", "width", "height"].map((name) => Number(bar.querySelector("rect").getAttribute(name)));
        return x >= left - 0.02 && x <= left + wide + 0.02 && y >= top && y <= top + high;
      };
      // Where two bars meet, one ends there and the other begins.
      return { path, ends: () => [drawn.findIndex(at(x1, y1)), drawn.findLastIndex(at(x2, y2))] };
    });

    function light(lit, option, awaited = []) {
      const shows = ({ ends }) => (lit.length > 0 ? ends().some((end) => lit.includes(end)) : arrows.length <= ARROWS);
      arrows.forEach((arrow) => arrow.path.classList.toggle("apart", !shows(arrow)));
      drawing.classList.toggle("lighting", lit.length > 0);
      drawn.forEach((bar, index) => {
        bar.classList.toggle("lit", lit.includes(index));
        bar.classList.toggle("awaited", awaited.includes(index));
      });
      for (const other of lines) {
        other.classList.toggle("lit", other === option);
        listed(other)?.classList.toggle("lit", other === option);
      }
    }

    const where = (index) => {
      const option = line(bars[index]);
      const place = option ? `, line ${option.dataset.source.split(" ")[1]}` : "";
      return `${texts[bars[index][2]].split(",")[0]}, ${texts[bars[index][3]]}${place}`;
    };
    const instant = (name, ns) => {
      const made = element("span", `${name} `, { className: name });
      made.append(element("b", ns < 0 ? "before the start" : duration(ns)));
      return made;
    };

    // What is known of a bar, in place of what was said before.
    function tell(index) {
      const [, , what, row, count, timed] = bars[index];
      const option = line(bars[index]);
      const head = element("p", "");
      head.append(element("b", count > 1 ? `${count} × ${texts[what]}` : texts[what]), `, ${texts[row]}`);
      if (option) head.append(`, line ${option.dataset.source.split(" ")[1]}: `, option.querySelector("code").cloneNode(true));
      told.replaceChildren(head);
      timed.forEach(([issued, ready, start, end, waits], place) => {
        const instants = element("p", timed.length > 1 ? `${place ? "The last" : "The first"}: ` : "", { className: "instants" });
        if (issued !== null) instants.append(instant("issued", issued), ", ", instant("ready", ready), ", ");
        instants.append(instant("started", start), ", ", instant("ended", end), `, took ${duration(end - start)}`);
        told.append(instants);
        for (const [text, ns, by] of waits) {
          const after = by >= 0 && by !== index ? ` (${where(by)})` : "";
          told.append(element("p", `Waited ${duration(ns)} for ${texts[text]}${after}.`, { className: "wait" }));
        }
      });
      light([index], option, timed.flatMap(([, , , , waits]) => waits.map(([, , by]) => by)));
    }

    function tellLine(option) {
      const [of, place] = option.dataset.line.split(" ").map(Number);
      const lit = bars.flatMap(([chart, line], index) => (chart === of && line === place ? [index] : []));
      const counts = {};
      for (const index of lit) {
        const kind = `${texts[bars[index][2]].split(",")[0]}, ${texts[bars[index][3]]}`;
        counts[kind] = (counts[kind] ?? 0) + bars[index][4];
      }
      const head = element("p", `Line ${option.dataset.source.split(" ")[1]}, ${charts[of].title}: `);
      head.append(option.querySelector("code").cloneNode(true));
      const all = Object.entries(counts).map(([kind, count]) => `${count} × ${kind}`);
      told.replaceChildren(head, element("p", `${all.join("; ")}.`));
      light(lit, option);
    }

    function show(what) {
      if (what === null) {
        told.innerHTML = hint;
        light([], null);
      } else if (typeof what === "number") tell(what);
      else tellLine(what);
      for (const option of lines) option.setAttribute("aria-selected", option === chosen);
    }
    function choose(what) {
      chosen = what;
      view.forget();
      show(what);
    }
    // The keyboard goes on from what was said.
    function leave() {
      choose(null);
      told.tabIndex = -1;
      told.focus({ preventScroll: true });
    }

    drawn = walk(drawing, leave);
    light([], null);
    const react = (item, what) => {
      item.addEventListener("focus", () => {
        choose(what);
        if (typeof what === "number") view.reveal(...extent(item));
      });
      item.addEventListener("click", () => {
        choose(what);
        item.focus({ preventScroll: true });
      });
      item.addEventListener("pointerenter", () => show(what));
      item.addEventListener("pointerleave", () => show(chosen));
    };
    drawn.forEach(react);
    lines.forEach((option) => {
      react(option, option);
      const shown = listed(option);
      shown?.addEventListener("pointerenter", () => show(option));
      shown?.addEventListener("pointerleave", () => show(chosen));
      shown?.addEventListener("click", () => choose(option));
    });
    const lineTo = (key, option) => {
      const place = lines.indexOf(option);
      const next = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: lines.length - 1 }[key];
      return next === undefined ? null : lines[Math.min(Math.max(next, 0), lines.length - 1)];
    };
    rove(box, lines, lineTo, leave);

    // The host's way through the program.
    const scrubber = box.querySelector(".scrubber");
    const slider = figure.querySelector(".clock input");
    const isShown = () => Number(slider.value) > 0;
    const now = document.createElementNS(drawing.namespaceURI, "path");
    now.setAttribute("class", "now");
    const { width } = drawing.viewBox.baseVal;
    // A row leaves a little below its bars.
    const edge = (bar) => Number(bar.querySelector("rect").getAttribute("y")) + Number(bar.querySelector("rect").getAttribute("height")) + 4;
    const bottom = Math.max(...drawn.map(edge));
    const most = charts.map(({ states }) => Math.max(1, ...states.flatMap(([, , , queues]) => queues.map(([a, b]) => a + b))));
    const along = (at) => (width * (left + (span * at) / steps)) / 100;
    // Of a bar, in shares of the axis.
    const extent = (bar) => {
      const [x, wide] = ["x", "width"].map((name) => Number(bar.querySelector("rect").getAttribute(name)));
      return [x, x + wide].map((x) => ((x * 100) / width - left) / span);
    };
    // Keys turn about the bar that has the focus, else about the mark.
    const about = () => {
      const bar = document.activeElement?.closest("[role=gridcell]");
      return drawn.includes(bar) ? extent(bar).reduce((a, b) => (a + b) / 2) : isShown() ? slider.value / steps : 0.5;
    };
    const view = zoom(figure, { drawing, axis, left, span, bottom: () => bottom, about });
    function move() {
      const at = Number(slider.value);
      const ns = Math.floor((axis * at) / steps);
      const x = along(at);
      now.setAttribute("d", `M${x} 0V${bottom}`);
      scrubber.classList.toggle("shown", isShown());
      if (isShown()) view.layer().append(now);
      else now.remove();
      scrubber.querySelector("output").textContent = duration(ns);
      const said = charts.map(({ title, end, states }, chart) => {
        const [, place, blocked, queues] = states.findLast(([step]) => step <= at);
        const option = lines.find(({ dataset }) => dataset.line === `${chart} ${place}`);
        for (const other of lines) {
          if (other.dataset.line.startsWith(`${chart} `)) other.classList.toggle("now", isShown() && other === option);
        }
        const item = all(".queues > li", scrubber)[chart];
        const number = option?.dataset.source.split(" ")[1];
        const host = option ? `the host is ${blocked ? "blocked" : "busy"} at line ${number}` : ns < end ? "the host is between these lines" : "all is done";
        item.querySelector(".host").textContent = host;
        const count = (waiting, running) => (waiting + running ? `${waiting} waiting, ${running} running` : "empty");
        const busy = queues.flatMap(([waiting, running], place) => {
          const queue = item.querySelectorAll(".queue")[place];
          queue.querySelector(".count").textContent = count(waiting, running);
          queue.querySelector(".bar").style.setProperty("--full", (waiting + running) / most[chart]);
          return waiting + running ? [[queue.firstChild.textContent, waiting, running]] : [];
        });
        // Who listens is told of every stream only where these are few.
        const sum = (of) => busy.reduce((all, queue) => all + queue[of], 0);
        const together = `${busy.length} streams together: ${count(sum(1), sum(2))}`;
        const each = busy.map(([name, waiting, running]) => `${name}${count(waiting, running)}`);
        const counts = busy.length > SPOKEN ? [together] : busy.length ? each : ["all streams are empty"];
        return `${title}: ${[host, ...counts].join("; ")}`;
      });
      slider.setAttribute("aria-valuetext", `${duration(ns)}. ${said.join(". ")}`);
    }
    slider.addEventListener("input", move);
    player(figure, { drawing, bars, drawn, slider, move, along, layer: view.layer });
  }

  // Plays a run: what comes after the mark is covered, and uncovered as the mark moves.
  function player(figure, { drawing, bars, drawn, slider, move, along, layer }) {
    const button = figure.querySelector(".clock button");
    const steps = Number(slider.max);
    const covers = charts(bars, drawn).map(([top, bottom]) => {
      const cover = document.createElementNS(drawing.namespaceURI, "rect");
      cover.setAttribute("class", "ahead");
      // Bars have an outline.
      cover.setAttribute("y", top - 1);
      cover.setAttribute("height", bottom - top + 2);
      return cover;
    });
    let frame = 0;
    const label = (name) => button.setAttribute("aria-label", name);
    function stop() {
      cancelAnimationFrame(frame);
      frame = 0;
      covers.forEach((cover) => cover.remove());
      label("Play");
    }
    function start() {
      const from = Number(slider.value) % steps;
      const begun = performance.now() - (PLAY * from) / steps;
      const tick = (time) => {
        slider.value = Math.min(steps, Math.max(from, Math.round((steps * (time - begun)) / PLAY)));
        move();
        if (Number(slider.value) === steps) return stop();
        const at = along(slider.value);
        for (const cover of covers) {
          cover.setAttribute("x", at);
          cover.setAttribute("width", along(steps) - at);
          layer().append(cover);
        }
        frame = requestAnimationFrame(tick);
      };
      label("Pause");
      frame = requestAnimationFrame(tick);
    }
    button.addEventListener("click", () => (frame ? stop() : start()));
    slider.addEventListener("pointerdown", stop);
    slider.addEventListener("keydown", (event) => {
      if (event.key === " ") return event.preventDefault(), button.click();
      stop();
      if (event.key !== "Escape") return;
      slider.value = 0;
      move();
    });
  }

  // Where the bars of each chart begin and end, from above.
  function charts(bars, drawn) {
    const edges = [];
    drawn.forEach((bar, index) => {
      const rect = bar.querySelector("rect");
      const top = Number(rect.getAttribute("y"));
      const bottom = top + Number(rect.getAttribute("height"));
      const known = (edges[bars[index][0]] ??= [top, bottom]);
      known[0] = Math.min(known[0], top);
      known[1] = Math.max(known[1], bottom);
    });
    return edges.filter(Boolean);
  }

  Object.assign(swim, { figure });
})();
