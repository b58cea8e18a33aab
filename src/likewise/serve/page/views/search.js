// Search: the passages of a collection, as the user types.

import { noteAddress } from "../parts/address.js";
import { isAbort, Latest, request } from "../parts/api.js";
import { CollectionPicker, noCollections } from "../parts/collection_picker.js";
import { checkBox, counted, exampleChips, failureNotice, field, h, notice, paced } from "../parts/dom.js";
import { highlighted, wordsOf } from "../parts/highlight.js";

const RESULTS = 12;
const LONG = 700; // number of characters of a passage that are shown before the rest is folded

export function createView(root, context) {
  return new SearchView(root, context);
}

class SearchView {
  constructor(root) {
    this.latest = new Latest();
    this.typed = paced(() => this.search());
    this.query = h("input", { type: "search", class: "large", placeholder: "What are you looking for?", autocomplete: "off", "aria-label": "Search", oninput: () => this.typed() });
    this.filter = h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: 'year >= 2020 and lang = "en"', oninput: () => this.typed() });
    this.isHybrid = false;
    this.picker = new CollectionPicker(() => this.changeCollection());
    this.status = h("p", { class: "status", role: "status" });
    this.results = h("div", { class: "passages" });
    this.themes = h("div");
    root.append(h("h1", {}, "Search"), h("p", { class: "lede" }, "Search finds passages by their meaning, not only by their words. Results appear as you type."), this.layout());
  }

  layout() {
    const hybrid = checkBox("Match words too (hybrid)", false, (checked) => {
      this.isHybrid = checked;
      this.search();
    });
    hybrid.title = "Search by words as well, and combine both rankings";
    this.entry = h("div", { class: "stack tight" },
      h("div", { class: "row" }, h("div", { class: "grow" }, this.query), this.picker.element, hybrid),
      h("details", {}, h("summary", {}, "Filter"), field("Only passages whose metadata match", this.filter)),
      this.themes);
    this.body = h("div", { class: "stack" }, this.entry, this.status, this.results);
    return this.body;
  }

  async show(values) {
    try {
      const collections = await this.picker.load(values.c);
      if (!collections.length) return void this.body.replaceChildren(noCollections());
      this.body.replaceChildren(this.entry, this.status, this.results);
      if (values.q) this.query.value = values.q;
      if (values.f) this.filter.value = values.f;
      this.entry.querySelector("details").open ||= Boolean(this.filter.value);
      this.search();
      this.showThemes();
      if (matchMedia("(pointer: fine)").matches && document.activeElement === document.body) this.query.focus();
    } catch (failure) {
      this.results.replaceChildren(failureNotice(failure, () => this.show(values)));
    }
  }

  hide() {
    this.latest.cancel();
  }

  changeCollection() {
    this.search();
    this.showThemes();
  }

  use(query) {
    this.query.value = query;
    this.search();
  }

  // Suggest queries that show what the collection is about: the words of the largest clusters of its map.
  async showThemes() {
    const name = this.picker.chosen;
    try {
      const map = await request(`/v1/collections/${encodeURIComponent(name)}/map`);
      if (name !== this.picker.chosen || !map.clusters.length) return;
      const named = map.clusters.filter((cluster) => cluster.words.length);
      const themes = named.slice(0, 6).map((cluster) => [cluster.name, cluster.words.slice(0, 3).join(" ")]);
      this.themes.replaceChildren(exampleChips("In this collection:", themes, (query) => this.use(query)));
    } catch {
      this.themes.replaceChildren(); // search also works without these suggestions
    }
  }

  async search() {
    const [query, filter] = [this.query.value.trim(), this.filter.value.trim()];
    noteAddress("search", { c: this.picker.chosen, q: query, f: filter });
    if (!query) {
      return this.begin();
    }
    const began = performance.now();
    const body = { query, collection: this.picker.chosen, k: RESULTS, filter: filter || null, hybrid: this.isHybrid };
    try {
      const { passages } = await this.latest.request("/v1/search", body);
      this.present(query, passages, performance.now() - began);
    } catch (failure) {
      if (isAbort(failure)) return;
      this.status.textContent = "";
      this.results.replaceChildren(failureNotice(failure));
    }
  }

  // Before the user types anything, show passages that are similar to the collection's name.
  async begin() {
    try {
      const { passages } = await this.latest.request("/v1/search", { query: this.picker.chosen, collection: this.picker.chosen, k: RESULTS });
      this.status.textContent = passages.length ? `A few of ${counted(this.picker.count, "passage")}` : "";
      this.list(passages, []);
    } catch (failure) {
      if (!isAbort(failure)) this.results.replaceChildren(failureNotice(failure));
    }
  }

  present(query, passages, milliseconds) {
    this.status.textContent = `${counted(passages.length, "passage")} of ${this.picker.count.toLocaleString("en")} in ${milliseconds.toFixed(0)} ms`;
    this.list(passages, wordsOf(query));
  }

  list(passages, words) {
    if (passages.length) this.results.replaceChildren(h("ol", { class: "results" }, passages.map((passage) => resultOf(passage, words))));
    else this.results.replaceChildren(notice("No passages were found. Does the filter exclude all of them?"));
  }
}

function resultOf({ text, scores, metadata }, words) {
  const title = metadata.title ?? null;
  const body = h("p", { class: "passage" }, highlighted(text.slice(0, LONG), words));
  if (text.length > LONG) body.append(restOf(text, words));
  return h("li", { class: "card result" },
    h("div", { class: "score" },
      h("span", { class: "number", title: "cosine with the query" }, scores.cosine === undefined ? "–" : scores.cosine.toFixed(2)),
      h("span", { class: "meter", "--share": `${Math.max(0, 100 * (scores.cosine ?? 0))}%`, "aria-hidden": "true" })),
    h("div", { class: "found" },
      title ? h("h3", {}, highlighted(String(title), words)) : null,
      body,
      h("p", { class: "note about" }, aboutOf(scores, metadata))));
}

function restOf(text, words) {
  const more = h("button", { type: "button", class: "link" }, "… more");
  more.addEventListener("click", () => more.replaceWith(...highlighted(text.slice(LONG), words)));
  return more;
}

// Where a passage comes from, and its other metadata, in one line.
function aboutOf(scores, metadata) {
  const { file, title, row, start, stop, ...others } = metadata;
  const place = file ? [`${String(file).split("/").pop()}${row === undefined ? "" : `, row ${Number(row).toLocaleString("en")}`}`] : [];
  const words = scores.words === undefined ? [] : [`words ${scores.words.toFixed(1)}`];
  return [...place, ...Object.entries(others).map(([name, value]) => `${name}: ${value}`), ...words].join(" · ");
}
