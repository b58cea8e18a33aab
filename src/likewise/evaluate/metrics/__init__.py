"""Metrics of rankings, binary decisions and clusterings."""
