"""Names of models: each form leads where it says, and what is no form is told apart from what is missing."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise import Embedder, model_names
from likewise.baselines.tfidf import TfIdf
from likewise.errors import BadInput, LikewiseError, ModelNotFound
from likewise.model_names import BASELINES, OPTIONS, load_model, load_named_embedder
from tests.tiny import TEXTS, model_folder


def test_a_plain_name_is_the_folder(folders, tiny):
    assert load_model(folders("bert"), engine="torch").fingerprint == tiny.fingerprint
    assert load_model(str(folders("bert")), truncate_dim=8).dimension == 8


@pytest.mark.parametrize(("form", "pooling"), [("bert-avg", "mean"), ("bert-cls", "cls")])
def test_bert_avg_and_bert_cls_are_poolings(form, pooling, folders):
    folder = folders("roberta")
    result = load_named_embedder(f"{form}({folder})")
    assert result.fingerprint == Embedder.load(folder, pooling=pooling).fingerprint


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("pooling=max", {"pooling": "max"}),
        ("pooling=cls+mean,truncate_dim=7", {"pooling": "cls+mean", "truncate_dim": 7}),
        ("max_seq_length=9,pooling=sbert-wk:start=1,window=1,precision=bf16",
         {"max_seq_length": 9, "pooling": "sbert-wk:start=1,window=1", "precision": "bf16"}),
    ],
)  # fmt: skip
def test_options_in_a_name_are_those_of_load(message, options, folders):
    folder = folders("bert")
    assert load_named_embedder(f"{folder}({message})").fingerprint == Embedder.load(folder, **options).fingerprint


def test_random_weights_are_drawn_from_the_seed(folders, tiny):
    folder = folders("bert")
    prints = [load_named_embedder(f"random({folder}){seed}").fingerprint for seed in ("", ":0", ":1")]
    assert prints[0] == prints[1] != prints[2] and tiny.fingerprint not in prints


def test_forms_nest(folders):
    folder = folders("bert")
    nested, outside = (
        load_named_embedder(n) for n in (f"random({folder}(pooling=cls)):3", f"bert-cls(random({folder}):3)")
    )
    assert nested.pooling.spec == "cls" and nested.fingerprint == outside.fingerprint


def test_a_folder_that_looks_like_a_form_is_the_folder(tmp_path):
    folder = model_folder(tmp_path / "random(x)")
    assert load_named_embedder(folder).fingerprint == Embedder.load(folder).fingerprint
    assert load_named_embedder(f"{folder}(pooling=cls)").describe()["pooling"] == "cls"


def test_tf_idf_has_a_width():
    assert load_model("tf-idf") == load_model("tf-idf", pooling=None, device="cpu") == TfIdf()
    assert load_model("tf-idf:8192") == TfIdf(8192)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bert-cls(x)", {"pooling": "mean"}, "pooling=cls, which contradicts the option pooling=mean"),
        ("x(truncate_dim=3)", {"truncate_dim": 4}, "truncate_dim=3, which contradicts the option truncate_dim=4"),
        ("x(truncate_dim=many)", {}, "truncate_dim=many; expected a whole number"),
        ("x(pooling=a,pooling=b)", {}, "gives pooling twice"),
        ("bert-avg(x):3", {}, "only random"),
        ("tf-idf:", {"pooling": "cls"}, "tf-idf has no option pooling"),
        ("tf-idf:wide", {}, "dimension 'wide'"),
        ("tf-idf:0", {}, "dimension is 0"),
        ("random(tf-idf)", {}, "fitted on the texts of a task"),
        ("bert-avg(tf-idf:9)", {}, "fitted on the texts of a task"),
    ],
)
def test_a_name_that_contradicts_itself_is_refused(name, options, message):
    with pytest.raises(BadInput, match=message):
        load_model(name, **options)


@pytest.mark.parametrize(
    "name", ["bert-avg()", "random(nowhere)", "nobody(x)", "x(dimension=3)", "avg-glove(pooling=cls"]
)
def test_a_name_that_leads_nowhere_says_what_was_tried(name):
    with pytest.raises(ModelNotFound, match="Tried"):
        load_model(name)


@given(st.lists(st.sampled_from(["random", "bert-avg", "tf-idf", "(", ")", ":", "3", "x", "pooling=", "cls", ","])))
def test_any_name_is_a_model_or_an_error_of_ours(parts):
    with suppress(LikewiseError):
        assert isinstance(load_model("".join(parts)), TfIdf)


def test_every_form_that_is_listed_is_one(folders, tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "words.vec").write_text("the 1 2\ncat 3 4\n")
    for form in BASELINES:
        name = form.replace("NAME", str(folders("bert"))).replace("PATH", str(tmp_path / "words.vec"))
        model = load_model(name)
        encode = model.encode if isinstance(model, Embedder) else model.fitted(TEXTS)
        assert np.isfinite(encode(["the cat"])).all()


def test_the_file_tells_of_every_form_and_option():
    reported = Path(str(model_names.__file__)).read_text().split('"""')[1]
    assert all(form in reported for form in BASELINES) and all(option in reported for option in OPTIONS)
