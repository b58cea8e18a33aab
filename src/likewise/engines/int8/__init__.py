"""Models in int8 that one can trust: smoothed where it helps, measured on held-out text, refused if they moved."""
