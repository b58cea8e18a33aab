"""How useful an encoder's layers are for sentence vectors: poolings of several layers, on every task."""
