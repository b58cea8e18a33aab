"use strict";
// The data of the page, and what is asked of it: which point is near, which texts hold these words.

const data = JSON.parse(document.getElementById("data").textContent);
const count = data.texts.length;
const none = data.clusters.length; // points in no cluster go by the number after the last cluster's
const groups = [...data.clusters, { name: "in no cluster", colour: data.other }];
const groupOf = Int32Array.from(data.labels, (label) => (label < 0 ? none : label));
const rowsOf = groups.map(() => []);
groupOf.forEach((group, row) => rowsOf[group].push(row));
const lowered = data.texts.map((text) => text.toLowerCase());

const CELLS = Math.max(1, Math.min(256, Math.round(Math.sqrt(count / 2))));
const cells = cellLists();

function cellOf(place) {
  return Math.max(0, Math.min(CELLS - 1, Math.floor(place * CELLS)));
}

function cellLists() {
  const lists = new Map();
  for (let row = 0; row < count; row++) {
    const cell = cellOf(data.y[row]) * CELLS + cellOf(data.x[row]);
    if (lists.has(cell)) lists.get(cell).push(row);
    else lists.set(cell, [row]);
  }
  return lists;
}

// The row nearest to a place, within a radius, among those that are shown; -1 if there is none.
function nearestRow(x, y, radius, isShown) {
  let best = -1;
  let least = radius * radius;
  for (let down = cellOf(y - radius); down <= cellOf(y + radius); down++) {
    for (let across = cellOf(x - radius); across <= cellOf(x + radius); across++) {
      for (const row of cells.get(down * CELLS + across) ?? []) {
        const distance = (data.x[row] - x) ** 2 + (data.y[row] - y) ** 2;
        if (distance <= least && isShown(row)) {
          best = row;
          least = distance;
        }
      }
    }
  }
  return best;
}

// The rows whose texts hold every word of the query, whatever its case; null for an empty query.
function rowsWith(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const found = new Set();
  lowered.forEach((text, row) => {
    if (words.every((word) => text.includes(word))) found.add(row);
  });
  return found;
}
