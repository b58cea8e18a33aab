"""Whole words that a student's vocabulary is given: which, where, and what they begin as."""

import json
from dataclasses import replace

import numpy as np
import pytest
import tokenizers
import torch

from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.text.tokenizer import Tokenizer
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives import Distillation
from papers.recipes.distillation.mini import narrowed
from papers.recipes.distillation.more_words import add_words, missing_words, with_rows
from papers.recipes.distillation.static import word_piece_table
from tests.tiny import model_folder

NEW = ["phosphorylation", "heterozygous"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> TorchEmbedder:
    return TorchEmbedder.load(model_folder(tmp_path_factory.mktemp("whole") / "model", "bert"))


@pytest.fixture(scope="module")
def old(whole) -> Tokenizer:
    """A tokenizer with two places that no text uses, one of them the last."""
    described = json.loads(whole.tokenizer.description)
    vocabulary = described["model"]["vocab"]
    vocabulary["[unused1]"] = vocabulary.pop("?")
    vocabulary["[unused2]"] = len(vocabulary)
    return replace(whole.tokenizer, description=json.dumps(described))


def test_the_most_frequent_words_that_a_vocabulary_lacks(old):
    texts = [
        "Heterozygous cat",
        "a heterozygous dog",
        "phosphorylation: 3x",
        "the the the",
        "naïveté quick on",
        "don't",
    ]
    sources = [DataSource(TrainingRows({"sentence": texts[i::2]}, {}), Distillation()) for i in range(2)]
    assert missing_words(sources, old, 1) == ["heterozygous"]
    assert {*missing_words(sources, old, 9)} == {*NEW, "na", "vet", "don"}
    assert missing_words(sources, old, 0) == []
    with pytest.raises(BadInput, match="--more-words is -1; expected 0 or more"):
        missing_words(sources, old, -1)


def test_new_words_are_one_token_and_other_texts_are_read_as_before(old):
    tokenizer, replaced = add_words(old, NEW)
    assert [len(ids) for ids in tokenizer.token_ids(NEW)] == [1, 1]
    assert [replaced[ids[0]] for ids in tokenizer.token_ids(NEW)] == old.token_ids(NEW)
    others = ["a dog barks", "unphosphorylation", "[unused1]", "日本 Zoë!"]
    assert tokenizer.token_ids(others) == old.token_ids(others)
    assert add_words(old, []) == (old, {})


def test_places_that_no_text_uses_are_taken_first(old):
    known = old.token_ids_by_name
    tokenizer, replaced = add_words(old, [*NEW, "zebras"])
    assert {*replaced} == {known["[unused1]"], known["[unused2]"], old.vocabulary}
    assert tokenizer.vocabulary == old.vocabulary + 1


def test_a_new_row_is_the_mean_of_those_of_its_pieces():
    table = torch.arange(8.0).view(4, 2)
    grown = with_rows(table, {1: [0, 3], 5: [2]})
    assert grown.tolist() == [[0, 1], [3, 4], [4, 5], [6, 7], [0, 0], [4, 5]]


def test_a_tokenizer_of_other_units_is_refused(old):
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram([("a", 0.0), ("<unk>", -1.0)], 1, False))
    with pytest.raises(BadInput, match="words can only be added to a WordPiece vocabulary; this one is Unigram"):
        add_words(replace(old, description=backend.to_str()), NEW)


@pytest.mark.parametrize("kind", ["mini", "static"])
def test_students_with_more_words_are_read_again(kind, whole, tmp_path):
    words = ["zebras", "quokka"]
    student = narrowed(whole, 31, 48, words) if kind == "mini" else word_piece_table(whole, 8, words)
    student.save(tmp_path / "out")
    again = TorchEmbedder.load(tmp_path / "out")
    assert all(len(ids) == 1 for ids in again.tokenizer.token_ids(words))
    texts = [*words, "the cat sleeps"]
    np.testing.assert_allclose(again.encode(texts), student.encode(texts), atol=1e-6)
