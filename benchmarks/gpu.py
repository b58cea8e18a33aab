"""On a GPU: are the vectors right, how fast is encoding next to sentence-transformers, and which token budget is best?

Every family is compared with itself on the CPU in fp32, with random weights; attention uses the variable-length kernel
in half precision and padding in fp32.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from likewise import Embedder, Ragged
from likewise.encoders.families import FAMILIES
from likewise.encoders.layers import initialize_weights
from likewise.model_files import locate
from likewise.model_files.names import RECOMMENDED_MODEL

from .options import options
from .record import data, in_turn, ratio, save

SMALL = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "max_position_embeddings": 514,
    "embedding_size": 128,
    "dim": 256,
    "n_layers": 4,
    "n_heads": 4,
    "hidden_dim": 512,
    "local_attention": 32,
    "word_size": 64,
    "pair_buckets": 5000,
}


def main() -> None:
    args = options(__doc__, model=RECOMMENDED_MODEL, rounds=5)
    assert torch.cuda.is_available(), "this benchmark needs a CUDA device"
    result: dict[str, Any] = {"families": families()}
    print_rows(result["families"])
    folder = locate(args.model)
    for corpus, texts in {"STS-B sentences": sts_sentences(), "SciFact abstracts": abstracts()}.items():
        result[corpus] = measure(folder, texts, args.rounds)
        print(corpus)
        print_rows(result[corpus])
    result["budgets"] = budgets(folder, sts_sentences(), args.rounds)
    print_rows(result["budgets"])
    save("gpu", result, device="cuda")


def families() -> dict[str, dict[str, float]]:
    """The largest difference between any layer and the CPU's in fp32, relative to that layer's largest value."""
    generator = torch.Generator().manual_seed(0)
    lengths = tuple(torch.randint(1, 200, (24,), generator=generator).tolist())
    ids = torch.randint(5, 1000, (sum(lengths),), generator=generator)
    described = {}
    for name, family in FAMILIES.items():
        torch.manual_seed(0)
        encoder = initialize_weights(family.build(SMALL), 0.05).eval()
        with torch.inference_mode():
            right = [x.clone() for x in encoder(Ragged(ids, lengths))]
            described[name] = {}
            for precision, dtype in (("fp32", torch.float32), ("fp16", torch.float16), ("bf16", torch.bfloat16)):
                moved = encoder.to("cuda", dtype)
                got = [x.float().cpu() for x in moved(Ragged(ids.cuda(), lengths))]
                pairs = zip(got, right, strict=True)
                described[name][precision] = max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)
                encoder.to("cpu", torch.float32)
                torch.manual_seed(0)
                initialize_weights(encoder, 0.05)
    return described


def sts_sentences() -> list[str]:
    tables = [pq.read_table(data("stsb", f"{split}.parquet")).to_pydict() for split in ("train", "dev", "test")]
    return list(dict.fromkeys(text for t in tables for text in t["sentence1"] + t["sentence2"]))


def abstracts() -> list[str]:
    return list(pq.read_table(data("scifact", "corpus.parquet")).to_pydict()["text"])


def measure(folder: Path, texts: list[str], rounds: int) -> dict[str, Any]:
    from sentence_transformers import SentenceTransformer

    ours = {p: Embedder.load(folder, device="cuda", precision=p) for p in ("fp32", "bf16")}
    peers = {
        "fp32": SentenceTransformer(str(folder), device="cuda", model_kwargs={"dtype": torch.float32}),
        "bf16": SentenceTransformer(str(folder), device="cuda", model_kwargs={"dtype": torch.bfloat16}),
    }
    contenders: dict[str, Callable[[], Any]] = {}
    for p in ("fp32", "bf16"):
        contenders[f"sentence-transformers {p}"] = lambda p=p: peers[p].encode(texts, show_progress_bar=False)
        contenders[f"sentence-transformers {p}, batch 256"] = lambda p=p: peers[p].encode(
            texts, batch_size=256, show_progress_bar=False
        )
        contenders[f"likewise {p}"] = lambda p=p: ours[p].encode(texts, overflow="truncate")
    contenders["tokenising alone"] = lambda: ours["fp32"].tokenizer.token_ids(texts)
    seconds = in_turn(contenders, rounds)
    tokens = int(ours["fp32"].encode_report(texts).used.sum()) + 2 * len(texts)
    rows: dict[str, Any] = {"texts": len(texts), "tokens": tokens}
    for name in contenders:
        middle = median(seconds[name])
        rows[name] = {"texts_per_s": len(texts) / middle, "tokens_per_s": tokens / middle}
    for p in ("fp32", "bf16"):
        best = max(
            (f"sentence-transformers {p}", f"sentence-transformers {p}, batch 256"), key=lambda n: -median(seconds[n])
        )
        rows[f"likewise {p}"]["times_peers_better_batch"] = ratio(seconds, f"likewise {p}", best)
    a, b = (ours[p].encode(texts, overflow="truncate") for p in ("fp32", "bf16"))
    rows["least_cosine_bf16_to_fp32"] = float((a * b).sum(1).min())
    on_cpu = Embedder.load(folder, engine="torch", device="cpu", precision="fp32")
    right = on_cpu.encode(texts[:256], overflow="truncate")
    rows["largest_difference_fp32_to_cpu"] = float(np.abs(a[:256] - right).max())
    return rows


def budgets(folder: Path, texts: list[str], rounds: int) -> dict[str, Any]:
    """The encoder's texts per second for each token budget."""
    embedder = Embedder.load(folder, device="cuda", precision="bf16")
    sizes = (4096, 16_384, 65_536, 262_144)
    seconds = in_turn({str(n): lambda n=n: embedder.encode(texts, batch_tokens=n) for n in sizes}, rounds)
    return {name: {"texts_per_s": len(texts) / median(s)} for name, s in seconds.items()}


def print_rows(rows: dict[str, Any]) -> None:
    for name, row in rows.items():
        values = row.items() if isinstance(row, dict) else [("", row)]
        print(f"  {name:40}", *(f"{key} {value:.6g}" for key, value in values), flush=True)


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"{time.perf_counter() - began:.0f} s")
