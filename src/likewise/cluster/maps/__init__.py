"""Maps of clusters: every text is a point near similar texts; as a picture, or as an interactive page."""
