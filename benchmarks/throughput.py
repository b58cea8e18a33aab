"""How many sentences a second, beside sentence-transformers and beside the machine's own limit?

`limit` is the time of the encoder's matrix products alone, through the same kernel, for the same tokens: no encoder
on this kernel can be faster.
"""

import argparse
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import torch

from likewise import Embedder
from likewise.encoders.layers import Linear
from likewise.inference import TOKENS_PER_BATCH, plan_batches
from likewise.model_files import locate
from likewise.model_files.names import RECOMMENDED_MODEL

from .record import data, in_turn, ratio, save

PEER_BATCH = 32  # sentence-transformers' default


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    results = []
    for threads in args.threads:
        torch.set_num_threads(threads)
        for corpus, texts in {"STS-B test sentences": sts_sentences(), "SciFact abstracts": abstracts(100)}.items():
            results.append({"corpus": corpus, "threads": threads, **measure(texts, args.rounds)})
            record = results[-1]
            print(f"{corpus}, {threads} thread(s): {record['sentences']} texts, {record['tokens']} tokens")
            for name, row in record["contenders"].items():
                print(f"  {name:34} {row['texts_per_s']:8.1f} texts/s {row['tokens_per_s']:9.0f} tokens/s", end="")
                print(f"   {row['times_peer']:.2f} × sentence-transformers" if "times_peer" in row else "")
            print(
                f"  share of the limit: fp32 {record['share_of_limit_fp32']:.3f}, "
                f"bf16 {record['share_of_limit_bf16']:.3f}"
            )
    save("throughput", results)


def sts_sentences() -> list[str]:
    table = pq.read_table(data("stsb", "test.parquet")).to_pydict()
    return list(dict.fromkeys(table["sentence1"] + table["sentence2"]))


def abstracts(count: int) -> list[str]:
    table = pq.read_table(data("scifact", "corpus.parquet")).to_pydict()
    return table["text"][:count]


def measure(texts: list[str], rounds: int) -> dict[str, Any]:
    from sentence_transformers import SentenceTransformer

    ours, half = (Embedder.load(RECOMMENDED_MODEL, engine="torch", precision=p) for p in ("fp32", "bf16"))
    peer = SentenceTransformer(str(locate(RECOMMENDED_MODEL)), device="cpu")
    peer_half = SentenceTransformer(
        str(locate(RECOMMENDED_MODEL)), device="cpu", model_kwargs={"dtype": torch.bfloat16}
    )
    lengths = [len(ids) for ids in framed(ours, texts)]
    contenders: dict[str, Callable[[], Any]] = {
        "sentence-transformers fp32": lambda: peer.encode(texts, show_progress_bar=False),
        "likewise fp32": lambda: ours.encode(texts, overflow="truncate"),
        "limit fp32": products(ours, lengths),
        "sentence-transformers bf16": lambda: peer_half.encode(texts, show_progress_bar=False, convert_to_tensor=True),
        "likewise bf16": lambda: half.encode(texts, overflow="truncate"),
        "limit bf16": products(half, lengths),
    }
    seconds = in_turn(contenders, rounds)
    a, b = ours.encode(texts, overflow="truncate"), half.encode(texts, overflow="truncate")
    reference = peer.encode(texts, show_progress_bar=False)
    return {
        "sentences": len(texts),
        "tokens": sum(lengths),
        "rounds": rounds,
        "contenders": {name: row(name, seconds, len(texts), sum(lengths)) for name in contenders},
        "share_of_limit_fp32": ratio(seconds, "likewise fp32", "limit fp32"),
        "share_of_limit_bf16": ratio(seconds, "likewise bf16", "limit bf16"),
        "largest_difference_to_peer_fp32": float(np.abs(a - reference).max()),
        "least_cosine_bf16_to_fp32": float((a * b).sum(1).min()),
        "padding_share_peer": padding(texts, lengths),
    }


def row(name: str, seconds: dict[str, list[float]], texts: int, tokens: int) -> dict[str, float]:
    middle = median(seconds[name])
    described = {"seconds": middle, "texts_per_s": texts / middle, "tokens_per_s": tokens / middle}
    if name.startswith("likewise"):
        described["times_peer"] = ratio(seconds, name, "sentence-transformers fp32")
        described["times_peer_same_precision"] = ratio(seconds, name, name.replace("likewise", "sentence-transformers"))
    return described


def framed(embedder: Embedder, texts: list[str]) -> list[list[int]]:
    tokenizer = embedder.tokenizer
    return [
        tokenizer.with_special_tokens(content[: tokenizer.max_content_length]) for content in tokenizer.token_ids(texts)
    ]


def products(embedder: Embedder, lengths: list[int]) -> Callable[[], None]:
    """The matrix products of every block for every batch, and nothing else."""
    layers = [m for m in embedder.encoder.modules() if isinstance(m, Linear)]
    dtype = layers[0].weight.dtype
    sizes = [sum(lengths[i] for i in batch) for batch in plan_batches(lengths, TOKENS_PER_BATCH["cpu"])]
    inputs = {width: torch.randn(max(sizes), width).to(dtype) for width in {layer.in_features for layer in layers}}

    @torch.inference_mode()
    def work() -> None:
        for size in sizes:
            for layer in layers:
                layer(inputs[layer.in_features][:size])

    return work


def padding(texts: list[str], lengths: list[int]) -> float:
    """The share of padding in the peer's batches: sorted by characters, 32 at a time, padded to the longest."""
    order = np.argsort([-len(text) for text in texts], kind="stable")
    counted = np.asarray(lengths)[order]
    batches = [counted[i : i + PEER_BATCH] for i in range(0, len(counted), PEER_BATCH)]
    return 1 - sum(lengths) / float(sum(len(batch) * batch.max() for batch in batches))


if __name__ == "__main__":
    main()
