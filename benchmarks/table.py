"""Draws README's table of numbers from benchmarks/results, so that no figure is typed by hand."""

import json
from pathlib import Path
from typing import Any

from .record import RESULTS

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- numbers: drawn by benchmarks/table.py -->", "<!-- end of numbers -->"


def read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return result


def throughput() -> list[str]:
    rows = []
    for record in read("throughput")["results"]:
        peer = record["contenders"]["sentence-transformers fp32"]["texts_per_s"]
        for precision in ("fp32", "bf16"):
            ours = record["contenders"][f"likewise {precision}"]
            threads = f"{record['threads']} thread" + "s" * (record["threads"] > 1)
            rows.append(
                f"| {record['corpus']}, {precision}, {threads} | {ours['texts_per_s']:,.0f} texts/s "
                f"| {peer:,.0f} texts/s (fp32) | **{ours['times_peer']:.2f} ×** |"
            )
    return rows


def latency() -> list[str]:
    rows = []
    for record in read("latency")["results"]:
        if record["threads"] == 1:
            ours, peer = (
                record["contenders"][f"{who} fp32"]["median_ms"] for who in ("likewise", "sentence-transformers")
            )
            rows.append(f"| {record['text']}, fp32, warm | {ours:.1f} ms | {peer:.1f} ms | **{peer / ours:.2f} ×** |")
    return rows


def cold_start() -> list[str]:
    output = read("cold_start")["results"]
    ours, peer = (output[f"{who}: first vector"]["wall_s"] for who in ("likewise", "sentence-transformers"))
    return [f"| first vector of a new process | {ours:.2f} s | {peer:.2f} s | **{peer / ours:.1f} ×** |"]


def memory() -> list[str]:
    output = read("memory")["results"]
    return [f"| memory beyond the model, {output['texts']:,} texts to .npy | {output['added_mb']:.0f} MB | – | |"]


def training() -> list[str]:
    if not (RESULTS / "training.json").exists():
        return []
    rows = []
    for record in read("training")["results"]:
        peers = {p: record["contenders"][f"sentence-transformers {p}"] for p in ("fp32", "bf16")}
        for precision, peer in peers.items():
            ours = record["contenders"][f"likewise {precision}"]
            threads = f"{record['threads']} thread" + "s" * (record["threads"] > 1)
            rows.append(
                f"| training, {record['question']}, batches of {record['batch']}, {precision}, {threads} "
                f"| {ours['rows_per_s']:,.1f} rows/s, {ours['peak_mb'] / 1e3:.2f} GB "
                f"| {peer['rows_per_s']:,.1f} rows/s, {peer['peak_mb'] / 1e3:.2f} GB "
                f"| **{ours['times_peer_same_precision']:.2f} ×** |"
            )
    return rows


def main() -> None:
    where = read("throughput")["machine"]
    lines = ["| | likewise | sentence-transformers 6.2 | |", "|---|---|---|---|"]
    lines += [*throughput(), *latency(), *cold_start(), *memory(), *training()]
    limits = [record["share_of_limit_fp32"] for record in read("throughput")["results"]]
    lines += [
        "",
        f"all-MiniLM-L6-v2, training an untuned model of its shape; contenders in turn in one run, medians; "
        f"{where['cpu']}, {where['cores']} cores, torch {where['torch']}, {where['date']}, commit {where['commit']}; "
        "memory and training later the same day, as their files say. Of the speed at which the encoder's matrix "
        f"products alone run through the same kernel, fp32 reaches {min(limits):.0%} to {max(limits):.0%} (least with "
        "long texts, since attention is not counted there). Scripts and raw figures: [benchmarks/](benchmarks/).",
    ]
    text = README.read_text("utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1], "utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
