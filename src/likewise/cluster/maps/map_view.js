// Draws a map. `view` converts x (rightwards) and y (upwards), both from 0 to 1, to pixels.

import { DotImage, dotMask, inkOf } from "./dots.js";
import { swatch } from "./legend.js";

const ROOM = 20000; // square pixels for each name; zooming in shows names of smaller clusters
const NAME_HEIGHT = 18;
const DIRECTIONS = [[1, 0], [-1, 0], [0, -1], [0, 1], [0.8, -0.8], [-0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]];
const DISTANCES = [9, 20, 34, 50]; // pixels between a cluster's point and its name

export class MapView {
  // `canvas`, `tip` (with a .cluster and a .text) and `overlay`, which names do not cover, are elements in the same frame;
  // `points` is a MapPoints.
  constructor({ canvas, tip, overlay = null }, points) {
    Object.assign(this, { canvas, tip, overlay, points });
    this.pen = canvas.getContext("2d");
    this.dots = new DotImage();
    this.inks = points.groups.map((group) => inkOf(group.colour));
    this.view = { x: 0.5, y: 0.5, zoom: 1 };
    this.chosen = { only: null, found: null, said: "", at: -1 };
    this.size = { width: 0, height: 0, ratio: 1 };
    this.shown = new Uint8Array(points.count).fill(1); // 1 for texts in the chosen cluster and search results
    this.nameWidths = new Map();
    this.isQueued = false;
    this.isShown = (row) => this.shown[row] === 1;
  }

  get scale() {
    return Math.min(this.size.width, this.size.height) * 0.92 * this.view.zoom;
  }

  acrossOf(x) {
    return (x - this.view.x) * this.scale + this.size.width / 2;
  }

  downOf(y) {
    return (this.view.y - y) * this.scale + this.size.height / 2;
  }

  get dotRadius() {
    const crowd = Math.sqrt((this.size.width * this.size.height) / Math.max(1, this.points.count)) * 0.16;
    return Math.min(9, Math.max(1.3, Math.min(4.5, crowd)) * this.view.zoom ** 0.4);
  }

  // Match the size of the canvas on the screen.
  fit() {
    const { width, height } = this.canvas.getBoundingClientRect();
    Object.assign(this.size, { width, height, ratio: window.devicePixelRatio || 1 });
    this.canvas.width = Math.round(width * this.size.ratio);
    this.canvas.height = Math.round(height * this.size.ratio);
    this.placeTip();
    this.draw();
  }

  redraw() {
    if (this.isQueued) return;
    this.isQueued = true;
    requestAnimationFrame(() => {
      this.isQueued = false;
      this.draw();
    });
  }

