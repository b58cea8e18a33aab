// The last two minutes of a metric as a small line on a canvas, from 0 to the highest value.

import { h } from "./dom.js";

const KEPT = 120;

export class Sparkline {
  constructor() {
    this.values = [];
    this.canvas = h("canvas", { class: "spark", "aria-hidden": "true", hidden: true });
    this.empty = h("p", { class: "note" }, "no requests yet");
    this.element = h("div", {}, this.canvas, this.empty);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  // Add a value; nothing is drawn until `isUsed` is true, that is, until there have been requests.
  add(value, isUsed) {
    this.values = [...this.values, value].slice(-KEPT);
    this.canvas.hidden = !isUsed;
    this.empty.hidden = isUsed;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colours = getComputedStyle(document.documentElement);
    const most = Math.max(...this.values) || 1;
    const points = this.values.map((value, n) => [width - ((this.values.length - 1 - n) * width) / (KEPT - 1), height - 2 - (value / most) * (height - 5)]);
    pen.strokeStyle = colours.getPropertyValue("--line");
    line(pen, [[0, height - 1], [width, height - 1]]);
    pen.strokeStyle = colours.getPropertyValue("--accent");
    pen.lineWidth = 1.6;
    line(pen, points);
  }
}

function line(pen, points) {
  pen.beginPath();
  for (const point of points) pen.lineTo(...point);
  pen.stroke();
}
