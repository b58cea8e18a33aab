// How many sentences WebAssembly encodes in a second of a processor's time: node native/web/rates.mjs FOLDER [fp32|int8] [TEXTS, one a line]
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { load } from "./likewise.js";

const [folder, precision = "int8", file] = process.argv.slice(2);
const SENTENCES = [
  "A man is playing a guitar on a stage in front of a crowd.",
  "Two dogs run through the tall grass and chase a red ball.",
  "How do I learn to speak a new language in three months?",
  "The committee said on Tuesday that it would publish its report next week.",
];
const lines = file ? (await readFile(file, "utf-8")).split("\n").filter(Boolean) : SENTENCES;
const model = await load(pathToFileURL(folder), { precision });
const batch = Array.from({ length: 64 }, (_, i) => lines[i % lines.length]);
model.encode(batch, { report: () => {} });
let count = 0;
const start = performance.now(), from = process.cpuUsage();
while (performance.now() - start < 3000) count += model.encode(batch, { report: () => {} }).length;
const cpu = process.cpuUsage(from);
const seconds = (performance.now() - start) / 1000, busy = (cpu.user + cpu.system) / 1e6;
console.log(JSON.stringify({ folder, precision, node: process.version, sentences: count, seconds, busy, rate: Math.round(count / busy) }));
