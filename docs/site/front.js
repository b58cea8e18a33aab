// The front page: how similar two sentences are, which words make them so, and where they lie among a hundred others.
// The engine computes everything in the browser; once page, model and engine are loaded, nothing is sent or fetched.

import { load } from "./engine/likewise.js";
import { exampleChips, h, paced } from "./page/parts/dom.js";
import { SENTENCE_PAIRS } from "./page/parts/examples.js";

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;
const SIDES = ["a", "b"];
const SHOWN_REASONS = 2; // words named below the sentences
const RIM = 84; // distance of the outermost sentence from the centre; the picture extends 100 to each side
const LABELS = 97; // distance of the topic names from the centre
const REACH = 7; // maximum distance of the pointer from a dot
const HINT = "Point at a dot to read its sentence; choose it to compare the sentence with A.";
const part = (id) => document.getElementById(id);
const fields = SIDES.map((side) => part(`text-${side}`));
const buttons = [...document.querySelectorAll(".models button")];
const topics = [...document.querySelectorAll("#hundred section")].map((section) => ({
  name: section.querySelector("h3").textContent,
  items: [...section.querySelectorAll("li")],
}));
const sentences = topics.flatMap(({ items }, topic) => items.map((item) => ({ text: item.textContent, topic, item })));
const corners = topics.map((_, topic) => 2 * Math.PI * (topic / topics.length - 0.25)).map((angle) => [Math.cos(angle), Math.sin(angle)]);

const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
const number = (x) => x.toFixed(2).replace("-", "−");
const quoted = (text) => `“${text}”`;

function dot(u, v) {
  let sum = 0;
  for (let i = 0; i < u.length; i += 1) sum += u[i] * v[i]; // nine times as fast as reduce
  return sum;
}

// Load a model, and compute the vectors of the hundred sentences and the cosines of all pairs.
async function open(name) {
  const read = (file) => bytesOf(`./models/${name}/${file}`);
  const model = await load(name, { wasm: await engine, read });
  const vectors = model.encode(sentences.map(({ text }) => text));
  const cosines = vectors.flatMap((u, i) => vectors.slice(i + 1).map((v) => dot(u, v)));
  const raw = vectors.map((vector, i) => pulled(vectors, vector, i));
  const centre = [0, 1].map((axis) => mean(raw.map((place) => place[axis])));
  const scale = RIM / Math.max(...raw.map(([x, y]) => Math.hypot(x - centre[0], y - centre[1])));
  const drawn = (place) => place.map((x, axis) => scale * (x - centre[axis]));
  return { name, model, vectors, cosines, drawn, places: raw.map(drawn) };
}

