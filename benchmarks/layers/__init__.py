"""How useful are an encoder's layers for sentence vectors? Compares poolings over several layers with mean pooling."""
