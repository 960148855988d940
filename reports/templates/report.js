"use strict";
// Everything can be read without this: it only adds zoom, filters, copying and keys.
document.documentElement.classList.add("js");
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

for (const button of all("button[data-copy]")) {
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    const done = () => { button.textContent = "copied"; };
    const byHand = () => {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand);
    else byHand();
  });
}

// Strips keep the times of what they show, so they can be drawn at any scale. Even time gives each
// beginning and end of an operation the same room, so that what took no time can be read, too.
const LEFT = 64, WIDTH = 1060;
for (const svg of all("svg.strip[data-from]")) {
  const span = [Number(svg.dataset.from), Number(svg.dataset.to)];
  const bars = all("a > rect", svg);
  const times = [...new Set(bars.flatMap((bar) => [Number(bar.dataset.b), Number(bar.dataset.e)]))].sort((a, b) => a - b);
  let isEven = false;
  const even = (time) => {
    let low = 0, high = times.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle; else high = middle;
    }
    return low + (time - times[low]) / (times[high] - times[low]);
  };
  const place = (time) => isEven ? even(time) : time;
  const home = () => isEven ? [-1, times.length] : span;
  let [from, to] = home();
  const x = (time) => LEFT + (place(time) - from) / (to - from) * (WIDTH - LEFT);
  const text = (at, words, kind) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "text");
    made.setAttribute("x", at[0]);
    made.setAttribute("y", at[1]);
    made.setAttribute("class", kind);
    made.textContent = words;
    return made;
  };
  // Bars without room for words have none; at another scale they may have some.
  for (const bar of bars) if (!bar.nextElementSibling && !bar.classList.contains("b-guilty")) {
    const label = text([0, Number(bar.getAttribute("y")) + 13], bar.dataset.label, bar.classList.contains("b-info") ? "fits" : "on fits");
    Object.assign(label.dataset, { b: bar.dataset.b, e: bar.dataset.e });
    bar.after(label);
  }
  const ticks = () => {
    const length = to - from;
    if (isEven) {
      const step = Math.max(1, Math.ceil(length / 10)), found = [];
      for (let at = Math.max(0, Math.ceil(from)); at < Math.min(to, times.length); at += step) found.push([times[at], (times[at] / 1e9).toFixed(4) + " s"]);
      return found;
    }
    const decade = 10 ** Math.floor(Math.log10(length / 4));
    const step = [1, 2, 5, 10].map((each) => each * decade).find((each) => length / each <= 10);
    const digits = Math.max(0, Math.min(4, Math.ceil(8.999 - Math.log10(step))));
    const found = [];
    for (let at = Math.ceil(from / step) * step; at < to; at += step) found.push([at, (at / 1e9).toFixed(digits) + " s"]);
    return found;
  };
  const draw = () => {
    for (const part of all("[data-b]", svg)) {
      const begin = x(Number(part.dataset.b)), end = x(Number(part.dataset.e));
      const left = Math.max(begin, LEFT), right = Math.min(end, WIDTH);
      const isSeen = end >= LEFT && begin <= WIDTH;
      part.style.display = isSeen ? "" : "none";
      if (!isSeen) continue;
      const width = Math.max(right - left, 2);
      if (part.tagName === "rect") {
        part.setAttribute("x", left);
        part.setAttribute("width", width);
      } else if (part.tagName === "line") {
        part.setAttribute("x1", left);
        part.setAttribute("x2", part.dataset.b === part.dataset.e ? left : right);
      } else if (part.matches(".beside")) {
        // On the side of its bar that has room for it.
        const isLeft = right + 5 + part.textContent.length * 7.3 > WIDTH && left - LEFT > WIDTH - right;
        part.setAttribute("x", isLeft ? left - 5 : Math.max(right, left + 2) + 5);
        part.setAttribute("text-anchor", isLeft ? "end" : "start");
      } else {
        part.setAttribute("x", left + 5);
        if (part.matches(".on, .fits, .room")) part.style.display = width > part.textContent.length * 7.3 + 8 ? "" : "none";
      }
    }
    // As reports/lanes.py does it: the first line with room; what finds none can be hovered over.
    const ends = [], most = Number(svg.dataset.labelLanes), base = Number(svg.dataset.labelsY);
    const seen = all("text.fault", svg).filter((label) => label.style.display !== "none");
    const wide = (label) => label.textContent.length * 7.3;
    const begin = (label) => Math.max(LEFT, Math.min(Number(label.getAttribute("x")), WIDTH - wide(label)));
    for (const label of seen.sort((a, b) => begin(a) - begin(b))) {
      const at = begin(label), free = ends.findIndex((end) => end + 8 <= at), lane = free < 0 ? ends.length : free;
      if (lane >= most) { label.style.display = "none"; continue; }
      ends[lane] = at + wide(label);
      label.setAttribute("x", at);
      label.setAttribute("y", base + 13 * lane);
    }
    svg.querySelector(".ticks").replaceChildren(...ticks().filter(([at, words]) => x(at) + 7.3 * words.length <= WIDTH).map(([at, words]) => text([x(at), 14], words, "mute")));
  };
  const move = (factor, share = 0.5, by = 0) => {
    const [least, most] = isEven ? [2, times.length + 1] : [1e5, 120e9];
    const length = Math.min(Math.max((to - from) * factor, least), most);
    const middle = from + (to - from) * share;
    from = Math.max(isEven ? -1 : 0, middle - length * share + by * length);
    to = from + length;
    draw();
  };
  const button = svg.closest(".card").querySelector("button[data-even]");
  const turn = () => {
    isEven = !isEven && times.length > 1;
    button.setAttribute("aria-pressed", isEven);
    [from, to] = home();
    draw();
  };
  button.addEventListener("click", turn);
  for (const label of all(".fits", svg)) label.style.display = "none";
  const at = Number(svg.dataset.at);
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    const deeds = { ArrowLeft: [1, 0.5, -0.2], ArrowRight: [1, 0.5, 0.2], "+": [0.5], "=": [0.5], "-": [2] };
    if (event.key === "0" || event.key === "Home") [from, to] = home(), draw();
    else if (event.key === "e") turn();
    else if (event.key in deeds) {
      const [factor, share = Math.min(Math.max((place(at) - from) / (to - from), 0), 1), by] = deeds[event.key];
      move(factor, share, by);
    }
    else return;
    event.preventDefault();
  });
  svg.addEventListener("wheel", (event) => {
    // The wheel belongs to the page until somebody has chosen the strip.
    if (document.activeElement !== svg) return;
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT);
    move(event.deltaY > 0 ? 1.25 : 0.8, Math.min(Math.max(at, 0), 1));
    event.preventDefault();
  }, { passive: false });
  let dragged = null;
  svg.addEventListener("pointerdown", (event) => { if (!event.target.closest("a")) { dragged = event.clientX; svg.focus(); } });
  svg.addEventListener("pointermove", (event) => {
    if (dragged === null || !event.buttons) { dragged = null; return; }
    const moved = (dragged - event.clientX) / svg.getBoundingClientRect().width;
    dragged = event.clientX;
    move(1, 0.5, moved);
  });
}

