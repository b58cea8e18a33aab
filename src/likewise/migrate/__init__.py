"""Switching models: map one model's vectors to another's, and rebuild an index in the background.

>>> to_old = fit_map(new_vectors, old_vectors, new_model, old_model)      # for a sample of texts    # doctest: +SKIP
>>> migration = Migration(old_index, new_index, new_embedder.encode, to_old)                        # doctest: +SKIP
>>> migration.search(new_embedder.encode(queries))                        # in the old index        # doctest: +SKIP
>>> migration.run()                                                       # then in the new one     # doctest: +SKIP
"""

from .background import Migration, MigrationReport
from .fit_map import fit_map, recall_kept
from .in_place import migrate_in_place, migrate_into
from .vector_map import VectorMap

__all__ = ["Migration", "MigrationReport", "VectorMap", "fit_map", "migrate_in_place", "migrate_into", "recall_kept"]
