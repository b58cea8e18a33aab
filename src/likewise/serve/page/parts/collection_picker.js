// The list from which the user chooses a collection; all views share the choice.

import { request } from "./api.js";
import { freshId, h, notice } from "./dom.js";

let lastChosen = null; // shared by all views

export class CollectionPicker {
  constructor(change) {
    const id = freshId("collection");
    this.select = h("select", { id, onchange: () => {
      lastChosen = this.select.value;
      change();
    } });
    this.element = h("div", { class: "picker" }, h("label", { class: "hidden", for: id }, "Collection"), this.select);
  }

  // List the collections that can be searched, and select the one with this name, or else the one chosen last.
  async load(name) {
    const { data } = await request("/v1/collections");
    this.collections = data.filter((one) => !one.error);
    const names = this.collections.map((one) => one.name);
    this.select.replaceChildren(...this.collections.map((one) => h("option", { value: one.name }, `${one.name} (${one.count.toLocaleString("en")})`)));
    const wanted = [name, lastChosen].find((one) => names.includes(one));
    if (wanted) this.select.value = wanted;
    lastChosen = this.chosen;
    return this.collections;
  }

  get chosen() {
    return this.select.value;
  }

  get count() {
    return this.#collection?.count ?? 0;
  }

  get columns() {
    return this.#collection?.columns ?? {};
  }

  get #collection() {
    return this.collections.find((one) => one.name === this.chosen);
  }
}

export function noCollections() {
  return notice("This server has no collections yet. Create one from your texts, and start the server with it:",
    h("pre", {}, "likewise index add indexes/notes notes/*.md\nlikewise serve --collections indexes/"));
}
