// Runs a program in Node: node run_wasm.mjs PROGRAM.wasm
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1", args: process.argv.slice(2) });
const module = await WebAssembly.compile(await readFile(process.argv[2]));
const env = { emscripten_notify_memory_growth() {} };
process.exitCode = wasi.start(await WebAssembly.instantiate(module, { ...wasi.getImportObject(), env }));
