"""What a release is beside its code: the limits that it keeps (limits.py) and the list of its parts (sbom.py)."""