// A narrow screen shows part of a timeline: the part that it is about, not its beginning.
const bringIntoView = (svg) => {
  const pan = svg.closest(".pan"), line = svg.querySelector(".now");
  if (line) pan.scrollLeft = Number(line.getAttribute("x1")) / WIDTH * svg.getBoundingClientRect().width - pan.clientWidth / 2;
};
for (const svg of all("svg.strip")) bringIntoView(svg);
for (const part of all("details.one")) part.addEventListener("toggle", () => { for (const svg of all("svg.strip", part)) bringIntoView(svg); });

// The names of a timeline stay in view while it is moved below them.
for (const svg of all("svg.whole")) {
  const pan = svg.closest(".pan"), names = svg.querySelector(".names");
  const follow = () => names.setAttribute("transform", `translate(${pan.scrollLeft / svg.getBoundingClientRect().width * WIDTH} 0)`);
  pan.addEventListener("scroll", follow, { passive: true });
  follow();
}

// A lane of a member is read change by change: with the arrow keys, or by a tap where nothing hovers.
for (const status of all("p.told")) {
  const rows = all(".row", status.parentElement);
  const at = (part) => Number(part.dataset.x ?? part.getAttribute("x"));
  const tell = (part) => {
    for (const lit of all(".tell.lit", status.parentElement)) lit.classList.remove("lit");
    part?.classList.add("lit");
    status.textContent = part ? part.querySelector("title").textContent : "";
    const pan = part?.closest(".pan"), box = part?.getBoundingClientRect(), frame = pan?.getBoundingClientRect();
    if (box && (box.left < frame.left + 100 || box.left > frame.right - 20)) pan.scrollLeft += box.left - frame.left - frame.width / 2;
  };
  for (const [number, row] of rows.entries()) {
    const parts = all(".tell", row).sort((a, b) => at(a) - at(b));
    row.addEventListener("focus", () => { tell(null); status.textContent = row.getAttribute("aria-label"); });
    row.addEventListener("click", (event) => { const part = event.target.closest(".tell"); if (part) tell(part); });
    row.addEventListener("keydown", (event) => {
      const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key], along = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const now = parts.findIndex((part) => part.classList.contains("lit"));
      if (sideways && parts.length) tell(parts[Math.min(Math.max(now + sideways, 0), parts.length - 1)]);
      else if (along) rows[number + along]?.focus();
      else return;
      event.preventDefault();
    });
  }
}

