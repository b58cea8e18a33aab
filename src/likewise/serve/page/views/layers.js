// Layers: how a sentence passes through a model, what each layer does to each word, and where the words’ vectors are.

import { noteAddress } from "../parts/address.js";
import { isAbort, Latest } from "../parts/api.js";
import { debounced, exampleChips, failureNotice, field, h, notice, segments } from "../parts/dom.js";
import { SENTENCES } from "../parts/examples.js";
import { cosineText, HeatMap, oneWay, shortened } from "../parts/heat_map.js";
import { WordPaths } from "../parts/word_paths.js";

// The measures that can be shown for a word at a layer; each is read from the server's response.
const MEASURES = {
  movement: {
    name: "Movement",
    about: "How far a word’s vector turns from the previous layer to this one: 1 minus the cosine of the two vectors.",
    values: (found) => found.movement,
  },
  novelty: {
    name: "Novelty",
    about: "How much of a word’s vector is new at this layer: the part that its vectors at the neighbouring layers do not span (SBERT-WK).",
    values: (found) => found.novelty,
  },
  alignment: {
    name: "Alignment",
    about: "The mean cosine between a word’s vector and its vectors at the neighbouring layers (SBERT-WK).",
    values: (found) => found.alignment,
  },
  arrival: {
    name: "Arrival",
    about: "How close a word’s vector is to its final vector: the cosine with its vector at the last layer.",
    values: (found) => found.to_last,
  },
};

const DEFAULT_MEASURE = "movement";

export function createView(root, context) {
  return new LayersView(root, context);
}

class LayersView {
  constructor(root, context) {
    this.context = context;
    this.measure = DEFAULT_MEASURE;
    this.latest = new Latest();
    this.typed = debounced(() => this.compute(), 150);
    this.input = h("input", { type: "text", oninput: () => this.typed() });
    this.about = h("p", { class: "note" });
    this.status = h("p", { class: "status", role: "status" });
    this.weights = h("div", { class: "words", "aria-label": "The sentence, with each word coloured by how much its vector turns" });
    this.map = new HeatMap({
      label: "Layers as rows, words as columns",
      upright: true,
      scale: (value) => oneWay(this.least, this.most)(value),
      shown: cosineText,
      spoken: (value, i, j) => `${this.found.words[j]}, ${layerName(i + this.first)}: ${value.toFixed(2)}`,
      pick: (i, j) => this.paths.follow(j, i + this.first),
      leave: () => this.paths.follow(-1, -1),
    });
    this.paths = new WordPaths();
    this.between = new HeatMap({
      label: "How similar words are at two layers",
      scale: (value, i, j) => (i === j ? { share: 0, kind: "self" } : oneWay(0, 1)(value)),
      shown: (value, i, j) => (i === j ? "·" : cosineText(value)),
      spoken: (value, i, j) => `${layerName(i)} and ${layerName(j)}: ${value.toFixed(2)}`,
    });
    root.append(...this.layout());
  }

  layout() {
    this.result = h("div", { class: "stack" });
    const choices = Object.entries(MEASURES).map(([value, { name }]) => [value, name]);
    this.measures = segments("Measure to show", choices, this.measure, (measure) => this.choose(measure));
    this.sentences = h("ol", { class: "by-layer", start: 0 });
    this.parts = [
      h("div", { class: "card" },
        h("div", { class: "row spread" }, h("h2", {}, "Each word at each layer"), this.measures.element),
        this.about, this.map.element),
      h("div", { class: "card" }, h("h2", {}, "Weight of each word"), this.weights,
        h("p", { class: "note" }, "These are SBERT-WK’s weights: words whose vectors keep turning from layer to layer contribute more to the sentence."), this.status),
      h("div", { class: "card" }, h("h2", {}, "What each layer does to this sentence"), this.sentences),
      h("div", { class: "pair" },
        h("div", { class: "card" }, h("h2", {}, "Paths of the words"), this.paths.element,
          h("p", { class: "note" }, "The vectors of each word at all layers, projected onto the two directions in which they vary most. Small dots are early layers; the labelled end is the last layer.")),
        h("div", { class: "card" }, h("h2", {}, "Layers compared"), this.between.element,
          h("p", { class: "note" }, "The mean cosine between the words’ vectors at one layer and at another. Layer 0 stands for the input embeddings, before the first layer."))),
    ];
    return [
      h("h1", {}, "Through the layers"),
      h("p", { class: "lede" }, "A transformer processes a sentence layer by layer, and each layer changes the vector of every word a little. This page shows the path of one sentence."),
      h("div", { class: "stack" },
        h("div", { class: "stack tight" }, field("Sentence", this.input), exampleChips("Examples:", SENTENCES, (text) => this.use(text))),
        this.result),
    ];
  }

