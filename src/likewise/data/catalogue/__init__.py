"""The catalogue of named data sets. To add a data set, add a row to one of the tables joined in DATASETS.

The data itself is never part of this package: `likewise data list` compares the files in LIKEWISE_DATA with
these tables.
"""

from .classification import CLASSES
from .entry import Completeness, Dataset, DatasetFile
from .languages_and_domains import LANGUAGES_AND_DOMAINS
from .pairs_and_documents import PAIRS
from .scored_pairs import SCORED_PAIRS

__all__ = ["DATASETS", "Completeness", "Dataset", "DatasetFile"]

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset for dataset in (*SCORED_PAIRS, *CLASSES, *PAIRS, *LANGUAGES_AND_DOMAINS)
}
