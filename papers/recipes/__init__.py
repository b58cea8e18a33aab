"""Programs that train the papers' models: python -m papers.recipes.sbert_nli MODEL. See docs/recipes.md."""