  show(values) {
    this.input.value = values.t || this.input.value || SENTENCES[0][1];
    if (values.measure in MEASURES) this.measures.choose((this.measure = values.measure));
    this.compute();
  }

  hide() {
    this.latest.cancel();
  }

  note() {
    const text = this.input.value.trim();
    noteAddress("layers", { t: text === SENTENCES[0][1] ? "" : text, measure: this.measure === DEFAULT_MEASURE ? "" : this.measure });
  }

  use(text) {
    this.input.value = text;
    this.compute();
  }

  async compute() {
    const text = this.input.value.trim();
    this.note();
    if (!text) {
      this.latest.cancel();
      this.result.replaceChildren(notice("Type a sentence."));
      return;
    }
    try {
      this.present(await this.latest.request("/dissect", { text, model: this.context.model }));
    } catch (failure) {
      if (!isAbort(failure)) this.result.replaceChildren(failureNotice(failure));
    }
  }

  present(found) {
    this.found = found;
    this.paths.show(found);
    this.showWeights();
    this.sentences.replaceChildren(...sentencesOf(found).map((sentence) => h("li", {}, sentence)));
    const names = found.between_layers.map((_, layer) => ({ name: String(layer) }));
    this.between.show(found.between_layers, names, names);
    this.choose(this.measure);
    this.status.textContent = found.truncated.map(({ tokens, used }) => `The sentence has ${tokens} tokens, but the model reads only ${used}.`).join("");
    if (this.result.firstChild !== this.parts[0]) this.result.replaceChildren(...this.parts);
  }

  choose(measure) {
    this.measure = measure;
    this.note();
    const { values, about } = MEASURES[measure];
    const byLayer = values(this.found);
    this.first = this.found.novelty.length - byLayer.length; // movement is undefined for the first layer
    this.least = Math.min(0, ...byLayer.flat());
    this.most = Math.max(...byLayer.flat());
    this.about.textContent = `${about} ${this.example(byLayer)}`;
    const rows = byLayer.map((_, layer) => ({ name: layerName(layer + this.first) }));
    const columns = this.found.words.map((word) => ({ name: shortened(word, 16), title: word }));
    this.map.show(byLayer, rows, columns);
  }

  // The words and layers with the highest and the lowest value, among the words that the user typed.
  example(byLayer) {
    const cells = byLayer.flatMap((line, layer) => ownWords(this.found, line).map(({ word, value }) => ({ word, value, layer: layer + this.first })));
    if (!cells.length) return "";
    const { most, least } = extremes(cells);
    const shown = ({ word, value, layer }) => `“${word}” at ${layerName(layer)} (${cosineText(value)})`;
    return `In this sentence, the highest value is ${shown(most)} and the lowest ${shown(least)}.`;
  }

  showWeights() {
    const most = Math.max(...this.found.importance) || 1;
    this.weights.replaceChildren(...this.found.words.map((word, n) => {
      const share = this.found.importance[n];
      const attributes = { class: `word shaded${this.found.special[n] ? " special" : ""}`, "--share": `${(75 * share) / most}%`, title: `${(100 * share).toFixed(1)} %` };
      return h("span", attributes, word);
    }));
  }
}

// One sentence for each layer.
function sentencesOf(found) {
  const last = found.movement.length;
  const turns = found.movement.map((line, at) => {
    const words = ownWords(found, line);
    if (!words.length) return "";
    const { most, least } = extremes(words);
    const close = at + 1 === last ? "it is the last layer, whose vectors usually become the sentence’s vector" : `its vectors have a mean cosine of ${cosineText(found.between_layers[at + 1][last])} with the last layer’s`;
    return `It turns the vector of “${most.word}” most (${cosineText(most.value)}) and that of “${least.word}” least (${cosineText(least.value)}); ${close}.`;
  });
  return ["Input embeddings: a word’s vector depends only on the word and its position, not on the rest of the sentence.", ...turns];
}

// The words with their values, without punctuation and without special tokens such as [CLS].
function ownWords(found, line) {
  return line.map((value, n) => ({ word: found.words[n], value })).filter(({ word }, n) => !found.special[n] && /[\p{L}\p{N}]/u.test(word));
}

function extremes(cells) {
  const sorted = [...cells].sort((a, b) => b.value - a.value);
  return { most: sorted[0], least: sorted.at(-1) };
}

const layerName = (layer) => (layer === 0 ? "layer 0 (input)" : `layer ${layer}`);
