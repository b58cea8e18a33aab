"""Poly-encoders beside a loop that follows the paper's equations word by word."""

import math

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from likewise import Embedder, Reranker
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, TooLong
from likewise.reranker import CrossEncoder, PolyEncoder, poly_encoder
from tests.tiny import LONG, TEXTS, amend

PAIRS = [*zip(TEXTS, TEXTS[::-1], strict=True), ("A cat sleeps.", TEXTS[-1]), ("dogs", "dogs")]


@pytest.fixture(scope="module")
def polys(embedders):
    """A poly-encoder of a family, its codes large enough to choose; not to be changed."""
    made = {}

    def of(family="bert", codes=5):
        if (family, codes) not in made:
            made[family, codes] = PolyEncoder.start(embedders(family), codes)
            with torch.no_grad():
                made[family, codes].codes *= 10
        return made[family, codes]

    return of


def _softmax(values):
    powers = [math.exp(v - max(values)) for v in values]
    return [p / sum(powers) for p in powers]


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def _slow(reranker, context, candidate):
    """Humeau et al. 2020, section 4.4, a number at a time."""
    with torch.no_grad():
        h = list(reranker.encoder(reranker.tokens([context])))[-1].tolist()
        y = reranker.pooling(reranker.encoder(reranker.tokens([candidate])), reranker.tokens([candidate]))[0].tolist()
    width, seen = range(len(y)), []
    for code in reranker.codes.tolist():
        weights = _softmax([_dot(code, token) for token in h])
        seen.append([sum(w * token[d] for w, token in zip(weights, h, strict=True)) for d in width])
    weights = _softmax([_dot(y, vector) for vector in seen])
    final = [sum(w * vector[d] for w, vector in zip(weights, seen, strict=True)) for d in width]
    return _dot(final, y)


@pytest.mark.parametrize("codes", [1, 5, 16])
@pytest.mark.parametrize("family", ["bert", "mpnet", "modernbert"])
def test_scores_are_those_of_the_papers_equations(family, codes, polys):
    reranker = polys(family, codes)
    wanted = [_slow(reranker, a, b) for a, b in PAIRS]
    scores = reranker.score(PAIRS)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-4)
    assert np.ptp(scores) > 1


def test_codes_of_zero_score_as_the_dot_product_of_pooled_vectors(own):
    folder = own(heads=())
    reranker = PolyEncoder.start(folder, 4)
    with torch.no_grad():
        reranker.codes.zero_()
    first, second = zip(*PAIRS, strict=True)
    embedder = TorchEmbedder.load(folder)
    wanted = (embedder.encode(first) * embedder.encode(second)).sum(1)
    np.testing.assert_allclose(reranker.score(PAIRS), wanted, rtol=1e-5, atol=1e-4)


def test_the_best_document_comes_first(polys):
    query, documents = PAIRS[1][0], [second for _, second in PAIRS]
    scores, ranked = polys().score([query] * len(PAIRS), documents), polys().rank(query, documents)
    order = [i for i, _ in ranked]
    assert sorted(order) == list(range(len(PAIRS))) and (np.diff(scores[order]) < 1e-4).all()  # or as good as equal
    assert polys().rank(query, documents, k=2) == ranked[:2]


