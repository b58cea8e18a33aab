"""Training of the models that the papers compare with."""
