"""Names to folders, and what the JSON in a folder says. No weights are read here."""

from ..modelfiles import read_json
from .files import atomic, check_file, check_folder, check_not_input, fill, target_folder
from .folder import POOLING_FOLDER, Manifest, Part, read_manifest, write_manifest
from .names import CARRIED, DEFAULT, available, locate
from .pairs import OWN_RERANKER, PairManifest, read_pair_manifest, write_pair_manifest

__all__ = [
    "CARRIED",
    "DEFAULT",
    "OWN_RERANKER",
    "POOLING_FOLDER",
    "Manifest",
    "PairManifest",
    "Part",
    "atomic",
    "available",
    "check_file",
    "check_folder",
    "check_not_input",
    "fill",
    "locate",
    "read_json",
    "read_manifest",
    "read_pair_manifest",
    "target_folder",
    "write_manifest",
    "write_pair_manifest",
]
