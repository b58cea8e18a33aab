"""Training: data, objectives (which turn vectors into a loss), the training loop, and the folder of a finished run.

>>> from likewise.train import TrainSettings, load_data, train
>>> data = load_data("triplets.parquet", "contrastive")                                       # doctest: +SKIP
>>> train("bert-base-uncased", data, TrainSettings(batch_size=64), output="out")               # doctest: +SKIP

Importing this package is cheap: each name below is imported on first use.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from ..data.column_names import ColumnNames
    from .data.schedule import DataSource
    from .data.sources import load_data, read_rows
    from .run import train
    from .settings import TrainSettings
    from .step_state import TrainResult

__all__ = ["ColumnNames", "DataSource", "TrainResult", "TrainSettings", "load_data", "read_rows", "train"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        ".data.column_names": ["ColumnNames"],
        "data.schedule": ["DataSource"],
        "data.sources": ["load_data", "read_rows"],
        "run": ["train"],
        "settings": ["TrainSettings"],
        "step_state": ["TrainResult"],
    },
)
