"""Arrays and arithmetic: packed sentences, similarities, correlations, k-means. No files and no weights."""
