"""Finding the nearest vectors."""
