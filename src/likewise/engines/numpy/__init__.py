"""The engine in NumPy alone: a slow, readable reference, and the fallback where torch is not installed."""
