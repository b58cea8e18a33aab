"""The compiled library: found and loaded, its scans of vectors, and how many threads it should use."""
