"""Training over several layers: learned fusion, early exit, multi-layer objectives, layer selection without labels."""
