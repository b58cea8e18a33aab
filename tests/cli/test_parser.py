"""Errors of the command line name the nearest flag or verb, and help fills the terminal."""

import argparse
import subprocess
import sys
from types import SimpleNamespace

import pytest

from likewise.cli import main
from likewise.cli.main import VERBS, parser
from likewise.cli.parser import Parser, nearest_word


def verb_parsers() -> dict[str, Parser]:
    top = parser()
    (subparsers,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    return subparsers.choices


def refused(words, capsys) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["encode", "f.txt", "--batch_token", "8"], "unknown flag --batch_token; did you mean --batch-tokens?"),
        (["encode", "f.txt", "--outptu=o.npy"], "unknown flag --outptu; did you mean --output?"),
        (["pairs", "f.txt", "--zzz", "--yyy"], "unknown flag --zzz; unknown flag --yyy\n"),
        (["duplicates", "f.txt", "g.txt"], "unexpected argument 'g.txt'"),
        (["encode", "f", "--foo", "-x"], "unknown flag --foo; unknown flag -x\n"),
        (["pairs", "f", "-k5", "--abov", "0"], "error: unknown flag --abov; did you mean --above?\n"),
        (["model", "show", "--model", "x"], "the model is an argument without a flag: likewise model show MODEL"),
    ],
)  # fmt: skip
def test_an_unknown_flag_prints_the_usage_of_its_verb_and_the_nearest_flag(words, message, capsys):
    error = refused(words, capsys)
    verb = " ".join(words[: 2 if words[0] == "model" else 1])
    assert error.startswith(f"usage: likewise {verb} ") and message in error
    assert error.endswith(f"All arguments: likewise {verb} --help\n")


@pytest.mark.parametrize(("word", "verb"), [("encod", "encode"), ("Similarity", "similarity"), ("xyzzy", None)])
def test_an_unknown_verb_suggests_the_nearest(word, verb, capsys):
    error = refused([word, "a", "--flag"], capsys)
    assert f"unknown verb {word!r}" in error and (f"did you mean: likewise {verb}?" in error) == (verb is not None)
    assert nearest_word(word, VERBS) == verb


@pytest.mark.parametrize("flag", ["--verison", "--vers"])
def test_a_misspelt_flag_before_any_verb_names_the_nearest(flag, capsys):
    assert f"unknown flag {flag}; did you mean --version?" in refused([flag], capsys)


def test_a_flag_of_a_verb_before_the_verb_is_reported_its_place(capsys):
    error = refused(["--model", "m", "encode", "f.txt"], capsys)
    assert "unknown flag --model; the verb comes before its flags: likewise VERB --model" in error


def shown(words, capsys) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 0
    return capsys.readouterr().out


def test_help_is_a_verb_too(capsys):
    for verb in VERBS:
        assert shown(["help", verb], capsys) == shown([verb, "--help"], capsys)
    assert shown(["help"], capsys) == shown(["--help"], capsys)
    assert "did you mean: likewise encode?" in refused(["help", "encod"], capsys)
    assert "did you mean: likewise help?" in refused(["hlep"], capsys)


def test_two_dashes_may_come_before_the_verb(capsys):
    assert shown(["--", "help", "encode"], capsys) == shown(["encode", "--help"], capsys)
    assert main(["--"]) == 2
    assert capsys.readouterr().err == shown(["--help"], capsys)


def test_an_empty_verb_is_refused(capsys):
    assert "argument VERB: invalid choice: ''" in refused([""], capsys)


def test_a_text_may_begin_with_dashes(folders, capsys):
    assert main(["similarity", "--model", str(folders("bert")), "--json", "--", "a", "--lr"]) == 0
    assert '"--lr"' in capsys.readouterr().out


@pytest.mark.parametrize("columns", [60, 80, 120, 300])
def test_prose_fills_the_terminal_and_examples_stay(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = verb_parsers()["encode"].format_help()
    prose = [line for line in shown.splitlines() if not line.startswith(" ")]
    assert max(map(len, prose)) <= min(columns, 110) - 2
    assert "\n  likewise encode reviews.csv --column body -o vectors.parquet --overflow mean\n" in shown


def test_a_terminal_of_one_column_gets_help_of_the_least_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1")
    assert "\nDescribes models, and modifies them\nwithout training.\n" in verb_parsers()["model"].format_help()


def test_the_list_of_verbs_imports_none_of_them():
    script = (
        "import sys\nfrom likewise.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for verb, row in VERBS.items():
        assert f"likewise.cli.{row.module}'" not in done.stderr
        assert f" {verb} " in done.stdout and row.help.split()[0] in done.stdout
    for heavy in ("numpy", "torch", "tokenizers", "hashlib", "socket"):
        assert f"'{heavy}'" not in done.stderr


def test_completion_costs_nothing_where_it_is_not_asked_for(monkeypatch):
    called = []
    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=called.append))
    monkeypatch.delenv("_ARGCOMPLETE", raising=False)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert not called
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    with pytest.raises(SystemExit):
        main(["--version"])
    assert called[0].parse_args(["pairs", "f.txt", "-k", "3"]).k == 3
