// Drawing, and what pointer and keys do. x to the right and y upwards, both from 0 to 1, become pixels by `view`.

const canvas = document.getElementById("map");
const pen = canvas.getContext("2d");
const tip = document.getElementById("tip");
const search = document.getElementById("search");
const view = { x: 0.5, y: 0.5, zoom: 1 };
const state = { only: null, found: null, at: -1 };
const size = { width: 0, height: 0, ratio: 1 };
const shown = new Uint8Array(count).fill(1); // 1 for texts that are neither outside the cluster nor the search
const nameWidths = new Map();
let queued = false;
const MOST_NAMES = 36; // on the map at once; zooming in shows those of smaller clusters

const isShown = (row) => shown[row] === 1;
const scale = () => Math.min(size.width, size.height) * 0.92 * view.zoom;
const acrossOf = (x) => (x - view.x) * scale() + size.width / 2;
const downOf = (y) => (view.y - y) * scale() + size.height / 2;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function dotRadius() {
  const crowd = Math.sqrt((size.width * size.height) / Math.max(1, count)) * 0.16;
  return Math.min(9, Math.max(1.3, Math.min(4.5, crowd)) * view.zoom ** 0.4);
}

function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    draw();
  });
}

function draw() {
  const { width, height, ratio } = size;
  const radius = dotRadius();
  const partial = state.only !== null || state.found !== null;
  clearDots(canvas.width, canvas.height, colour("--paper"));
  paintDots(radius * ratio, partial ? Number(colour("--dim")) : 1, partial ? 0 : 1);
  if (partial) paintDots((radius + (state.found ? 1 : 0)) * ratio, 1, 1);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.putImageData(image, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawNames();
  if (state.at >= 0) drawRing(state.at, radius);
}

// All dots that are shown (1), or all that are not (0).
function paintDots(radius, strength, which) {
  const mask = dotMask(radius);
  const factor = scale() * size.ratio;
  const left = canvas.width / 2 - view.x * factor;
  const top = canvas.height / 2 + view.y * factor;
  for (const row of order) {
    if (shown[row] !== which) continue;
    const x = Math.round(data.x[row] * factor + left);
    const y = Math.round(top - data.y[row] * factor);
    if (x > -mask.half && y > -mask.half && x < canvas.width + mask.half && y < canvas.height + mask.half) {
      stamp(mask, x, y, inks[groupOf[row]], strength);
    }
  }
}

// Names of clusters, the largest first, where they do not overlap.
function drawNames() {
  const taken = [];
  pen.font = "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineJoin = "round";
  pen.lineWidth = 4;
  pen.strokeStyle = colour("--paper");
  pen.fillStyle = colour("--ink");
  data.clusters.forEach((cluster, group) => {
    if (state.only !== null && state.only !== group) return;
    if (!nameWidths.has(group)) nameWidths.set(group, pen.measureText(cluster.name).width);
    const half = nameWidths.get(group) / 2;
    const x = Math.max(half + 4, Math.min(size.width - half - 4, acrossOf(cluster.place[0])));
    const y = downOf(cluster.place[1]);
    if (Math.abs(x - acrossOf(cluster.place[0])) > half || y < 8 || y > size.height - 8) return;
    if (taken.length === MOST_NAMES || taken.some((other) => Math.abs(other.x - x) < other.half + half + 12 && Math.abs(other.y - y) < 24)) return;
    taken.push({ x, y, half });
    pen.strokeText(cluster.name, x, y);
    pen.fillText(cluster.name, x, y);
  });
}

function drawRing(row, radius) {
  pen.lineWidth = 2;
  pen.strokeStyle = colour("--mark");
  pen.beginPath();
  pen.arc(acrossOf(data.x[row]), downOf(data.y[row]), radius + 3, 0, 2 * Math.PI);
  pen.stroke();
}

// The text of a row beside its dot, inside the stage; -1 hides it.
function show(row) {
  if (row === state.at && tip.hidden === row < 0) return;
  state.at = row;
  tip.hidden = row < 0;
  if (row >= 0) {
    tip.querySelector(".cluster").replaceChildren(swatch(groupOf[row]), groups[groupOf[row]].name);
    tip.querySelector(".text").textContent = data.texts[row];
    placeTip();
  }
  redraw();
}

function placeTip() {
  if (state.at < 0) return;
  const x = acrossOf(data.x[state.at]);
  const y = downOf(data.y[state.at]);
  const right = x + 14 + tip.offsetWidth < size.width;
  const below = y + 14 + tip.offsetHeight < size.height;
  tip.style.left = `${Math.max(4, right ? x + 14 : x - 14 - tip.offsetWidth)}px`;
  tip.style.top = `${Math.max(4, below ? y + 14 : y - 14 - tip.offsetHeight)}px`;
}

function swatch(group) {
  const dot = document.createElement("span");
  dot.className = "dot";
  dot.style.background = groups[group].colour;
  return dot;
}

function moveBy(across, down) {
  view.x -= across / scale();
  view.y += down / scale();
  placeTip();
  redraw();
}

// Zoom so that what is under this point stays there.
function zoomAt(factor, x = size.width / 2, y = size.height / 2) {
  const before = scale();
  view.zoom = Math.max(0.5, Math.min(200, view.zoom * factor));
  view.x += (x - size.width / 2) * (1 / before - 1 / scale());
  view.y -= (y - size.height / 2) * (1 / before - 1 / scale());
  placeTip();
  redraw();
}

function showWhole() {
  Object.assign(view, { x: 0.5, y: 0.5, zoom: 1 });
  placeTip();
  redraw();
}

function choose(only, found) {
  Object.assign(state, { only, found });
  for (let row = 0; row < count; row++) {
    shown[row] = Number((only === null || groupOf[row] === only) && (found === null || found.has(row)));
  }
  if (state.at >= 0 && !isShown(state.at)) show(-1);
  report();
  redraw();
}

function isolate(group) {
  for (const button of document.querySelectorAll("#legend button")) button.setAttribute("aria-pressed", String(Number(button.value) === group));
  choose(group, state.found);
}

function find() {
  choose(state.only, rowsWith(search.value));
}

// The next text that is shown, or the one before it, in the order of the file.
function step(by) {
  for (let tried = 1; tried <= count; tried++) {
    const from = state.at < 0 ? (by > 0 ? -1 : count) : state.at;
    const row = (((from + by * tried) % count) + count) % count;
    if (!isShown(row)) continue;
    Object.assign(view, { x: data.x[row], y: data.y[row], zoom: Math.max(view.zoom, 3) });
    show(row);
    placeTip();
    document.getElementById("state").textContent = `${groups[groupOf[row]].name}: ${data.texts[row]}`;
    return;
  }
}

function report() {
  const total = shown.reduce((sum, one) => sum + one, 0);
  const where = state.only === null ? "" : ` in “${groups[state.only].name}”`;
  const what = state.found === null ? "" : ` with “${search.value.trim()}”`;
  const all = `${count.toLocaleString("en")} texts in ${none.toLocaleString("en")} clusters`;
  const some = `${total.toLocaleString("en")} of ${count.toLocaleString("en")} texts${what}${where}`;
  document.getElementById("state").textContent = where || what ? some : all;
}
