"""The model folder of likewise-small, which `Embedder.load("likewise-small")` finds once this package is installed."""
