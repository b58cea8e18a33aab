"""Maps of clusters: every text a point, near to texts like it; as a picture, or as a page to explore."""
