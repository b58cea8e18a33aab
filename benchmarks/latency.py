"""How long does one text take, in a process that is warm?"""

from statistics import median, quantiles

import torch

from likewise import Embedder
from likewise.model_files import locate
from likewise.model_files.names import RECOMMENDED_MODEL

from .record import in_turn, save

TEXTS = {
    "one sentence": ["Which pooling should I use for a retrieval model?"],
    "one paragraph": [" ".join(["Sentence embeddings map a sentence to a vector of fixed size."] * 15)],
}


def main() -> None:
    from sentence_transformers import SentenceTransformer

    results = []
    ours, half = (Embedder.load(RECOMMENDED_MODEL, engine="torch", precision=p) for p in ("fp32", "bf16"))
    peer = SentenceTransformer(str(locate(RECOMMENDED_MODEL)), device="cpu")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, text in TEXTS.items():
            seconds = in_turn(
                {
                    "sentence-transformers fp32": lambda text=text: peer.encode(text, show_progress_bar=False),
                    "likewise fp32": lambda text=text: ours.encode(text),
                    "likewise bf16": lambda text=text: half.encode(text),
                },
                rounds=100,
            )
            described = {
                who: {"median_ms": 1e3 * median(s), "p95_ms": 1e3 * quantiles(s, n=20)[-1]}
                for who, s in seconds.items()
            }
            results.append({"text": name, "threads": threads, "contenders": described})
            print(name, f"{threads} thread(s):", {who: round(t["median_ms"], 2) for who, t in described.items()}, "ms")
    save("latency", results)


if __name__ == "__main__":
    main()
