"""Model folders: finding, downloading and safely replacing them; reading and writing their JSON. No weights are read.

Importing this package is cheap: each name below is imported on first use.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .folder import POOLING_FOLDER, Manifest, ModulePart, read_manifest, write_manifest
    from .names import DEFAULT_MODEL, PACKAGED_MODELS, local_models, locate
    from .reranker_folder import OWN_RERANKER, PairManifest, read_pair_manifest, write_pair_manifest
    from .saving import atomic_folder

__all__ = [
    "DEFAULT_MODEL",
    "OWN_RERANKER",
    "PACKAGED_MODELS",
    "POOLING_FOLDER",
    "Manifest",
    "ModulePart",
    "PairManifest",
    "atomic_folder",
    "local_models",
    "locate",
    "read_manifest",
    "read_pair_manifest",
    "write_manifest",
    "write_pair_manifest",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "folder": ["POOLING_FOLDER", "Manifest", "ModulePart", "read_manifest", "write_manifest"],
        "names": ["DEFAULT_MODEL", "PACKAGED_MODELS", "local_models", "locate"],
        "reranker_folder": ["OWN_RERANKER", "PairManifest", "read_pair_manifest", "write_pair_manifest"],
        "saving": ["atomic_folder"],
    },
)
