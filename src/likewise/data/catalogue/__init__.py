"""The data sets known by name. A new one is a row in one of the tables that DATASETS joins.

Data is never part of this package: `likewise data` compares what lies in the folder LIKEWISE_DATA with these tables.
"""

from .classification import CLASSES
from .entry import Completeness, Dataset, DatasetFile, HubFiles
from .pairs_and_documents import PAIRS
from .scored_pairs import SCORED_PAIRS

__all__ = ["DATASETS", "Completeness", "Dataset", "DatasetFile", "HubFiles"]

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in (*SCORED_PAIRS, *CLASSES, *PAIRS)}
