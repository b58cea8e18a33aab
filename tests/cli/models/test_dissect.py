"""likewise model dissect, as it is called from a shell."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from likewise.cli.main import main, parser
from likewise.cli.models import dissect
from likewise.errors import BadInput, MissingExtra


def call(*words: str) -> int:
    args = parser(["model"]).parse_args(["model", "dissect", *words])
    status: int = args.run(args)
    return status


def test_json_holds_the_same_and_a_folder_the_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n\n".join(dissect.sample(40)), "utf-8")
    assert call("all-MiniLM-L6-v2", "--texts", str(texts), "--json", "-o", str(tmp_path / "out")) == 0
    records = json.loads(capsys.readouterr().out)
    assert records["texts"] == 40
    assert len(records["similarity"]) == len(records["novelty"]) == 7
    assert records == json.loads((tmp_path / "out" / "anatomy.json").read_text("utf-8"))
    assert {path.name for path in (tmp_path / "out").glob("*.png")} == {"layers.png", "path.png", "importance.png"}


def test_the_files_written_are_named(
    folders: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("likewise.explain.plots.draw_anatomy", lambda _, folder, title: [folder / f"{title}.png"])
    assert call(str(folders("bert")), "-o", str(tmp_path)) == 0
    written = f"{tmp_path / folders('bert').name}.png, {tmp_path / 'anatomy.json'}"
    assert capsys.readouterr().out.endswith(f"\n\nWritten: {written}\n")


def test_without_matplotlib_pictures_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("likewise.cli.output.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="drawing pictures needs the package matplotlib"):
        call("no-such-model", "-o", str(tmp_path))


def test_it_needs_no_torch(folders: Callable[[str], Path]) -> None:
    script = f"from likewise.cli import main; sys.exit(main(['model', 'dissect', {str(folders('bert'))!r}, '--json']))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['torch'] = None; {script}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["novelty"]) == 4


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere\.txt does not exist"):
        call("all-MiniLM-L6-v2", "--texts", str(tmp_path / "nowhere.txt"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no such files")
def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    for name in ("pipe.txt", "zero.txt", "loop.txt", "."):
        with pytest.raises(BadInput, match="is not a file|is a folder|does not exist|expected one of"):
            dissect.read_sample(tmp_path / name, None)


def test_the_texts_are_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "anatomy.json").write_text("a cat\n")
    (tmp_path / "texts.txt").symlink_to(tmp_path / "anatomy.json")
    with pytest.raises(BadInput, match="anatomy.json"):
        call("no-such-model", "--texts", str(tmp_path / "texts.txt"), "-o", str(tmp_path))


@pytest.mark.parametrize("verb", ["check", "dissect", "select-layers"])
def test_a_file_without_texts_is_refused(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blank.txt").write_text(" \n\n")
    assert main(["model", verb, "likewise-static", "--texts", str(tmp_path / "blank.txt")]) == 2
    assert "blank.txt contains only blank texts" in capsys.readouterr().err


def test_texts_are_a_column_of_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("id,body\n" + "".join(f"{i},{text!r}\n" for i, text in enumerate(["A b c", " ", "d"])))
    assert dissect.read_sample(path, "body") == ["'A b c'", "' '", "'d'"]
    with pytest.raises(BadInput, match="--column body requires --texts FILE"):
        call("all-MiniLM-L6-v2", "--column", "body")


REPORT = """\
m: 3 layers including the embeddings, measured on 1 text, 1,234 word pieces

Cosine between a word at one layer and the same word at another
         0    1    2
    0 1.00 0.50 0.25
    1 0.50 1.00 0.75
    2 0.25 0.75 1.00

Layer by layer (layer 0 is the embeddings)
layer  novelty  alignment  anisotropy  context  ρ(importance, idf) from this layer
    0     0.10       0.40        0.70     0.01    -0.25
    1     0.20       0.50        0.80    -0.02
    2     0.30       0.60        0.90     0.03

LEGEND

Importance of words in SBERT-WK from layer 0 (1 means an equal share of the sentence)
  largest   w4 4.00, w3 3.00
  smallest  w0 0.00, w1 1.00

· Use it.
· Or not."""


def test_the_report_has_every_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissect, "LISTED_WORDS", 2)
    measured = SimpleNamespace(
        texts=1,
        tokens=1234,
        similarity=[[1, 0.5, 0.25], [0.5, 1, 0.75], [0.25, 0.75, 1]],
        novelty=[0.1, 0.2, 0.3],
        alignment=[0.4, 0.5, 0.6],
        anisotropy=[0.7, 0.8, 0.9],
        context=[0.01, -0.02, 0.03],
        start=0,
        by_start={0: -0.25},
        words=[SimpleNamespace(piece=f"w{i}", importance=float(i)) for i in (4, 3, 2, 1, 0)],
        advice=["Use it.", "Or not."],
    )
    found = dissect.anatomy_report(measured, "m")  # type: ignore[arg-type]
    assert found == REPORT.replace("LEGEND", dissect.LEGEND)


def test_the_sample_is_prose_and_always_the_same() -> None:
    first = dissect.sample(300)
    assert first == dissect.sample(300)
    assert len(first) == len(set(first)) == 300
    assert all(text.endswith(".") and len(text.split()) >= 6 for text in first)


def test_the_sample_is_drawn_evenly_from_first_sentences_of_docstrings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*("one two three four five {}.", "word " * 29 + "{}.")]
    sentences = [pattern.format(f"{pattern[0]}{i}") for i in range(4) for pattern in words]
    others = ["one two three four five", "one two three four.", "word " * 30 + "end.", "one two three four five <six>."]
    parts = [f'def f{i}():\n    """{text}\n\n    More of it."""\n' for i, text in enumerate([*sentences, *others])]
    (tmp_path / "module.py").write_text("".join(parts))
    monkeypatch.setattr(dissect.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(dissect, "SAMPLE_MODULES", "module no_such_module")
    assert dissect.sample(8) == sentences == dissect.sample(9)
    assert dissect.sample(3) == sentences[::2][:3] and dissect.sample(4) == sentences[::2]
