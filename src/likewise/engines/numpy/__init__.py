"""The engine in NumPy alone: a slow, readable reference, and the fallback if torch is not installed."""
