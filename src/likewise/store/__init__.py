"""Names to folders, and what the JSON in a folder says. No weights are read here."""

from .files import atomic, fill, read_json
from .folder import POOLING_FOLDER, Manifest, Part, read_manifest, write_manifest
from .names import CARRIED, DEFAULT, available, locate

__all__ = [
    "CARRIED",
    "DEFAULT",
    "POOLING_FOLDER",
    "Manifest",
    "Part",
    "atomic",
    "available",
    "fill",
    "locate",
    "read_json",
    "read_manifest",
    "write_manifest",
]
