// The page into which a reader drops a trace. What reads it is `checker/viewer`, as wasm in a worker: the same that
// `checker trace` runs. It lies beside the page in a file of its own, which is asked for when there is a trace to read.
window.swimViewer = (place) => {
  "use strict";

  const { duration, wide } = swim;

  const READER = "trace-reader.js";

  const field = place.querySelector("input");
  const example = place.querySelector(".example");
  const busy = place.querySelector(".busy");
  const bar = place.querySelector("progress");
  const said = place.querySelector("[role=status]");
  const shown = place.querySelector(".shown");
  let worker = null;
  // Who reads a second file wants nothing of the first any more.
  let turn = 0;

  const bytes = async (text, packed) => {
    const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    if (!packed) return raw;
    return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };

  let brought = null;
  function reader() {
    brought ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = READER;
      script.onload = () => bytes(window.swimReader.wasm, true).then(done, failed);
      script.onerror = () => failed(new Error("This copy of the book has nothing that reads traces."));
      document.head.append(script);
    });
    return brought;
  }

  // Runs in the worker. It reads the file piece by piece, since files may be larger than memory.
  function reading() {
    const PIECE = 4 << 20;
    const files = new FileReaderSync();
    let file = null;
    let piece = new Uint8Array(0);
    let [read, given] = [0, 0];
    let wasm = null;
    const text = (answered) => {
      const [length, start] = [Number((answered >> 32n) & 0xffffffffn), Number(answered & 0xffffffffn)];
      return new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, start, length));
    };
    const next = (into, most) => {
      if (given === piece.length) {
        if (read >= file.size) return 0;
        piece = new Uint8Array(files.readAsArrayBuffer(file.slice(read, read + PIECE)));
        [read, given] = [read + piece.length, 0];
        postMessage({ read: read / file.size });
      }
      const part = piece.subarray(given, given + most);
      new Uint8Array(wasm.memory.buffer, into, part.length).set(part);
      given += part.length;
      return part.length;
    };
    onmessage = async ({ data }) => {
      try {
        if (data.file) {
          file = data.file;
          wasm = (await WebAssembly.instantiate(data.wasm, { file: { read: next } })).instance.exports;
          const name = new TextEncoder().encode(file.name);
          const at = wasm.room(name.length);
          new Uint8Array(wasm.memory.buffer, at, name.length).set(name);
          postMessage({ opened: text(wasm.open(at, name.length)), memory: wasm.memory.buffer.byteLength });
        } else {
          const [drawing, facts] = text(wasm.part(data.from, data.to)).split(String.fromCharCode(0));
          postMessage({ ...data, drawing, facts });
        }
      } catch (error) {
        postMessage({ failed: error instanceof WebAssembly.RuntimeError ? "" : String(error.message ?? error) });
      }
    };
  }

  function stop() {
    worker?.terminate();
    worker = null;
    turn += 1;
    busy.hidden = true;
  }

  function fail(html) {
    stop();
    const wrong = document.createElement("p");
    wrong.className = "wrong";
    wrong.innerHTML = html;
    shown.replaceChildren(wrong);
    said.textContent = wrong.textContent;
  }
  const plain = (text) => Object.assign(document.createElement("p"), { textContent: text }).innerHTML;
  const terminal = "In a terminal, <code>cargo run -- trace FILE</code> reads it all the same.";

  async function open(file) {
    stop();
    const mine = turn;
    shown.replaceChildren();
    busy.hidden = false;
    bar.removeAttribute("value");
    said.textContent = `Reading ${file.name}.`;
    try {
      const wasm = await reader();
      if (mine !== turn) return;
      const script = URL.createObjectURL(new Blob([`(${reading})()`], { type: "text/javascript" }));
      worker = new Worker(script);
      URL.revokeObjectURL(script);
      worker.onmessage = ({ data }) => mine === turn && answered(data);
      worker.onerror = (event) => mine === turn && fail(`${plain(event.message ?? "The browser starts no worker here.")} ${terminal}`);
      worker.postMessage({ file, wasm });
    } catch (error) {
      if (mine === turn) fail(`${plain(error.message)} ${terminal}`);
    }
  }

  function answered(data) {
    if (data.read !== undefined) bar.value = data.read;
    else if (data.failed !== undefined) {
      const why = data.failed ? `The browser cannot read it: ${plain(data.failed)}.` : "It takes more memory than a page may have, or its reader has a fault.";
      fail(`${why} ${terminal}`);
    } else if (data.drawing !== undefined) show(data);
    else if (data.opened.startsWith("=")) first(data.opened.slice(1), data.memory);
    else fail(data.opened.slice(1));
  }

  function first(html, memory) {
    busy.hidden = true;
    shown.innerHTML = html;
    shown.dataset.memory = memory;
    // The worker answers in turn, and only the last question counts.
    let asked = 0;
    const figure = window.swimTraced(shown.querySelector("figure"), (...shares) => {
      const [from, to] = shares.map((share) => share * figure.axis);
      worker.postMessage({ asked: (asked += 1), shares, from, to });
    });
    show = (part) => {
      if (part.asked !== asked) return;
      figure.redraw(part.drawing, ...part.shares);
      shown.querySelector(".facts").innerHTML = part.facts;
      const [from, to] = part.shares;
      const whole = from === 0 && to === 1;
      shown.querySelector(".of").textContent = whole ? "All of the trace" : `From ${duration(Math.round(part.from))} to ${duration(Math.round(part.to))}`;
      wide();
    };
    wide();
    said.textContent = `${shown.querySelector(".headline").textContent}: read.`;
  }
  let show = () => {};

  field.addEventListener("change", () => field.files[0] && open(field.files[0]));
  place.querySelector(".cancel").addEventListener("click", () => {
    stop();
    said.textContent = "Nothing was read.";
    field.value = "";
    field.focus();
  });
  example.addEventListener("click", async () => {
    try {
      await reader();
      const { name, gzip } = window.swimReader.example;
      open(new File([await bytes(gzip, false)], name));
    } catch (error) {
      fail(`${plain(error.message)} ${terminal}`);
    }
  });
  // Wherever on the page it is dropped: otherwise the browser would leave the page for the file.
  const over = (event) => {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
    event.preventDefault();
    place.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop" && event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  };
  ["dragover", "dragleave", "drop"].forEach((event) => document.addEventListener(event, over));
  place.querySelector(".drop").hidden = false;
};
