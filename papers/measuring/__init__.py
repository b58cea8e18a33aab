"""How a system's figures are measured: evaluated, compared in pairs, trained by a recipe, or timed."""
