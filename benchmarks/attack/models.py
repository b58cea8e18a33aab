"""Tiny model folders of every kind, created once before the attempts, and functions that load them."""

import ctypes
import gc
import importlib
import json
import shutil
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from likewise import Embedder, Reranker
from likewise.cli.main import VERBS

ENGINES: tuple[str, ...] = ("torch", "numpy", "native")
"""The engines for `load(engine=…)`; add new engines here."""

EMBEDDERS = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "mpnet", "distilbert", "albert", "modernbert")
TABLES = ("words", "bilstm", "dan")
OTHERS = ("gpt2", "deberta-v2", "longformer", "xlnet") if find_spec("transformers") else ()  # computed by transformers
WITHOUT_TORCH = ("bert", "roberta", "modernbert", "words", "ngrams", "dense", "cross-bert", "cross-modernbert")
RERANKERS = ("cross-bert", "cross-roberta", "cross-distilbert", "cross-modernbert", "cross-labels", "poly")

Load = Callable[[Path], Any]


def loader(name: str, engine: str = "torch") -> Load:
    """Return the function that loads the folder with this name."""
    kind = Reranker if name in RERANKERS else Embedder
    return lambda folder: kind.load(folder, engine=engine)


def names() -> list[str]:
    """Return the names of the folders that `make` creates."""
    return [*EMBEDDERS, *TABLES, *OTHERS, *RERANKERS, "ngrams", "dense", "prompts", "plain", "int8", "fusion", "shards"]


def preload() -> None:
    """Import everything that attempts import, so that forks share it, and exempt it from garbage collection."""
    more = ("likewise.mine", "likewise.search", "likewise.evaluate.tasks.registry", "likewise.evaluate.runner")
    more += ("likewise.train.layers.fusion_training", "likewise.train.output.run_folder", "likewise.cli.train.build")
    more += ("likewise.cli.train.dry_run", "pandas", "pyarrow.parquet", "matplotlib.figure", "tests.tiny")
    more += ("uvicorn.loops.uvloop", "uvicorn.lifespan.on", "uvicorn.loops.auto", "encodings.idna")
    more += ("likewise.encoders.architectures.transformers_model",) if OTHERS else ()
    more += tuple(f"transformers.models.{name}.modeling_{name}" for name in (n.replace("-", "_") for n in OTHERS))
    for name in (*(f"likewise.cli.{verb.module}" for verb in VERBS.values()), *more):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a garbage collection in a child would write to, and so copy, all shared memory
    use_huge_pages()


def use_huge_pages() -> None:
    """Move this process's memory to 2 MiB pages, because copying page tables is most of the cost of a fork.

    Linux supports this since version 6.1; on other systems, and for memory that cannot be moved, nothing changes.
    """
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        return
    libc, size, collapse = ctypes.CDLL(None), 2 << 20, 25  # MADV_COLLAPSE
    for addresses, access, *_, file in (f"{line} ".split(" ", 5) for line in maps.read_text().splitlines()):
        if access == "rw-p" and file.strip() in ("", "[heap]"):
            start, end = (int(address, 16) for address in addresses.split("-"))
            for page in range(-(-start // size) * size, end - size + 1, size):
                libc.madvise(ctypes.c_void_p(page), ctypes.c_size_t(size), collapse)


def make(root: Path) -> None:
    """Create all folders below `root`."""
    warnings.simplefilter("ignore")
    _ours(root)
    if OTHERS:
        _others(root)
    _rerankers(root)
    assert all((root / name).is_dir() for name in names())


def _ours(root: Path) -> None:
    from tests.tiny import model_folder

    for family in (*EMBEDDERS, *TABLES):
        model_folder(root / family, family, settings={"max_seq_length": 40, "do_lower_case": False})
    spoken = {"prompts": {"query": "query: ", "passage": "cat "}, "default_prompt_name": None}
    model_folder(root / "prompts", "bert", spoken=spoken)
    model_folder(root / "plain", "bert", plain=True)
    _with_heads(root)
    _fusion(root)
    _ngrams(root / "ngrams")
    Embedder.load(root / "dense", engine="torch").save(root / "int8", weights="int8")
    _shards(root)


def _with_heads(root: Path) -> None:
    from likewise.heads import Dense, Norm, Normalize
    from tests.tiny import model_folder

    embedder = Embedder.load(model_folder(root / "made/dense", "bert", heads=()), engine="torch")
    embedder.heads.extend([Norm(32), Dense(32, 16), Normalize()])
    embedder.save(root / "dense")


def _fusion(root: Path) -> None:
    from likewise.pooling import pooling_of

    embedder = Embedder.load(root / "bert", engine="torch")
    embedder.pooling = pooling_of("sbert-wk:start=1", embedder.encoder.depth)
    embedder.save(root / "fusion")


def _ngrams(folder: Path) -> None:
    from likewise.model_files.word_vectors.word_tables import WordVectors, write_word_vectors

    words = ["cat", "dog", ",", "straße", "the", "sleeps"]
    rows = np.random.default_rng(0).standard_normal((len(words) + 1 + 50, 8)).astype(np.float32)
    folder.mkdir(parents=True)
    write_word_vectors(folder, WordVectors(words, rows, 3, 5))


def _shards(root: Path) -> None:
    """Write the weights as two files and an index."""
    from safetensors.torch import load_file, save_file

    folder = root / "shards"
    shutil.copytree(root / "bert", folder)
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(tensors)}
    for place in sorted(set(places.values())):
        save_file({n: t for n, t in tensors.items() if places[n] == place}, folder / place, {"format": "pt"})
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")


def _others(root: Path) -> None:
    import torch
    import transformers as t

    from tests.tiny import wordpieces

    small: dict[str, Any] = {
        "gpt2": t.GPT2Config(vocab_size=200, n_embd=16, n_layer=2, n_head=2, n_positions=64),
        "deberta-v2": t.DebertaV2Config(
            vocab_size=200, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
            max_position_embeddings=64, relative_attention=True, pos_att_type=["p2c", "c2p"],
        ),
        "longformer": t.LongformerConfig(
            vocab_size=200, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
            max_position_embeddings=66, attention_window=[8, 8],
        ),
        "xlnet": t.XLNetConfig(vocab_size=200, d_model=16, n_layer=2, n_head=2, d_inner=24),
    }  # fmt: skip
    for name in OTHERS:
        torch.manual_seed(0)
        t.AutoModel.from_config(small[name]).save_pretrained(root / name)
        wordpieces().save(str(root / name / "tokenizer.json"))


def _rerankers(root: Path) -> None:
    from likewise.reranker import PolyEncoder
    from tests.tiny import classifier_folder

    for name in RERANKERS[:4]:
        classifier_folder(root / name, name.partition("-")[2])
    classifier_folder(root / "cross-labels", "bert", labels=3)
    PolyEncoder.start(Embedder.load(root / "bert", engine="torch"), 4).save(root / "poly")
