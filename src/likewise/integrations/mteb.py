"""An embedder for mteb (version 2), for running its tasks and comparing its scores with ours [extra: mteb].

mteb.evaluate(for_mteb(embedder), mteb.get_tasks(["STSBenchmark"]))
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..array_types import Float
from ..arrays.similarity import PAIRWISE, SIMILARITIES
from ..embedder import PROMPT_NAMES, Embedder
from ..engine_registry import computation_of
from ..errors import BadInput
from ..evaluate.models import models_by_name
from ..runtime.installation import missing_extra

OF_MTEB = ("task_metadata", "hf_split", "hf_subset", "batch_size", "show_progress_bar", "num_workers")
"""Arguments that mteb passes and that do not affect results; likewise chooses its own batches."""


class ForMteb:
    """Adapts an embedder to mteb's encoder interface."""

    def __init__(self, embedder: Embedder, name: str, meta: Any) -> None:
        self._embedder, self.name, self.mteb_model_meta = embedder, name, meta
        kind = embedder.manifest.similarity or "cosine"
        self._similarity, self._pairwise = SIMILARITIES[kind], PAIRWISE[kind]

    def encode(
        self, inputs: Iterable[Mapping[str, Any]], *, prompt_type: Any = None, **options: Any
    ) -> Float[np.ndarray, "N E"]:
        """Encode the texts (key "text") of all batches at once, so that they can be sorted by length.

        Raises:
            BadInput: `encode_kwargs` contains an unsupported option, such as a precision.
        """
        if unknown := [name for name in options if name not in OF_MTEB]:
            raise BadInput(f"encode does not support {', '.join(unknown)} in mteb; remove it from encode_kwargs")
        texts = [text for batch in inputs for text in batch["text"]]
        return self._embedder.encode(texts, prompt_name=self._prompt(prompt_type), show_progress_bar=False)

    def similarity(self, a: Any, b: Any) -> Float[np.ndarray, "M N"]:
        """The model's own similarity between every pair of rows of `a` and `b`."""
        return self._similarity(*(np.atleast_2d(np.asarray(x)) for x in (a, b)))

    def similarity_pairwise(self, a: Any, b: Any) -> Float[np.ndarray, " N"]:
        """The model's own similarity between each row of `a` and the row of `b` at the same position."""
        return self._pairwise(*(np.atleast_2d(np.asarray(x)) for x in (a, b)))

    def _prompt(self, kind: Any) -> str | None:
        known = self._embedder.manifest.prompts
        candidates = PROMPT_NAMES.get(str(getattr(kind, "value", kind)), ())
        return next((name for name in candidates if name in known), None)


def for_mteb(embedder: Embedder, name: str | None = None) -> ForMteb:
    """Wrap an embedder for `mteb.evaluate`; results in mteb list the model as `name`.

    The revision consists of the fingerprint, the engine and the precision, so that mteb never returns results cached
    for a different model.
    """
    try:
        from mteb.models import ModelMeta
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "mteb":
            raise
        raise missing_extra("mteb", "mteb", "for_mteb") from None
    engine, precision, _ = computation_of(embedder)
    name = name or next(iter(models_by_name(embedder)))
    description = {
        "name": name if "/" in name else f"likewise/{name}",
        "revision": "-".join([embedder.fingerprint, engine, precision]),
        "embed_dim": embedder.dimension,
        "max_tokens": float(embedder.tokenizer.max_seq_length),
        "n_parameters": embedder.describe()["parameters"],
    }
    return ForMteb(embedder, name, ModelMeta.create_empty(description))
