"""`likewise serve`, and `likewise serve keys`."""
