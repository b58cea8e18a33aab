"""Services without machine learning: progress, devices, memory limits, lazy imports, temporary and untrusted files."""
