"""Embeddings computed by torch: every architecture, precision and device, with gradients."""
