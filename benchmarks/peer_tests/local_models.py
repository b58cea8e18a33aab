"""Local models under the names that sentence-transformers' tests download, stored as a cache of the hub.

They have the shape of the published models but different weights; this suffices, because the tests compare calls with
each other and check no scores.
"""

from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

REVISION = "0123456789abcdef0123456789abcdef01234567"
EMBEDDERS = ("sentence-transformers-testing/stsb-bert-tiny-safetensors", "sentence-transformers/all-MiniLM-L6-v2")
RERANKERS = {"cross-encoder-testing/reranker-bert-tiny-gooaq-bce": 1, "cross-encoder/nli-MiniLM2-L6-H768": 3}


def make_cache(home: Path, source: Path) -> None:
    """Create a hub cache under `home` with every name above, from the small BERT in `source`."""
    torch.manual_seed(0)
    for name in EMBEDDERS:
        encoder = Transformer(str(source), max_seq_length=128)
        model = SentenceTransformer(modules=[encoder, Pooling(encoder.get_embedding_dimension(), "mean")])
        model.save(str(_snapshot(home, name)), create_model_card=False)
    for name, labels in RERANKERS.items():
        folder = _snapshot(home, name)
        AutoModelForSequenceClassification.from_pretrained(source, num_labels=labels).save_pretrained(folder)
        AutoTokenizer.from_pretrained(source, model_max_length=512).save_pretrained(folder)


def _snapshot(home: Path, name: str) -> Path:
    """Create the folder for a repository's only revision."""
    repository = home / "hub" / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text(REVISION, "utf-8")
    folder = repository / "snapshots" / REVISION
    folder.mkdir(parents=True, exist_ok=True)
    return folder
