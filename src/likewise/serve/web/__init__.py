"""HTTP, without anything of models: bodies are read and checked, errors get each API's shape, replies are written."""