  draw() {
    const { canvas, pen, chosen, dotRadius: radius } = this;
    const { ratio } = this.size;
    const partial = chosen.only !== null || chosen.found !== null;
    this.dots.clear(canvas.width, canvas.height, colourNamed("--paper"));
    this.paintDots(radius * ratio, partial ? Number(colourNamed("--dim")) : 1, partial ? 0 : 1);
    if (partial) this.paintDots((radius + (chosen.found ? 1 : 0)) * ratio, 1, 1);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.putImageData(this.dots.image, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawNames();
    if (chosen.at >= 0) this.drawRing(chosen.at, radius);
  }

  // Paint all visible dots (1) or all others (0).
  paintDots(radius, strength, which) {
    const { canvas, points, shown, inks } = this;
    const mask = dotMask(radius);
    const factor = this.scale * this.size.ratio;
    const left = canvas.width / 2 - this.view.x * factor;
    const top = canvas.height / 2 + this.view.y * factor;
    for (const row of points.order) {
      if (shown[row] !== which) continue;
      const x = Math.round(points.x[row] * factor + left);
      const y = Math.round(top - points.y[row] * factor);
      if (x > -mask.half && y > -mask.half && x < canvas.width + mask.half && y < canvas.height + mask.half) {
        this.dots.stamp(mask, x, y, inks[points.groupOf[row]], strength);
      }
    }
  }

  drawNames() {
    const { pen } = this;
    pen.font = "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    this.placedNames().forEach(([cluster, box]) => this.drawName(cluster, box));
  }

  // Clusters, largest first, each with a box for its name: beside its point, over few dots, and not over another name.
  placedNames() {
    const { chosen, size, nameWidths, overlay } = this;
    const placed = [];
    const taken = overlay ? [boxOf(overlay)] : [];
    const room = Math.max(1, (size.width * size.height) / ROOM);
    this.points.groups.slice(0, this.points.none).forEach((cluster, group) => {
      if (placed.length >= room || (chosen.only !== null && chosen.only !== group)) return;
      if (!nameWidths.has(group)) nameWidths.set(group, this.pen.measureText(cluster.name).width);
      const box = this.placeOfName(cluster.place, nameWidths.get(group), taken);
      if (!box) return;
      taken.push(box);
      placed.push([cluster, box]);
    });
    return placed;
  }

  // The best free box for a name of this width around a place: near it, and over few dots; null if there is none.
  placeOfName(place, width, taken) {
    const [x, y] = [this.acrossOf(place[0]), this.downOf(place[1])];
    const { size } = this;
    if (x < 0 || y < 0 || x > size.width || y > size.height) return null;
    let best = null;
    for (const distance of DISTANCES) {
      for (const [right, down] of DIRECTIONS) {
        const left = x + right * distance + ((right - 1) * width) / 2;
        const top = y + down * distance + ((down - 1) * NAME_HEIGHT) / 2;
        const box = { left, top, right: left + width, bottom: top + NAME_HEIGHT };
        if (left < 4 || top < 2 || box.right > size.width - 4 || box.bottom > size.height - 2) continue;
        if (taken.some((other) => box.left < other.right + 8 && box.right > other.left - 8 && box.top < other.bottom + 4 && box.bottom > other.top - 4)) continue;
        const cost = this.dotsUnder(box) + distance / 3;
        if (!best || cost < best.cost) best = { ...box, cost };
      }
    }
    return best;
  }

  dotsUnder({ left, top, right, bottom }) {
    const { view, size, scale } = this;
    const [x, y] = [view.x + (left - size.width / 2) / scale, view.y - (bottom - size.height / 2) / scale];
    return this.points.countWithin(x, y, x + (right - left) / scale, y + (bottom - top) / scale);
  }

  // Write a name into its box, with a thin line to the cluster's point.
  drawName({ name, place }, box) {
    const { pen } = this;
    const [x, y] = [this.acrossOf(place[0]), this.downOf(place[1])];
    const edge = [Math.max(box.left, Math.min(box.right, x)), Math.max(box.top, Math.min(box.bottom, y))];
    pen.lineWidth = 1;
    pen.strokeStyle = colourNamed("--soft");
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(...edge);
    pen.stroke();
    pen.lineWidth = 4;
    pen.strokeStyle = colourNamed("--paper");
    pen.fillStyle = colourNamed("--ink");
    pen.strokeText(name, (box.left + box.right) / 2, (box.top + box.bottom) / 2);
    pen.fillText(name, (box.left + box.right) / 2, (box.top + box.bottom) / 2);
  }

  drawRing(row, radius) {
    this.pen.lineWidth = 2;
    this.pen.strokeStyle = colourNamed("--mark");
    this.pen.beginPath();
    this.pen.arc(this.acrossOf(this.points.x[row]), this.downOf(this.points.y[row]), radius + 3, 0, 2 * Math.PI);
    this.pen.stroke();
  }

  // Show the text of a row beside its dot; -1 hides it.
  show(row) {
    if (row === this.chosen.at && this.tip.hidden === row < 0) return;
    this.chosen.at = row;
    this.tip.hidden = row < 0;
    if (row >= 0) {
      const group = this.points.groups[this.points.groupOf[row]];
      this.tip.querySelector(".cluster").replaceChildren(swatch(group), group.name);
      this.tip.querySelector(".text").textContent = this.points.texts[row];
      this.placeTip();
    }
    this.redraw();
  }

  placeTip() {
    const { tip, size, chosen } = this;
    if (chosen.at < 0) return;
    const x = this.acrossOf(this.points.x[chosen.at]);
    const y = this.downOf(this.points.y[chosen.at]);
    const right = x + 14 + tip.offsetWidth < size.width;
    const below = y + 14 + tip.offsetHeight < size.height;
    tip.style.left = `${Math.max(4, right ? x + 14 : x - 14 - tip.offsetWidth)}px`;
    tip.style.top = `${Math.max(4, below ? y + 14 : y - 14 - tip.offsetHeight)}px`;
  }

  moveBy(across, down) {
    this.view.x -= across / this.scale;
    this.view.y += down / this.scale;
    this.placeTip();
    this.redraw();
  }

  // Zoom so that the map stays fixed under this point.
  zoomAt(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const before = this.scale;
    this.view.zoom = Math.max(0.5, Math.min(200, this.view.zoom * factor));
    this.view.x += (x - this.size.width / 2) * (1 / before - 1 / this.scale);
    this.view.y -= (y - this.size.height / 2) * (1 / before - 1 / this.scale);
    this.placeTip();
    this.redraw();
  }

  showWhole() {
    Object.assign(this.view, { x: 0.5, y: 0.5, zoom: 1 });
    this.placeTip();
    this.redraw();
  }
}

function boxOf({ offsetLeft, offsetTop, offsetWidth, offsetHeight }) {
  return { left: offsetLeft, top: offsetTop, right: offsetLeft + offsetWidth, bottom: offsetTop + offsetHeight };
}

// A colour from the style sheet.
function colourNamed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
