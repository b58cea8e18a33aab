"""Evaluation results as text tables, Markdown, CSV and plots."""
