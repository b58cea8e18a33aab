"""JointReranker reads each pair of texts as one sequence (tokens, truncation, segments), on any engine, without torch.

The layout of a pair comes from Devlin et al. 2019, and its use for ranking from Nogueira and Cho 2019.
"""

import json
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..array_types import Float, Int
from ..arrays.activations import HEAD_ACTIVATIONS
from ..encoders.config import Config
from ..errors import BadModel
from ..inference import Rows, WindowBatches, check_finite, infer
from ..model_files import PairManifest
from ..text.tokenizer import SETTINGS, Tokenizer, truncate_longest_first
from ..text.truncation import TruncationCounter, longest_words, of_rows
from .classification_heads import labels_of
from .reranker import Reranker, RunOptions
from .text_pairs import TextPairs, columns, in_windows

TokenIdPair = tuple[list[int], list[int]]
"""The ids of two texts, truncated or not, without special tokens."""


class JointReranker(Reranker):
    """A cross-encoder whose engine supplies `_window_logits`."""

    kind = "cross-encoder"
    segmented: bool
    """Whether the encoder receives token types, which distinguish the two texts."""

    def _read_settings(self, config: Config, segments: int) -> None:
        """Set labels, activation and limits from the config, the manifest, the tokenizer, and the encoder's number of
        token types.
        """
        heads = self.manifest.heads  # only a modular reranker has them; its config has no labels
        self.labels = [f"LABEL_{i}" for i in range(heads[-1].config["out_features"])] if heads else labels_of(config)
        self.activation = _activation(self.manifest.activation, len(self.labels))
        self.segmented = _segmented(self.tokenizer, segments, config)
        if self.max_content_length < 2:
            raise BadModel(
                f"max_seq_length is {self.tokenizer.max_seq_length}, which leaves no room for two texts besides "
                f"{self.tokenizer.pair.specials} special tokens"
            )

    @property
    def max_content_length(self) -> int:
        return self.tokenizer.max_seq_length - self.tokenizer.pair.specials

    @abstractmethod
    def _window_logits(self, contents: list[TokenIdPair], batches: WindowBatches) -> Float[np.ndarray, "n C"]:
        """The logits of one window of pairs of ids."""

    def token_id_pairs(
        self,
        pairs: TextPairs,
        documents: Iterable[str] | None = None,
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
    ) -> list[TokenIdPair]:
        """The ids of each pair's two texts, truncated to the model's limit."""
        first, second = columns(pairs, documents)
        return self._token_id_pairs(list(zip(self._prompted(first, prompt, prompt_name), second, strict=True)))

    def _logits(self, first: list[str], second: list[str], options: RunOptions) -> Float[np.ndarray, "N C"]:
        pairs = list(zip(first, second, strict=True))
        with self._run("pairs", len(pairs), options) as run:

            def tokenize(distinct: list[tuple[str, str]], rows: Rows) -> list[TokenIdPair]:
                return self._token_id_pairs(distinct, run.counter, rows)

            blocks = list(infer(in_windows(pairs), tokenize, self._window_logits, run))
        return np.concatenate([np.empty((0, len(self.labels)), np.float32), *blocks])

    def counted_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[TokenIdPair, int]]:
        """Each pair's ids, truncated to the model's limit, and the number of ids before truncation."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        lengths = dict(zip(texts, self._token_ids(texts).lengths.tolist(), strict=True))
        totals = [lengths[first] + lengths[second] for first, second in pairs]
        return list(zip(self._token_id_pairs(pairs), totals, strict=True))

    def logits_of(self, contents: Sequence[TokenIdPair]) -> Float[np.ndarray, "n C"]:
        """The logits of already tokenized pairs, in one batch."""
        batches = WindowBatches(len(contents), int(self._lengths(contents).sum()))
        logits = self._window_logits(list(contents), batches)
        check_finite(logits, "pairs", 0, self.precision)
        return logits

    def _sequences(self, contents: Sequence[TokenIdPair]) -> tuple[list[list[int]], list[list[int]] | None]:
        """Pairs of ids with special tokens, and their token types if the encoder uses them."""
        frame = self.tokenizer.pair
        kinds = [frame.kinds(len(a), len(b)) for a, b in contents] if self.segmented else None
        return [frame.ids(a, b) for a, b in contents], kinds

    def _lengths(self, contents: Sequence[TokenIdPair]) -> Int[np.ndarray, " n"]:
        """The number of tokens of each pair, including special ones."""
        specials = self.tokenizer.pair.specials
        return np.asarray([len(a) + len(b) + specials for a, b in contents], np.int64)

    def _token_id_pairs(
        self, pairs: Sequence[tuple[str, str]], counter: TruncationCounter | None = None, rows: Rows | None = None
    ) -> list[TokenIdPair]:
        """The ids of each pair, truncated to the model's limit; every distinct text is tokenized once."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        encoded = self._token_ids(texts)
        ids = dict(zip(texts, encoded.lists(), strict=True))
        if counter is not None and rows is not None:
            words = {texts[i]: longest for i, longest in longest_words(encoded.long_words).items()}
            of_pairs = {i: max(words.get(a, 0), words.get(b, 0)) for i, (a, b) in enumerate(pairs)} if words else {}
            long_words = of_rows({i: longest for i, longest in of_pairs.items() if longest}, rows)
            counter.add(np.asarray([len(ids[a]) + len(ids[b]) for a, b in pairs], np.int64)[rows], long_words)
        kept = (truncate_longest_first(len(ids[a]), len(ids[b]), self.max_content_length) for a, b in pairs)
        return [(ids[a][:n], ids[b][:m]) for (a, b), (n, m) in zip(pairs, kept, strict=True)]

    def _written_manifest(self) -> PairManifest:
        limit, lowercase = self.tokenizer.max_seq_length, self.tokenizer.lowercase
        return replace(self.manifest, activation=torch_name(self.activation), max_seq_length=limit, lowercase=lowercase)

    def _written_tokenizer(self) -> Tokenizer:
        """The tokenizer with its limit and inputs in its settings, so that all libraries read the folder alike."""
        tokenizer = self.tokenizer
        inputs = ["input_ids", *(["token_type_ids"] if self.segmented else []), "attention_mask"]
        settings = {**tokenizer.settings, "model_max_length": tokenizer.max_seq_length}
        settings_json = json.dumps({**settings, "model_input_names": inputs}, indent=2)
        return replace(tokenizer, companions={**tokenizer.companions, SETTINGS: settings_json})


