"""Real sentences and their embeddings, for measurements that random vectors would distort, such as recall."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Float

from likewise import Embedder
from likewise.engine_registry import computation_of

from .record import data

MODEL = "likewise-mini"
PAIR = ("sentence1", "sentence2")
SOURCES = (
    ("nli/train.parquet", PAIR),
    ("flickr30k_captions/train.parquet", tuple(f"caption{i}" for i in range(1, 6))),
    ("stsb/train.parquet", PAIR),
    ("sick/train.parquet", PAIR),
    ("qqp_subset/pairs.parquet", PAIR),
)


def real_sentences(count: int) -> list[str]:
    """Distinct sentences from NLI, captions, STS-B, SICK and questions, in a fixed random order."""
    found: dict[str, None] = {}
    for file, columns in SOURCES:
        table = pq.read_table(data(*file.split("/")))
        for column in columns:
            found.update(dict.fromkeys(" ".join(text.split()) for text in table[column].to_pylist() if text))
    texts = sorted(text for text in found if text)
    if len(texts) < count:
        raise SystemExit(f"{count:,} sentences are needed, but the data sets contain only {len(texts):,}")
    order = np.random.default_rng(0).permutation(len(texts))[:count]
    return [texts[i] for i in order]


def real_vectors(count: int, model: str = MODEL) -> Float[np.ndarray, "N D"]:
    """Return the sentences' embeddings, cached in the system's temporary folder for later measurements."""
    texts, embedder = real_sentences(count), Embedder.load(model)
    model = f"{embedder.fingerprint} {computation_of(embedder)}"
    key = hashlib.sha256("\n".join([model, *texts]).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir(), f"likewise-vectors-{key}.npy")
    if not path.is_file():
        partial = path.with_suffix(".partial.npy")
        np.save(partial, embedder.encode(texts, overflow="truncate", show_progress_bar=True))
        partial.replace(path)
    return np.asarray(np.load(path))