// The edges of a ring show their reasons, and their two operations on the time axis.
for (const edge of all(".edge[data-reason]")) {
  const light = (isLit) => () => {
    document.getElementById(edge.dataset.reason).classList.toggle("warn", isLit);
    for (const op of edge.dataset.ops.split(" ")) for (const bar of all(`.strip a[href="#op-${op}"] rect`, edge.closest(".one"))) bar.classList.toggle("lit", isLit);
  };
  for (const [name, isLit] of [["focus", true], ["mouseenter", true], ["blur", false], ["mouseleave", false]]) edge.addEventListener(name, light(isLit));
}

// Filters of tables: by any word, and by what the columns hold.
for (const form of all("form[data-filters]")) {
  const table = document.getElementById(form.dataset.filters);
  const rows = all("tbody tr", table), count = form.querySelector("output");
  for (const select of all("select[data-column]", form)) {
    const values = [...new Set(rows.map((row) => row.cells[select.dataset.column].textContent))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    for (const value of values) select.append(new Option(value, value));
  }
  const apply = () => {
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = all("select[data-column]", form).filter((each) => each.value);
    const guilty = form.elements.guilty?.checked;
    const bound = (name, otherwise) => parseFloat(form.elements[name]?.value) || otherwise;
    const from = bound("from", -Infinity), to = bound("to", Infinity);
    const isWithin = (row) => {
      if (from === -Infinity && to === Infinity) return true;
      const at = parseFloat(row.cells[1].textContent.replaceAll(",", ""));
      return at >= from && at <= to;
    };
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const isShown = words.every((word) => text.includes(word)) && chosen.every((each) => row.cells[each.dataset.column].textContent === each.value) && (!guilty || row.classList.contains("guilty")) && isWithin(row);
      row.hidden = !isShown;
      shown += isShown;
    }
    count.value = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${form.dataset.rows}`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}

// Columns sort by a click on their heads; aria-sort says how, and the style sheet draws its arrow.
for (const button of all("button[data-sort]")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table"), column = head.cellIndex;
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const text = (row) => row.cells[column].textContent.trim();
    const rows = all("tbody tr", table).sort((a, b) => sign * text(a).localeCompare(text(b), "en", { numeric: true }));
    table.tBodies[0].append(...rows);
  });
}

// A form that needs so many picks says how many are missing, and cannot be sent before.
for (const form of all("form[data-pick]")) {
  const wanted = Number(form.dataset.pick), button = form.querySelector("button[type=submit]"), said = form.querySelector("output");
  const apply = () => {
    const picked = all("input:checked", form).length;
    button.disabled = picked !== wanted;
    said.value = picked > wanted ? `${picked} are picked: take ${picked - wanted} back` : picked < wanted ? `${picked} of ${wanted} picked` : "";
  };
  form.addEventListener("change", apply);
  addEventListener("pageshow", apply);
  apply();
}

// j and k go from anomaly to anomaly, / to the filter.
const anomalies = all(".anomaly");
let current = -1;
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if ((event.key === "j" || event.key === "k") && anomalies.length) {
    current = Math.min(Math.max(current + (event.key === "j" ? 1 : -1), 0), anomalies.length - 1);
    anomalies[current].closest("details")?.setAttribute("open", "");
    anomalies[current].setAttribute("tabindex", "-1");
    anomalies[current].focus();
    anomalies[current].scrollIntoView();
  } else if (event.key === "/" && document.querySelector("input[name=words]")) {
    document.querySelector("input[name=words]").focus();
    event.preventDefault();
  }
});

// Whoever follows a link to something inside a closed part wants to see it.
const reveal = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target && target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  if (target) { target.hidden = false; target.scrollIntoView(); }
};
addEventListener("hashchange", reveal);
reveal();
addEventListener("beforeprint", () => { for (const part of all("details")) part.open = true; });
