"""`likewise data`: data sets, and what training data shares with test data."""
