"""How many tokens should one batch hold? Texts a second by the budget, one thread and two."""

import argparse
from statistics import median

import torch

from likewise import Embedder
from likewise.model_files.names import RECOMMENDED_MODEL

from .record import in_turn, save
from .throughput import abstracts, sts_sentences

BUDGETS = (256, 512, 1024, 2048, 4096, 8192)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    results = []
    for precision in ("fp32", "bf16"):
        embedder = Embedder.load(RECOMMENDED_MODEL, engine="torch", precision=precision, device="cpu")
        for corpus, texts in {
            "STS-B test sentences": sts_sentences()[:400],
            "SciFact abstracts": abstracts(20),
        }.items():
            for threads in (1, 2):
                torch.set_num_threads(threads)
                contenders = {
                    str(n): lambda n=n, texts=texts, embedder=embedder: embedder.encode(
                        texts, overflow="truncate", batch_tokens=n
                    )
                    for n in BUDGETS
                }
                seconds = in_turn(contenders, args.rounds)
                rates = {n: len(texts) / median(s) for n, s in seconds.items()}
                results.append({"precision": precision, "corpus": corpus, "threads": threads, "texts_per_s": rates})
                print(precision, corpus, threads, {n: round(rate) for n, rate in rates.items()})
    save("budget", results)


if __name__ == "__main__":
    main()
