"""What computes vectors: one package per engine."""
