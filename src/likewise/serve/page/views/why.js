// Why: the cosine of two sentences as a sum over pairs of their words, and by layer if the pooling uses several layers.

import { noteAddress } from "../parts/address.js";
import { isAbort, Latest } from "../parts/api.js";
import { debounced, exampleChips, failureNotice, field, h, notice } from "../parts/dom.js";
import { SENTENCE_PAIRS } from "../parts/examples.js";
import { bothWays, HeatMap, shortened } from "../parts/heat_map.js";
import { LayerPicker } from "../parts/layer_picker.js";

const MOST_WORDS = 60; // maximum number of a sentence's words in the table; the coloured sentences show all words

export function createView(root, context) {
  return new WhyView(root, context);
}

class WhyView {
  constructor(root, context) {
    this.context = context;
    this.latest = new Latest();
    this.typed = debounced(() => this.compute(), 150);
    this.inputs = ["First sentence", "Second sentence"].map((name) => [name, h("textarea", { rows: 2, oninput: () => this.typed() })]);
    this.sentences = [0, 1].map((side) => h("p", { class: "words", "aria-label": this.inputs[side][0] }));
    this.total = h("p", { class: "big number" });
    this.status = h("p", { class: "status", role: "status" });
    this.map = new HeatMap({
      label: "Contribution of each pair of words to the cosine, in hundredths",
      upright: true,
      scale: (value) => bothWays(this.most)(value),
      shown: hundredths,
      spoken: (value, i, j) => `${this.words(0)[i]} and ${this.words(1)[j]}: ${hundredths(value)}`,
      pick: (i, j) => this.mark(i, j),
      leave: () => this.mark(-1, -1),
    });
    this.layers = new LayerPicker((layer) => this.showLayer(layer));
    this.layer = null; // the name of the selected layer; null means all layers
    root.append(...this.layout());
  }

  layout() {
    this.result = h("div", { class: "stack" });
    this.parts = [
      h("div", { class: "card" },
        h("div", { class: "row spread" }, this.total, h("p", { class: "legend note" }, swatch("adds"), "adds to the cosine ", swatch("takes"), "subtracts from it")),
        this.sentences, this.status),
      this.layers.element,
      h("div", { class: "card" }, h("h2", {}, "Pairs of words, in hundredths"), this.map.element,
        h("p", { class: "note" }, "The numbers add up to the cosine. Because a word’s vector depends on its context, the table shows where the similarity of these two sentences lies, not what a word would contribute in another sentence.")),
    ];
    return [
      h("h1", {}, "Why are two sentences similar?"),
      h("p", { class: "lede" }, "The cosine of two sentences is exactly the sum of contributions from all pairs of their words. Point at a word to see what it contributes together with each word of the other sentence."),
      h("div", { class: "stack" },
        h("div", { class: "pair" }, this.inputs.map(([name, input]) => field(name, input))),
        exampleChips("Examples:", SENTENCE_PAIRS, (texts) => this.use(texts)),
        this.result),
    ];
  }

  show(values) {
    const given = [values.a, values.b];
    this.inputs.forEach(([, input], side) => {
      input.value = given[side] || input.value || SENTENCE_PAIRS[0][1][side];
    });
    this.layer = values.layer ?? null;
    this.compute();
  }

  hide() {
    this.latest.cancel();
  }

  use(texts) {
    this.inputs.forEach(([, input], side) => {
      input.value = texts[side];
    });
    this.compute();
  }

  noteState() {
    const [a, b] = this.inputs.map(([, input]) => input.value.trim());
    noteAddress("why", { a, b, layer: this.layer });
  }

  async compute() {
    const [first, second] = this.inputs.map(([, input]) => input.value.trim());
    this.noteState();
    if (!first || !second) {
      this.latest.cancel();
      this.result.replaceChildren(notice("Type a sentence in each field."));
      return;
    }
    try {
      const found = await this.latest.request("/explain", { first, second, model: this.context.model });
      this.present(found);
    } catch (failure) {
      if (!isAbort(failure)) this.result.replaceChildren(failureNotice(failure));
    }
  }

  present(found) {
    this.found = found;
    this.total.textContent = found.cosine.toFixed(3);
    found.texts.forEach((side, at) => this.sentences[at].replaceChildren(...side.words.map((word, n) => this.wordOf(at, n, word, side.special[n]))));
    this.showLayer(this.layers.show(found, this.layer));
    if (this.result.firstChild !== this.parts[0]) this.result.replaceChildren(...this.parts);
  }

  words(side) {
    return this.found.texts[side].words;
  }

  // The contributions of one layer, or of all layers (null).
  showLayer(layer) {
    this.layer = layer === null ? null : this.found.layers[layer];
    this.noteState();
    this.contributions = layer === null ? this.found.contributions : this.found.layer_contributions[layer];
    const inTable = this.contributions.slice(0, MOST_WORDS).map((line) => line.slice(0, MOST_WORDS));
    this.most = Math.max(...inTable.flat().map(Math.abs));
    const names = [0, 1].map((side) => this.words(side).slice(0, MOST_WORDS).map((word) => ({ name: shortened(word, 16), title: word })));
    this.map.show(inTable, ...names);
    this.colour(this.totals());
    this.status.textContent = this.note();
  }

  note() {
    const long = [0, 1].some((side) => this.words(side).length > MOST_WORDS) ? `The table shows the first ${MOST_WORDS} words of each sentence.  ` : "";
    const cut = this.found.truncated.map(({ index, tokens, used }) => `Sentence ${index + 1} has ${tokens} tokens, but the model reads only ${used}.  `);
    return long + cut.join("");
  }

  totals() {
    const sums = [this.contributions.map(sum), this.words(1).map((_, j) => sum(this.contributions.map((line) => line[j])))];
    return sums;
  }

  colour(strengths) {
    const most = Math.max(...strengths.flat().map(Math.abs)) || 1;
    strengths.forEach((side, at) => side.forEach((value, n) => {
      const word = this.sentences[at].children[n];
      word.classList.toggle("takes", value < 0);
      word.style.setProperty("--share", `${((80 * Math.abs(value)) / most).toFixed(1)}%`);
    }));
  }

  wordOf(side, n, word, isSpecial) {
    const enter = () => this.followWord(side, n);
    const leave = () => this.mark(-1, -1);
    const attributes = { type: "button", class: `word shaded${isSpecial ? " special" : ""}` };
    return h("button", { ...attributes, onpointerenter: enter, onfocus: enter, onpointerleave: leave, onblur: leave }, word || "·");
  }

  // Colour the words of the other sentence by their contributions together with this word.
  followWord(side, n) {
    const line = side === 0 ? this.contributions[n] : this.contributions.map((row) => row[n]);
    const own = this.words(side).map((_, at) => (at === n ? sum(line) : 0));
    this.colour(side === 0 ? [own, line] : [line, own]);
    this.outline(side === 0 ? n : -1, side === 1 ? n : -1);
  }

  mark(i, j) {
    this.outline(i, j);
    if (i < 0 && j < 0) this.colour(this.totals());
  }

  outline(i, j) {
    [i, j].forEach((chosen, side) => [...this.sentences[side].children].forEach((word, n) => word.classList.toggle("chosen", n === chosen)));
  }
}

const hundredths = (value) => (Math.abs(value) < 0.0005 ? "0" : (100 * value).toFixed(1).replace("-", "−"));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const swatch = (kind) => h("span", { class: `swatch ${kind}`, "aria-hidden": "true" });
