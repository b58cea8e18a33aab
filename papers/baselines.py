"""Untrained models that the papers compare with: InferSent and the Universal Sentence Encoder's two architectures.

Their published weights are not read: InferSent's and Skip-Thought's are pickles, which can run arbitrary code when
opened, and the Universal Sentence Encoder's are a TensorFlow graph. If you trust InferSent's weights, you can convert
them once: `enc_lstm.*` in its state_dict becomes `encoder.lstm.*` here, with the same shapes and order.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn

from likewise.encoders.architectures.word_table import WordTable
from likewise.encoders.encoder import Encoder
from likewise.encoders.families import FAMILIES
from likewise.encoders.layers import initialize_weights
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.heads import Dense
from likewise.model_files import Manifest
from likewise.pooling import Reduce


def infersent(words: str | Path = "avg-glove", *, width: int = 2048, seed: int = 0) -> TorchEmbedder:
    """An untrained InferSent: a max-pooled bidirectional LSTM with `width` units per direction over word vectors.

    Conneau et al. (2017) froze the word vectors, as `embedder.encoder.words.requires_grad_(False)` does.
    """
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise BadInput(f"width is {width!r}; expected the number of units per direction, 1 or more")
    source = _words(words)
    encoder = _random_encoder(
        {**_table(source), "model_type": "bilstm", "word_size": source.encoder.width, "hidden_size": 2 * width}, seed
    )
    return _with_table(source, encoder, "max", [])


def deep_averaging(
    words: str | Path = "avg-glove", *, pairs: int = 200_000, layers: Sequence[int] = (512, 512), seed: int = 0
) -> TorchEmbedder:
    """An untrained deep averaging network: sums of word and bigram vectors over √n, then tanh layers.

    Iyyer et al. 2015; Cer et al. 2018, who publish only the output dimension, 512, and neither the number of layers nor
    the size of the bigram table, which has `pairs` rows here. Bigram vectors start near zero, words from the table.
    """
    source = _words(words)
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 1 or not layers or min(layers) < 1:
        raise BadInput(f"pairs is {pairs!r} and layers {layers!r}; expected a number above 0, and one or more layers")
    encoder = _random_encoder(
        {**_table(source), "model_type": "dan", "hidden_size": source.encoder.width, "pair_buckets": pairs}, seed
    )
    return _with_table(source, encoder, "mean-sqrt-len", [source.encoder.width, *layers], seed)


def small_transformer(
    tokenizer: str | Path, *, depth: int = 6, width: int = 512, heads: int = 8, inner: int = 2048, seed: int = 0
) -> TorchEmbedder:
    """An untrained BERT of these sizes with another model's tokenizer, pooled by the sum of its words over √n.

    The Universal Sentence Encoder's larger model is of this kind (Cer et al. 2018). Its sizes were not published; the
    defaults here are those of the encoder in Vaswani et al. 2017.
    """
    source = TorchEmbedder.load(tokenizer, device="cpu")
    config = {
        "model_type": "bert",
        "vocab_size": max(source.tokenizer.vocabulary, 1),
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "max_position_embeddings": 512,
        "type_vocab_size": 1,
        "hidden_act": "relu",
    }
    if source.tokenizer.unknown is not None:
        raise BadInput(f"{tokenizer} knows only whole words and ignores all others; expected a word-piece tokenizer")
    return _embedder(source, _random_encoder(config, seed), "mean-sqrt-len", nn.Sequential())


def _words(name: str | Path) -> TorchEmbedder:
    embedder = TorchEmbedder.load(name, device="cpu")
    if not isinstance(embedder.encoder, WordTable):
        kind = embedder.encoder.config.get("model_type")
        raise BadInput(f"{name} is a {kind!r} model; expected a table of word vectors, such as avg-glove")
    return embedder


def _table(words: TorchEmbedder) -> dict[str, Any]:
    config = words.encoder.config
    return {"vocab_size": config["vocab_size"], "ngram_buckets": config.get("ngram_buckets", 0)}


def _random_encoder(config: dict[str, Any], seed: int) -> Encoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        built: Encoder = FAMILIES[config["model_type"]].build(config)
        initialize_weights(built)
    built.config = config
    return built


def _with_table(
    source: TorchEmbedder, encoder: Encoder, pooling: str, sizes: Sequence[int], seed: int = 0
) -> TorchEmbedder:
    """An encoder with the source's table of word vectors and dense tanh layers of these sizes on top."""
    assert isinstance(encoder.words, WordTable)
    encoder.words.load_state_dict(source.encoder.state_dict())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        heads = nn.Sequential(*(Dense(a, b) for a, b in pairwise(sizes)))
    return _embedder(source, encoder, pooling, heads)


def _embedder(source: TorchEmbedder, encoder: Encoder, pooling: str, heads: nn.Module) -> TorchEmbedder:
    tokenizer = replace(source.tokenizer, max_seq_length=min(encoder.longest, source.tokenizer.max_seq_length))
    manifest = Manifest(encoder=source.manifest.encoder)
    return TorchEmbedder(tokenizer, encoder, Reduce.parse(pooling), heads, manifest).eval()
