"""likewise model check, as it is called from a shell, on five kinds of model; other libraries are stand-ins here."""

import itertools
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from likewise import Embedder, Reranker
from likewise.cli.main import main
from likewise.cli.models import check
from likewise.encoders.config import in_eight_bits
from likewise.model_files.late_interaction_folder import FORMS
from likewise.reranker import PolyEncoder
from likewise.runtime.untrusted_files import read_object
from tests.native_library import needs_native
from tests.runtime.test_static_tables import static_folder
from tests.tiny import classifier_folder, colbert_folder, model_folder, modular_folder, write
from tests.without_torch import TORCH

if TORCH:
    import torch
    from safetensors.torch import load_file, save_file

    from likewise.encoders.checkpoint import quantized_tensors

pytestmark = pytest.mark.skipif(not TORCH, reason="its tiny models are made by torch")


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """A moment of measuring, on few texts, and no reference library."""
    monkeypatch.setattr(check, "SECONDS", 0.0)
    monkeypatch.setattr(check, "SAMPLE", 3)
    monkeypatch.setattr(check, "find_spec", lambda _: None)


@pytest.fixture
def reference(monkeypatch):
    """A function that puts this result in the place of the reference library's."""

    def stand_in(results):
        model = SimpleNamespace(encode=results, predict=results)
        module = SimpleNamespace(SentenceTransformer=lambda *_, **__: model, CrossEncoder=lambda *_, **__: model)
        module.MultiVectorEncoder = lambda *_, **__: SimpleNamespace(
            encode_query=lambda queries: queries,
            encode_document=lambda texts: texts,
            similarity=lambda queries, texts: torch.tensor(results([(*queries, text) for text in texts]))[None],
        )
        module.StaticModel = SimpleNamespace(from_pretrained=lambda _: model)
        monkeypatch.setattr(check, "find_spec", lambda _: True)
        monkeypatch.setattr(check, "import_module", lambda _: module)

    return stand_in


