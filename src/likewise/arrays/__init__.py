"""Arrays and arithmetic: packed sentences, similarities, correlations, k-means. No file access and no weights."""
