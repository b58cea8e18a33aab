"""The verbs `index` and `search`: an index of texts on disk, kept and asked."""
