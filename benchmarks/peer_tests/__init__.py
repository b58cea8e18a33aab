"""sentence-transformers' own tests of inference, run against the drop-in."""
