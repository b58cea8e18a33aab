"""How each library encodes texts. A module has `load(spec)`; nothing heavy is imported before that is called."""
