"""What any program needs: progress, devices, memory limits, lazy imports, temporary and untrusted files."""
