"""likewise: sentence embeddings, made, compared and understood.

>>> from likewise import Embedder, similarity
>>> embedder = Embedder.load()                                   # likewise-mini, bundled
>>> vectors = embedder.encode(["A cat sleeps.", "A kitten naps."])   # (2, 384), float32
>>> similarity.cosine(vectors, vectors)                          # doctest: +SKIP

Importing this package costs nothing: each name below arrives with its first use.
"""

from typing import TYPE_CHECKING

from .runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .arrays import similarity
    from .arrays.ragged import Ragged
    from .embedder import Embedder
    from .errors import LikewiseError
    from .reranker import Reranker
    from .search.texts.text_index import TextIndex

__all__ = ["Embedder", "LikewiseError", "Ragged", "Reranker", "TextIndex", "similarity"]
__version__ = "0.1.0"

NAME_ADVICE = {
    "SentenceTransformer": "a model is loaded by Embedder.load('all-MiniLM-L6-v2'); a class that is called like theirs "
    "is in likewise.integrations.sentence_transformers",
    "CrossEncoder": "cross-encoders are loaded by Reranker.load(name); a class that is called like theirs is in "
    "likewise.integrations.sentence_transformers",
    "SparseEncoder": "its models give dense vectors: Embedder.load(name); words are matched by likewise.search.bm25",
    "util": "see likewise.similarity (cosine …), likewise.search (search, closest_pairs) and likewise.cluster "
    "(communities)",
    "cos_sim": "it is similarity.cosine(a, b): from likewise import similarity",
    "losses": "from likewise.train import Contrastive …; docs/objectives.md has them by sentence-transformers' names",
    "evaluation": "from likewise.evaluate import evaluate; evaluators of a training are in likewise.train",
    "models": "a folder of Hugging Face is loaded with a pooling of your choice: Embedder.load(folder, pooling='mean')",
    "InputExample": "training data are columns of a file: likewise.train.load_data('pairs.csv', 'contrastive')",
    "SentenceTransformerTrainer": "from likewise.train import train (or Trainer, the loop alone)",
    "SentenceTransformerTrainingArguments": "from likewise.train import TrainSettings",
}
"""What users of sentence-transformers look for, and what there is here."""

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "embedder": ["Embedder"],
        "arrays.ragged": ["Ragged"],
        "reranker": ["Reranker"],
        "search.texts.text_index": ["TextIndex"],
        "errors": ["LikewiseError"],
        "arrays.similarity": [],
    },
    ["__version__"],
    needs_torch=["Ragged"],
    advice=NAME_ADVICE,
)
