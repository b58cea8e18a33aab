// The paths of words through the layers, drawn on a canvas as a line for each word with a dot for each layer.

import { h } from "./dom.js";

const MARGIN = 26;
const HUES = 12;

export class WordPaths {
  constructor() {
    this.canvas = h("canvas", { class: "paths", role: "img", "aria-label": "The path of each word through the layers" });
    this.element = h("div", { class: "paths-frame" }, this.canvas);
    this.at = { word: -1, layer: -1 };
    this.pen = this.canvas.getContext("2d");
    new ResizeObserver(() => this.draw()).observe(this.element);
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.canvas.addEventListener("pointermove", (event) => this.#point(event));
    this.canvas.addEventListener("pointerleave", () => this.follow(-1, -1));
  }

  // `places[layer][word]` is a point; special tokens such as [CLS] are drawn with thinner lines.
  show({ places, words, special }) {
    Object.assign(this, { places, words, special });
    this.canvas.setAttribute("aria-label", `The paths of ${words.length} words through ${places.length} layers`);
    this.draw();
  }

  // Highlight one word.
  follow(word, layer) {
    if (word === this.at.word && layer === this.at.layer) return;
    this.at = { word, layer };
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.places || !width) return;
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#fit(width, height);
    this.ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    this.isDark = document.documentElement.dataset.theme === "dark";
    this.words.forEach((_, word) => word === this.at.word || this.#drawPath(word));
    if (this.at.word >= 0) this.#drawPath(this.at.word);
    this.#drawNames(width);
  }

  #fit(width, height) {
    const points = this.places.flat();
    const [left, right] = bounds(points.map(([x]) => x));
    const [low, high] = bounds(points.map(([, y]) => y));
    const scale = Math.min((width - 3.4 * MARGIN) / (right - left || 1), (height - 2 * MARGIN) / (high - low || 1));
    this.place = (layer, word) => {
      const [x, y] = this.places[layer][word];
      return [width / 2 + (x - (left + right) / 2) * scale, height / 2 - (y - (low + high) / 2) * scale];
    };
  }

  #colour(word) {
    return `hsl(${(word * 360) / HUES + 190} ${this.special[word] ? 8 : 55}% ${this.isDark ? 68 : 38}%)`;
  }

  #drawPath(word) {
    const { pen } = this;
    const isChosen = word === this.at.word;
    pen.globalAlpha = this.at.word >= 0 && !isChosen ? 0.18 : 1;
    pen.strokeStyle = pen.fillStyle = this.#colour(word);
    pen.lineWidth = isChosen ? 2.4 : this.special[word] ? 0.8 : 1.4;
    pen.beginPath();
    this.places.forEach((_, layer) => pen.lineTo(...this.place(layer, word)));
    pen.stroke();
    this.places.forEach((_, layer) => {
      pen.beginPath();
      pen.arc(...this.place(layer, word), 1.4 + (2.6 * layer) / this.places.length + (layer === this.at.layer && isChosen ? 3 : 0), 0, 2 * Math.PI);
      pen.fill();
    });
    pen.globalAlpha = 1;
  }

  // Label the ends of the paths, the chosen word first, but leave out labels that would overlap others.
  #drawNames(width) {
    const { pen } = this;
    const taken = [];
    const order = this.words.map((_, word) => word).sort((a, b) => (b === this.at.word) - (a === this.at.word) || this.special[a] - this.special[b]);
    pen.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
    pen.textBaseline = "middle";
    for (const word of order) {
      if (this.at.word >= 0 && word !== this.at.word) continue;
      const [x, y] = this.place(this.places.length - 1, word);
      const wide = pen.measureText(this.words[word]).width;
      const left = x + 8 + wide > width ? x - 8 - wide : x + 8;
      const box = [left - 2, y - 8, left + wide + 2, y + 8];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      pen.fillStyle = this.#colour(word);
      pen.fillText(this.words[word], left, y);
    }
  }

  #point(event) {
    let best = [-1, -1];
    let least = 16 ** 2;
    this.places?.forEach((line, layer) => line.forEach((_, word) => {
      const [x, y] = this.place(layer, word);
      const distance = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
      if (distance < least) [best, least] = [[word, layer], distance];
    }));
    this.follow(...best);
  }
}

function bounds(numbers) {
  return [Math.min(...numbers), Math.max(...numbers)];
}
