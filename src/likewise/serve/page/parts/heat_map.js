// A table of coloured cells that can be navigated with the arrow keys. A cell only sets the intensity of its colour; the
// colours themselves come from the style sheet.

import { h, showEdges } from "./dom.js";

const MOST_WITH_NUMBERS = 400; // cells; larger tables show no numbers, because they would be illegible

const MOVES = {
  ArrowRight: ([i, j]) => [i, j + 1],
  ArrowLeft: ([i, j]) => [i, j - 1],
  ArrowDown: ([i, j]) => [i + 1, j],
  ArrowUp: ([i, j]) => [i - 1, j],
  Home: ([i]) => [i, 0],
  End: ([i], columns) => [i, columns - 1],
};

// Options: `label` names the table. `scale` maps a value to { share: 0 to 1, kind: "heat", "adds" or "takes" }. `shown`
// formats a value for its cell, and `spoken` describes a cell in words. `pick(i, j)` is called when the user points at a
// cell or moves to it, and `leave()` when the user leaves the table. `upright` sets column names vertically.
export class HeatMap {
  #at = [0, 0];

  constructor(options) {
    this.options = { shown: (value) => value.toFixed(2), upright: false, pick() {}, leave() {}, ...options };
    this.table = h("table", { role: "grid", class: "heat", "aria-label": options.label });
    this.element = h("div", { class: "heat-frame" }, this.table);
    showEdges(this.element);
    this.table.addEventListener("keydown", (event) => this.#move(event));
    this.table.addEventListener("pointerover", (event) => this.#point(event));
    this.table.addEventListener("pointerleave", () => this.options.leave());
    this.table.addEventListener("focusin", (event) => this.#point(event));
    this.table.addEventListener("click", (event) => event.target.closest("td")?.focus());
  }

  // Show `values[i][j]` in row `rows[i]` and column `columns[j]`; rows and columns have a name, and a title if the name is
  // shortened.
  show(values, rows, columns) {
    this.values = values;
    const isSame = this.rows?.length === rows.length && this.columns?.length === columns.length;
    Object.assign(this, { rows, columns });
    if (!isSame) this.#build();
    this.#fill();
  }

  cell(i, j) {
    return this.cells[i]?.[j];
  }

  #build() {
    this.#at = [0, 0];
    this.corner = h("td", { class: "corner" });
    this.heads = this.columns.map(() => h("th", { scope: "col" }, h("span")));
    this.sides = this.rows.map(() => h("th", { scope: "row" }));
    this.cells = this.rows.map((_, i) => this.columns.map((_, j) => this.#newCell(i, j)));
    const lines = this.rows.map((_, i) => h("tr", { role: "row" }, this.sides[i], this.cells[i]));
    this.table.replaceChildren(
      h("thead", {}, h("tr", { role: "row" }, this.corner, this.heads)),
      h("tbody", {}, lines),
    );
  }

  #newCell(i, j) {
    const cell = h("td", { role: "gridcell", tabindex: i + j ? -1 : 0 });
    Object.assign(cell.dataset, { i, j });
    return cell;
  }

  #fill() {
    const { upright, shown, spoken, scale } = this.options;
    const isCrowded = this.rows.length * this.columns.length > MOST_WITH_NUMBERS;
    this.table.classList.toggle("crowded", isCrowded);
    this.table.classList.toggle("upright", upright);
    this.heads.forEach((head, j) => name(head.firstChild, this.columns[j]));
    this.sides.forEach((side, i) => name(side, this.rows[i]));
    this.cells.forEach((line, i) => line.forEach((cell, j) => {
      const value = this.values[i][j];
      const { share, kind } = scale(value, i, j);
      cell.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
      cell.className = kind;
      cell.textContent = isCrowded ? "" : shown(value, i, j);
      cell.setAttribute("aria-label", spoken(value, i, j));
    }));
  }

  #move(event) {
    const move = MOVES[event.key];
    if (!move || !event.target.closest("td")) return;
    event.preventDefault();
    const [i, j] = move(this.#at, this.columns.length);
    this.cell(Math.max(0, Math.min(this.rows.length - 1, i)), Math.max(0, Math.min(this.columns.length - 1, j)))?.focus();
  }

  #point(event) {
    const cell = event.target.closest('td[role="gridcell"]');
    if (!cell) return;
    const [i, j] = [Number(cell.dataset.i), Number(cell.dataset.j)];
    if (event.type === "focusin") {
      this.cell(...this.#at)?.setAttribute("tabindex", "-1");
      cell.setAttribute("tabindex", "0");
      this.#at = [i, j];
    }
    this.options.pick(i, j);
  }
}

function name(element, { name, title = "" }) {
  element.textContent = name;
  if (title && title !== name) element.title = title;
  else element.removeAttribute("title");
}

// A scale from no colour for the lowest value to full colour for the highest.
export function oneWay(low, high) {
  return (value) => ({ share: clamp((value - low) / (high - low || 1)), kind: "heat" });
}

// A scale with orange for positive and blue for negative values.
export function bothWays(most) {
  return (value) => ({ share: clamp(Math.abs(value) / (most || 1)), kind: value < 0 ? "takes" : "adds" });
}

const clamp = (share) => Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0));

export function shortened(text, most) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("").trimEnd()}…` : text;
}

// Format a number between -1 and 1 with two decimals, as short as possible: .66, −.05, 0.
export function cosineText(value) {
  if (Math.abs(value) < 0.005) return "0";
  return value.toFixed(2).replace(/^(-?)0\./, "$1.").replace("-", "−");
}
