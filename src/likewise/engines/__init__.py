"""What computes vectors: each engine is a room of its own."""
