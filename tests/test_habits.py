"""Habits from other libraries: their options, calls and prompts lead to one helpful sentence, or to what was meant."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import likewise
import likewise.train
from likewise import NAME_ADVICE, Embedder, Reranker, similarity
from likewise.arrays.similarity import NAME_ADVICE as SIMILARITY_ADVICE
from likewise.embedder_advice import ATTRIBUTE_ADVICE, ENCODE_ADVICE, LOAD_ADVICE
from likewise.engine_registry import ENGINES
from likewise.errors import BadInput
from likewise.reranker.reranker import ATTRIBUTE_ADVICE as RERANKER_ADVICE
from likewise.reranker.reranker import RANK_ADVICE
from likewise.train import NAME_ADVICE as TRAIN_ADVICE
from likewise.train import OBJECTIVE_HABITS, OBJECTIVES
from likewise.train.settings import OTHER_ARGUMENTS, SETTING_HABITS, TrainSettings
from tests.tiny import TEXTS, classifier_folder

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(params=ENGINES)
def embedder(request, folders):
    return Embedder.load(folders("bert"), engine=request.param)


@pytest.fixture(scope="module")
def reranker(tmp_path_factory):
    return Reranker.load(classifier_folder(tmp_path_factory.mktemp("classifier")), engine="torch")


@pytest.mark.parametrize("option", ENCODE_ADVICE)
def test_an_option_of_another_library_is_explained_by_every_encode(tiny, option):
    for method in (tiny.encode, tiny.encode_stream, tiny.encode_tokens, tiny.encode_layers, tiny.encode_query):
        with pytest.raises(BadInput, match=f"has no option {option}: "):
            method(TEXTS, **{option: 1})


@pytest.mark.parametrize("option", LOAD_ADVICE)
def test_an_option_of_another_library_is_explained_by_load(folders, option):
    with pytest.raises(BadInput, match=f"Embedder.load has no option {option}: "):
        Embedder.load(folders("bert"), **{option: 1})


def test_a_misspelt_option_names_the_nearest(tiny):
    with pytest.raises(BadInput, match=r"encode has no option promt; its options are .*\. Did you mean prompt\?"):
        tiny.encode(TEXTS, promt="query: ")
    with pytest.raises(BadInput, match=r"its options are [a-z_, ]+\.$"):
        tiny.encode(TEXTS, zzz=1)


def test_all_wrong_options_are_named_at_once(tiny, reranker):
    message = "no option batch_size: .*; no option device: .*; no option promt; its options are .* mean prompt?"
    with pytest.raises(BadInput, match=f"encode has {message}"):
        tiny.encode(TEXTS, batch_size=1, promt="a", device="cpu")
    with pytest.raises(BadInput, match=f"score has {message}"):
        reranker.score([("a", "b")], batch_size=1, promt="a", device="cpu")


@pytest.mark.parametrize("name", ATTRIBUTE_ADVICE)
def test_an_attribute_of_another_library_is_explained_whether_it_is_read_or_set(embedder, name):
    with pytest.raises(AttributeError, match=f"an embedder has no {name}: "):
        getattr(embedder, name)
    with pytest.raises(AttributeError, match=f"an embedder has no {name}: "):
        setattr(embedder, name, 1)
    assert not hasattr(embedder, name)


@pytest.mark.parametrize("name", RERANKER_ADVICE)
def test_an_attribute_of_another_library_is_explained_by_rerankers(reranker, name):
    for act in (lambda: getattr(reranker, name), lambda: setattr(reranker, name, 1)):
        with pytest.raises(AttributeError, match=f"a reranker has no {name}: "):
            act()


def test_other_attributes_are_missing_as_ever_and_can_be_set(embedder, reranker):
    for model in (embedder, reranker):
        with pytest.raises(AttributeError, match="no attribute 'zzz'"):
            _ = model.zzz
        model.zzz = 3
        assert model.zzz == 3
        del model.zzz


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *((likewise, name) for name in NAME_ADVICE),
        *((likewise.train, name) for name in TRAIN_ADVICE),
        *((similarity, name) for name in SIMILARITY_ADVICE),
    ],
    ids=str,
)
def test_a_name_of_another_library_is_explained_whether_it_is_imported_or_read(module, name):
    with pytest.raises(ImportError, match=f"has no {name}: "):
        getattr(module, name)
    with pytest.raises(ImportError, match=f"has no {name}: "):
        exec(f"from {module.__name__} import {name}")
    with pytest.raises(AttributeError, match="has no 'zzz'; it has "):
        _ = module.zzz


def test_the_losses_of_sentence_transformers_lead_to_the_objectives_that_name_them():
    named = {
        name: entry.build.__name__ for entry in OBJECTIVES.values() for name in losses(entry.sentence_transformers)
    }
    assert {name: OBJECTIVE_HABITS[name] for name in named} == named
    assert set(OBJECTIVE_HABITS.values()) <= set(likewise.train.__all__)


def losses(names: str) -> list[str]:
    """The names in a cell of the table, without those that are like the objective only in some use."""
    parts = names.replace(";", ",").split(",")
    return [part.split()[-1] for part in parts if part and " over " not in part]


@pytest.mark.parametrize("name", [*SETTING_HABITS, *OTHER_ARGUMENTS])
def test_a_setting_of_another_library_is_explained(name):
    ours = SETTING_HABITS.get(name, "an argument of train: train")
    with pytest.raises(BadInput, match=f"TrainSettings has no option {name}: it is (called )?{ours}"):
        TrainSettings(**{name: 3})


def test_settings_lead_to_settings_that_there_are():
    assert {*SETTING_HABITS.values()} <= {*TrainSettings.__dataclass_fields__}
    assert not {*SETTING_HABITS, *OTHER_ARGUMENTS} & {*TrainSettings.__dataclass_fields__}


def test_the_class_is_not_called_and_texts_are_encoded_by_encode(embedder):
    with pytest.raises(BadInput, match=r"Embedder\.load\('all-MiniLM-L6-v2'\)"):
        Embedder("all-MiniLM-L6-v2")
    with pytest.raises(BadInput, match=r"embedder\.encode\(texts\)"):
        embedder(["a cat"])


def test_vectors_can_be_normalised_where_the_model_does_not(own):
    plain = Embedder.load(own(heads=()))
    vectors = plain.encode(TEXTS)
    unit = plain.encode(TEXTS, normalize=True)
    assert not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2)
    np.testing.assert_allclose(unit, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(np.concatenate([*plain.encode_stream(TEXTS, normalize=True)]), unit)


def test_a_tensor_is_the_array(embedder):
    tensor = embedder.encode_tensor(TEXTS, normalize=True)
    assert isinstance(tensor, torch.Tensor) and str(tensor.device) == str(embedder.device)
    np.testing.assert_array_equal(tensor.numpy(), embedder.encode(TEXTS, normalize=True))


def test_the_maximum_length_is_read_and_set(folders, embedder):
    whole = embedder.max_length
    long = ["cat dog " * 40]
    embedder.max_length = 9
    assert embedder.max_length == 9
    np.testing.assert_array_equal(
        embedder.encode(long, overflow="truncate"),
        Embedder.load(folders("bert"), engine=_engine(embedder), max_length=9).encode(long, overflow="truncate"),
    )
    with pytest.raises(BadInput, match="max_length is 100000; this encoder reads 1 to"):
        embedder.max_length = 100_000
    embedder.max_length = whole


def _engine(embedder: Embedder) -> str:
    return next(name for name, engine in ENGINES.items() if engine.model_class("embedder") is type(embedder))


@pytest.mark.parametrize("name", ["document", "passage", "corpus"])
def test_queries_and_documents_are_encoded_under_their_prompts(own, name):
    prompted = Embedder.load(own(spoken={"prompts": {"query": "the ", name: "a "}}))
    np.testing.assert_array_equal(prompted.encode_query(TEXTS), prompted.encode(TEXTS, prompt_name="query"))
    np.testing.assert_array_equal(prompted.encode_document(TEXTS), prompted.encode(TEXTS, prompt_name=name))
    np.testing.assert_array_equal(prompted.encode_query(TEXTS, prompt="dog "), prompted.encode(TEXTS, prompt="dog "))


def test_without_prompts_for_roles_all_are_encoded_alike(embedder):
    np.testing.assert_array_equal(embedder.encode_query(TEXTS), embedder.encode(TEXTS))
    np.testing.assert_array_equal(embedder.encode_document(TEXTS), embedder.encode(TEXTS))


def test_pairs_of_texts_have_their_similarity(embedder):
    first, second = TEXTS[:2], TEXTS[2:4]
    vectors = embedder.encode(first), embedder.encode(second)
    np.testing.assert_allclose(embedder.pair_scores(first, second), similarity.cosine(*vectors).diagonal(), atol=1e-6)
    with pytest.raises(BadInput, match="there is no similarity 'spherical'; there are cosine"):
        embedder.pair_scores(first, second, similarity="spherical")
    with pytest.raises(BadInput, match="expected as many of both"):
        embedder.pair_scores(first, second[:1])


@pytest.mark.parametrize("option", RANK_ADVICE)
def test_rank_explains_options_of_other_libraries(reranker, option):
    with pytest.raises(BadInput, match=f"rank has no option {option}: "):
        reranker.rank("a cat", TEXTS, **{option: 1})
    if option != "top_k":
        with pytest.raises(BadInput, match=f"score has no option {option}: "):
            reranker.score([("a", "b")], **{option: 1})


def test_rank_returns_documents_where_asked(reranker):
    plain = reranker.rank("a cat", TEXTS, k=3)
    assert reranker.rank("a cat", TEXTS, k=3, return_documents=True) == [(i, s, TEXTS[i]) for i, s in plain]
    np.testing.assert_array_equal(reranker.pair_scores(TEXTS[:2], TEXTS[2:4]), reranker.score(TEXTS[:2], TEXTS[2:4]))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_sentence(folders):
    with pytest.raises(BadInput, match="the device 'cuda' cannot be used here") as torchs:
        Embedder.load(folders("bert"), device="cuda")
    with pytest.raises(BadInput, match="device is 'cuda'; the NumPy engine supports 'cpu' only"):
        Embedder.load(folders("bert"), device="cuda", engine="numpy")
    assert "\n" not in str(torchs.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_model_that_is_moved_to_a_gpu_that_is_not_there_says_so_in_one_sentence(tiny, reranker):
    for model in (tiny, reranker):
        for move in (lambda m: m.to("cuda"), lambda m: m.to(device=torch.device("cuda")), lambda m: m.cuda()):
            with pytest.raises(BadInput, match="the device 'cuda' cannot be used here"):
                move(model)
        with pytest.raises(BadInput, match="there is no device 'graphics'; expected cpu, cuda"):
            model.to("graphics")
        assert model.to("cpu") is model and model.to(torch.float32) is model


@pytest.mark.parametrize("torch_is_there", [True, False])
def test_help_of_the_package_is_shown_with_or_without_torch(torch_is_there):
    hidden = "" if torch_is_there else "import sys; sys.modules['torch'] = None; "
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden}import pydoc, likewise; print(pydoc.plain(pydoc.render_doc(likewise)))"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "encode_query" in done.stdout and "rank(self" in done.stdout
