// The page for one map: its data, search, keyboard shortcuts, and light or dark theme.

import { MAP_KEYS, MapControls } from "./controls.js";
import { ClusterMap } from "./map_selection.js";
import { MapPoints } from "./points.js";

const search = document.getElementById("search");
const elements = {
  canvas: document.getElementById("map"),
  tip: document.getElementById("tip"),
  legend: document.getElementById("legend"),
  state: document.getElementById("state"),
};
const points = new MapPoints(JSON.parse(document.getElementById("data").textContent));
const map = new ClusterMap(elements, points);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function find() {
  map.find(points.rowsWith(search.value), search.value.trim());
}

function showAll() {
  search.value = "";
  map.find(null, "");
  map.show(-1);
  map.isolate(null);
}

function useTheme(name) {
  document.documentElement.dataset.theme = name;
  map.redraw();
}

function pressKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    showAll();
  } else if (event.target === search) {
    if (event.key === "Enter") map.step(event.shiftKey ? -1 : 1);
  } else if (event.key === "/") {
    event.preventDefault();
    search.focus();
  } else if (MAP_KEYS[event.key] && !(event.target.closest("nav") && event.key.startsWith("Arrow"))) {
    event.preventDefault();
    MAP_KEYS[event.key](map);
  }
}

document.addEventListener("keydown", pressKey);
dark.addEventListener("change", () => useTheme(dark.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => useTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
document.getElementById("closer").addEventListener("click", () => map.zoomAt(1.6));
document.getElementById("farther").addEventListener("click", () => map.zoomAt(1 / 1.6));
document.getElementById("whole").addEventListener("click", () => map.showWhole());
search.addEventListener("input", find);
useTheme(dark.matches ? "dark" : "light");
new MapControls(map);
