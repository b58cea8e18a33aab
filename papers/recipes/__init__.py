"""Programs that train what the papers train: python -m papers.recipes.sbert_nli MODEL. See docs/recipes.md."""
