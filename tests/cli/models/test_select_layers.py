"""likewise model select-layers, as it is called from a shell."""

import json

import numpy as np
import pytest

from likewise import Embedder
from likewise.cli import main
from likewise.cli.models import select_layers
from likewise.train.layers.layer_selection import LayerScore, LayerSelection
from tests.train.test_layer_selection import sentences


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(sentences(60)), "utf-8")
    return path


def test_json_holds_every_candidate_and_a_folder_is_the_model_under_the_best(folders, texts, tmp_path, json_output):
    command = ["model", "select-layers", f"{folders('bert')}", "--texts", str(texts), "--json"]
    record = json_output([*command, "-o", str(tmp_path / "out")])
    assert len(record["candidates"]) == 14 and record["texts"] == 60
    assert record["best"] == record["candidates"][0]["pooling"] and record["last"] in record["candidates"]
    saved = Embedder.load(tmp_path / "out")
    assert saved.pooling.spec == record["best"]
    wanted = Embedder.load(folders("bert"), pooling=record["best"]).encode(["a cat"])
    np.testing.assert_array_equal(saved.encode(["a cat"]), wanted)


def test_texts_may_be_a_column_of_a_table(folders, tmp_path, capsys):
    path = tmp_path / "texts.csv"
    path.write_text("id,body\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(sentences(60))), "utf-8")
    assert (
        main(["model", "select-layers", str(folders("bert")), "--texts", str(path), "--column", "body", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["texts"] == 60
    assert main(["model", "select-layers", str(folders("bert")), "--texts", str(path), "--column", "text"]) == 2
    assert "body" in capsys.readouterr().err


def test_a_pooling_in_the_name_of_the_model_is_no_obstacle(folders, texts, tmp_path, capsys):
    name = f"{folders('bert')}(pooling=cls)"
    assert main(["model", "select-layers", name, "--texts", str(texts), "-o", str(tmp_path / "out")]) == 0
    saved = Embedder.load(tmp_path / "out").pooling.spec
    assert saved.startswith("cls")
    assert capsys.readouterr().out.endswith(f"\nsaved in {tmp_path / 'out'} with the pooling {saved}\n")


def test_the_best_candidates_are_shown_with_the_last_layer(monkeypatch, capsys):
    scores = [LayerScore((i,), f"mean:layers={i}", 2.5 - i / 10) for i in range(4)]
    monkeypatch.setattr(select_layers, "SHOWN", 2)
    for last in range(4):
        select_layers.show("m", LayerSelection(1234, tuple(scores), scores[last]))
        title, _, head, *rows = capsys.readouterr().out.splitlines()
        assert title == "m: 4 means of layers compared on 1,234 texts" and head.split() == ["pooling", "separation"]
        found = rows[: rows.index("")]
        shown = scores[:2] if last < 2 else [*scores[:2], scores[last]]
        assert [row.split() for row in found] == [[one.pooling, f"{one.separation:.2f}"] for one in shown]
        assert rows[len(found) + 1].startswith("Try --pooling mean:layers=0: " if last else "Keep mean:layers=0 of the")
    assert "its separation is 2.50, compared with 2.20 for mean:layers=3 of the last layer." in " ".join(rows)


def test_texts_are_asked_for_since_those_of_another_kind_may_favour_other_layers(folders, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["model", "select-layers", str(folders("bert"))])
    assert exit_.value.code == 2 and "--texts" in capsys.readouterr().err


def test_the_model_itself_is_not_written_over(own, texts, capsys):
    folder = own()
    assert main(["model", "select-layers", str(folder), "--texts", str(texts), "-o", str(folder)]) == 2
    assert "bert" in capsys.readouterr().err and (folder / "config.json").exists()
    assert Embedder.load(folder).pooling.spec == "mean"
