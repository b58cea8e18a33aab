"""Do the engine's tokenizer and Hugging Face's return equal ids, and how many texts per second does each tokenize?

python -m benchmarks.tokenizing [FOLDER_OR_MODEL ...] [--texts 20000] [--rounds 5]

Texts are drawn from all data sets in LIKEWISE_DATA, in more than twenty languages. The two tokenizers take turns on one
thread each; ratios are ratios of medians. "Cold" means a new tokenizer, "warm" the same texts a second time. Results
are written to benchmarks/results/tokenizing.json.
"""

import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow.parquet as parquet
import tokenizers

from likewise.model_files import locate
from likewise.native.tokenizing import NativeTokenizer

from . import record
from .options import options


def texts_of_data(count: int) -> list[str]:
    """Return distinct texts from every text column, shuffled with a fixed seed."""
    found: dict[str, None] = {}
    for file in sorted(record.data().rglob("*.parquet")):
        table = parquet.read_table(file)
        for name in table.column_names:
            if str(table.schema.field(name).type) in ("string", "large_string"):
                found |= dict.fromkeys(text for text in table[name].to_pylist() if text)
    return random.Random(0).sample(list(found), min(count, len(found)))


def seconds(work: Callable[[], object]) -> float:
    """The wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(description: str, texts: Sequence[str], rounds: int) -> dict[str, Any]:
    """Measure texts per second for both tokenizers, and count the texts whose ids differ."""
    theirs = tokenizers.Tokenizer.from_str(description)
    theirs.no_truncation()
    theirs.no_padding()
    times: dict[str, list[float]] = {"theirs": [], "cold": [], "warm": []}
    for _ in range(rounds):
        ours = NativeTokenizer(description)
        times["theirs"].append(seconds(lambda: theirs.encode_batch_fast(texts, add_special_tokens=False)))
        times["cold"].append(seconds(lambda: ours.encode(texts)))  # noqa: B023, called at once
        times["warm"].append(seconds(lambda: ours.encode(texts)))  # noqa: B023
    wanted = theirs.encode_batch_fast(texts, add_special_tokens=False)
    different = sum(w.ids != found for w, found in zip(wanted, ours.encode(texts).lists(), strict=True))
    median = {name: statistics.median(each) for name, each in times.items()}
    rates = {name: round(len(texts) / time) for name, time in median.items()}
    ratios = {name: round(median["theirs"] / median[name], 1) for name in ("cold", "warm")}
    return {"different ids": different, "texts per second": rates, "times theirs": ratios}


def main(argv: Sequence[str] | None = None) -> None:
    """Compare the tokenizers, and print and save the results."""
    args = options(__doc__, argv, {"models": ["likewise-mini", "likewise-static"]}, texts=20_000, rounds=5)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = texts_of_data(args.texts)
    rows = {}
    for model in args.models:
        folder = locate(model)
        rows[folder.name] = compare((folder / "tokenizer.json").read_text("utf-8"), texts, args.rounds)
        print(f"{folder.name}: {rows[folder.name]}", flush=True)
    results = {"texts": len(texts), "rounds": args.rounds, "tokenizers": tokenizers.__version__, "models": rows}
    record.save("tokenizing", results)


if __name__ == "__main__":
    main()