def test_a_speed_is_the_number_of_texts_by_the_seconds_they_took(tmp_path, monkeypatch):
    clock = itertools.count(100)
    monkeypatch.setattr(check, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    found = check._speeds(model_folder(tmp_path / "m"), "embedder", ["a cat"] * 6)
    assert found["torch fp32"] == "3 texts/s"  # the clock is read at the start, after the texts, and for the rate


SCREEN = """\
FOLDER
  kind         embedder
  folder       FOLDER
  built of     transformer (BERT architecture); fp32, 0.1 MB; layers 3; width 32; parameters 31,152; pooling mean; \
heads Normalize
  engines      native: can run it
               torch: can run it
               numpy: can run it
  first        FIRST … (32 dimensions) after … s, loading included
  reference    not compared: sentence_transformers is not installed
  speed        native fp32: … texts/s
               native bf16: … texts/s
               native int8: … texts/s
               torch fp32: … texts/s
  length       reads 60 tokens, including special tokens; 1 of 1,030 texts are longer (the longest has 1,300 tokens)
  prompts      query: 'query: '
  licence      apache-2.0
  notes        none
"""


@needs_native
def test_an_embedder_in_one_screen(tmp_path, capsys):
    spoken = {"prompts": {"query": "query: "}}
    folder = model_folder(tmp_path / "m", max_seq_length=60, spoken=spoken)
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A model\n")
    texts = ["cat " * 1300, *["the dog"] * 1029]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    assert main(["model", "check", str(folder), "--texts", str(tmp_path / "texts.txt")]) == 0
    printed = re.sub(r"[\d,.]+( texts/s|(?<=after \d\.\d\d) s)", r"…\1", capsys.readouterr().out)
    first = ", ".join(f"{number:.4f}" for number in Embedder.load(folder).encode(texts[:1], overflow="truncate")[0, :4])
    assert printed == SCREEN.replace("FOLDER", str(folder)).replace("FIRST", first)


def test_json_has_the_same(tmp_path, json_output):
    report = json_output(["model", "check", str(model_folder(tmp_path / "m")), "--json"])
    assert report["kind"] == "embedder" and report["licence"].startswith("not named")
    assert report["engines"]["torch"] == "can run it" and report["prompts"] == {} and report["notes"] == "none"


def test_a_card_of_more_than_a_mebibyte_is_not_read(tmp_path):
    head = "---\nlicense: mit\n---\n"
    for more, found in ((0, "mit"), (1, "not named")):
        (tmp_path / "README.md").write_text(head.ljust((1 << 20) + more))
        assert check.licence(tmp_path).startswith(found)


def test_the_lengths_are_those_of_the_users_texts(tmp_path, json_output):
    folder = model_folder(tmp_path / "m", max_seq_length=6)
    (tmp_path / "texts.csv").write_text("id,body\n1,the cat\n2,the cat and the dog on the cat\n")
    command = ["model", "check", str(folder), "--json", "--texts", str(tmp_path / "texts.csv"), "--column", "body"]
    assert "1 of 2 texts are longer (the longest has 8 tokens)" in json_output(command)["length"]
    assert main(["model", "check", str(folder), "--column", "body"]) == 2


def test_a_static_model_a_router_and_an_encoder_that_only_torch_computes(tmp_path, json_output):
    report = json_output(["model", "check", str(static_folder(tmp_path / "static")), "--json"])
    assert "table of word vectors" in report["built_of"] and "model2vec is not installed" in report["reference"]
    router(tmp_path / "router")
    report = json_output(["model", "check", str(tmp_path / "router"), "--json"])
    assert "routes query, document" in report["built_of"] and "encode uses document" in report["notes"]
    report = json_output(["model", "check", str(model_folder(tmp_path / "lstm", "bilstm")), "--json"])
    assert report["engines"]["numpy"].startswith("no: ") and list(report["speed"]) == ["torch fp32"]


def router(folder):
    for name in ("query", "document"):
        model_folder(folder / f"{name}_0_Transformer", plain=True, seed=len(name))
        write(folder / f"{name}_1_Pooling/config.json", {"embedding_dimension": 32, "pooling_mode": "mean"})
    types = {
        f"{name}_{i}_{kind}": f"sentence_transformers.models.{kind}"
        for name in ("query", "document")
        for i, kind in enumerate(("Transformer", "Pooling"))
    }
    structure = {name: [f"{name}_0_Transformer", f"{name}_1_Pooling"] for name in ("query", "document")}
    write(
        folder / "router_config.json",
        {"types": types, "structure": structure, "parameters": {"default_route": "document"}},
    )
    write(folder / "modules.json", [{"path": "", "type": "sentence_transformers.models.Router"}])


@pytest.mark.parametrize(("labels", "first"), [(1, r"{} \(a score\)"), (2, r"{}, {} \(2 dimensions\)")])
def test_a_reranker(labels, first, tmp_path, json_output, reference):
    folder = classifier_folder(tmp_path / "m", labels=labels, architectures=["BertForSequenceClassification"])
    reference(lambda pairs: getattr(Reranker.load(folder), "score" if labels == 1 else "logits")(pairs))
    report = json_output(["model", "check", str(folder), "--json"])
    assert report["kind"] == "reranker" and report["reference"].startswith("equal to sentence_transformers")
    assert report["speed"]["torch fp32"].endswith(" pairs/s")
    first = first.replace("{}", r"-?\d\.\d{4}")
    assert re.fullmatch(rf"{first} after \d+\.\d\d s, loading included", report["first"])


@pytest.mark.parametrize("form", FORMS)
def test_late_interaction_in_every_form(form, tmp_path, json_output, reference):
    folder = colbert_folder(tmp_path / "m", form)
    reference(lambda pairs: Reranker.load(folder).score(pairs))
    report = json_output(["model", "check", str(folder), "--json"])
    assert report["kind"] == "reranker" and report["reference"].startswith("equal to sentence_transformers")
    assert report["built_of"].startswith("late-interaction; transformer (BERT") and "heads Dense" in report["built_of"]
    assert report["engines"]["torch"] == report["engines"]["numpy"] == "can run it"


def test_a_modular_reranker(tmp_path, json_output, reference):
    folder = modular_folder(tmp_path / "m")
    reference(lambda pairs: Reranker.load(folder).score(pairs))
    report = json_output(["model", "check", str(folder), "--json"])
    assert report["kind"] == "reranker" and report["reference"].startswith("equal to sentence_transformers")
    assert report["built_of"].endswith("labels 1; pooling cls; heads Dense, LayerNorm, Dense")


@pytest.mark.parametrize("reranks", [False, True])
@pytest.mark.filterwarnings("ignore:sentence-transformers cannot read this model")
def test_weights_in_int8_are_why_the_reference_cannot_read_them(reranks, tmp_path, json_output):
    folder = tmp_path / "int8"
    if reranks:
        classifier_folder(folder, architectures=["BertForSequenceClassification"])
        save_file(quantized_tensors(load_file(folder / "model.safetensors")), folder / "model.safetensors")
        write(folder / "config.json", in_eight_bits(read_object(folder / "config.json")))
    else:
        Embedder.load(model_folder(tmp_path / "m"), engine="numpy").save(folder, weights="int8")
    report = json_output(["model", "check", str(folder), "--json"])
    assert report["kind"] == ("reranker" if reranks else "embedder") and "int8" in report["built_of"]
    refused = "not compared: sentence_transformers cannot read it, because of weights in int8"
    assert report["reference"] == refused


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda vectors: vectors, "equal to sentence_transformers: the largest difference is 0.0e+00"),
        (
            lambda vectors: vectors + np.float32(2e-5),
            "DIFFERENT from sentence_transformers: the largest difference is 2",
        ),
        (lambda vectors: vectors[:, 1:], "DIFFERENT from sentence_transformers: shape (3, 32), not (3, 31)"),
    ],
)
def test_vectors_are_compared_with_the_reference(change, verdict, tmp_path, json_output, reference):
    folder = model_folder(tmp_path / "m")
    reference(lambda texts: change(Embedder.load(folder).encode(texts)))
    assert json_output(["model", "check", str(folder), "--json"])["reference"].startswith(verdict)


