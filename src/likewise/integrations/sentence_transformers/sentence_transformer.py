"""SentenceTransformer: an `Embedder` with the API of sentence-transformers, so that programs only change an import."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from ...array_types import Float
from ...arrays.similarity import SIMILARITIES, unit
from ...embedder import PROMPT_NAMES, Embedder
from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.lazy_imports import lazy_names, require_torch
from ...text.inputs import checked_texts, describe_value, is_list_of_rows
from .drop_in_model import DropInModel, accepts_older_names, shows_progress
from .util import SimilarityFunction, as_array, as_tensor, check_precision, quantize_embeddings, similarity_name

OUTPUTS = ("sentence_embedding", "token_embeddings", None)


class SentenceTransformer(DropInModel):
    """A model that encodes texts, with the API of sentence-transformers.

    >>> model = SentenceTransformer("likewise-mini")
    >>> model.encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)

    `SentenceTransformer(Embedder.load(name, engine="native", precision="int8"))` wraps a loaded embedder.
    """

    loaded: Embedder
    default_prompts = ("query", "document")
    model_type = "SentenceTransformer"
    SUPPORTED_SIMILARITY_FN_NAMES = tuple(SIMILARITIES)

    @accepts_older_names(tokenizer_kwargs="processor_kwargs")
    def __init__(
        self,
        model_name_or_path: str | Path | Embedder | None = None,
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
        use_auth_token: bool | str | None = None,
        model_kwargs: dict[str, Any] | None = None,
        processor_kwargs: dict[str, Any] | None = None,
        config_kwargs: dict[str, Any] | None = None,
        model_card_data: Any = None,
        backend: str = "torch",
        similarity_fn_name: Any = None,
        truncate_dim: int | None = None,
    ) -> None:
        self._construct(Embedder.load, {name: value for name, value in locals().items() if name != "self"})
        self.truncate_dim = truncate_dim
        self.similarity_fn_name = similarity_fn_name or self.loaded.manifest.similarity

    @property
    def embedder(self) -> Embedder:
        """The underlying embedder of this library."""
        return self.loaded

    @accepts_older_names(sentences="inputs")
    def encode(
        self,
        inputs: Any,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        output_value: str | None = "sentence_embedding",
        precision: str | None = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: Any = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: dict[str, Any] | None = None,
        chunk_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return one vector per text, as in sentence-transformers; texts that are too long are truncated silently.

        Batches are sized by token count and do not affect results, so `batch_size` is validated but otherwise ignored.

        Raises:
            BadInput: an option is unknown or unsupported; the message gives the reason.
            MissingExtra: tensors are requested, but torch is not installed.
        """
        self._check_extra("encode", kwargs)
        whole_number("batch_size", batch_size)
        check_precision(precision or "float32")
        texts, one = checked_inputs(inputs)
        self._use(device, pool, chunk_size)
        options = {
            "prompt": self._prompt_text(prompt, prompt_name),
            "overflow": "truncate",
            "show_progress_bar": shows_progress(show_progress_bar),
        }
        truncate_dim = self.truncate_dim if truncate_dim is None else truncate_dim
        if output_value != "sentence_embedding":
            found = self._per_token(texts, output_value, options, truncate_dim)
            return found[0] if one else found
        rows = self._vectors(texts, options, truncate_dim, normalize_embeddings)
        rows = quantize_embeddings(rows, precision) if len(rows) and precision not in (None, "float32") else rows
        result = as_output(rows, convert_to_numpy, convert_to_tensor, self.loaded.device)
        return result[0] if one else result

    @wraps(encode, assigned=(), updated=())
    def encode_query(self, *arguments: Any, **options: Any) -> Any:
        """Like `encode`, with the model's query prompt."""
        return self._encode_as("query", *arguments, **options)

    @wraps(encode, assigned=(), updated=())
    def encode_document(self, *arguments: Any, **options: Any) -> Any:
        """Like `encode`, with the model's document prompt: the first of document, passage and corpus that exists."""
        return self._encode_as("document", *arguments, **options)

    @accepts_older_names(sentences="inputs")
    def _encode_as(self, role: str, *arguments: Any, **options: Any) -> Any:
        """Call `encode` with all arguments by name, because subclasses that override it may rely on this."""
        given = signature(SentenceTransformer.encode).bind(self, *arguments, **options).arguments
        more = given.pop("kwargs", {})
        del given["self"]
        if given.get("prompt") is None and given.get("prompt_name") is None:
            given["prompt_name"] = next((name for name in PROMPT_NAMES[role] if name in self.prompts), None)
        return self.encode(**{**given, **more, "task": role})

    def _vectors(
        self, texts: list[str], options: Mapping[str, Any], truncate_dim: int | None, normalize: bool
    ) -> Float[np.ndarray, "N E"]:
        vectors = self.loaded.encode(texts, **options)[:, :truncate_dim]
        return unit(vectors) if normalize else vectors

    def _per_token(
        self, texts: list[str], output: str | None, options: Mapping[str, Any], truncate_dim: int | None
    ) -> list[Any]:
        """The token tensor of each text or, if `output` is None, a dictionary with its ids, mask and vector as well."""
        if output not in OUTPUTS:
            raise BadInput(f"output_value is {output!r}; expected one of {', '.join(map(repr, OUTPUTS))}")
        require_torch(f"output_value={output!r}")
        tokens = [as_tensor(rows).to(self.device) for rows in self.loaded.encode_tokens(texts, **options)]
        if output == "token_embeddings":
            return tokens
        vectors = as_tensor(self._vectors(texts, options, truncate_dim, normalize=False)).to(self.device)
        found = []
        for text, rows, vector in zip(texts, tokens, vectors, strict=True):
            features = {name: row[0] for name, row in self.preprocess([text], options["prompt"]).items()}
            found.append({**features, "token_embeddings": rows, "sentence_embedding": vector})
        return found

    def encode_multi_process(
        self,
        sentences: list[str],
        pool: dict[str, Any],
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 32,
        chunk_size: int | None = None,
        show_progress_bar: bool | None = None,
        precision: str | None = "float32",
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
    ) -> Any:
        """Like `encode`; the pool is not used, because this process already uses every core."""
        options = {name: value for name, value in locals().items() if name not in ("self", "sentences")}
        return self.encode(sentences, **options)

    @property
    def similarity_fn_name(self) -> str:
        """The function used by `similarity`: `"cosine"`, `"dot"`, `"euclidean"` or `"manhattan"`. It can be set."""
        return self._similarity_name

    @similarity_fn_name.setter
    def similarity_fn_name(self, function: Any) -> None:
        self._similarity_name = "cosine" if function is None else similarity_name(function)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The similarity between every vector of both arguments, as a tensor (without torch, as an array)."""
        return SimilarityFunction.to_similarity_fn(self.similarity_fn_name)(embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """The similarity between vectors at the same position, as a tensor (without torch, as an array)."""
        return SimilarityFunction.to_similarity_pairwise_fn(self.similarity_fn_name)(embeddings1, embeddings2)

    def get_embedding_dimension(self) -> int:
        """The dimension of the vectors, after any truncation."""
        return min(self.loaded.dimension, self.truncate_dim or self.loaded.dimension)

    get_sentence_embedding_dimension = get_embedding_dimension  # the older name

    @contextmanager
    def truncate_embeddings(self, truncate_dim: int | None) -> Iterator[None]:
        """Context manager in which vectors are truncated to this many dimensions."""
        before = self.truncate_dim
        try:
            self.truncate_dim = truncate_dim
            yield
        finally:
            self.truncate_dim = before

    truncate_sentence_embeddings = truncate_embeddings  # the older name

    def set_pooling_include_prompt(self, include_prompt: bool) -> None:
        """Set whether pooling includes the tokens of the prompt."""
        self.loaded.manifest = replace(self.loaded.manifest, include_prompt=bool(include_prompt))

    def is_singular_input(self, inputs: Any) -> bool:
        """Whether the input is a single text rather than a list of texts."""
        return isinstance(inputs, str)

    @staticmethod
    def load(input_path: str) -> "SentenceTransformer":
        """Load a model from a folder, as older code for sentence-transformers does."""
        return SentenceTransformer(input_path)

    def _current_manifest(self) -> Any:
        if self.truncate_dim is not None:
            load = f"Embedder.load(name, truncate_dim={self.truncate_dim})"
            what = f"vectors are truncated to {self.truncate_dim} dimensions, which a saved folder would not record"
            raise BadInput(f"{what}; save {load} instead")
        chosen = self.loaded.manifest.similarity or self.similarity_fn_name != "cosine"
        return replace(super()._current_manifest(), similarity=self.similarity_fn_name if chosen else None)


def checked_inputs(inputs: Any) -> tuple[list[str], bool]:
    """The input as a list of texts, and whether a single text was given."""
    if isinstance(inputs, str):
        return [inputs], True
    if not is_list_of_rows(inputs):
        raise BadInput(f"inputs is {describe_value(inputs)}; expected a string or a list of strings")
    return checked_texts(inputs, "inputs"), False


def as_output(rows: Any, convert_to_numpy: bool, convert_to_tensor: bool, device: Any) -> Any:
    """Convert rows to what sentence-transformers returns: an array, one tensor, or a list of tensors."""
    if convert_to_numpy and not convert_to_tensor:
        return as_array(rows) if len(rows) else np.array([])
    require_torch("a tensor")
    if not len(rows):
        return import_module("torch").tensor([], device=str(device)) if convert_to_tensor else []
    tensor = as_tensor(rows).to(str(device))
    return tensor if convert_to_tensor else list(tensor)


__getattr__, _ = lazy_names(
    __package__,
    {
        "evaluation": [],
        "losses": [],
        "training.trainer": ["SentenceTransformerTrainer"],
        "training.training_arguments": ["SentenceTransformerModelCardData", "SentenceTransformerTrainingArguments"],
    },
)
