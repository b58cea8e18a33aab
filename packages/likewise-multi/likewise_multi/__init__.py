"""The folder of the model likewise-multi, which `Embedder.load("likewise-multi")` finds once this is installed."""