def test_company_batches_windows_and_chunks_change_nothing(polys, monkeypatch):
    reranker = polys()
    wanted = reranker.score(PAIRS)
    np.testing.assert_allclose([reranker.score([pair])[0] for pair in PAIRS], wanted, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(reranker.score(PAIRS, batch_tokens=20), wanted, rtol=1e-5, atol=1e-4)
    monkeypatch.setattr("likewise.reranker.text_pairs.CHUNK_TEXTS", 2)
    monkeypatch.setattr(poly_encoder, "NUMBERS", 10)
    np.testing.assert_allclose(reranker.score(PAIRS), wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("numbers", "blocks"), [(3 * 5 + 4, [3, 3, 1]), (4, [1] * 7)])
def test_candidates_are_scored_in_blocks_whose_codes_fit(numbers, blocks, polys, monkeypatch):
    sizes, score = [], poly_encoder.score_candidates
    monkeypatch.setattr(poly_encoder, "score_candidates", lambda c, block: sizes.append(len(block)) or score(c, block))
    monkeypatch.setattr(poly_encoder, "NUMBERS", numbers)  # of which a candidate needs five, one per code
    polys().score(["a query"] * 7, [f"text {i}" for i in range(7)])
    assert sizes == blocks


@pytest.mark.parametrize(("numbers", "windows"), [(2 * 5 * 32 + 1, [2, 2, 1]), (4, [1] * 5)])
def test_contexts_are_encoded_in_windows_whose_vectors_fit(numbers, windows, polys, monkeypatch):
    reranker, seen = polys(), []
    monkeypatch.setattr(poly_encoder, "NUMBERS", numbers)  # of which a context needs 5 × 32
    with reranker.encoder.register_forward_pre_hook(lambda module, args: seen.append(len(args[0]))):
        reranker.score([f"query {i}" for i in range(5)], ["a"] * 5)
    assert seen == [1, *windows]


def test_every_text_is_encoded_once_on_either_side(polys):
    reranker, seen = polys(), []
    handle = reranker.encoder.register_forward_pre_hook(lambda module, args: seen.append(len(args[0])))
    reranker.score(["a"] * 4 + ["b"], ["x", "y", "x", "y", "x"])
    handle.remove()
    assert seen == [2, 2]


def test_gradients_reach_every_weight_and_every_context_meets_every_candidate(embedders):
    reranker = PolyEncoder.start(embedders("bert"), 3)
    first, second = zip(*PAIRS, strict=True)
    logits = reranker(reranker.tokens(first), reranker.tokens(second))
    assert logits.shape == (len(PAIRS), len(PAIRS))
    np.testing.assert_allclose(logits.detach().diagonal().numpy(), reranker.score(PAIRS), rtol=1e-5, atol=1e-4)
    logits.log_softmax(1).diagonal().sum().backward()
    idle = [name for name, weight in reranker.named_parameters() if weight.grad is None or not weight.grad.abs().sum()]
    assert idle == []


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_saved_poly_encoder_loads_with_the_same_scores_and_fingerprint(precision, polys, tmp_path):
    polys().save(tmp_path / "first")
    reranker = Reranker.load(tmp_path / "first", precision=precision, max_seq_length=30)
    assert isinstance(reranker, PolyEncoder)
    reranker.save(tmp_path / "saved")
    again = PolyEncoder.load(tmp_path / "saved", precision=precision)
    assert again.fingerprint == PolyEncoder.load(tmp_path / "saved", precision="fp32").fingerprint
    assert (again.fingerprint == reranker.fingerprint) == (precision == "fp32")  # 16 bits round the weights written
    assert again.tokenizer.max_seq_length == 30
    assert np.array_equal(again.score(PAIRS, overflow="truncate"), reranker.score(PAIRS, overflow="truncate"))


def test_an_encoder_that_cannot_be_saved_is_refused_before_anything_is_written(polys, tmp_path, monkeypatch):
    def refused(encoder):
        raise BadModel("no")

    monkeypatch.setattr("likewise.reranker.poly_encoder.check_writable", refused)
    with pytest.raises(BadModel, match="no"):
        polys().save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_a_poly_encoder_is_neither_embedder_nor_cross_encoder(polys, tmp_path):
    polys().save(tmp_path / "saved")
    with pytest.raises(BadModel, match="likewise.reranker.PolyEncoder; expected Transformer, Pooling"):
        TorchEmbedder.load(tmp_path / "saved")
    with pytest.raises(BadModel, match="contains a PolyEncoder; load it with Reranker.load"):
        CrossEncoder.load(tmp_path / "saved")


def test_starts_are_drawn_with_a_seed_and_copies(tiny, folders):
    before = tiny.fingerprint
    usual = PolyEncoder.start(tiny)
    assert usual.codes.shape == (64, 32) and usual.fingerprint == PolyEncoder.start(tiny, 64, seed=0).fingerprint
    assert usual.codes.std().item() == pytest.approx(32**-0.5, rel=0.1)
    one = PolyEncoder.start(tiny, 3, seed=1)
    assert one.fingerprint == PolyEncoder.start(folders("bert"), 3, seed=1).fingerprint
    assert one.fingerprint != PolyEncoder.start(tiny, 3, seed=2).fingerprint
    with torch.no_grad():
        for weight in one.parameters():
            weight.add_(1)
    assert tiny.fingerprint == before


@pytest.mark.parametrize("break_", ["codes", "shape", "width", "pooling", "weights", "nan", "kind"])
def test_a_broken_folder_is_told(break_, polys, tmp_path):
    folder = tmp_path / "saved"
    polys().save(folder)
    part = folder / "1_PolyEncoder"
    codes = {
        "codes": torch.ones(5, 32),
        "shape": torch.ones(5),
        "width": torch.ones(5, 31),
        "nan": torch.full((5, 32), torch.nan),
    }
    if break_ in codes:
        save_file({"else" if break_ == "codes" else "codes": codes[break_]}, part / "model.safetensors")
    elif break_ == "pooling":
        amend(part / "config.json", pooling="median")
    elif break_ == "kind":
        modules = (folder / "modules.json").read_text()
        (folder / "modules.json").write_text(modules.replace("reranker.PolyEncoder", "reranker.Other"))
    else:
        (part / "model.safetensors").unlink()
    with pytest.raises(BadModel, match=r"codes|poly-encoder|median|likewise.reranker.Other"):
        Reranker.load(folder)


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_scored_is_refused(polys):
    reranker = polys()
    with pytest.raises(BadInput, match=r"contexts\[1\] is None"):
        reranker.tokens(["a", None])
    for codes in (0, True, 1.5, "many"):
        with pytest.raises(BadInput, match="codes is"):
            PolyEncoder.start(Embedder.load, codes)
    assert reranker.score([]).shape == (0,)
    assert reranker.rank("a", []) == []


def test_overflow_is_counted_warned_of_refused_or_silent(polys):
    reranker = polys()
    with pytest.warns(UserWarning, match="1 of 2 distinct documents was truncated to the 64 tokens"):
        loud = reranker.score([("a", LONG), ("a", "b")])
    assert np.array_equal(reranker.score([("a", LONG), ("a", "b")], overflow="truncate"), loud)
    with pytest.raises(TooLong, match=r"distinct queries\[1\] has"):
        reranker.score([("a", "b"), (LONG, "b")], overflow="error")


def test_words_too_long_for_the_tokenizer_are_told(polys):
    reranker, pairs = polys(), [("a cat", "a dog"), ("a", "b" * 120), ("a", "b" * 120), ("c" * 300, "a")]
    with pytest.warns(UserWarning) as caught:
        reranker.score(pairs)
    told = [str(one.message) for one in caught]
    assert any("distinct documents has words of more than 100 characters" in note for note in told)
    assert any("distinct queries has words" in note and "the longest word has 300 characters" in note for note in told)
    with pytest.raises(TooLong, match=r"distinct documents\[1\] has a word of 120 characters"):
        reranker.score(pairs, overflow="error")


def test_names_of_prompts_are_the_models_own(polys):
    reranker = polys()
    for call in (reranker.logits, reranker.score):
        with pytest.raises(BadInput, match="no prompt named 'query'"):
            call(PAIRS, prompt_name="query")
    for call in (reranker.tokens, reranker.context_ids):
        with pytest.raises(BadInput, match="no prompt named 'query'"):
            call(["a"], prompt_name="query")
        with pytest.raises(
            BadInput, match="the prompt has 99 tokens, and the model reads .*: no room is left for text"
        ):
            call(["a"], prompt="cat " * 99)


def test_candidates_are_pooled_as_a_loaded_embedder_pools(folders):
    embedder = Embedder.load(folders("bert"), engine="torch", pooling="cls")
    assert (
        PolyEncoder.start(embedder, 3).pooling.spec == PolyEncoder.start(embedder.with_pooling("cls"), 3).pooling.spec
    )
    assert PolyEncoder.start(embedder.with_pooling("max"), 3).pooling.spec == "max"
    with pytest.raises(BadInput, match="a poly-encoder cannot use the pooling"):
        PolyEncoder.start(embedder.with_pooling("sbert-wk:start=0"), 3)
    with pytest.raises(BadInput, match="needs an embedder, .*; found a reranker"):
        PolyEncoder.start(CrossEncoder.start(embedder), 3)


def test_a_text_without_any_token_is_refused(own):
    folder = own()
    amend(folder / "tokenizer.json", post_processor=None)
    with pytest.raises(BadInput, match="a text has no tokens, and this model adds no special tokens"):
        PolyEncoder.start(folder, 3).tokens(["a cat", ""])
