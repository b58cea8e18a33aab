"""Maps of clusters, with every text as a point near similar texts, as a picture or an interactive page."""
