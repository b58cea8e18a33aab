"""`likewise encode` and `likewise verify`: turn texts in files into vectors, in one file or a folder of shards."""
