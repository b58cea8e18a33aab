"""Names to folders, and what the JSON in a folder says. No weights are read here."""

from ..runtime.untrusted_files import read_json
from .atomic_files import (
    atomic_file,
    atomic_folder,
    check_not_input,
    check_writable_file,
    check_writable_folder,
    target_folder,
)
from .folder import POOLING_FOLDER, Manifest, ModulePart, read_manifest, write_manifest
from .names import DEFAULT_MODEL, PACKAGED_MODELS, local_models, locate
from .reranker_folder import OWN_RERANKER, PairManifest, read_pair_manifest, write_pair_manifest

__all__ = [
    "DEFAULT_MODEL",
    "OWN_RERANKER",
    "PACKAGED_MODELS",
    "POOLING_FOLDER",
    "Manifest",
    "ModulePart",
    "PairManifest",
    "atomic_file",
    "atomic_folder",
    "check_not_input",
    "check_writable_file",
    "check_writable_folder",
    "local_models",
    "locate",
    "read_json",
    "read_manifest",
    "read_pair_manifest",
    "target_folder",
    "write_manifest",
    "write_pair_manifest",
]
