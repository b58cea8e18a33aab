"""`likewise data`: list data sets, describe one, and report leaks from test into training data."""