def torch_name(activation: str) -> str:
    """An activation's name as sentence-transformers writes it: the torch class with its module."""
    return f"torch.nn.modules.{'linear' if activation == 'Identity' else 'activation'}.{activation}"


def _activation(named: str | None, labels: int) -> str:
    """The activation's short name; by default, the sigmoid for a single label, as in sentence-transformers."""
    if named is None:
        return "Sigmoid" if labels == 1 else "Identity"
    short = named.rpartition(".")[2]
    if short not in HEAD_ACTIVATIONS or not named.startswith("torch."):
        known = ", ".join(HEAD_ACTIVATIONS)
        raise BadModel(f"unknown activation {named!r} for the scores; expected one of these torch activations: {known}")
    return short


TYPED_TOKENIZERS = (
    *("Bert", "Electra", "ConvBert", "MobileBert", "SqueezeBert", "LayoutLM", "Lxmert", "FNet", "Deberta", "DebertaV2"),
)
"""transformers' tokenizer classes that return token types by default; names without `Tokenizer`."""
TYPED_FAMILIES = ("bert", "electra")
"""The families whose default tokenizer is one of these classes."""


def _segmented(tokenizer: Tokenizer, segments: int, config: Config) -> bool:
    """Whether the encoder receives token types (first or second text): both it and the tokenizer must support them.

    As in sentence-transformers, this depends on the tokenizer's class: a generic tokenizer does not return token types.
    """
    settings = json.loads(
        tokenizer.companions.get(SETTINGS, "{}")
    )  # without settings, the family decides, as in transformers
    inputs = settings.get("model_input_names")
    if inputs is not None and not isinstance(inputs, list):
        raise BadModel(f"{SETTINGS} has model_input_names = {inputs!r:.100}; expected a list of names")
    if inputs is not None:
        given = "token_type_ids" in inputs
    elif name := settings.get("tokenizer_class") or config.get("tokenizer_class"):
        given = str(name).removesuffix("Fast").removesuffix("Tokenizer") in TYPED_TOKENIZERS
    else:
        given = config.get("model_type") in TYPED_FAMILIES
    return given and max(tokenizer.pair.segments) < segments
