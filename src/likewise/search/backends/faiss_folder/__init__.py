"""faiss: exact search in memory over a folder, and an approximate sidecar of any index [extra: faiss]."""
