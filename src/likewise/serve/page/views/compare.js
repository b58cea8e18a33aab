// Compare: sentences, one per line, and the similarity of each pair, updated as the user types.

import { addressOf, noteAddress } from "../parts/address.js";
import { isAbort, Latest } from "../parts/api.js";
import { counted, exampleChips, failureNotice, field, h, notice, paced } from "../parts/dom.js";
import { SENTENCE_SETS } from "../parts/examples.js";
import { cosineText, HeatMap, oneWay, shortened } from "../parts/heat_map.js";

const MOST_SENTENCES = 40;
const MOST_ALIKE = 4;

export function createView(root, context) {
  return new CompareView(root, context);
}

class CompareView {
  constructor(root, context) {
    this.context = context;
    this.latest = new Latest();
    this.typed = paced(() => this.compute());
    this.area = h("textarea", { rows: 11, spellcheck: "false", oninput: () => this.typed() });
    this.status = h("p", { class: "status", role: "status" });
    this.pair = h("div", { class: "card pair-shown" });
    this.alike = h("ol", { class: "plain-list" });
    this.map = new HeatMap({
      label: "Similarity of each pair of sentences",
      scale: (value, i, j) => (i === j ? { share: 0, kind: "self" } : oneWay(0, 1)(value)),
      shown: (value, i, j) => (i === j ? "·" : cosineText(value)),
      spoken: (value, i, j) => `${i + 1} and ${j + 1}: ${value.toFixed(2)}`,
      pick: (i, j) => this.showPair(i, j),
    });
    root.append(...this.layout());
  }

  layout() {
    this.result = h("div", { class: "stack" });
    this.found = [
      h("div", { class: "card" }, this.map.element),
      h("div", { class: "pair" }, this.pair, h("div", { class: "card" }, h("h2", {}, "Most similar pairs"), this.alike)),
    ];
    const entry = h("div", { class: "stack tight" },
      field("Sentences, one per line", this.area),
      exampleChips("Examples:", SENTENCE_SETS, (texts) => this.use(texts)),
      this.status);
    return [
      h("h1", {}, "Compare sentences"),
      h("p", { class: "lede" }, "The model turns each sentence into a vector. The cosine of two vectors shows how similar it considers the sentences’ meanings; a stronger colour means more similar."),
      h("div", { class: "split" }, entry, this.result),
    ];
  }

  show(values) {
    if (values.t) this.area.value = values.t;
    if (!this.area.value) this.area.value = SENTENCE_SETS[0][1].join("\n");
    this.compute();
  }

  hide() {
    this.latest.cancel();
  }

  use(texts) {
    this.area.value = texts.join("\n");
    this.compute();
  }

  async compute() {
    const lines = this.area.value.split("\n").map((line) => line.trim()).filter(Boolean);
    const texts = lines.slice(0, MOST_SENTENCES);
    noteAddress("compare", { t: this.area.value === SENTENCE_SETS[0][1].join("\n") ? "" : this.area.value });
    if (texts.length < 2) {
      this.latest.cancel();
      this.status.textContent = "";
      this.result.replaceChildren(notice("Type two or more sentences, each on its own line."));
      return;
    }
    const began = performance.now();
    try {
      const answer = await this.latest.request("/similarity", { texts, model: this.context.model });
      this.present(texts, answer, lines.length, performance.now() - began);
    } catch (failure) {
      if (!isAbort(failure)) this.result.replaceChildren(failureNotice(failure, () => this.compute()));
    }
  }

  present(texts, { matrix, truncated }, count, milliseconds) {
    Object.assign(this, { texts, matrix });
    const rows = texts.map((text, i) => ({ name: `${i + 1}  ${shortened(text, 34)}`, title: text }));
    const columns = texts.map((text, i) => ({ name: String(i + 1), title: text }));
    this.map.show(matrix, rows, columns);
    this.showAlike();
    if (this.result.firstChild !== this.found[0]) this.result.replaceChildren(...this.found);
    this.status.textContent = statusOf(count, truncated, milliseconds);
  }

  showAlike() {
    const pairs = this.texts.flatMap((_, i) => this.texts.slice(i + 1).map((_, at) => [i, i + 1 + at]));
    pairs.sort(([a, b], [c, d]) => this.matrix[c][d] - this.matrix[a][b]);
    this.alike.replaceChildren(...pairs.slice(0, MOST_ALIKE).map(([i, j]) =>
      h("li", {}, h("button", { type: "button", class: "line", onclick: () => this.map.cell(i, j).focus() },
        h("span", { class: "number" }, this.matrix[i][j].toFixed(2)),
        h("span", { class: "clip" }, `${i + 1} and ${j + 1}: ${this.texts[i]}`)))));
    this.showPair(...pairs[0]);
  }

  showPair(i, j) {
    const texts = [this.texts[i], this.texts[j]];
    const why = addressOf("why", { a: texts[0], b: texts[1] });
    this.pair.replaceChildren(
      h("div", { class: "row spread" },
        h("p", { class: "big number" }, this.matrix[i][j].toFixed(3)),
        h("a", { href: why }, "Why?", h("span", { class: "hidden" }, ` sentences ${i + 1} and ${j + 1}`))),
      ...[i, j].map((row) => h("p", { class: "quoted" }, h("span", { class: "note number" }, `${row + 1} `), this.texts[row])),
    );
  }
}

function statusOf(count, truncated, milliseconds) {
  const left = count > MOST_SENTENCES ? ` Only the first ${MOST_SENTENCES} of ${count} are compared.` : "";
  const cut = truncated.map(({ index, tokens, used }) => `Sentence ${index + 1} has ${tokens} tokens, but the model reads only ${used}.`);
  return `${counted(Math.min(count, MOST_SENTENCES), "sentence")} in ${milliseconds.toFixed(0)} ms.${left} ${cut.join(" ")}`;
}
