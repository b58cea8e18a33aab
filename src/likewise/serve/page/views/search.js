// Search: finds passages of a collection while the user types.

import { addressOf, noteAddress } from "../parts/address.js";
import { isAbort, Latest, request } from "../parts/api.js";
import { CollectionPicker, noCollections } from "../parts/collection_picker.js";
import { checkBox, counted, exampleChips, failureNotice, field, h, notice, paced, segments } from "../parts/dom.js";
import { highlighted, wordsOf } from "../parts/highlight.js";

const RESULTS = 12;
const ASKED = 60; // number of passages to request, so that enough are left after duplicates are folded
const POSITIONS = ["start", "stop"]; // metadata fields with the position of a passage in its text
const KEYWORDS = /^(and|or|not|in|like|is|null|true|false)$/i; // words of the filter language
const LONG = 700; // number of characters of a passage to show before folding the rest

export function createView(root, context) {
  return new SearchView(root, context);
}

class SearchView {
  constructor(root, context) {
    this.context = context;
    this.latest = new Latest();
    this.typed = paced(() => this.search());
    this.query = h("input", { type: "search", class: "large", placeholder: "What are you looking for?", autocomplete: "off", "aria-label": "Search", oninput: () => this.typed() });
    this.filter = h("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: 'year >= 2020 and lang = "en"', oninput: () => this.typed() });
    this.columns = h("div");
    this.reranker = "";
    this.picker = new CollectionPicker(() => this.changeCollection());
    this.status = h("p", { class: "status", role: "status" });
    this.results = h("div", { class: "passages" });
    this.themes = h("div");
    root.append(h("h1", {}, "Search"), h("p", { class: "lede" }, "Search finds passages by their meaning, not only by their words. Results appear as you type."), this.layout());
  }

  layout() {
    const hybrid = checkBox("Match words too (hybrid)", false, () => this.search());
    hybrid.title = "Search by words as well, and combine both rankings";
    this.hybrid = hybrid.control;
    this.rerank = segments("Order of the results", [["", "By similarity"], ...this.context.rerankers.map((name) => [name, `Reranked by ${name}`])], "", (name) => {
      this.reranker = name;
      this.search();
    });
    this.rerank.element.title = "A reranker reads the query together with each of the best passages, which is slower but often more accurate";
    this.rerank.element.hidden = !this.context.rerankers.length;
    this.entry = h("div", { class: "stack tight" },
      h("div", { class: "row" }, h("div", { class: "grow" }, this.query), this.picker.element, hybrid, this.rerank.element),
      h("details", {}, h("summary", {}, "Filter"), field("Only passages whose columns match", this.filter), this.columns),
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
      this.hybrid.checked ||= values.hybrid === "1";
      if (this.context.rerankers.includes(values.rerank)) this.rerank.choose((this.reranker = values.rerank));
      this.changeCollection();
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
    this.showColumns();
    this.showThemes();
  }

  use(query) {
    this.query.value = query;
    this.search();
  }

  // Buttons for the collection's columns; each adds a condition on its column, with the best result's value as an example.
  showColumns() {
    const columns = Object.entries(this.picker.columns).filter(([name]) => !POSITIONS.includes(name));
    const chips = columns.map(([name, count]) => [`${name} (${count.toLocaleString("en")})`, name]);
    const none = h("p", { class: "note" }, "This collection has no metadata columns.");
    this.columns.replaceChildren(chips.length ? exampleChips("Columns:", chips, (name) => this.addCondition(name)) : none);
  }

  addCondition(name) {
    const value = this.found?.map(({ metadata }) => metadata[name]).find((one) => one !== undefined && one !== null);
    this.filter.value = [this.filter.value.trim(), conditionOn(name, value)].filter(Boolean).join(" and ");
    this.filter.focus();
    this.search();
  }

  // Suggest queries that show what the collection is about: the words of the largest clusters of its map.
  async showThemes() {
    const name = this.picker.chosen;
    try {
      const map = await request(`/v1/collections/${encodeURIComponent(name)}/map?layout=pca`);
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
    noteAddress("search", { c: this.picker.chosen, q: query, f: filter, hybrid: this.hybrid.checked ? 1 : null, rerank: this.reranker });
    const began = performance.now();
    const collection = this.picker.chosen;
    // before the user types anything, show passages that are similar to the collection's name
    const body = { query: query || collection, collection, k: ASKED, filter: filter || null, hybrid: this.hybrid.checked };
    if (this.reranker) Object.assign(body, { rerank: this.reranker, candidates: ASKED });
    try {
      const { passages, model } = await this.latest.request("/v1/search", body);
      this.present(query, passages, model, performance.now() - began);
    } catch (failure) {
      if (isAbort(failure)) return;
      this.status.textContent = "";
      this.results.replaceChildren(failureNotice(failure));
    }
  }

  present(query, passages, model, milliseconds) {
    this.found = passages;
    const folds = [...Map.groupBy(passages, ({ text }) => text).values()].slice(0, RESULTS);
    const total = counted(this.picker.count, "passage");
    this.status.textContent = query ? `${folds.length} of ${total} in ${milliseconds.toFixed(0)} ms` : `A few of ${total}`;
    const whyOf = ({ context, text }) => (query ? addressOf("why", { a: query, b: context + text, model }) : null);
    const words = wordsOf(query);
    if (folds.length) this.results.replaceChildren(h("ol", { class: "results" }, folds.map((equal) => resultOf(equal, words, whyOf(equal[0])))));
    else this.results.replaceChildren(notice("No passages found. Does the filter exclude them all?"));
  }
}

// A passage, and the other places where the same text occurs.
function resultOf(equal, words, why) {
  const [{ text, scores, metadata }] = equal;
  const end = endOf(text);
  const body = h("p", { class: "passage" }, highlighted(text.slice(0, end), words));
  if (end < text.length) body.append(restOf(text.slice(end), words));
  const [name, score] = "reranked" in scores ? ["reranked", scores.reranked] : ["cosine", scores.cosine];
  return h("li", { class: "card result" },
    h("div", { class: "score" },
      h("span", { class: "number", title: name === "cosine" ? "cosine, at most 1" : "the reranker's score" }, score === undefined ? "–" : score.toFixed(2)),
      h("span", { class: "meter", "--share": `${100 * Math.min(1, Math.max(0, score ?? 0))}%`, "aria-hidden": "true" }),
      why ? h("a", { class: "note", href: why }, "Why?", h("span", { class: "hidden" }, ` ${text.slice(0, 60)}`)) : null),
    h("div", { class: "found" },
      metadata.title ? h("h2", {}, highlighted(String(metadata.title), words)) : null,
      body,
      h("p", { class: "note about" }, aboutOf(equal[0])),
      equal.length > 1 ? h("details", {}, h("summary", {}, `${equal.length} equal`), h("ul", { class: "note about" }, equal.slice(1).map((one) => h("li", {}, aboutOf(one) || one.id)))) : null));
}

// Where a long passage is cut: after a word, if it has spaces.
function endOf(text) {
  if (text.length <= LONG) return text.length;
  const space = text.lastIndexOf(" ", LONG);
  return space > 0 ? space : LONG;
}

function restOf(text, words) {
  const more = h("button", { type: "button", class: "link" }, "… more");
  more.addEventListener("click", () => more.replaceWith(...highlighted(text, words)));
  return more;
}

// One line with a passage's source, its other metadata, and the scores that are not shown beside it.
function aboutOf({ scores, metadata }) {
  const { file, title, row, start, stop, ...others } = metadata;
  const place = file ? [`${String(file).split("/").pop()}${row === undefined ? "" : `, row ${Number(row).toLocaleString("en")}`}`] : [];
  const words = scores.words === undefined ? [] : [`words ${scores.words.toFixed(1)}`];
  const cosine = scores.reranked === undefined || scores.cosine === undefined ? [] : [`cosine ${scores.cosine.toFixed(2)}`];
  return [...place, ...Object.entries(others).map(([name, value]) => `${name}: ${value}`), ...cosine, ...words].join(" · ");
}

// A filter condition that a passage with this value meets.
function conditionOn(name, value) {
  const column = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !KEYWORDS.test(name) ? name : `\`${name}\``;
  if (value === undefined) return `${column} is not null`;
  if (name === "file") return `file like "%${quoted(value)}"`; // the server stores the file's path but shows only its name
  return `${column} = ${typeof value === "string" ? `"${quoted(value)}"` : value}`;
}

const quoted = (text) => text.replaceAll('"', '""');
