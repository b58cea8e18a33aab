"""Indexes kept by other software: faiss, PostgreSQL with pgvector, Milvus; one file each, behind the Index protocol."""