def test_a_difference_is_relative_to_large_numbers(tmp_path, json_output, reference):
    folder = static_folder(tmp_path / "m", normalize=False)
    reference(lambda texts: Embedder.load(folder).encode(texts) + np.float32(4e-5))
    assert json_output(["model", "check", str(folder), "--json"])["reference"].startswith("equal to model2vec")


def test_progress_bars_of_the_reference_are_not_shown(tmp_path, capfd, reference):
    folder = static_folder(tmp_path / "m")

    def noisy(texts):
        print("Loading weights: 100%", file=sys.stderr)
        return Embedder.load(folder).encode(texts)

    reference(noisy)
    assert main(["model", "check", str(folder)]) == 0
    printed, errors = capfd.readouterr()
    assert "equal to model2vec" in printed and "\n  prompts      none\n" in printed
    assert "Loading" not in errors


def test_a_reference_that_fails_is_no_error_of_ours(tmp_path, json_output, reference):
    def fails(_):
        raise RuntimeError("out of luck " * 50)

    reference(fails)
    report = json_output(["model", "check", str(static_folder(tmp_path / "m")), "--json"])
    refused = f"not compared: model2vec cannot run it: RuntimeError: {('out of luck ' * 50)[:200]}"
    assert report["reference"] == refused


def test_a_broken_folder_is_refused_with_the_reason(tmp_path, capsys):
    write(tmp_path / "modules.json", [])
    assert main(["model", "check", str(tmp_path)]) == 2
    assert "begins with nothing" in capsys.readouterr().err


def test_a_poly_encoder_is_not_compared_with_a_library_that_has_none(tmp_path, json_output):
    with pytest.warns(UserWarning, match="cannot read a poly-encoder"):
        PolyEncoder.start(str(model_folder(tmp_path / "m")), 3).save(tmp_path / "poly")
    report = json_output(["model", "check", str(tmp_path / "poly"), "--json"])
    assert report["reference"].endswith("cannot read it, because of its late combination")
