// Model: the model's properties and its scores, with 95 % intervals.

import { noteAddress } from "../parts/address.js";
import { Latest, isAbort } from "../parts/api.js";
import { counted, failureNotice, h, notice } from "../parts/dom.js";

const FACTS = [
  ["encoder", "Encoder"], ["layers", "Layers"], ["width", "Width"], ["parameters", "Parameters"], ["pooling", "Pooling"],
  ["heads", "Heads"], ["numbers", "Dimensions"], ["longest_input", "Longest input"], ["vocabulary", "Vocabulary"],
  ["precision", "Precision"], ["base_model", "Base model"], ["language", "Language"], ["license", "Licence"], ["fingerprint", "Fingerprint"],
];
const UNITS = { longest_input: "token", vocabulary: "token" };

export function createView(root, context) {
  return new ModelView(root, context);
}

class ModelView {
  constructor(root, context) {
    this.context = context;
    this.latest = new Latest();
    this.body = h("div", { class: "stack" });
    root.append(this.body);
  }

  async show() {
    noteAddress("model", {});
    try {
      this.present(await this.latest.request(`/card?model=${encodeURIComponent(this.context.model)}`));
    } catch (failure) {
      if (!isAbort(failure)) this.body.replaceChildren(failureNotice(failure, () => this.show()));
    }
  }

  present({ model, about, facts, scores, notes }) {
    const rows = FACTS.filter(([name]) => facts[name] !== undefined && facts[name] !== null).map(([name, label]) => h("div", {}, h("dt", {}, label), h("dd", {}, factOf(name, facts[name]))));
    this.body.replaceChildren(
      h("div", {}, h("h1", {}, model), h("p", { class: "lede flat" }, about ?? "An embedder turns texts into vectors; texts with similar meanings get similar vectors.")),
      h("div", { class: "split even" },
        h("section", { class: "card" }, h("h2", {}, "Properties"), h("dl", { class: "facts" }, rows)),
        h("section", { class: "card" }, h("h2", {}, "Scores"), scores.length ? scoresOf(scores) : noScores(model), notesOf(notes))),
    );
  }
}

function factOf(name, value) {
  if (Array.isArray(value)) return value.join(", ") || "nothing";
  if (name === "fingerprint") return h("code", { title: value }, `${value.slice(0, 12)}…`);
  if (UNITS[name]) return counted(value, UNITS[name]);
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}

// A row for each task, with a dot at the score and a bar over its interval, on an axis that covers all intervals.
function scoresOf(scores) {
  const from = 10 * Math.floor(Math.min(...scores.map(({ score, low }) => low ?? score)) / 10);
  const to = 10 * Math.ceil(Math.max(...scores.map(({ score, high }) => high ?? score)) / 10);
  const across = (value) => (100 * (value - from)) / (to - from || 1);
  const rows = scores.map(({ name, score, low, high, items }) => h("tr", {},
    h("th", { scope: "row" }, name),
    h("td", { class: "number" }, score.toFixed(1)),
    h("td", { class: "number soft" }, low === null ? "" : `${low.toFixed(1)}–${high.toFixed(1)}`),
    h("td", { class: "axis", "aria-hidden": "true" }, h("span", { class: "track", "--from": across(low ?? score), "--to": across(high ?? score), "--at": across(score) }, h("i", { class: "range" }), h("i", { class: "point" }))),
    h("td", { class: "number soft items" }, items === null ? "" : items.toLocaleString("en"))));
  const head = ["Task", "× 100", "95 % interval"].map((name) => h("th", { scope: "col" }, name));
  return h("table", { class: "scores" },
    h("thead", {}, h("tr", {}, head, h("td", { class: "axis ends", "aria-hidden": "true" }, h("span", {}, from), h("span", {}, to)), h("th", { scope: "col", class: "items" }, "Items"))),
    h("tbody", {}, rows));
}

function noScores(model) {
  return notice("This model’s folder contains no scores. You can compute them with:", h("pre", {}, `likewise evaluate ${model}`));
}

function notesOf(notes) {
  return notes.length ? h("details", { class: "notes" }, h("summary", {}, "About these scores"), h("ul", {}, notes.map((text) => h("li", {}, text)))) : null;
}
