"""One training step: forward, loss, backward, in parts that fit into memory, over several processes."""
