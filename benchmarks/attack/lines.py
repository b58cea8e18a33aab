"""Odd command lines: unknown names, numbers out of range, and texts that terminals cannot display."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from .attempt import Attempt, Setup
from .command import cli, outcome_of, words
from .tables import text

LINES: Mapping[str, str | tuple[str, ...]] = {
    "nothing": (),
    "unknown-verb": "destroy",
    "help": "--help",
    "version": "--version",
    "models": "model list --json",
    "data": "data list",
    "data-unknown": "data show no/such",
    "data-leaks-unknown": "data leaks no/such",
    "tasks": "evaluate --list",
    "evaluate-no-data": "evaluate @bert --tasks stsb",
    "evaluate-unknown-task": "evaluate @bert --tasks nope,,stsb",
    "evaluate-no-module": "evaluate no.such:thing --tasks stsb",
    "info-file": "model show /etc/passwd",
    "info-device": "model show /dev/zero",
    "info-nul": ("model", "show", "a\x00b"),
    "info-long": ("model", "show", "x" * 300),
    "info-form": "model show random(random(random(x",
    "info-deep": ("model", "show", "random(" * 2000 + "x" + ")" * 2000),
    "info-surrogate": ("model", "show", "\udcff"),
    "info-prompts": "model show @prompts --json",
    "info-every": "model show @bert --pooling mean+max --truncate-dim 3 --max-seq-length 9",
    "similarity-one": "similarity a -m @bert",
    "similarity-many": ("similarity", *"abcdefghijklmnopqrstuvwxyz" * 2, "-m", "@bert"),
    "similarity-surrogate": ("similarity", "\udcff", "b", "-m", "@bert"),
    "similarity-markup": "similarity [/bold] [red -m @bert",
    "similarity-empty": ("similarity", "", "", "-m", "@bert"),
    "similarity-reranker": "similarity a b -m @poly",
    "rerank-embedder": "rerank /etc/hosts -m @bert --query x",
    "threads-none": "model show @bert --threads 0",
    "threads-many": ("model", "show", "@bert", "--threads", str(10**9)),
    "threads-huge": ("model", "show", "@bert", "--threads", str(10**30)),
    "max-length-huge": ("model", "show", "@bert", "--max-seq-length", str(10**30)),
    "max-length-negative": "model show @bert --max-seq-length -4",
    "truncate-huge": ("model", "show", "@bert", "--truncate-dim", str(10**30)),
    "device-absent": "model show @bert --device cuda",
    "device-unknown": "model show @bert --device toaster",
    "device-meta": "similarity a b -m @bert --device meta",
    "pooling-unknown": "model show @bert --pooling nope",
    "precision-half": "similarity a b -m @bert --precision fp16",
    "dissect-table": "model dissect @words",
    "train-no-data": "train @bert -o out",
    "train-toml-missing": "train no.toml",
    "train-torn-objective": "train @bert --data x.csv@contrastive:temperature= -o out",
    "train-unknown-objective": "train @bert --data x.csv@magic -o out",
    "train-learning-rate": "train @bert --data x.csv@cosent -o out --learning-rate nan",
    "train-batch": "train @bert --data x.csv@cosent -o out --batch-size -1",
    "train-freeze": "train @bert --data x.csv@cosent -o out --freeze blocks:9-1",
    "fuse-depth": "model fuse @bert --pairs x.csv -o out --depth -1",
    "fuse-teacher": "model fuse @bert --pairs x.csv -o out --teacher no/such",
    "mine-rank": "data mine @bert x.csv --rank 5 1",
    "mine-k": "data mine @bert x.csv -k 0",
    "explain-empty": ("explain", "", "", "-m", "@bert"),
    "explain-surrogate": ("explain", "\udcff", "b", "-m", "@bert"),
    "explain-markup": "explain [/bold] [red -m @bert",
    "explain-long": ("explain", "cat " * 50000, "b", "-m", "@bert"),
    "explain-reranker": "explain a b -m @cross-bert",
    "search-missing": "search no.index a",
    "search-file": "search x.csv a",
    "search-device": "search /dev/zero a",
    "index-info-file": "index info x.csv",
    "index-verify-missing": "index verify no.index",
    "index-delete-missing": ("index", "delete", "no.index", "--filter", "a = 1"),
    "index-add-nothing": "index add x.index no*.csv -m @bert",
    "index-add-over-file": "index add x.csv x.csv -m @bert",
    "calibrate-none": "calibrate x.csv -o c.json -m @bert --column no",
    "pairs-fdr": "pairs x.csv --fdr 0.05 -m @bert",
    "pairs-calibration": "pairs x.csv --calibration x.csv -m @bert",
    "pairs-above": "pairs x.csv --above nan -m @bert",
    "cluster-k": "cluster x.csv -k 0 -m @bert",
    "cluster-method": "cluster x.csv --method magic -m @bert",
    "duplicates-above": "duplicates x.csv --above 7 -m @bert",
    "mine-nan": "data mine @bert x.csv --margin nan",
}
"""Command lines as strings or tuples of words; @bert stands for the folder of the tiny model bert."""


def _try_line(setup: Setup, name: str) -> str:
    Path("x.csv").write_text(text(".csv"))
    outcome = outcome_of(cli(*words(setup, LINES[name])))
    Path("x.csv").unlink()
    return outcome


def attempts(setup: Setup, step: int) -> Iterator[Attempt]:
    """Yield one attempt per line."""
    for name in list(LINES)[::step]:
        yield Attempt(f"commands/line/{name}", partial(_try_line, setup, name), ("cache/*", "out*", "v.*"))
