"""Training over several layers: learned fusion, early exit, multi-layer objectives; layers selected without labels."""
