"""What the layers of an encoder are worth to a sentence vector: poolings that read several, on every task."""
