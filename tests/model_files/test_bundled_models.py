"""The models that come with the package or in one of ours: whole, small, told of truly, good for what they are for."""

import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from likewise import Embedder
from likewise.cluster import communities
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.errors import BadInput, BadModel, ModelNotFound
from likewise.model_files import PACKAGED_MODELS, download, locate, names
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.model_files.provenance import CARDS, provenance
from likewise.search import search
from tests.docs.pages import HISTORY, PAGES, text_of

BUNDLED = [name for name, model in PACKAGED_MODELS.items() if model.package == "likewise"]
PACKAGES = Path(__file__).parents[2] / "packages"
BESIDE = [folder.name for folder in sorted(PACKAGES.iterdir())]
LARGEST = {"likewise-small": 24_000_000, "likewise-multi": 24_000_000}
MULTILINGUAL = ("likewise-multi",)
CATS = ["A cat sleeps on the sofa.", "A kitten is napping on the couch.", "Cats sleep a lot."]
SHARES = ["Shares fell sharply on Monday.", "Stock markets dropped.", "The share price went down."]
MUSIC = ["A man plays the guitar.", "Someone is playing a guitar.", "The man is making music."]
SHOWN = re.compile(r"fingerprint\W+(?:is\W+)?([0-9a-f]{6,32})\b")
TOPICS = [*CATS, *SHARES, *MUSIC]


@pytest.fixture(scope="module", autouse=True)
def packages():
    """The models' own packages can be imported, as if they were installed."""
    with pytest.MonkeyPatch.context() as patched:
        for name in BESIDE:
            patched.syspath_prepend(PACKAGES / name)
        yield


@pytest.fixture(scope="module", params=[*BUNDLED, *BESIDE])
def bundled(request, packages):
    return request.param, Embedder.load(request.param, device="cpu")


def test_both_are_bundled():
    assert BUNDLED == ["likewise-mini", "likewise-static"]


def test_weights_are_small_and_in_eight_bits(bundled):
    name, embedder = bundled
    folder = locate(name)
    sizes = [path.stat().st_size for path in folder.rglob("*.safetensors")]
    assert sum(sizes) <= LARGEST.get(name, 12_000_000)
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        kinds = {str(file.get_slice(key).get_dtype()) for key in file.keys()}  # noqa: SIM118
    assert "I8" in kinds and embedder.precision == "fp32" and embedder.dimension == 384


