"""Indexes in other software (faiss, PostgreSQL with pgvector, Milvus), one file each, with the interface of `Index`."""
