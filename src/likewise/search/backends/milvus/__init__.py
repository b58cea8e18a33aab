"""Milvus: an index is a collection of a server or a cluster [extra: milvus]."""
