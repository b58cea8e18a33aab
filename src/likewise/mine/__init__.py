"""Finding structure in many vectors: pairs, clusters."""
