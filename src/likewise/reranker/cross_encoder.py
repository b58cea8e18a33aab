"""CrossEncoder: an encoder reads both texts as one sequence, so that every word of one attends to those of the other.

Devlin et al. 2019 for the layout of a pair, Nogueira and Cho 2019 for ranking with it. Any sequence-classification
folder of a known family is one.
"""

import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..arrays.ragged import Ragged
from ..encoders.checkpoint import (
    check_same_form,
    check_writable,
    has_weights_for,
    load_encoder,
    load_module,
    save_encoder,
    tensors_by_file_name,
)
from ..encoders.config import read_config
from ..encoders.encoder import Encoder
from ..encoders.families import model_type
from ..encoders.layers import initialize_weights
from ..errors import BadInput, BadModel
from ..heads import ACTIVATIONS
from ..inference import Rows, WindowBatches, infer
from ..model_files import PairManifest, atomic_folder, read_pair_manifest, write_pair_manifest
from ..model_files.folder import check_same
from ..runtime.atomic_files import target_folder
from ..runtime.devices import none_if_out_of_memory
from ..runtime.progress import Progress
from ..text.tokenizer import Tokenizer, truncate_longest_first
from ..text.truncation import TruncationCounter, longest_words
from .classification_heads import CLASSIFIERS, ClassificationHead, Classifier, labels_of
from .reranker import HasEncoder, PairOverflow, Reranker, parts_of, tokenizer_of
from .text_pairs import TextPairs, columns, in_windows

SETTINGS = "tokenizer_config.json"
TokenIdPair = tuple[list[int], list[int]]
"""The ids of two texts, truncated or not, without special tokens."""


