// Map: the texts of a collection as points; texts with similar meanings are close to each other.

import { noteAddress } from "../parts/address.js";
import { isAbort, Latest, request } from "../parts/api.js";
import { CollectionPicker, noCollections } from "../parts/collection_picker.js";
import { debounced, failureNotice, h, notice, segments } from "../parts/dom.js";
import { MAP_KEYS, MapControls } from "../map/controls.js";
import { ClusterMap } from "../map/map_selection.js";
import { MapPoints } from "../map/points.js";

const NEAREST = 40; // number of texts that a search by meaning finds
const LAYOUTS = [["pca", "Quick (PCA)"], ["t-sne", "Detailed (t-SNE)"]];
const ASK_EVERY = 400; // milliseconds between requests for the progress of a map

export function createView(root, context) {
  return new MapPanel(root, context);
}

class MapPanel {
  constructor(root) {
    this.latest = new Latest();
    this.searches = new Latest();
    this.layout = null; // chosen by the server, unless the user chooses one
    this.typed = debounced(() => this.find(), 120);
    this.picker = new CollectionPicker(() => this.load());
    this.search = h("input", { type: "search", placeholder: "Find on the map", "aria-label": "Find on the map", autocomplete: "off", oninput: () => this.typed(), onkeydown: (event) => this.pressInSearch(event) });
    this.state = h("p", { class: "status clip", role: "status" });
    this.sample = h("p", { class: "note" });
    this.body = h("div", { class: "map-body" });
    this.bar = h("progress", { "aria-label": "Progress of the layout", max: 1, hidden: true });
    this.layouts = segments("Layout", LAYOUTS, null, (layout) => this.changeLayout(layout));
    root.append(h("div", { class: "row spread map-head" },
      h("h1", {}, "Map"),
      h("div", { class: "row" }, this.picker.element, this.layouts.element, h("div", { class: "grow" }, this.search))),
      this.bar, this.body, this.state, this.sample);
    new MutationObserver(() => this.map?.redraw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  async show(values) {
    try {
      const collections = await this.picker.load(values.c);
      if (!collections.length) return void this.body.replaceChildren(noCollections());
      if (values.q) this.search.value = values.q;
      if (values.layout) this.layout = values.layout;
      await this.load();
      this.map?.isolateNamed(values.only);
    } catch (failure) {
      this.body.replaceChildren(failureNotice(failure, () => this.show(values)));
    }
  }

  hide() {
    this.latest.cancel();
    this.searches.cancel();
  }

  note() {
    const only = this.map?.points.groups[this.map.chosen.only]?.name;
    noteAddress("map", { c: this.picker.chosen, q: this.search.value.trim(), layout: this.layout, only });
  }

  changeLayout(layout) {
    this.layout = layout;
    this.load();
  }

  async load() {
    const name = this.picker.chosen;
    const key = `${name} ${this.layout}`;
    this.note();
    if (this.key === key) return this.find();
    this.wait(name);
    const watch = (this.watch = setInterval(() => this.showProgress(name, watch), ASK_EVERY));
    try {
      const data = await this.latest.request(`${pathOf(name)}/map${this.layout ? `?layout=${encodeURIComponent(this.layout)}` : ""}`);
      if (!data.texts.length) return void this.body.replaceChildren(notice("This collection is empty."));
      this.draw(data);
      this.key = key;
      this.find();
    } catch (failure) {
      if (isAbort(failure)) return;
      this.map = this.data = this.key = null;
      this.body.replaceChildren(failureNotice(failure));
    } finally {
      clearInterval(watch);
      if (this.watch === watch) this.endWait();
    }
  }

  endWait() {
    this.watch = null;
    this.bar.hidden = true;
  }

  async showProgress(name, watch) {
    const { map_progress: share } = await request(pathOf(name)).catch(() => ({ map_progress: null }));
    if (share === null || this.watch !== watch) return;
    this.bar.value = share;
    this.bar.hidden = false;
  }

  // While a layout is computed, the current map stays visible if it shows the same collection.
  wait(name) {
    const message = "Computing the layout …";
    if (this.data?.collection === name) this.state.textContent = message;
    else {
      this.state.textContent = this.sample.textContent = "";
      this.map = null;
      this.body.replaceChildren(notice(message));
    }
  }

  draw(data) {
    this.data = data;
    const isPart = data.total > data.texts.length;
    this.sample.textContent = isPart ? `The map shows ${data.texts.length.toLocaleString("en")} of the collection’s ${data.total.toLocaleString("en")} texts, sampled evenly.` : "";
    this.rows = new Map(data.ids.map((id, row) => [id, row]));
    const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": `Map of ${data.texts.length} texts`, "aria-describedby": "map-keys", onkeydown: (event) => this.pressOnMap(event) });
    const tip = h("div", { class: "tip", hidden: true }, h("p", { class: "cluster" }), h("p", { class: "text" }));
    const legend = h("ul");
    const buttons = [["Zoom in", "+", () => this.map.zoomAt(1.6)], ["Zoom out", "−", () => this.map.zoomAt(1 / 1.6)], ["Whole map", "⤢", () => this.map.showWhole()]];
    const overlay = h("div", { class: "zoom" }, buttons.map(([name, sign, act]) => h("button", { type: "button", "aria-label": name, title: name, onclick: act }, sign)));
    this.body.replaceChildren(
      h("div", { class: "stage" }, canvas, tip, overlay),
      h("nav", { class: "legend-list", "aria-label": "Clusters" }, legend),
      h("p", { class: "note keys", id: "map-keys" }, ...keysInWords()));
    this.layouts.choose(data.layout);
    this.map = new ClusterMap({ canvas, tip, overlay, legend, state: this.state, changed: () => this.note() }, new MapPoints(data));
    new MapControls(this.map);
  }

  pressOnMap(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") this.clear();
    else if (event.key === "/") this.search.focus();
    else if (MAP_KEYS[event.key]) MAP_KEYS[event.key](this.map);
    else return;
    event.preventDefault();
  }

  pressInSearch(event) {
    if (event.key === "Enter") this.goToFound(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") this.clear();
  }

  // Go to the next or previous search result; the text nearest in meaning comes first.
  goToFound(by) {
    if (!this.ranked?.length) return;
    const from = this.ranked.indexOf(this.map.chosen.at);
    const next = from < 0 ? 0 : (from + by + this.ranked.length) % this.ranked.length;
    this.map.goTo(this.ranked[next]);
  }

  clear() {
    this.search.value = "";
    this.map?.isolate(null);
    this.map?.show(-1);
    this.find();
  }

  // Find the texts on the map that contain these words or are among the nearest in meaning.
  async find() {
    const query = this.search.value.trim();
    this.note();
    this.searches.cancel();
    if (!this.map) return;
    const withWords = this.map.points.rowsWith(query);
    this.map.find(withWords, query);
    this.ranked = [...(withWords ?? [])];
    if (!query) return;
    try {
      const { passages } = await this.searches.request("/v1/search", { query, collection: this.picker.chosen, k: 10 * NEAREST });
      const near = passages.map(({ id }) => this.rows.get(id)).filter((row) => row !== undefined).slice(0, NEAREST);
      this.ranked = [...new Set([...near, ...withWords])];
      this.map.find(new Set(this.ranked), query);
      this.state.textContent = `${withWords.size.toLocaleString("en")} with these words, ${near.filter((row) => !withWords.has(row)).length} more with similar meaning`;
    } catch (failure) {
      if (!isAbort(failure)) this.state.textContent = failure.message;
    }
  }
}

const pathOf = (name) => `/v1/collections/${encodeURIComponent(name)}`;

function keysInWords() {
  const keys = [["←↑↓→", "move"], ["+ −", "zoom"], ["0", "whole map"], ["/", "find"], ["n p", "next, previous"], ["Esc", "show all"]];
  return keys.flatMap(([key, what]) => [h("kbd", {}, key), ` ${what} `]);
}
