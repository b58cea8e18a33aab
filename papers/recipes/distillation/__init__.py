"""Recipes that distil small models from the vectors of larger ones."""
