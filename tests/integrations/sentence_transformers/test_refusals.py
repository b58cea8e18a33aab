"""What the drop-in does not serve is refused by name, wherever it is looked up; and it works without torch."""

import subprocess
import sys

import numpy as np
import pytest

from likewise.errors import BadInput, ModelNotFound
from likewise.integrations import sentence_transformers
from likewise.integrations.sentence_transformers import CrossEncoder, SentenceTransformer, loading, util
from likewise.integrations.sentence_transformers.loading import UNSERVED
from tests.tiny import classifier_folder

NOT_OF_THE_CONSTRUCTOR = ("num_labels", "keep_in_fp32_modules", "device", "processing_kwargs", "safe_serialization")
IN_KWARGS = ("device_map", "load_in_8bit", "quantization_config", "chat_template")


@pytest.fixture(scope="module")
def model(folders):
    return SentenceTransformer(str(folders("bert")))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", [name for name in UNSERVED if name not in (*NOT_OF_THE_CONSTRUCTOR, *IN_KWARGS)])
def test_an_option_of_the_constructor_is_refused_with_what_there_is_instead(folders, name):
    with pytest.raises(BadInput, match=f"SentenceTransformer does not take {name}='onnx'") as error:
        SentenceTransformer(str(folders("bert")), **{name: "onnx"})
    assert str(error.value).endswith(UNSERVED[name])


@pytest.mark.parametrize("name", IN_KWARGS)
def test_a_setting_of_transformers_is_refused(folders, name):
    with pytest.raises(BadInput, match=f"does not take {name}="):
        SentenceTransformer(str(folders("bert")), model_kwargs={name: "auto"})


def test_unknown_settings_and_dtypes_are_refused(folders, tmp_path):
    with pytest.raises(BadInput, match="'zzz' in model_kwargs"):
        SentenceTransformer(str(folders("bert")), model_kwargs={"zzz": 1})
    with pytest.raises(BadInput, match="dtype 'auto'; expected one of float32"):
        SentenceTransformer(str(folders("bert")), model_kwargs={"dtype": "auto"})
    with pytest.raises(BadInput, match="keep_in_fp32_modules"):
        CrossEncoder(str(classifier_folder(tmp_path)), keep_in_fp32_modules=["0"])
    with pytest.raises(BadInput, match="needs the name or folder"):
        SentenceTransformer()


def test_defaults_ask_for_nothing(folders):
    kwargs = {"model_kwargs": {"attn_implementation": "sdpa"}, "processor_kwargs": {"use_fast": True}}
    plain = SentenceTransformer(str(folders("bert")), trust_remote_code=False, backend="torch", modules=None, **kwargs)
    assert plain.get_backend() == "torch" and plain.get_model_kwargs() == [] and plain.supports("text")


def test_what_is_not_there_is_pythons_own_error(model):
    for act in (lambda: model({}), lambda: model[0]):
        with pytest.raises(TypeError, match="not (callable|subscriptable)"):
            act()
    assert (
        {"util", "models"} <= {*dir(sentence_transformers)}
        and not hasattr(model, "fit")
        and not hasattr(util, "maxsim")
        and not hasattr(sentence_transformers, "datasets")
    )


@pytest.mark.usefixtures("unchecked")
def test_inputs_that_are_no_texts_are_refused_by_name(model):
    for wrong in ({"text": "a"}, np.zeros((2, 2)), 7):
        with pytest.raises(BadInput, match=r"^inputs is (?s:.*); expected a string or a list of strings$"):
            model.encode(wrong)
    for wrong in ([("a", "b")], [np.zeros(3)], [None]):
        with pytest.raises(BadInput, match=r"^inputs\[0\] is .*; expected a str$"):
            model.encode(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"chunk_size": 0}, "chunk_size is 0"),
        ({"precision": "int4"}, "Precision 'int4'"),
        ({"output_value": "zzz"}, "output_value is 'zzz'"),
        ({"device": ["cuda:0", "cuda:1"]}, "each call runs on one device"),
        ({"processing_kwargs": {"text": {}}}, "set model.max_seq_length"),
        ({"zzz": 1}, r"not use: \['zzz'\]"),
    ],
)
def test_an_option_of_a_call_is_refused(model, options, message):
    with pytest.raises(BadInput, match=message):
        model.encode(["a cat"], **options)


def test_weights_are_not_pickled(model, tmp_path):
    with pytest.raises(BadInput, match=r"model\.safetensors is always written"):
        model.save(str(tmp_path / "m"), safe_serialization=False)
    assert not (tmp_path / "m").exists()


def test_a_revision_is_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelNotFound, match=r"revision.*refs/pr/2"):
        SentenceTransformer("some/model", revision="refs/pr/2", cache_folder=str(tmp_path), local_files_only=True)


