"""Training programs for sentence-transformers, in the ways its documentation shows; they run here with other imports.

Each reads the model, a folder to write to and STS-B from its arguments, and leaves its trainer in `trainer`.
"""