class CrossEncoder(Reranker):
    """Tokenizer, encoder, classification head."""

    kind = "cross-encoder"

    def __init__(self, tokenizer: Tokenizer, encoder: Encoder, head: Classifier, manifest: PairManifest):
        super().__init__(tokenizer, encoder, manifest)
        self.head = head
        self.labels = labels_of(encoder.config)
        self.activation = _activation(manifest.activation, len(self.labels))
        older = {"activation_fn": _torch_name(self.activation)}  # where sentence-transformers 4 and 5 look for it
        self.encoder.config = {**encoder.config, "sentence_transformers": older}
        self.segmented = _segmented(tokenizer, encoder)
        self.max_content_length = tokenizer.max_length - tokenizer.pair.specials
        if self.max_content_length < 2:
            raise BadModel(
                f"max_length is {tokenizer.max_length}, and {tokenizer.pair.specials} special tokens leave "
                "no tokens for two texts"
            )

    @classmethod
    def read(cls, manifest: PairManifest, dtype: torch.dtype, max_length: int | None) -> "CrossEncoder":
        """The cross-encoder that a folder describes."""
        folder = manifest.encoder
        head = _head(model_type(read_config(folder), folder), f"{folder} holds")  # before any weight is read
        encoder = load_encoder(folder, dtype)
        _check_head(folder, encoder, head)
        built = load_module(lambda: head.build(encoder.config), head.names, folder, dtype)
        return cls(tokenizer_of(encoder, manifest, max_length), encoder, built, manifest)

    @classmethod
    def start(
        cls,
        source: HasEncoder | str | Path,
        labels: int | Sequence[str] = 1,
        *,
        seed: int = 0,
        max_length: int | None = None,
    ) -> "CrossEncoder":
        """An untrained cross-encoder; see `Reranker.start`."""
        names = _names(labels)
        tokenizer, encoder, manifest = parts_of(source)
        head = _head(encoder.config.get("model_type", ""), "this is")
        encoder = deepcopy(encoder)
        encoder.config = {
            **encoder.config,
            "architectures": [f"{head.architecture}ForSequenceClassification"],
            "id2label": {str(i): name for i, name in enumerate(names)},
            "label2id": {name: i for i, name in enumerate(names)},
        }
        encoder.config.pop("num_labels", None)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            built = head.build(encoder.config)
            initialize_weights(built)
        first = next(encoder.parameters())
        pair_manifest = PairManifest(encoder=manifest.encoder, lowercase=tokenizer.lowercase)
        if max_length is not None:
            tokenizer = tokenizer_of(encoder, pair_manifest, max_length)
        return cls(tokenizer, encoder, built.to(first.device, first.dtype), pair_manifest).eval()

    def forward(self, tokens: Ragged) -> Float[Tensor, "N C"]:
        """Packed pairs (of `tokens`) to logits, with gradients if they are on."""
        logits: Tensor = self.head(self.encoder(tokens), tokens)
        return logits

    def tokens(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
    ) -> Ragged:
        """Pairs of texts as the model reads them, truncated to what it reads: the input of `forward`."""
        return self.packed(self.token_id_pairs(pairs, documents, prompt=prompt, prompt_name=prompt_name))

    def token_id_pairs(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
    ) -> list[TokenIdPair]:
        """The ids of each pair's two texts, truncated to what the model reads: the input of `packed`."""
        first, second = columns(pairs, documents)
        text_prompt = self._prompt(prompt, prompt_name)
        return self._token_id_pairs([(text_prompt + a, b) for a, b in zip(first, second, strict=True)])

    def packed(self, contents: Sequence[TokenIdPair]) -> Ragged:
        """Pairs of ids with the special ones, laid end to end."""
        frame = self.tokenizer.pair
        kinds = [frame.kinds(len(a), len(b)) for a, b in contents] if self.segmented else None
        return Ragged.of([frame.ids(a, b) for a, b in contents], self.device, kinds)

    def logits(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: PairOverflow = "warn",
        progress: Progress = None,
        batch_tokens: int | None = None,
    ) -> Float[np.ndarray, "N C"]:
        """The head's output for each pair before any activation, float32, in the order given; see `score`."""
        counter = TruncationCounter(
            self.max_content_length, overflow, "pairs", windows=False, word_limit=self.tokenizer.longest_word
        )
        first, second = columns(pairs, documents)
        text_prompt = self._prompt(prompt, prompt_name)
        prompted = [(text_prompt + a, b) for a, b in zip(first, second, strict=True)]

        def tokenize(distinct: list[tuple[str, str]], rows: Rows) -> list[TokenIdPair]:
            return self._token_id_pairs(distinct, counter, rows)

        with self._run(counter, len(prompted), progress, batch_tokens) as run:
            blocks = list(infer(in_windows(prompted), tokenize, self._window_logits, run))
        return np.concatenate([np.empty((0, len(self.labels)), np.float32), *blocks])

    def save(self, folder: str | Path) -> None:
        """A folder that `load`, transformers (as a sequence classifier) and sentence-transformers' CrossEncoder read.

        A new folder appears whole or not at all; an existing one is replaced as by `Embedder.save`.

        Raises:
            BadInput: the folder cannot be written to.
            BadModel: the model would be loaded again as another one.
        """
        target, head = target_folder(folder), CLASSIFIERS[self.encoder.config["model_type"]]
        self._check_writable(head)
        manifest = replace(
            self.manifest,
            activation=_torch_name(self.activation),
            max_length=self.tokenizer.max_length,
            lowercase=self.tokenizer.lowercase,
        )
        with atomic_folder(target) as partial:
            write_pair_manifest(partial, manifest)
            _completed(self.tokenizer, self.segmented).save(partial)
            save_encoder(self.encoder, partial, head.prefix, tensors_by_file_name(self.head, head.names))
            check_same(read_pair_manifest(partial), manifest)

    def _check_writable(self, head: ClassificationHead) -> None:
        check_writable(self.encoder)
        with torch.device("meta"):
            built = head.build(self.encoder.config)
        check_same_form(built, self.head, "a classification head of this config")
        if self.activation not in ACTIVATIONS:
            raise BadModel(f"the activation {self.activation!r} cannot be saved; known are {', '.join(ACTIVATIONS)}")
        again = labels_of(self.encoder.config)
        if list(self.labels) != list(again):
            raise BadModel(
                f"the labels are {', '.join(self.labels)}, and would be {', '.join(again)} when the model is loaded "
                "again; Reranker.start(model, labels) builds one with other labels"
            )

    @property
    def _settings(self) -> list[Any]:
        return [self.activation, list(self.labels), str(self.head.shape), self.segmented]

    @torch.inference_mode()
    def _window_logits(self, contents: list[TokenIdPair], batches: WindowBatches) -> Float[np.ndarray, "n C"]:
        """The logits of some pairs of ids."""
        specials = self.tokenizer.pair.specials

        def logits(batch: list[int]) -> Float[np.ndarray, "b C"]:
            return np.asarray(self(self.packed([contents[i] for i in batch])).float().cpu().numpy())

        return batches.run(
            [len(a) + len(b) + specials for a, b in contents],
            lambda batch: none_if_out_of_memory(lambda: logits(batch)),
            np.empty((len(contents), len(self.labels)), np.float32),
        )

    def _token_id_pairs(
        self,
        pairs: Sequence[tuple[str, str]],
        counter: TruncationCounter | None = None,
        rows: Rows | None = None,
    ) -> list[TokenIdPair]:
        """The ids of each pair, cut to what the model reads; every distinct text is tokenised once."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        ids = dict(zip(texts, self._token_ids(texts), strict=True))
        if counter is not None:
            unread = self.tokenizer.overlong_words(texts, list(ids.values()))
            words = {texts[i]: long for i, long in unread.items()}
            of_pairs = {i: [*words.get(a, ()), *words.get(b, ())] for i, (a, b) in enumerate(pairs)} if words else {}
            long_words = longest_words({i: long for i, long in of_pairs.items() if long}, rows)
            counter.add(np.asarray([len(ids[a]) + len(ids[b]) for a, b in pairs], np.int64)[rows], long_words)
        cut = (
            (ids[a], ids[b], truncate_longest_first(len(ids[a]), len(ids[b]), self.max_content_length))
            for a, b in pairs
        )
        return [(a[:n], b[:m]) for a, b, (n, m) in cut]


def _names(labels: int | Sequence[str]) -> list[str]:
    if isinstance(labels, int) and not isinstance(labels, bool) and labels >= 1:
        return [f"LABEL_{i}" for i in range(labels)]
    listed = isinstance(labels, list | tuple) and len(labels) > 0 and all(isinstance(name, str) for name in labels)
    if listed and len(set(labels)) == len(labels):  # type: ignore[arg-type]
        return list(labels)  # type: ignore[arg-type]
    raise BadInput(f"labels is {labels!r}; expected how many, 1 or more, or their names, all different")


def _activation(named: str | None, labels: int) -> str:
    """Its short name; where none is named, the sigmoid for one label, as sentence-transformers has it."""
    if named is None:
        return "Sigmoid" if labels == 1 else "Identity"
    short = named.rpartition(".")[2]
    if short not in ACTIVATIONS or not named.startswith("torch."):
        raise BadModel(f"the scores have the unknown activation {named!r}; known are torch's {', '.join(ACTIVATIONS)}")
    return short


def _torch_name(activation: str) -> str:
    """Its name as sentence-transformers writes it."""
    kind = type(ACTIVATIONS[activation]())
    return f"{kind.__module__}.{kind.__name__}"


def _head(kind: str, context: str) -> ClassificationHead:
    if kind not in CLASSIFIERS:
        raise BadModel(
            f"{context} a {kind!r} encoder, and rerankers are built on {', '.join(CLASSIFIERS)}. "
            "A new one is a row in CLASSIFIERS (likewise/reranker/classification_heads.py)"
        )
    return CLASSIFIERS[kind]


def _check_head(folder: Path, encoder: Encoder, head: ClassificationHead) -> None:
    """An error with the way out where the folder holds an encoder and no classification head."""
    names = encoder.config.get("architectures")
    names = [] if names is None else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadModel(f"config.json has architectures = {names!r:.100}; expected a list of names")
    classifies = not names or any(name.endswith("ForSequenceClassification") for name in names)
    with torch.device("meta"):
        expected = head.build(encoder.config)
    if not classifies or not has_weights_for(folder, expected, head.names):
        what = (
            f"its config.json names {names[0]}"
            if not classifies
            else "the weights of a classification head are not there"
        )
        raise BadModel(f"{folder} holds no reranker ({what}). Reranker.start(folder) builds an untrained one on it")


def _segmented(tokenizer: Tokenizer, encoder: Encoder) -> bool:
    """Whether the encoder is given token types (first or second text): it has a table, and no setting forbids it."""
    table = getattr(getattr(encoder, "shape", None), "segments", 0)
    inputs = json.loads(tokenizer.companions[SETTINGS]).get("model_input_names")
    if inputs is not None and not isinstance(inputs, list):
        raise BadModel(f"{SETTINGS} has model_input_names = {inputs!r:.100}; expected a list of names")
    return max(tokenizer.pair.segments) < table and (inputs is None or "token_type_ids" in inputs)


def _completed(tokenizer: Tokenizer, segments: bool) -> Tokenizer:
    """The tokenizer with its limit and its inputs in its settings, so that every reader of the folder does the same."""
    inputs = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    settings = {**json.loads(tokenizer.companions[SETTINGS]), "model_max_length": tokenizer.max_length}
    settings_json = json.dumps({**settings, "model_input_names": inputs}, indent=2)
    return replace(tokenizer, companions={**tokenizer.companions, SETTINGS: settings_json})
