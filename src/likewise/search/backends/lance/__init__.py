"""LanceDB: an index is a folder of versioned tables [extra: lance]."""
