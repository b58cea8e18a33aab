"""Programs that train what the papers train: python -m likewise.recipes.sbert_nli MODEL. See docs/recipes.md."""
