"""Odd command lines: unknown names, numbers out of range, texts that no terminal can show."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from .attempt import Attempt, Setup
from .command import cli, outcome_of
from .tables import text

LINES: Mapping[str, Callable[[Setup], Sequence[object]]] = {
    "nothing": lambda _: (),
    "unknown-verb": lambda _: ("destroy",),
    "help": lambda _: ("--help",),
    "version": lambda _: ("--version",),
    "models": lambda _: ("model", "list", "--json"),
    "data": lambda _: ("data", "list"),
    "data-unknown": lambda _: ("data", "show", "no/such"),
    "data-leaks-unknown": lambda _: ("data", "leaks", "no/such"),
    "tasks": lambda _: ("evaluate", "--list"),
    "evaluate-no-data": lambda s: ("evaluate", s.models / "bert", "--tasks", "stsb"),
    "evaluate-unknown-task": lambda s: ("evaluate", s.models / "bert", "--tasks", "nope,,stsb"),
    "evaluate-no-module": lambda _: ("evaluate", "no.such:thing", "--tasks", "stsb"),
    "info-file": lambda _: ("model", "show", "/etc/passwd"),
    "info-device": lambda _: ("model", "show", "/dev/zero"),
    "info-nul": lambda _: ("model", "show", "a\0b"),
    "info-long": lambda _: ("model", "show", "x" * 300),
    "info-form": lambda _: ("model", "show", "random(random(random(x"),
    "info-deep": lambda _: ("model", "show", "random(" * 2000 + "x" + ")" * 2000),
    "info-surrogate": lambda _: ("model", "show", "\udcff"),
    "info-prompts": lambda s: ("model", "show", s.models / "prompts", "--json"),
    "info-every": lambda s: (
        "info",
        s.models / "bert",
        "--pooling",
        "mean+max",
        "--truncate-dim",
        "3",
        "--max-seq-length",
        "9",
    ),
    "similarity-one": lambda s: ("similarity", "a", "-m", s.models / "bert"),
    "similarity-many": lambda s: ("similarity", *"abcdefghijklmnopqrstuvwxyz" * 2, "-m", s.models / "bert"),
    "similarity-surrogate": lambda s: ("similarity", "\udcff", "b", "-m", s.models / "bert"),
    "similarity-markup": lambda s: ("similarity", "[/bold]", "[red", "-m", s.models / "bert"),
    "similarity-empty": lambda s: ("similarity", "", "", "-m", s.models / "bert"),
    "similarity-reranker": lambda s: ("similarity", "a", "b", "-m", s.models / "poly"),
    "rerank-embedder": lambda s: ("rerank", "/etc/hosts", "-m", s.models / "bert", "--query", "x"),
    "threads-none": lambda s: ("model", "show", s.models / "bert", "--threads", "0"),
    "threads-many": lambda s: ("model", "show", s.models / "bert", "--threads", str(10**9)),
    "threads-huge": lambda s: ("model", "show", s.models / "bert", "--threads", str(10**30)),
    "max-length-huge": lambda s: ("model", "show", s.models / "bert", "--max-seq-length", str(10**30)),
    "max-length-negative": lambda s: ("model", "show", s.models / "bert", "--max-seq-length", "-4"),
    "truncate-huge": lambda s: ("model", "show", s.models / "bert", "--truncate-dim", str(10**30)),
    "device-absent": lambda s: ("model", "show", s.models / "bert", "--device", "cuda"),
    "device-unknown": lambda s: ("model", "show", s.models / "bert", "--device", "toaster"),
    "device-meta": lambda s: ("similarity", "a", "b", "-m", s.models / "bert", "--device", "meta"),
    "pooling-unknown": lambda s: ("model", "show", s.models / "bert", "--pooling", "nope"),
    "precision-half": lambda s: ("similarity", "a", "b", "-m", s.models / "bert", "--precision", "fp16"),
    "dissect-table": lambda s: ("model", "dissect", s.models / "words"),
    "train-no-data": lambda s: ("train", s.models / "bert", "-o", "out"),
    "train-toml-missing": lambda _: ("train", "no.toml"),
    "train-torn-objective": lambda s: (
        "train",
        s.models / "bert",
        "--data",
        "x.csv@contrastive:temperature=",
        "-o",
        "out",
    ),
    "train-unknown-objective": lambda s: ("train", s.models / "bert", "--data", "x.csv@magic", "-o", "out"),
    "train-learning-rate": lambda s: (
        "train",
        s.models / "bert",
        "--data",
        "x.csv@cosent",
        "-o",
        "out",
        "--learning-rate",
        "nan",
    ),
    "train-batch": lambda s: ("train", s.models / "bert", "--data", "x.csv@cosent", "-o", "out", "--batch-size", "-1"),
    "train-freeze": lambda s: (
        "train",
        s.models / "bert",
        "--data",
        "x.csv@cosent",
        "-o",
        "out",
        "--freeze",
        "blocks:9-1",
    ),
    "fuse-depth": lambda s: ("model", "fuse", s.models / "bert", "--pairs", "x.csv", "-o", "out", "--depth", "-1"),
    "fuse-teacher": lambda s: (
        "model",
        "fuse",
        s.models / "bert",
        "--pairs",
        "x.csv",
        "-o",
        "out",
        "--teacher",
        "no/such",
    ),
    "mine-rank": lambda s: ("data", "mine", s.models / "bert", "x.csv", "--rank", "5", "1"),
    "mine-k": lambda s: ("data", "mine", s.models / "bert", "x.csv", "-k", "0"),
    "explain-empty": lambda s: ("explain", "", "", "-m", s.models / "bert"),
    "explain-surrogate": lambda s: ("explain", "\udcff", "b", "-m", s.models / "bert"),
    "explain-markup": lambda s: ("explain", "[/bold]", "[red", "-m", s.models / "bert"),
    "explain-long": lambda s: ("explain", "cat " * 50_000, "b", "-m", s.models / "bert"),
    "explain-reranker": lambda s: ("explain", "a", "b", "-m", s.models / "cross-bert"),
    "search-missing": lambda _: ("search", "no.index", "a"),
    "search-file": lambda _: ("search", "x.csv", "a"),
    "search-device": lambda _: ("search", "/dev/zero", "a"),
    "index-info-file": lambda _: ("index", "info", "x.csv"),
    "index-verify-missing": lambda _: ("index", "verify", "no.index"),
    "index-delete-missing": lambda _: ("index", "delete", "no.index", "--filter", "a = 1"),
    "index-add-nothing": lambda s: ("index", "add", "x.index", "no*.csv", "-m", s.models / "bert"),
    "index-add-over-file": lambda s: ("index", "add", "x.csv", "x.csv", "-m", s.models / "bert"),
    "calibrate-none": lambda s: ("calibrate", "x.csv", "-o", "c.json", "-m", s.models / "bert", "--column", "no"),
    "pairs-fdr": lambda s: ("pairs", "x.csv", "--fdr", "0.05", "-m", s.models / "bert"),
    "pairs-calibration": lambda s: ("pairs", "x.csv", "--calibration", "x.csv", "-m", s.models / "bert"),
    "pairs-above": lambda s: ("pairs", "x.csv", "--above", "nan", "-m", s.models / "bert"),
    "cluster-k": lambda s: ("cluster", "x.csv", "-k", "0", "-m", s.models / "bert"),
    "cluster-method": lambda s: ("cluster", "x.csv", "--method", "magic", "-m", s.models / "bert"),
    "duplicates-above": lambda s: ("duplicates", "x.csv", "--above", "7", "-m", s.models / "bert"),
    "mine-nan": lambda s: ("data", "mine", s.models / "bert", "x.csv", "--margin", "nan"),
}


def _try_line(setup: Setup, name: str) -> str:
    Path("x.csv").write_text(text(".csv"))
    outcome = outcome_of(cli(*LINES[name](setup)))
    Path("x.csv").unlink()
    return outcome


def attempts(setup: Setup, step: int) -> Iterator[Attempt]:
    """Each line once."""
    for name in list(LINES)[::step]:
        yield Attempt(f"commands/line/{name}", partial(_try_line, setup, name), ("cache/*", "out*", "v.*"))
