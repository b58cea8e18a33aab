"""Metrics for rankings and binary decisions."""
