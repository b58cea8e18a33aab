"""Programs that train what the papers train: python -m recipes.sbert_nli MODEL. See README.md here."""
