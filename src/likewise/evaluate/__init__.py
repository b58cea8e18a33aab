"""How good vectors are, and how sure one may be of it."""
