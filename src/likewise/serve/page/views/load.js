// Load: what the server is doing right now.

import { request } from "../parts/api.js";
import { counted, failureNotice, h, showEdges } from "../parts/dom.js";
import { Sparkline } from "../parts/sparkline.js";

const EVERY = 1000; // milliseconds
const TEST_SECONDS = 10;
const TEST_CONNECTIONS = 6; // the maximum that browsers open to one server

const FIGURES = [
  ["Texts per second", (s) => s.inputs_per_second, rate],
  ["Tokens per second", (s) => s.tokens_per_second, rate],
  ["Requests per second", (s) => s.requests_per_second, rate],
  ["Waiting requests", (s) => s.queue, whole],
  ["Latency, median (p50)", (s) => s.latency_ms.p50, milliseconds],
  ["Latency, p99", (s) => s.latency_ms.p99, milliseconds],
  ["Texts per batch, median", (s) => s.batches.inputs, whole],
  ["Time spent computing", (s) => 100 * s.batches.busy, percent],
];

export function createView(root) {
  return new LoadView(root);
}

class LoadView {
  constructor(root) {
    this.timer = 0;
    this.isUsed = false;
    this.tiles = FIGURES.map(([name, value, shown]) => ({ value, shown, line: new Sparkline(), number: h("p", { class: "big number" }, "–"), name }));
    this.about = h("p", { class: "lede flat" }, "…");
    this.problem = h("div", { hidden: true });
    this.models = h("tbody");
    this.tester = h("button", { type: "button", onclick: () => this.test() }, "Send a test load");
    this.table = h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Models" }, h("table", { class: "plain" },
      h("thead", {}, h("tr", {}, ["Name", "Kind", "State", "Weights", "Waiting"].map((name) => h("th", { scope: "col" }, name)))), this.models));
    showEdges(this.table);
    this.tested = h("p", { class: "status", role: "status" });
    root.append(h("div", { class: "stack" },
      h("div", { class: "row spread" }, h("div", {}, h("h1", {}, "Live load"), this.about), h("div", { class: "tester" }, this.tester, this.tested)),
      this.problem,
      h("div", { class: "tiles" }, this.tiles.map((tile) => h("section", { class: "card tile" }, h("h2", {}, tile.name), tile.number, tile.line.element))),
      h("section", { class: "card" }, h("h2", {}, "Models"), this.table)));
  }

  show() {
    clearInterval(this.timer);
    this.timer = setInterval(() => document.hidden || this.update(), EVERY);
    this.update();
  }

  hide() {
    clearInterval(this.timer);
  }

  async update() {
    try {
      this.present(await request("/status"));
      this.problem.hidden = true;
    } catch (failure) {
      this.fail(failure);
    }
  }

  fail(failure) {
    this.problem.hidden = false;
    this.problem.replaceChildren(failureNotice(failure));
  }

  present(status) {
    this.about.textContent = `likewise ${status.version}, up for ${duration(status.uptime)}. Numbers cover the last ${status.seconds.toFixed(0)} seconds; lines show up to two minutes, from 0 to the highest value since this page was opened.`;
    this.isUsed ||= status.requests_per_second > 0;
    for (const tile of this.tiles) {
      const value = tile.value(status);
      tile.number.textContent = value === null ? "–" : tile.shown(value);
      tile.line.add(value ?? 0, this.isUsed);
    }
    this.models.replaceChildren(...status.models.map((model) => h("tr", {},
      h("th", { scope: "row" }, model.name), h("td", {}, model.kind),
      h("td", {}, model.loaded ? `loaded, ${model.precision}` : "not loaded yet"),
      h("td", { class: "number" }, model.loaded ? `${(model.bytes / 1e6).toFixed(1)} MB` : ""),
      h("td", { class: "number" }, model.waiting_requests ? `${counted(model.waiting_requests, "request")}, ${counted(model.waiting_inputs, "text")}` : "0"))));
  }

  // Send short texts, one per request, over several connections at once for a few seconds.
  async test() {
    this.tester.disabled = true;
    const until = performance.now() + 1000 * TEST_SECONDS;
    const counts = await Promise.all(Array.from({ length: TEST_CONNECTIONS }, (_, n) => this.askUntil(until, n)));
    const total = counts.reduce((sum, count) => sum + count, 0);
    this.tested.textContent = `The server answered ${counted(total, "request")} from this page in ${TEST_SECONDS} seconds, over ${TEST_CONNECTIONS} connections.`;
    this.tester.disabled = false;
  }

  async askUntil(until, connection) {
    let count = 0;
    try {
      while (performance.now() < until) {
        await request("/v1/embeddings", { input: `text ${count} of connection ${connection}`, encoding_format: "base64" });
        count += 1;
        if (connection === 0) this.tested.textContent = `Sending … ${Math.max(0, (until - performance.now()) / 1000).toFixed(0)} s left`;
      }
    } catch (failure) {
      this.fail(failure);
    }
    return count;
  }
}

function rate(value) {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1);
}

function whole(value) {
  return Math.round(value).toLocaleString("en");
}

function milliseconds(value) {
  return `${value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(1)} ms`;
}

function percent(value) {
  return `${value.toFixed(0)} %`;
}

function duration(seconds) {
  const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const [name, size] = units.find(([, length]) => seconds >= length) ?? units[3];
  return counted(Math.floor(seconds / size), name);
}
