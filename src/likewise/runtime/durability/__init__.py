"""What is written survives: synced to the disk, and by one process at a time."""
