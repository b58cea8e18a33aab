"""Int8 models: smoothed, evaluated on held-out text, and rejected if their vectors differ too much from fp32."""
