/** Sentence embeddings in the browser and in Node: the library of likewise's native/, compiled to WebAssembly. */

const PRECISIONS = { fp32: 0, bf16: 1, int8: 2 };
const MESSAGE = 1024; // bytes of an error message's buffer
const PLAIN = ["config.json", "tokenizer.json", "tokenizer_config.json", "sentence_bert_config.json"];
const OF_WORDS = /"model_type"\s*:\s*"words"/; // of a config.json beside which there is an unknown_words.json
const HEADS = ["Dense", "LayerNorm"]; // modules with weights of their own

/** Where a model or the library cannot be read, or a text is not one; `code` is an lw_code of likewise_native.h. */
export class LikewiseError extends Error {
  constructor(message, code = 1) {
    super(message);
    this.name = "LikewiseError";
    this.code = code;
  }
}

/** Loads the model in the folder at `url`: its files are fetched, and read by WebAssembly. See likewise.d.ts. */
export async function load(url, { precision = "int8", maxSeqLength = 0, truncateDim = 0, wasm, read } = {}) {
  if (!Object.hasOwn(PRECISIONS, precision)) throw new LikewiseError(`the precision ${precision} is unknown; expected fp32, bf16 or int8`);
  const folder = `${url}`.replace(/\/*$/, "/");
  const [library, files] = await Promise.all([
    wasm ?? bytesOf(new URL("likewise.wasm", import.meta.url)),
    filesOf(read ?? ((name) => bytesOf(new URL(name, new URL(folder, globalThis.location?.href))))),
  ]);
  const memory = await Memory.of(library);
  return new Model(memory, memory.open(files, [PRECISIONS[precision], maxSeqLength, truncateDim, 0]));
}

/** The bytes at a URL; null if there is no such file. Node has no fetch for files. */
async function bytesOf(url) {
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url).catch((error) => (error.code === "ENOENT" ? null : Promise.reject(error)));
  }
  const response = await fetch(url);
  if (response.status === 404) return null;
  if (!response.ok) throw new LikewiseError(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The files of a model folder by name, as [name, bytes]; modules.json says which folders it has. */
async function filesOf(read) {
  const found = new Map();
  const want = async (names) => {
    for (const [name, bytes] of await Promise.all(names.map(async (name) => [name, await read(name)]))) if (bytes) found.set(name, bytes);
  };
  await want(["modules.json"]);
  const modules = json(found, "modules.json") ?? [{ path: "", type: "Transformer" }];
  const at = ({ path }) => (path ? `${path.replace(/\/*$/, "")}/` : "");
  const [encoder, ...others] = Array.isArray(modules) ? modules : [{ path: "" }]; // the library says what is wrong
  const heads = others.filter(({ type }) => HEADS.includes(`${type}`.split(".").pop()));
  await want([
    ...PLAIN.map((name) => at(encoder) + name),
    ...(found.size ? ["config_sentence_transformers.json"] : []),
    ...others.filter(({ path, type }) => path && !`${type}`.endsWith("Normalize")).map((module) => `${at(module)}config.json`),
  ]);
  const config = found.get(`${at(encoder)}config.json`);
  if (config && OF_WORDS.test(new TextDecoder().decode(config))) await want([`${at(encoder)}unknown_words.json`]);
  await want([encoder, ...heads].map((module) => `${at(module)}model.safetensors`));
  if (!found.has(`${at(encoder)}model.safetensors`)) {
    const index = `${at(encoder)}model.safetensors.index.json`;
    await want([index]);
    const homes = Object.values(json(found, index)?.weight_map ?? {});
    await want([...new Set(homes)].map((name) => at(encoder) + name));
  }
  return [...found];
}

function json(files, name) {
  const bytes = files.get(name);
  return bytes && JSON.parse(new TextDecoder().decode(bytes));
}

/** The library's memory, and its functions of the C interface (likewise_native.h), which take addresses in it. */
class Memory {
  static async of(library) {
    if (!library) throw new LikewiseError("likewise.wasm is missing: make -C native web builds it");
    const module = await WebAssembly.compile(library);
    const memory = new Memory();
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      imports[from] ??= {};
      imports[from][name] = (...given) => memory.system(name, given);
    }
    memory.functions = (await WebAssembly.instantiate(module, imports)).exports;
    memory.functions._initialize();
    return memory;
  }

  /** What the library asks a system for: it has no environment, no files and no clock here. */
  system(name, given) {
    if (name === "emscripten_notify_memory_growth") return undefined;
    if (name === "environ_sizes_get") {
      given.forEach((address) => this.view.setUint32(address, 0, true));
      return 0;
    }
    if (name === "proc_exit") throw new LikewiseError("the library ended; this is a bug", 5);
    return 52; // ENOSYS
  }

  get view() {
    return new DataView(this.functions.memory.buffer); // anew, as memory may have grown
  }

  /** The address of so many bytes, for the caller to free. */
  room(size) {
    const address = this.functions.malloc(Math.max(size, 1)) >>> 0;
    if (!address) throw new LikewiseError("there is not enough memory", 4);
    return address;
  }

  put(bytes) {
    const address = this.room(bytes.length);
    new Uint8Array(this.functions.memory.buffer).set(bytes, address);
    return address;
  }

  /** A text that ends with a zero byte. */
  text(text) {
    return this.put(new TextEncoder().encode(`${text}\0`));
  }

  words(numbers) {
    return this.put(new Uint8Array(Uint32Array.from(numbers).buffer));
  }

  textAt(address, size) {
    const bytes = new Uint8Array(this.functions.memory.buffer, address, size);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  /** A model of files, which stay in memory; options are those of lw_options. */
  open(files, options) {
    const table = this.words(files.flatMap(([name, bytes]) => [this.text(name), this.put(bytes), bytes.length]));
    const code = this.room(4), message = this.room(MESSAGE);
    const model = this.functions.lw_open_memory(table, files.length, this.words(options), code, message, MESSAGE);
    if (!model) throw new LikewiseError(this.textAt(message, MESSAGE), this.view.getInt32(code, true));
    return model;
  }
}

/** A model in memory, until `close`. */
class Model {
  #memory;
  #model;

  constructor(memory, model) {
    this.#memory = memory;
    this.#model = model;
    this.dimension = memory.functions.lw_dimension(model);
  }

  /** One Float32Array for each text, in order; what was not read goes to `report`, or to the console. */
  encode(texts, { prompt, promptName, report = warn } = {}) {
    if (!this.#memory) throw new LikewiseError("the model is closed", 3);
    if (!Array.isArray(texts) || texts.some((text) => typeof text !== "string"))
      throw new LikewiseError("expected an array of strings", 3);
    const memory = this.#memory, count = texts.length, kept = [];
    const keep = (address) => (kept.push(address), address);
    try {
      const encoded = texts.map((text) => new TextEncoder().encode(text));
      const addresses = keep(memory.words(encoded.map((bytes) => keep(memory.put(bytes)))));
      const sizes = keep(memory.words(encoded.map((bytes) => bytes.length)));
      const prompts = Object.entries({ prompt, promptName }).map(([name, text]) => (text == null ? 0 : keep(memory.text(plain(name, text)))));
      // lw_texts: texts, sizes, count (64 bits), prompt, prompt_name, threads
      const request = keep(memory.words([addresses, sizes, count, 0, ...prompts, 1, 0]));
      const vectors = keep(memory.room(4 * count * this.dimension)), lost = keep(memory.room(8 * count));
      const losses = keep(memory.words([lost, 0, 0, 0, 0, 0, 0, 0])); // lw_losses: lost, then three numbers of 64 bits
      const message = keep(memory.room(MESSAGE));
      const code = memory.functions.lw_encode(this.#model, request, vectors, losses, message, MESSAGE);
      if (code) throw new LikewiseError(memory.textAt(message, MESSAGE), code);
      const number = (address) => Number(memory.view.getBigInt64(address, true));
      const [cut, longWords, unknown] = [8, 16, 24].map((place) => number(losses + place));
      if (cut || longWords || unknown) report({ cut, longWords, unknown, lost: texts.map((_, i) => number(lost + 8 * i)) });
      const numbers = new Float32Array(memory.functions.memory.buffer.slice(vectors, vectors + 4 * count * this.dimension));
      return texts.map((_, i) => numbers.subarray(i * this.dimension, (i + 1) * this.dimension));
    } finally {
      kept.forEach((address) => memory.functions.free(address));
    }
  }

  /** Gives the memory back; the model encodes no more. */
  close() {
    this.#memory?.functions.lw_close(this.#model);
    this.#memory = null;
  }
}

/** The text, checked: in memory it would end at its first zero byte. */
function plain(name, text) {
  if (typeof text === "string" && !text.includes("\0")) return text;
  throw new LikewiseError(`${name} is a ${typeof text}; expected a string without \\0`, 3);
}

function warn({ cut, longWords, unknown }) {
  const parts = [
    [cut, "longer than the model reads: only their beginning was"],
    [longWords, "with words that are too long for the tokenizer"],
    [unknown, "without a word that the model knows"],
  ];
  for (const [count, what] of parts) if (count) console.warn(`likewise: ${count} texts ${what}`);
}