def test_vectors_have_length_one_and_topics_lie_together(bundled):
    vectors = bundled[1].encode(TOPICS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alike = vectors @ vectors.T
    topic = np.repeat(range(3), 3)
    inside = alike[(topic[:, None] == topic) & ~np.eye(9, dtype=bool)]
    assert inside.min() > alike[topic[:, None] != topic].max()
    threshold = 0.5 if bundled[0] in MULTILINGUAL else 0.35
    found = communities(vectors, threshold=threshold, min_size=3)
    assert sorted(map(sorted, found)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_question_finds_its_answer(bundled):
    answers = ["Use the zipfile module.", "Threads run a function in the background.", "A date is parsed by strptime."]
    questions = ["How do I run a function in the background?", "How is a date parsed?"]
    result = search(bundled[1].encode(questions), bundled[1].encode(answers), k=1)
    assert result.indices[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize("name", MULTILINGUAL)
def test_a_translation_is_nearer_than_anything_else(name):
    english = ["A cat sleeps on the sofa.", "Shares fell sharply on Monday.", "A man plays the guitar."]
    german = ["Eine Katze schläft auf dem Sofa.", "Am Montag fielen die Kurse stark.", "Ein Mann spielt Gitarre."]
    chinese = ["一只猫在沙发上睡觉。", "周一股价大幅下跌。", "一个男人在弹吉他。"]
    polish = ["Kot śpi na kanapie.", "W poniedziałek akcje gwałtownie spadły.", "Mężczyzna gra na gitarze."]
    model = Embedder.load(name)
    vectors = [model.encode(texts) for texts in (english, german, chinese, polish)]
    for one in vectors:
        for other in vectors:
            assert (one @ other.T).argmax(1).tolist() == [0, 1, 2]


def test_numpy_gives_the_same_vectors(bundled):
    name, embedder = bundled
    texts = [*TOPICS, "x", "Ünïcode “quotes” 你好", "word " * 300]
    np.testing.assert_allclose(
        NumpyEmbedder.load(name).encode(texts, overflow="truncate"),
        embedder.encode(texts, overflow="truncate"),
        atol=5e-6,
    )


def test_the_card_tells_how_it_was_made_and_what_it_scores(bundled):
    name, _ = bundled
    folder = locate(name)
    page = (folder / "README.md").read_text("utf-8")
    assert "license: apache-2.0" in page and f"# {name}" in page and "## Data" in page and "## Limits" in page
    english = ("mean of the seven STS sets", "stsb", "sick-r", "scifact", "mean of SentEval's seven")
    for task in ("stsb", "stsb-multi-mt", "tatoeba", "xquad-r") if name in MULTILINGUAL else english:
        assert re.search(rf"^\| {task} \| \d\d\.\d\d \|", page, re.MULTILINE), task
    seen = provenance(Embedder.load(name))
    assert not {"stsb", "sick", "sts12"} & {*seen.trained_on, *seen.less_tests}
    if name in MULTILINGUAL:
        assert {"stsb_multi_mt", "tatoeba_pairs", "nli"} <= set(seen.less_tests) and "language: [en, de, es" in page
        return
    assert set(CARDS[RECOMMENDED_MODEL].trained_on) <= set(seen.trained_on) and "mrpc" in seen.less_tests


def test_the_card_shows_its_fingerprint(bundled):
    page = (locate(bundled[0]) / "README.md").read_text("utf-8")
    assert SHOWN.findall(page) == [bundled[1].fingerprint]


def test_every_fingerprint_on_a_page_is_a_bundled_models():
    shown = [(page, found) for page in PAGES if page not in HISTORY for found in SHOWN.findall(text_of(page))]
    known = [Embedder.load(name).fingerprint for name in (*BUNDLED, *BESIDE)]
    assert shown
    assert [(page, found) for page, found in shown if not any(one.startswith(found) for one in known)] == []


@pytest.mark.parametrize("name", BESIDE)
def test_a_package_is_named_after_its_model_and_its_card_has_the_weights_hash(name):
    about = tomllib.loads((PACKAGES / name / "pyproject.toml").read_text("utf-8"))["project"]
    model = PACKAGED_MODELS[name]
    assert about["name"] == model.package == name and about["readme"] == f"{model.module}/{model.inside}/README.md"
    assert f"`{model.sha256}`" in (locate(name) / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", BESIDE)
def test_a_package_with_other_weights_is_refused(name, monkeypatch):
    monkeypatch.setitem(PACKAGED_MODELS, name, replace(PACKAGED_MODELS[name], sha256="0" * 64))
    with pytest.raises(BadModel, match=r"that of the published weights is 0000"):
        locate(name)


@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("from_checkout", [True, False])
def test_without_its_package_the_error_says_what_to_install(name, from_checkout, monkeypatch):
    monkeypatch.setattr(names, "_inside", lambda model: None)
    monkeypatch.delenv(names.MODELS_VARIABLE, raising=False)
    monkeypatch.setattr(names, "checkout", lambda: PACKAGES.parent if from_checkout else None)
    way = f'pip install "{PACKAGES / name}"' if from_checkout else f'pip install "{PACKAGED_MODELS[name].module}-'
    with pytest.raises(ModelNotFound, match=re.escape(way)):
        locate(name)
    with pytest.raises(BadInput, match=re.escape(way)):
        download.download(name)


@pytest.mark.parametrize("name", BUNDLED)
def test_it_needs_neither_torch_nor_a_network(name):
    script = (
        "import sys, socket; sys.modules['torch'] = None; socket.socket.connect = None; "
        f"from likewise import Embedder; print(Embedder.load({name!r}).encode(['a', 'b']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "(2, 384)", done.stderr
