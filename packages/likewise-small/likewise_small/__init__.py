"""The folder of the model likewise-small, which `Embedder.load("likewise-small")` finds once this is installed."""
