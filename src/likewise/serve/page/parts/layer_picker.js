// Selects the layer whose share of a cosine is shown, or all layers: a slider below a bar for each layer's contribution.

import { h } from "./dom.js";

export class LayerPicker {
  // `choose` is called with the index of the layer in the list, or with null for all layers.
  constructor(choose) {
    this.choose = choose;
    this.slider = h("input", { type: "range", min: 0, step: 1, oninput: () => this.pick() });
    this.name = h("output", { class: "number" });
    this.bars = h("div", { class: "layer-bars", "aria-hidden": "true" });
    this.names = h("div", { class: "layer-names note", "aria-hidden": "true" });
    this.picture = h("div", { class: "layer-picture" }, this.bars, this.names, h("label", {}, h("span", { class: "hidden" }, "Layer"), this.slider));
    this.element = h("div", { class: "card", hidden: true },
      h("div", { class: "row spread" }, h("h2", {}, "By layer"), this.name),
      this.picture,
      h("p", { class: "note" }, "This model’s vectors are computed from several layers, so the cosine is also a sum over layers. Move the slider to see one layer’s share."));
  }

  // Show the layers and select the one with this name; returns its index, or null for all layers.
  show({ layers, layer_contributions: parts }, name) {
    this.element.hidden = !parts;
    if (!parts) return null;
    this.layers = layers;
    this.totals = parts.map((rows) => rows.flat().reduce((total, value) => total + value, 0));
    const most = Math.max(...this.totals.map(Math.abs)) || 1;
    const bar = (total) => h("span", { class: total < 0 ? "takes" : "adds", "--share": `${(100 * Math.abs(total)) / most}%` });
    this.bars.replaceChildren(h("span", { class: "all" }), ...this.totals.map(bar));
    this.names.replaceChildren(...["all", ...layers].map((name) => h("span", {}, name)));
    this.picture.style.setProperty("--count", layers.length + 1);
    this.slider.max = layers.length;
    this.slider.value = layers.indexOf(name) + 1;
    this.say();
    return this.chosen;
  }

  get chosen() {
    const at = Number(this.slider.value) - 1;
    return at < 0 ? null : at;
  }

  pick() {
    this.say();
    this.choose(this.chosen);
  }

  say() {
    const at = Number(this.slider.value) - 1;
    const cosine = this.totals.reduce((sum, value) => sum + value, 0);
    const text = at < 0 ? `all layers: ${cosine.toFixed(3)}` : `${nameOf(this.layers[at])}: ${this.totals[at].toFixed(3)} of ${cosine.toFixed(3)}`;
    this.name.value = text;
    this.slider.setAttribute("aria-valuetext", text);
    [...this.bars.children].forEach((bar, n) => bar.classList.toggle("chosen", n === at + 1));
  }
}

const nameOf = (layer) => (/^\d+$/.test(layer) ? `layer ${layer}` : layer);
