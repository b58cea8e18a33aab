"""General services: progress, devices, memory limits, lazy imports, temporary and untrusted files."""
