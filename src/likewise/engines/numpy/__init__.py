"""The pure NumPy engine: a slow, readable reference, and the fallback if no other engine is installed."""
