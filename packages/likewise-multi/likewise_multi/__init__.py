"""The model folder of likewise-multi, which `Embedder.load("likewise-multi")` finds once this package is installed."""
