"""The limits that a release keeps (limits.py)."""