@pytest.mark.parametrize(
    ("name", "given", "asked"),
    [
        ("name", {"revision": "r"}, ("sentence-transformers/name", True, {"revision": "r"})),
        ("some/name", {"token": "t", "use_auth_token": "u"}, ("some/name", True, {"token": "t"})),
        ("some/name", {"use_auth_token": False}, ("some/name", True, {"token": False})),
        ("some/name", {"local_files_only": True}, ("some/name", False, {})),
        ("some/name", {"cache_folder": "c"}, ("some/name", True, {"cache_dir": "c"})),
        ("likewise-static", {"revision": "r"}, ("sentence-transformers/likewise-static", True, {"revision": "r"})),
        ("likewise-static", {"token": "t", "local_files_only": True}, None),
    ],
)
def test_the_hub_is_asked_for_a_model_that_is_not_here_as_the_options_say(name, given, asked, monkeypatch):
    seen = []
    monkeypatch.setattr(
        loading,
        "snapshot",
        lambda name, _, *, asking, allow_patterns, ignore_patterns, **how: seen.append((name, asking, how)),
    )
    if asked is None:
        assert SentenceTransformer(name, **given).get_embedding_dimension() == 384
    else:
        with pytest.raises(ModelNotFound, match=f"there is no model '{name}' with"):
            SentenceTransformer(name, **given)
    assert seen == ([] if asked is None else [asked])


def test_a_cross_encoder_and_the_folder_of_models_have_places_of_their_own(monkeypatch):
    monkeypatch.setenv("SENTENCE_TRANSFORMERS_HOME", "home")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelNotFound, match=r"'cache_dir': 'home'(?s:.*)the hub's cross-encoder/name: "):
        CrossEncoder("name")


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
from likewise.integrations.sentence_transformers import CrossEncoder, SentenceTransformer, util
from likewise.errors import MissingExtra
reranker, pairs = CrossEncoder(sys.argv[1]), [["a cat", "the dog"]]
assert reranker.activation_fn == "Sigmoid"
scores = reranker.predict(pairs, activation_fn=lambda logits: 1 / (1 + np.exp(-logits)))
assert np.allclose(scores, reranker.predict(pairs)), scores
model = SentenceTransformer("likewise-static")
vectors = model.encode(["a cat sleeps", "a kitten naps", "shares fell"])
scores = model.similarity(vectors, vectors)
assert isinstance(scores, np.ndarray) and scores.shape == (3, 3), scores
assert util.pairwise_cos_sim(vectors[0], vectors[0]) > 0.999
for function in (util.dot_score, util.euclidean_sim, util.manhattan_sim, util.pairwise_dot_score):
    assert isinstance(function(vectors, vectors), np.ndarray)
assert util.normalize_embeddings(vectors[0]).shape == (384,)
assert [h["corpus_id"] for h in util.semantic_search(vectors[:1], vectors, top_k=2)[0]] == [0, 1]
assert util.paraphrase_mining_embeddings(vectors, top_k=1)[0][1:] == [0, 1]
assert util.semantic_search(vectors[:1], vectors, top_k=1, score_function=lambda a, b: a @ b.T)[0][0]["corpus_id"] == 0
assert util.quantize_embeddings(vectors, "binary").shape == (3, 48)
assert model.device == "cpu" and model.dtype == "float32"
assert isinstance(model.tokenize(["a cat"])["input_ids"], np.ndarray) and util.get_device_name() == "cpu"
of_torch = [(model.encode, {"convert_to_tensor": True}), (model.encode, {"convert_to_numpy": False})]
of_torch += [(model.encode, {"output_value": "token_embeddings"})]
of_torch += [(reranker.predict, {"activation_fn": "torch.nn.Softplus"})]
for call, options in of_torch:
    try:
        call(pairs[0] if call == model.encode else pairs, **options)
    except MissingExtra:
        continue
    raise AssertionError(options)
print("done")
"""


def test_without_torch_all_but_tensors_is_served(tmp_path):
    command = [sys.executable, "-c", WITHOUT_TORCH, str(classifier_folder(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


STANDING_IN = """
import sys
from likewise.integrations.sentence_transformers import SentenceTransformer as ours, stand_in, util as our_util
from importlib.util import find_spec
package = stand_in()
import sentence_transformers
from sentence_transformers import SentenceTransformer, CrossEncoder, util
from sentence_transformers.util import cos_sim
from sentence_transformers.SentenceTransformer import SentenceTransformer as same
assert SentenceTransformer is same is ours and cos_sim is our_util.cos_sim and util.cos_sim is cos_sim
assert find_spec("sentence_transformers").submodule_search_locations == []
assert sentence_transformers is package is stand_in()
for line in ("from sentence_transformers import datasets", "import sentence_transformers.sparse_encoder"):
    try:
        exec(line)
    except ImportError:
        continue
    raise AssertionError(line)
assert "torch" not in sys.modules
print("done")
"""


def test_it_stands_in_for_libraries_that_import_sentence_transformers():
    done = subprocess.run([sys.executable, "-c", STANDING_IN], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr


def test_it_does_not_stand_in_for_what_is_imported_already(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", type(sys)("sentence_transformers"))
    with pytest.raises(BadInput, match="already imported"):
        sentence_transformers.stand_in()


@pytest.mark.parametrize("name", ["Transformer", "Pooling", "Normalize", "Dense", "StaticEmbedding"])
def test_modules_have_their_names_and_are_not_made(name):
    with pytest.raises(BadInput, match=f"{name} does not take modules="):
        getattr(sentence_transformers.models, name)("bert-base-uncased")
