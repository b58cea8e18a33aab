"""PostgreSQL with pgvector: an index is a table [extra: pgvector]."""