async function bytesOf(place) {
  const response = await fetch(new URL(place, import.meta.url));
  if (!response.ok) throw new Error(`${place} cannot be fetched: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

// Fetch the engine; fail before the model is loaded if the browser lacks a feature that it needs, such as SIMD.
async function engineBytes() {
  const bytes = await bytesOf("./engine/likewise.wasm");
  if (!WebAssembly.validate(bytes)) throw new Error("This browser’s WebAssembly lacks SIMD or exceptions.");
  return bytes;
}

// The place of a vector: each topic pulls it to its corner by its mean similarity to the topic's other sentences.
function pulled(vectors, vector, own = -1) {
  const pulls = topics.map((_, topic) => mean(vectors.filter((_, i) => sentences[i].topic === topic && i !== own).map((other) => dot(vector, other))));
  return [0, 1].map((axis) => pulls.reduce((sum, pull, topic) => sum + pull * corners[topic][axis], 0));
}

// Compare two texts: their cosine, and for each word how much lower the cosine would be without that word.
function compared(model, texts) {
  let isCut = false;
  const words = texts.map((text) => [...text.matchAll(WORD)].map((found) => ({ text: found[0], from: found.index, to: found.index + found[0].length })));
  const shortened = texts.flatMap((text, side) => words[side].map(({ from, to }) => text.slice(0, from) + text.slice(to)));
  const [a, b, ...others] = model.encode([...texts, ...shortened], { report: () => { isCut = true; } });
  const cosine = dot(a, b);
  words.flat().forEach((word, i) => {
    const isOnly = words[i < words[0].length ? 0 : 1].length === 1; // nothing is left to be similar
    word.carries = cosine - (isOnly ? 0 : dot(others[i], i < words[0].length ? b : a));
  });
  return { vectors: [a, b], cosine, words, isCut };
}

function show() {
  const texts = fields.map((field) => field.value.trim());
  const began = performance.now();
  const found = compared(shown.model, texts);
  const took = performance.now() - began;
  const isReady = found.words.every((words) => words.length);
  part("demo").classList.toggle("waiting", !isReady);
  part("cosine").textContent = isReady ? number(found.cosine) : "–";
  part("meter").style.setProperty("--share", `${isReady ? Math.max(0, 100 * found.cosine) : 0}%`);
  part("reason").textContent = isReady ? reason(found) : "Type a sentence in each field.";
  showWords(texts, found.words);
  if (isReady) showPlaces(found.vectors);
  part("status").textContent = `${megabytes()} loaded; ${found.words.flat().length + 2} texts encoded in ${took < 10 ? took.toFixed(1) : took.toFixed(0)} ms, here.`;
}

function reason({ cosine, words, isCut }) {
  const below = shown.cosines.filter((other) => other < cosine).length, pairs = shown.cosines.length;
  const share = below === pairs ? `all ${pairs.toLocaleString("en")}` : `${Math.floor((100 * below) / pairs)} % of the`;
  const most = words.flat().sort((one, other) => Math.abs(other.carries) - Math.abs(one.carries)).slice(0, SHOWN_REASONS);
  const without = most.map(({ text, carries }) => `without ${quoted(text)} it would be ${number(cosine - carries)}`);
  return `More similar than ${share} pairs among the hundred sentences; ${without.join(", ")}.${isCut ? " The model did not read all of it." : ""}`;
}

function showWords(texts, words) {
  const most = Math.max(...words.flat().map(({ carries }) => Math.abs(carries)), 0.05);
  SIDES.forEach((side, at) => {
    let from = 0;
    const parts = words[at].flatMap((word) => {
      const gap = texts[at].slice(from, word.from);
      from = word.to;
      const share = `${((75 * Math.abs(word.carries)) / most).toFixed(0)}%`;
      return [gap, h("span", { class: `word shaded${word.carries < 0 ? " takes" : ""}`, "--share": share, title: number(word.carries) }, word.text)];
    });
    part(`words-${side}`).replaceChildren(...parts, texts[at].slice(from));
  });
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.append(...children);
  return element;
}

const points = sentences.map(({ topic }, i) => draw("circle", { r: 2.3, class: `topic-${topic}`, "data-i": i }));
const links = SIDES.map(() => draw("line", { class: "link" })); // to the nearest sentence
const between = draw("line", { class: "between" });
const markers = SIDES.map((side) => draw("g", { class: "marker" }, draw("circle", { r: 5.6 }), draw("text", { y: 2.4 }, side.toUpperCase())));
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
const current = { places: [[0, 0], [0, 0]], frame: 0 };

const move = (element, [x, y]) => { element.style.transform = `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px)`; };

function stretch(line, [x1, y1], [x2, y2]) {
  Object.entries({ x1, y1, x2, y2 }).forEach(([name, value]) => line.setAttribute(name, value.toFixed(2)));
}

function showPlaces(vectors) {
  const nearest = vectors.map(nearestTo);
  points.forEach((point, i) => point.classList.toggle("near", nearest.some(({ at }) => at === i)));
  part("map-said").textContent = SIDES.map((side, at) => `${side.toUpperCase()} is nearest to ${quoted(sentences[nearest[at].at].text)} (${number(nearest[at].cosine)}).`).join(" ");
  cancelAnimationFrame(current.frame);
  glide(vectors.map((vector) => inside(shown.drawn(pulled(shown.vectors, vector)))), nearest.map(({ at }) => shown.places[at]));
}

// Move both sentences, with their lines, a fraction of the remaining way in each frame.
function glide(targets, ends) {
  const step = isStill.matches ? 1 : 0.22;
  current.places = current.places.map((place, side) => place.map((x, axis) => x + step * (targets[side][axis] - x)));
  current.places.forEach((place, side) => { move(markers[side], place); stretch(links[side], place, ends[side]); });
  stretch(between, ...current.places);
  const left = Math.max(...current.places.map(([x, y], side) => Math.hypot(targets[side][0] - x, targets[side][1] - y)));
  if (left > 0.05) current.frame = requestAnimationFrame(() => glide(targets, ends));
}

const inside = ([x, y]) => [x, y].map((value) => value * Math.min(1, 92 / Math.hypot(x, y)));

function nearestTo(vector) {
  const cosines = shown.vectors.map((other) => dot(vector, other));
  const cosine = Math.max(...cosines);
  return { at: cosines.indexOf(cosine), cosine };
}

// Draw the fixed parts of the map, and make the sentences selectable on the map and in the list.
function prepare() {
  const names = topics.map(({ name }, topic) => {
    const [x, y] = corners[topic].map((value) => LABELS * value);
    return draw("text", { x, y: y + 2, class: `name topic-${topic}` }, name);
  });
  point(-1);
  part("map").append(...names, between, ...links, ...points, ...markers);
  part("map").addEventListener("pointermove", (event) => point(under(event)));
  part("map").addEventListener("pointerleave", () => point(-1));
  part("map").addEventListener("click", (event) => choose(under(event)));
  sentences.forEach(({ text, item }, i) =>
    item.replaceChildren(h("button", { type: "button", class: "line", onclick: () => choose(i), onfocus: () => point(i), onblur: () => point(-1) }, text)));
  part("examples").replaceChildren(exampleChips("Examples:", SENTENCE_PAIRS, (texts) => { texts.forEach((text, side) => { fields[side].value = text; }); update(); }));
  fields.forEach((field, side) => { field.value ||= SENTENCE_PAIRS[0][1][side]; field.addEventListener("input", update); });
  buttons.forEach((button) => button.addEventListener("click", () => use(button.value)));
}

// The index of the sentence whose dot is nearest to the pointer; -1 if no dot is within reach.
function under(event) {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(part("map").getScreenCTM().inverse());
  const distances = shown ? shown.places.map((place) => Math.hypot(place[0] - x, place[1] - y)) : [];
  return distances.findIndex((distance) => distance < REACH && distance === Math.min(...distances));
}

function choose(i) {
  if (i < 0) return;
  fields[1].value = sentences[i].text;
  update();
}

function point(i) {
  points.forEach((element, other) => element.classList.toggle("pointed", other === i));
  part("map").classList.toggle("pointing", i >= 0);
  part("pointed").textContent = i < 0 ? HINT : sentences[i].text;
}

// While the user types, compute at most once per frame.
const update = paced(async () => {
  await new Promise(requestAnimationFrame);
  if (shown) show();
});

const megabytes = () => {
  const bytes = performance.getEntriesByType("resource").reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0);
  return `${(bytes / 1e6).toFixed(1)} MB`;
};

// Show the results of a model, loading it first if necessary; if that fails, keep showing the previous model.
async function use(name) {
  press(name);
  part("status").textContent = `Loading ${name} …`;
  try {
    opened[name] ??= open(name);
    const ready = await opened[name];
    if (!isPressed(name)) return; // another model was chosen in the meantime
    shown = ready;
    points.forEach((element, i) => move(element, shown.places[i]));
    show();
  } catch (failure) {
    delete opened[name]; // so that it can be tried again
    if (!shown) return showPicture(failure);
    press(shown.name);
    part("status").textContent = failure.message;
  }
}

const press = (name) => buttons.forEach((button) => button.setAttribute("aria-pressed", button.value === name));
const isPressed = (name) => buttons.some((button) => button.value === name && button.getAttribute("aria-pressed") === "true");

function showPicture(failure) {
  delete document.documentElement.dataset.live;
  part("picture-note").textContent = `${failure.message} The picture shows what this page computes in other browsers.`;
}

const opened = {};
let shown = null;
const engine = engineBytes();
prepare();
use("likewise-static").then(() => shown && performance.mark("first similarity"));
