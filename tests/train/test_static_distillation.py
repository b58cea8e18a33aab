"""A static model distilled from another: its rows against a slow reference, and what is refused."""

import inspect
import json
import re
import time

import numpy as np
import pytest

from likewise import Embedder
from likewise.cli.main import main
from likewise.errors import BadInput
from likewise.runtime.static_tables import static_table
from likewise.train import static_distillation
from likewise.train.static_distillation import (
    distil_static,
    token_shares,
    whitened_components,
    zipf_shares,
)
from tests.tiny import LONG, model_folder

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
DIMENSIONS = 8


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    return Embedder.load(model_folder(tmp_path_factory.mktemp("teacher") / "bert"), engine="numpy")


def slow_rows(teacher, shares, smoothing=1e-4):
    """Each token's row, from a singular value decomposition and a loop."""
    vocabulary = teacher.tokenizer.token_ids_by_name
    tokens = sorted(i for token, i in vocabulary.items() if token not in SPECIALS)
    vectors = np.stack([teacher.encode_windows(teacher.windows([[i]])[1])[0] for i in tokens]).astype(np.float64)
    centred = vectors - vectors.mean(0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    rows = np.zeros((len(vocabulary), DIMENSIONS))
    for token, vector in zip(tokens, centred, strict=True):
        for k in range(DIMENSIONS):
            sign = np.sign(directions[k][np.abs(directions[k]).argmax()])
            deviation = sizes[k] / len(tokens) ** 0.5
            rows[token, k] = sign * (vector @ directions[k]) / deviation**0.5 * smoothing / (smoothing + shares[token])
    return rows, (sizes[:DIMENSIONS] ** 2).sum() / (sizes**2).sum()


def zipf_of(teacher):
    tokens = sorted(i for token, i in teacher.tokenizer.token_ids_by_name.items() if token not in SPECIALS)
    total = sum(1 / (rank + 2) for rank in range(len(tokens)))
    return {token: 1 / (rank + 2) / total for rank, token in enumerate(tokens)}


@pytest.mark.parametrize("batch", [1024, 7])
def test_a_row_is_the_teachers_vector_of_the_token_reduced_and_weighted(teacher, batch, tmp_path, monkeypatch):
    monkeypatch.setattr(static_distillation, "TOKENS_PER_BATCH", batch)
    seen, began = [], time.perf_counter()
    counted = {
        "dimensions": np.int64(DIMENSIONS),
        "show_progress_bar": lambda m: seen.append((m.texts, m.tokens, m.total)),
    }
    result = distil_static(teacher, tmp_path / "new", **counted)
    assert 0 < result.seconds < time.perf_counter() - began
    rows, explained = slow_rows(teacher, zipf_of(teacher))
    table = static_table(tmp_path / "new")
    np.testing.assert_allclose(table.rows(), rows, atol=1e-6)
    assert (result.tokens, result.dimensions, result.folder) == (len(rows) - 4, DIMENSIONS, tmp_path / "new")
    assert result.explained_variance == pytest.approx(explained)
    total = result.tokens
    assert seen == [(min(i, total), min(i, total), total) for i in range(batch, total + batch, batch)]
    assert table.max_seq_length == 512 and table.normalizes and table.unknown == 1


def test_frequencies_are_those_of_the_given_texts(teacher, tmp_path):
    texts = ["the cat and the dog", "the quick cat", LONG]
    distil_static(teacher, tmp_path / "new", dimensions=DIMENSIONS, texts=iter(texts))
    counts = np.ones(teacher.tokenizer.vocabulary)
    for text in texts:
        for i in teacher.tokenizer.token_ids([text])[0]:
            counts[i] += 1
    np.testing.assert_allclose(token_shares(teacher, texts), counts / counts.sum())
    np.testing.assert_allclose(
        static_table(tmp_path / "new").rows(), slow_rows(teacher, counts / counts.sum(), 1e-3)[0], atol=1e-6
    )


def test_the_new_model_works_like_any_other_and_keeps_what_is_known_of_the_data(teacher, tmp_path):
    (teacher.manifest.encoder / "likewise.json").write_text(json.dumps({"trained_on": ["nli"]}))
    distil_static(teacher, tmp_path / "new", dimensions=DIMENSIONS)
    vectors = Embedder.load(tmp_path / "new").encode(["the cat", "cat the", "a dog"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    assert json.loads((tmp_path / "new/likewise.json").read_text()) == {"trained_on": ["nli"]}


def test_components_and_shares():
    rows = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    components, explained = whitened_components(rows, 6)
    assert explained == pytest.approx(1)
    centred = rows - rows.mean(0, dtype=np.float64)
    variances = np.sort(np.linalg.eigvalsh(np.cov(centred.T, bias=True)))[::-1]
    np.testing.assert_allclose(components.T @ components / 50, np.diag(variances**0.5), atol=1e-6)
    flat, explained = whitened_components(np.ones((5, 3), np.float32), 2)
    assert explained == 1 and not flat.any()
    line = np.outer(np.arange(5), np.ones(3)).astype(np.float32)
    assert abs(whitened_components(line, 3)[0][:, 1:]).max() < 1e-6, "rounding errors are not scaled up"
    np.testing.assert_allclose(
        whitened_components(rows * np.float32(1e-6), 6)[0], components * 1e-3, rtol=1e-4, atol=1e-9
    )
    for share, scaled in ((1.2e-9, True), (0.8e-9, False)):  # a share of the variance
        deviation = share**0.5
        corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], np.float32) * np.float32([1, deviation])
        expected = deviation**0.5 if scaled else deviation
        np.testing.assert_allclose(abs(whitened_components(corners, 2)[0][:, 1]), expected, rtol=1e-3)
    np.testing.assert_allclose(zipf_shares(2), [0.6, 0.4])


def test_a_table_needs_more_tokens_than_dimensions_of_which_256_are_kept(teacher, tmp_path, monkeypatch):
    assert inspect.signature(distil_static).parameters["dimensions"].default == 256
    for kept in (8, 9):
        words = "|".join(sorted(teacher.tokenizer.token_ids_by_name)[-kept:])
        monkeypatch.setattr(static_distillation, "NO_CONTENT", re.compile(rf"(?!({words})$).*"))
        if kept == 8:
            with pytest.raises(BadInput, match="the teacher has 8 tokens, too few for a table of 8 dimensions"):
                distil_static(teacher, tmp_path / "new", dimensions=8)
        else:
            assert distil_static(teacher, tmp_path / "new", dimensions=8).tokens == 9


def test_without_an_unknown_token_a_row_of_zeros_stands_for_one(tmp_path):
    folder = model_folder(tmp_path / "old")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["unk_token"] = "none"
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    old = Embedder.load(folder, engine="numpy")
    distil_static(old, tmp_path / "new", dimensions=DIMENSIONS)
    table, tokens = static_table(tmp_path / "new"), old.tokenizer.vocabulary
    assert (table.unknown, len(table.rows())) == (tokens, tokens + 1) and not table.rows()[-1].any()


@pytest.mark.parametrize("dimensions", [0, 33, True, 2.5])
@pytest.mark.usefixtures("unchecked")
def test_dimensions_that_the_teacher_has_not_are_refused(teacher, dimensions, tmp_path):
    with pytest.raises(BadInput, match=f"dimensions is {dimensions}; expected (1 to 32|a whole number, 1 or more)"):
        distil_static(teacher, tmp_path / "new", dimensions=dimensions)
    assert not any(tmp_path.iterdir())


def test_the_teacher_is_not_overwritten(teacher):
    with pytest.raises(BadInput, match="would overwrite the input"):
        distil_static(teacher, teacher.manifest.encoder, dimensions=DIMENSIONS)


def test_as_it_is_called_from_a_shell(teacher, tmp_path, capsys):
    folder = str(teacher.manifest.encoder)
    assert main(["model", "distil-static", folder, "-o", str(tmp_path / "a")]) == 0
    assert "112 tokens of 32 dimensions (100% of the variance)" in capsys.readouterr().out
    (tmp_path / "texts.csv").write_text("id,body\n1,the cat\n2,the dog\n")
    command = ["model", "distil-static", folder, "-o", str(tmp_path / "b"), "--truncate-dim", "8", "--json"]
    assert main([*command, "--texts", str(tmp_path / "texts.csv"), "--column", "body"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["teacher"] == folder and printed["dimensions"] == 8 and printed["folder"] == str(tmp_path / "b")
    assert static_table(tmp_path / "b").width == 8
