"""Reproduces the papers' tables, with a verdict on every figure, and provides recipes that train their models."""
