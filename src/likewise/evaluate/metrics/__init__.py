"""Metrics for rankings, binary decisions and clusterings."""
