"""`likewise encode` and `likewise verify`: turn texts from files into vectors, in one file or a folder of shards."""
