"""`likewise encode` and `likewise verify`: texts of files into vectors, in one file or in a folder of shards."""
