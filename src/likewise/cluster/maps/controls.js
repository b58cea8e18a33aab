// What pointer, keys and buttons do.

const pointers = new Map();
let travelled = 0;

function fit() {
  const box = canvas.getBoundingClientRect();
  Object.assign(size, { width: box.width, height: box.height, ratio: window.devicePixelRatio || 1 });
  canvas.width = Math.round(size.width * size.ratio);
  canvas.height = Math.round(size.height * size.ratio);
  placeTip();
  draw();
}

function placeOf(event) {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function rowAt({ x, y }) {
  const factor = scale();
  return nearestRow(view.x + (x - size.width / 2) / factor, view.y - (y - size.height / 2) / factor, (dotRadius() + 4) / factor, isShown);
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, placeOf(event));
  if (pointers.size === 1) travelled = 0;
});

canvas.addEventListener("pointermove", (event) => {
  const now = placeOf(event);
  const before = pointers.get(event.pointerId);
  if (!before) {
    const row = rowAt(now);
    canvas.classList.toggle("over", row >= 0);
    show(row);
    return;
  }
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) pinch(other, before, now);
  else moveBy(now.x - before.x, now.y - before.y);
  travelled += Math.hypot(now.x - before.x, now.y - before.y);
  canvas.classList.toggle("moving", travelled > 4);
  pointers.set(event.pointerId, now);
});

// Two fingers: zoom by how far they part, about the one that rests.
function pinch(other, before, now) {
  const apart = (point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
  zoomAt(apart(now) / apart(before), other.x, other.y);
}

canvas.addEventListener("pointerup", (event) => {
  const alone = pointers.size === 1;
  pointers.delete(event.pointerId);
  canvas.classList.remove("moving");
  if (!alone || travelled > 4) return;
  const row = rowAt(placeOf(event));
  isolate(row < 0 || state.only !== null ? null : groupOf[row]);
  show(row);
});

canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
canvas.addEventListener("pointerleave", () => pointers.size || show(-1));
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 16 : 1;
  const { x, y } = placeOf(event);
  zoomAt(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.003), x, y);
}, { passive: false });

const KEYS = {
  ArrowLeft: () => moveBy(60, 0),
  ArrowRight: () => moveBy(-60, 0),
  ArrowUp: () => moveBy(0, 60),
  ArrowDown: () => moveBy(0, -60),
  "+": () => zoomAt(1.4),
  "=": () => zoomAt(1.4),
  "-": () => zoomAt(1 / 1.4),
  0: showWhole,
  n: () => step(1),
  p: () => step(-1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    search.value = "";
    state.found = null;
    show(-1);
    isolate(null);
  } else if (event.target === search) {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
  } else if (event.key === "/") {
    event.preventDefault();
    search.focus();
  } else if (KEYS[event.key] && !(event.target.closest("nav") && event.key.startsWith("Arrow"))) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

function legend() {
  const list = document.getElementById("legend");
  groups.forEach((group, number) => {
    if (!rowsOf[number].length) return;
    const button = document.createElement("button");
    const name = document.createElement("span");
    const total = document.createElement("span");
    Object.assign(button, { value: number, type: "button" });
    Object.assign(name, { className: "name", textContent: group.name });
    Object.assign(total, { className: "count", textContent: rowsOf[number].length.toLocaleString("en") });
    button.append(swatch(number), name, total);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => isolate(state.only === number ? null : number));
    list.append(document.createElement("li"));
    list.lastChild.append(button);
  });
}

function useTheme(name) {
  document.documentElement.dataset.theme = name;
  redraw();
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => useTheme(dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => useTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
document.getElementById("closer").addEventListener("click", () => zoomAt(1.6));
document.getElementById("farther").addEventListener("click", () => zoomAt(1 / 1.6));
document.getElementById("whole").addEventListener("click", showWhole);
search.addEventListener("input", find);
new ResizeObserver(fit).observe(canvas);

legend();
useTheme(dark.matches ? "dark" : "light");
report();
fit();
