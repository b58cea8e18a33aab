/** How a model is loaded. */
export interface LoadOptions {
  /** The precision of products; int8, the default, is by far the fastest here. */
  precision?: "fp32" | "bf16" | "int8";
  /** Tokens of a text that are read, special ones included; 0, the default: what the folder says. */
  maxSeqLength?: number;
  /** Numbers of a vector that are kept (Matryoshka); 0, the default: all. */
  truncateDim?: number;
  /** The bytes of likewise.wasm, if it does not lie beside likewise.js. */
  wasm?: BufferSource;
  /** Reads a file of the folder, such as "1_Pooling/config.json", in place of fetching it; null if there is none. */
  read?: (name: string) => Promise<Uint8Array | null>;
}

/** What the model did not read. */
export interface Losses {
  /** Texts with more tokens than the model reads: only their beginning was. */
  cut: number;
  /** Texts with words too long for the tokenizer, each of which is one unknown token. */
  longWords: number;
  /** Texts without a word that the model knows, if it leaves out unknown words. */
  unknown: number;
  /** Of each text, the tokens that were not read. */
  lost: number[];
}

export interface EncodeOptions {
  /** A text that is put before each text. */
  prompt?: string | null;
  /** The name of one of the model's own prompts; with neither, its default prompt is used, if it has one. */
  promptName?: string | null;
  /** Receives what was not read; by default it goes to console.warn. */
  report?: (losses: Losses) => void;
}

export interface Model {
  /** Numbers of a vector. */
  readonly dimension: number;
  /** One vector for each text, in order. Throws LikewiseError. */
  encode(texts: string[], options?: EncodeOptions): Float32Array[];
  /** Gives the memory back. */
  close(): void;
}

/** Thrown where a model cannot be read or a text cannot be encoded; `code` is an lw_code of likewise_native.h. */
export class LikewiseError extends Error {
  readonly code: number;
}

/** Loads the model folder at a URL: what sentence-transformers or likewise saved, with safetensors and tokenizer.json. */
export function load(url: string | URL, options?: LoadOptions): Promise<Model>;
