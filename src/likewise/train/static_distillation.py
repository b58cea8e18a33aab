"""distil_static: a table of token vectors from any model, in about a minute and without training.

The teacher encodes each token of its vocabulary on its own; principal component analysis reduces the dimensions; and
the more frequent a token is, the more its vector is scaled down (Arora et al. 2017, "smooth inverse frequency").
Distilling a table from a sentence encoder in this way is model2vec's idea (Tulkens and van Dongen 2024). The folder is
in the model2vec format, so sentence-transformers and model2vec can read it too.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..array_types import Float
from ..embedder import Embedder
from ..errors import BadInput
from ..model_files import Manifest, ModulePart, atomic_folder, write_manifest
from ..model_files.provenance import readable_provenance, write_provenance
from ..runtime.arguments import whole_number
from ..runtime.atomic_files import check_not_input, target_folder
from ..runtime.progress import Progress, show_progress
from ..runtime.static_tables import token_facts, write_static_table
from ..text.inputs import text_chunks

DIMENSIONS = 256
ESTIMATED, COUNTED = 1e-4, 1e-3
"""Smoothing constants for estimated and counted frequencies: a token that makes up this share of all tokens gets half
the weight of a rare token. Both were chosen on the development split of STS-B, as was `WHITENING`."""
WHITENING = 0.25  # each component is divided by its variance to this power: 0 does nothing, 0.5 whitens fully
MAX_TOKENS = 512  # the limit for a text, as in model2vec
TOKENS_PER_BATCH = 1024
NO_VARIANCE = 1e-9  # a component with less than this share of the variance is rounding error, and is not scaled up
NO_CONTENT = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]|</?(s|pad|unk|mask)>|<\|.*\|>")
"""Special tokens, which stand for no text: their rows stay zero."""


@dataclass(frozen=True)
class StaticDistillation:
    """The result: the folder, the numbers of tokens and dimensions in its table, and the share of the variance kept."""

    folder: Path
    tokens: int
    dimensions: int
    explained_variance: float
    seconds: float


def distil_static(
    teacher: Embedder,
    folder: str | Path,
    *,
    dimensions: int = DIMENSIONS,
    texts: Iterable[str] | None = None,
    show_progress_bar: Progress = None,
) -> StaticDistillation:
    """Write a static model with a vector for each token of the teacher's vocabulary.

    Args:
        teacher: any embedder. Its vector of a single token becomes that token's vector, so its pooling and heads
            matter.
        folder: where to write; a new folder appears complete or not at all.
        dimensions: the number of principal components to keep, at most the teacher's dimension.
        texts: texts from your domain, in which tokens are counted. Without texts, a token's frequency is estimated from
            its rank in the vocabulary, which most tokenizers order by frequency (Zipf's law).
        show_progress_bar: as in `Embedder.encode`.

    Raises:
        BadInput: `dimensions` is out of range, or the folder is the teacher's own or cannot be written to.
    """
    began, target = time.perf_counter(), target_folder(folder)
    check_not_input(target, [teacher.manifest.encoder])
    if (dimensions := whole_number("dimensions", dimensions)) > teacher.dimension:
        raise BadInput(f"dimensions is {dimensions}; expected 1 to {teacher.dimension}, the teacher's dimension")
    with atomic_folder(target) as partial:
        teacher.tokenizer.save(partial)
        facts = token_facts(partial / "tokenizer.json")
        tokens = sorted(i for token, i in facts.ids.items() if not NO_CONTENT.fullmatch(token) and i != facts.unknown)
        if len(tokens) <= dimensions:
            raise BadInput(f"the teacher has {len(tokens)} tokens, too few for a table of {dimensions} dimensions")
        components, explained = whitened_components(_vectors(teacher, tokens, show_progress_bar), dimensions)
        weights = _weights(teacher, tokens, texts)
        unknown = facts.tokens if facts.unknown is None else facts.unknown
        rows = np.zeros((max(facts.tokens, unknown + 1), dimensions), np.float32)
        rows[tokens] = components * weights[:, None]
        manifest = Manifest(partial, heads=(ModulePart("Normalize", {}, partial),), static=True)
        write_manifest(partial, manifest, dimensions)
        write_static_table(partial, rows, unknown, MAX_TOKENS, True)
        write_provenance(partial, readable_provenance(teacher))
    return StaticDistillation(target, len(tokens), dimensions, explained, time.perf_counter() - began)


def _vectors(teacher: Embedder, tokens: Sequence[int], progress: Progress) -> Float[np.ndarray, "N E"]:
    """The teacher's vector of each token on its own."""
    vectors = np.empty((len(tokens), teacher.dimension), np.float32)
    with show_progress(progress, len(tokens)) as advance:
        for start in range(0, len(tokens), TOKENS_PER_BATCH):
            batch = tokens[start : start + TOKENS_PER_BATCH]
            _, windows = teacher.windows([[i] for i in batch])
            vectors[start : start + len(batch)] = teacher.encode_windows(windows)
            advance(len(batch), len(batch))
    return vectors


def _weights(teacher: Embedder, tokens: Sequence[int], texts: Iterable[str] | None) -> Float[np.ndarray, " N"]:
    """The weight of each token: the smoothed inverse of its frequency."""
    if texts is None:
        return np.asarray(ESTIMATED / (ESTIMATED + zipf_shares(len(tokens))))
    return np.asarray(COUNTED / (COUNTED + token_shares(teacher, texts)[tokens]))


def whitened_components(vectors: Float[np.ndarray, "N E"], count: int) -> tuple[Float[np.ndarray, "N D"], float]:
    """Centre the vectors, project them onto their first principal components and partially whiten them.

    Also returns the share of the variance kept.
    """
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    variances, directions = np.linalg.eigh(centred.T @ centred / len(vectors))  # in ascending order
    chosen = directions[:, ::-1][:, :count]
    chosen = chosen * np.sign(chosen[np.abs(chosen).argmax(0), range(count)])  # otherwise the signs would be arbitrary
    kept, total = variances[::-1][:count].clip(0), variances.clip(0).sum()
    scales = np.divide(1, kept**WHITENING, out=np.ones(count), where=kept > NO_VARIANCE * total)
    return centred @ chosen * scales, float(kept.sum() / total) if total else 1.0


def zipf_shares(count: int) -> Float[np.ndarray, " N"]:
    """Relative frequencies by Zipf's law, from the ranks alone: the share of token i is proportional to 1 / (i + 2)."""
    inverse = 1 / np.arange(2, count + 2)
    return np.asarray(inverse / inverse.sum())


def token_shares(teacher: Embedder, texts: Iterable[str]) -> Float[np.ndarray, " V"]:
    """The relative frequency of each token in the texts, with add-one smoothing."""
    counts = np.ones(teacher.tokenizer.vocabulary, np.int64)
    for chunk in text_chunks(texts):
        for ids in teacher.tokenizer.token_ids(chunk):
            np.add.at(counts, ids, 1)
    return np.asarray(counts / counts.sum())
