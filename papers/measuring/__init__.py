"""Ways to measure a system's figures: evaluate it, compare it with another, train it by a recipe, or time it."""
