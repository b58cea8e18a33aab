"""From text to tokens and from tokens to batches: checks, tokenizer, truncation, windows, packing, prompts."""
