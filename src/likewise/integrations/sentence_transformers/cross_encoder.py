"""CrossEncoder: a `Reranker` with the API of sentence-transformers, so that programs only change an import."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...array_types import Float
from ...arrays.activations import HEAD_ACTIVATIONS, softmax
from ...errors import BadInput
from ...reranker import Reranker
from ...runtime.arguments import whole_number
from ...runtime.lazy_imports import has_torch, lazy_names, require_torch
from ...text.inputs import describe_value, is_list_of_rows
from .drop_in_model import DropInModel, accepts_older_names, shows_progress
from .loading import refuse
from .sentence_transformer import as_output
from .util import as_array, as_tensor

Activation = str | Callable[[Any], Any]
"""A name such as `"Sigmoid"` or `"torch.nn.Identity"`, or a function of a tensor (without torch, of an array)."""


class CrossEncoder(DropInModel):
    """A model that scores pairs of texts, with the API of sentence-transformers.

    >>> model = CrossEncoder("cross-encoder/ms-marco-MiniLM-L6-v2")                      # doctest: +SKIP
    >>> model.rank("how do cats sleep", ["Cats nap.", "Shares fell."])                   # doctest: +SKIP
    [{'corpus_id': 0, 'score': 0.93}, {'corpus_id': 1, 'score': 0.02}]

    `CrossEncoder(Reranker.load(name, engine="native", precision="int8"))` wraps a loaded reranker.
    """

    loaded: Reranker
    model_type = "CrossEncoder"

    @accepts_older_names(
        model_name="model_name_or_path",
        automodel_args="model_kwargs",
        tokenizer_args="processor_kwargs",
        tokenizer_kwargs="processor_kwargs",
        config_args="config_kwargs",
        cache_dir="cache_folder",
        default_activation_function="activation_fn",
    )
    def __init__(
        self,
        model_name_or_path: str | Path | Reranker | None = None,
        *,
        modules: Any = None,
        device: Any = None,
        prompts: dict[str, str] | None = None,
        default_prompt_name: str | None = None,
        cache_folder: str | None = None,
        trust_remote_code: bool = False,
        revision: str | None = None,
        local_files_only: bool = False,
        token: bool | str | None = None,
        model_kwargs: dict[str, Any] | None = None,
        processor_kwargs: dict[str, Any] | None = None,
        config_kwargs: dict[str, Any] | None = None,
        model_card_data: Any = None,
        backend: str = "torch",
        num_labels: int | None = None,
        max_length: int | None = None,
        activation_fn: Activation | None = None,
        keep_in_fp32_modules: list[str] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "num_labels")}
        self._construct(Reranker.load, given, max_length)
        if num_labels is not None and num_labels != self.num_labels:
            raise refuse(f"a model with {self.num_labels} labels", "num_labels", num_labels)
        self.activation_fn = self.loaded.activation if activation_fn is None else activation_fn

    @property
    def reranker(self) -> Reranker:
        """The underlying reranker of this library."""
        return self.loaded

    @property
    def num_labels(self) -> int:
        """The number of labels; 1 means that the model returns a single score."""
        return len(self.loaded.labels)

    @property
    def activation_fn(self) -> Any:
        """Converts logits to scores: a torch module, the function that was set, or, without torch, a name."""
        if callable(self._activation) or not has_torch():
            return self._activation
        return getattr(import_module("torch").nn, _class_name(self._activation))()

    @activation_fn.setter
    def activation_fn(self, activation: Activation) -> None:
        _activated(np.zeros((1, self.num_labels), np.float32), activation)  # rejects an unknown activation right away
        self._activation = activation

    max_length = DropInModel.max_seq_length  # the older names of these two
    default_activation_function = activation_fn

    @accepts_older_names(("num_workers",), sentences="inputs", activation_fct="activation_fn")
    def predict(
        self,
        inputs: Any,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: Activation | None = None,
        apply_softmax: bool | None = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        pool: dict[str, Any] | None = None,
        chunk_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """The score of each pair of texts, or of a single pair; with several labels, each pair gets a row of scores.

        Batches are sized by token count and do not affect results, so `batch_size` is validated but otherwise ignored.

        Raises:
            BadInput: an option is unknown or unsupported, or an input is not a pair of texts.
            MissingExtra: tensors are requested, but torch is not installed.
        """
        self._check_extra("predict", kwargs)
        whole_number("batch_size", batch_size)
        pairs, one = checked_pairs(inputs)
        self._use(device, pool, chunk_size)
        logits = self.loaded.logits(
            pairs,
            prompt=self._prompt_text(prompt, prompt_name),
            overflow="truncate",
            show_progress_bar=shows_progress(show_progress_bar),
        )
        scores = _activated(logits, self._activation if activation_fn is None else activation_fn)
        if self.num_labels == 1 and scores.ndim > 1:
            scores = scores[:, 0]
        scores = softmax(scores) if apply_softmax and scores.ndim > 1 and len(scores) else scores
        result = as_output(scores, convert_to_numpy, convert_to_tensor, self.loaded.device)
        return result[0] if one else result

    @accepts_older_names(
        ("num_workers", "apply_softmax", "convert_to_numpy", "convert_to_tensor"), activation_fct="activation_fn"
    )
    def rank(
        self,
        query: str,
        documents: list[str],
        top_k: int | None = None,
        return_documents: bool = False,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: Activation | None = None,
        device: Any = None,
        pool: dict[str, Any] | None = None,
        chunk_size: int | None = None,
    ) -> list[dict[str, Any]]:
        """Rank documents by their score with the query, best first: `corpus_id`, `score` and, if requested, `text`.

        Raises:
            BadInput: the model has several labels.
        """
        own = ("own", "self", "query", "documents", "top_k", "return_documents")
        options = {name: value for name, value in locals().items() if name not in own}
        if self.num_labels != 1:
            raise BadInput(
                "CrossEncoder.rank() only works for models with num_labels=1. Consider using CrossEncoder.predict() "
                f"with input pairs instead. The labels of this model are {', '.join(self.loaded.labels)}"
            )
        scores = self.predict([[query, document] for document in documents], **options)
        order = np.argsort(-scores, kind="stable")[:top_k]
        texts = [{"text": documents[i]} if return_documents else {} for i in order]
        return [{"corpus_id": int(i), "score": float(scores[i]), **text} for i, text in zip(order, texts, strict=True)]

    def is_singular_input(self, inputs: Any) -> bool:
        """Whether the input is a single pair of texts rather than a list of pairs."""
        return checked_pairs(inputs)[1]


def checked_pairs(inputs: Any) -> tuple[list[Any], bool]:
    """The input as a list of pairs, and whether a single pair was given."""
    if isinstance(inputs, Mapping) or not is_list_of_rows(inputs, 2):
        raise BadInput(f"the input is {describe_value(inputs)}; expected pairs of texts")
    pairs = list(inputs)
    one = len(pairs) == 2 and all(isinstance(text, str) for text in pairs)
    return ([pairs], True) if one else (pairs, False)


def _class_name(activation: str) -> str:
    """The name of an activation in torch: `"torch.nn.Sigmoid"` and `"sigmoid"` both become `"Sigmoid"`."""
    name = str(activation).rpartition(".")[2]
    return next((known for known in HEAD_ACTIVATIONS if known.lower() == name.lower()), name)


def _activated(logits: Float[np.ndarray, "N C"], activation: Activation) -> Float[np.ndarray, "N ..."]:
    """Apply an activation to logits: names run in NumPy, and functions get a tensor (without torch, an array)."""
    if callable(activation):
        return np.asarray(as_array(activation(as_tensor(logits) if has_torch() else logits)), np.float32)
    name = _class_name(activation)
    if name in HEAD_ACTIVATIONS:
        return np.asarray(HEAD_ACTIVATIONS[name](logits), np.float32)
    if str(activation).startswith("torch."):
        require_torch(f"activation_fn={activation!r}")
        if hasattr(import_module("torch").nn, name):
            return _activated(logits, getattr(import_module("torch").nn, name)())
    raise BadInput(f"activation_fn is {activation!r}; expected a function or one of {', '.join(HEAD_ACTIVATIONS)}")


__getattr__, _ = lazy_names(
    __package__,
    {
        "cross_encoder.evaluation": [],
        "cross_encoder.losses": [],
        "training.trainer": ["CrossEncoderTrainer"],
        "training.training_arguments": ["CrossEncoderTrainingArguments"],
    },
)
