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

// Strips keep the times of what they show, so they can be drawn at any scale.
const LEFT = 64, WIDTH = 1060;
for (const svg of all("svg.strip[data-from]")) {
  const home = [Number(svg.dataset.from), Number(svg.dataset.to)];
  const at = Number(svg.dataset.at);
  let [from, to] = home;
  const x = (time) => LEFT + (time - from) / (to - from) * (WIDTH - LEFT);
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
      } else {
        part.setAttribute("x", left + 5);
        if (part.classList.contains("on")) part.style.display = width > part.textContent.length * 7.3 + 8 ? "" : "none";
      }
    }
    const length = to - from;
    const decade = 10 ** Math.floor(Math.log10(length / 4));
    const step = [1, 2, 5, 10].map((each) => each * decade).find((each) => length / each <= 10);
    const digits = Math.max(0, Math.min(4, Math.ceil(8.999 - Math.log10(step))));
    const ticks = svg.querySelector(".ticks");
    ticks.replaceChildren();
    for (let at = Math.ceil(from / step) * step; at < to; at += step) {
      const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.setAttribute("x", x(at));
      text.setAttribute("y", 14);
      text.setAttribute("class", "mute");
      text.textContent = (at / 1e9).toFixed(digits) + " s";
      ticks.append(text);
    }
  };
  const move = (factor, share = 0.5, by = 0) => {
    const length = Math.min(Math.max((to - from) * factor, 1e5), 120e9);
    const middle = from + (to - from) * share;
    from = Math.max(0, middle - length * share + by * length);
    to = from + length;
    draw();
  };
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", (event) => {
    const deeds = { ArrowLeft: [1, 0.5, -0.2], ArrowRight: [1, 0.5, 0.2], "+": [0.5], "=": [0.5], "-": [2] };
    if (event.key === "0" || event.key === "Home") [from, to] = home, draw();
    else if (event.key in deeds) {
      const [factor, share = Math.min(Math.max((at - from) / (to - from), 0), 1), by] = deeds[event.key];
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
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const isShown = words.every((word) => text.includes(word)) && chosen.every((each) => row.cells[each.dataset.column].textContent === each.value) && (!guilty || row.classList.contains("guilty"));
      row.hidden = !isShown;
      shown += isShown;
    }
    count.value = `${shown} of ${rows.length}`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}

// Columns sort by a click on their heads.
for (const button of all("button[data-sort]")) {
  button.addEventListener("click", () => {
    const table = button.closest("table"), column = button.closest("th").cellIndex;
    const sign = button.dataset.sort === "up" ? -1 : 1;
    button.dataset.sort = sign > 0 ? "up" : "down";
    const text = (row) => row.cells[column].textContent.trim();
    const rows = all("tbody tr", table).sort((a, b) => sign * text(a).localeCompare(text(b), "en", { numeric: true }));
    table.tBodies[0].append(...rows);
  });
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
