"""Confidence intervals, hypothesis tests and comparisons of models."""
