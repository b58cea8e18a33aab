// The page itself: opens views, switches between them, and keeps track of the model in use.

import { holdsAll, readAddress, useModel } from "./parts/address.js";
import { notThere, request } from "./parts/api.js";
import { failureNotice, h, showEdges } from "./parts/dom.js";

const VIEWS = ["compare", "why", "search", "map", "layers", "model", "load"];
const panel = document.getElementById("view");
const tabs = [...document.querySelectorAll('[role="tab"]')];
const share = document.getElementById("share");
const shared = document.getElementById("shared");
const chooser = document.getElementById("model");
const context = { model: null, models: [], rerankers: [] };
const opened = new Map(); // name → { element, view }
let current = null;

async function loadModels() {
  const { data } = await request("/v1/models");
  const named = (kind) => data.filter((model) => (model.kind ?? "embedder") === kind).map((model) => model.id);
  Object.assign(context, { models: named("embedder"), rerankers: named("reranker") });
  chooser.replaceChildren(...context.models.map((name) => h("option", { value: name }, name)));
  chooseModel(context.models[0]);
  document.getElementById("model-choice").hidden = context.models.length < 2;
}

function chooseModel(name) {
  context.model = chooser.value = name;
  useModel(name === context.models[0] ? null : name);
}

function showTab(name) {
  for (const tab of tabs) {
    const isOpen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    if (isOpen) tab.scrollIntoView({ block: "nearest", inline: "center" });
  }
  panel.setAttribute("aria-labelledby", `tab-${name}`);
  document.title = `${document.getElementById(`tab-${name}`).textContent} · likewise`;
}

async function open() {
  const { view, values } = readAddress();
  const name = VIEWS.includes(view) ? view : VIEWS[0];
  showTab(name);
  if (current !== name) opened.get(current)?.view.hide?.();
  current = name;
  try {
    if (!context.models.includes(values.model ?? context.model)) await loadModels();
    if (context.models.includes(values.model)) chooseModel(values.model);
    const found = opened.get(name) ?? (await create(name));
    if (current !== name) return;
    panel.replaceChildren(found.element);
    found.view.show(values);
  } catch (failure) {
    if (current === name) panel.replaceChildren(failureNotice(failure, open));
  }
}

async function create(name) {
  const module = await import(`./views/${name}.js`).catch(() => Promise.reject(notThere()));
  const element = h("div", { class: `view ${name}` });
  const found = { element, view: module.createView(element, context) };
  opened.set(name, found);
  return found;
}

function moveAmongTabs(event) {
  const at = tabs.indexOf(document.activeElement);
  const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
  if (at < 0 || !(event.key in moves)) return;
  event.preventDefault();
  const next = tabs[(moves[event.key] + tabs.length) % tabs.length];
  next.focus();
  location.hash = next.getAttribute("href");
}

async function copyAddress() {
  if (holdsAll()) await navigator.clipboard.writeText(location.href);
  shared.textContent = holdsAll() ? "Link copied" : "Too much text for a link";
  setTimeout(() => shared.replaceChildren(), 3000);
}

share.hidden = !navigator.clipboard; // browsers provide it only over HTTPS and on localhost
share.addEventListener("click", copyAddress);
chooser.addEventListener("change", () => {
  chooseModel(chooser.value);
  opened.get(current)?.view.show(readAddress().values);
});
showEdges(document.querySelector(".tabs"));
document.getElementById("tabs").addEventListener("keydown", moveAmongTabs);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  panel.focus();
});
addEventListener("hashchange", open);
open();
