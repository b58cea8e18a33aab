"""Training of small models from the vectors of larger ones."""
