"""`likewise similarity` without texts asks for them on a terminal, and reads standard input elsewhere."""

import io
import json
import os
import pty
import re
import select
import subprocess
import sys

import pytest

from likewise import similarity
from likewise.cli import main, terminal_tables
from likewise.cli.texts import similarity as command
from likewise.cli.texts.similarity import _colour, show_matrix


@pytest.fixture
def model(folders):
    return str(folders("bert"))


class Terminal(io.StringIO):
    """Lines typed on a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("texts", [["a cat", "the dog", "shares fell"], ["the dog", "a cat", "shares fell"]])
def test_each_sentence_is_compared_with_those_before_it(texts, most, model, tiny, monkeypatch, capsys):
    monkeypatch.setattr(command, "SHOWN", most)
    monkeypatch.setattr("sys.stdin", Terminal("\n".join([*texts, "", "not read", ""])))
    assert main(["similarity", "-m", model]) == 0
    matrix = similarity.cosine(tiny.encode(texts), tiny.encode(texts))
    first, *shown = capsys.readouterr().out.splitlines()
    assert first == f"{model}, cosine. Type a sentence and press Enter; an empty line or ctrl-D ends the session."
    last = [(matrix[2, i], f"{matrix[2, i]:8.2f}  {i + 1}: {texts[i]}") for i in range(2)]
    assert shown == [f"{matrix[1, 0]:8.2f}  1: {texts[0]}", *(line for _, line in sorted(last, reverse=True)[:most])]


def test_json_asks_too_and_prints_the_matrix(model, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Terminal("a cat\nthe dog\n"))
    assert main(["similarity", "-m", model, "--json"]) == 0
    shown, prompts = capsys.readouterr()
    assert json.loads(shown)["texts"] == ["a cat", "the dog"] and prompts == "1: 2: 3: \n"


def test_without_a_terminal_lines_are_read(model, monkeypatch, json_output):
    monkeypatch.setattr("sys.stdin", io.StringIO("a cat\nthe dog\n"))
    assert json_output(["similarity", "-m", model, "--json"])["texts"] == ["a cat", "the dog"]


def test_a_dash_among_texts_stands_for_the_lines_of_standard_input(model, monkeypatch, json_output, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("a cat\nthe dog\n"))
    words = ["similarity", "shares fell", "-", "-m", model, "--json"]
    assert json_output(words)["texts"] == ["shares fell", "a cat", "the dog"]
    assert main(["similarity", "-", "-", "-m", model]) == 2
    assert "standard input (-) can be read only once" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "options", "message"),
    [
        (41, [], "a matrix of 41 texts is unreadable (at most 40 are shown); --json prints it"),
        (41, ["--json"], "there is no model"),
        (40, [], "there is no model"),
        (1, [], "expected two or more texts to compare; got 1"),
        (2, [], "there is no model"),
    ],
)
def test_a_matrix_needs_two_texts_and_a_large_one_is_printed_only_as_json(count, options, message, capsys):
    assert main(["similarity", *map(str, range(count)), "-m", "no-such-model", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_on_a_real_terminal_until_ctrl_d():
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "likewise", "similarity"]
    environment = {**os.environ, "LIKEWISE_MODELS": "", "TERM": "dumb"}
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    try:
        shown = read_until(leader, b"1: ")
        for answer, prompt in ((b"A cat sleeps.\n", b"2: "), (b"A kitten naps.\n", b"3: ")):
            os.write(leader, answer)
            shown += read_until(leader, prompt)
        os.write(leader, b"\x04")
        assert process.wait(20) == 0
    finally:
        process.kill()
        os.close(leader)
    assert b"Type a sentence" in shown and re.search(rb"0\.\d\d  1: A cat sleeps\.", shown)


def read_until(descriptor: int, end: bytes) -> bytes:
    """What the program shows up to a prompt; gives up after some seconds."""
    shown = b""
    while not shown.rstrip(b"\x1b[?2004hl").endswith(end):
        ready, _, _ = select.select([descriptor], [], [], 20)
        assert ready, shown
        shown += os.read(descriptor, 4096)
    return shown


@pytest.mark.parametrize(("fifth", "colour"), [*enumerate(("blue", "cyan", "green", "yellow", "bold red"))])
def test_warmer_colours_are_more_similar_by_fifths_from_the_least_to_the_most(fifth, colour):
    for x in (fifth + 0.01, fifth + 0.99):
        assert _colour(x - 9, -9.0, -4.0, same=False) == colour and _colour(x, 0.0, 5.0, same=True) == "dim"


def test_a_matrix_fits_the_terminal_and_the_most_similar_texts_are_the_warmest(monkeypatch, capsys):
    monkeypatch.setattr(terminal_tables, "shows_colours", lambda: True)
    for columns in (50, 200):
        monkeypatch.setattr(terminal_tables, "width", lambda wide, columns=columns: min(wide, columns))
        show_matrix(["long " * 20, "b", "c"], [[1, 0.9, -0.1], [0.9, 1, 0.4], [-0.1, 0.4, 1]])
        head, *rows = capsys.readouterr().out.splitlines()
        cells = [re.findall(r"\x1b\[([\d;]+)m(\S+)\x1b\[0m", row) for row in rows]
        assert cells == [
            [("2", "1"), ("2", "1.00"), ("1;31", "0.90"), ("34", "-0.10")],
            [("2", "2"), ("1;31", "0.90"), ("2", "1.00"), ("32", "0.40")],
            [("2", "3"), ("34", "-0.10"), ("32", "0.40"), ("2", "1.00")],
        ]
        text = terminal_tables.STYLED.sub("", rows[0])[3:-20]
        assert len(text) == min(60, columns - 23) and text == ("long " * 20)[: len(text) - 1] + "…"
        assert terminal_tables.STYLED.sub("", head).split() == ["1", "2", "3"]


def test_texts_that_are_all_alike_are_all_warm():
    assert _colour(0.5, 0.5, 0.5, same=False) == "bold red"
