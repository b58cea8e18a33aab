"""Recipes that train the models that the papers compare with."""
