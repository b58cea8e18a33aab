"""Making models better: objectives, and what is trained with them."""
