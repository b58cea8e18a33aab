"""What `make release` tries: dist/ installed into new environments, outside the checkout; a step of its own."""
