"""The compiled library: find and load it, scan vectors with it, and choose its number of threads."""
