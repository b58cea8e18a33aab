"""SBERT-WK compared with the word-by-word procedure, its invariants, degenerate paths, and saving to disk."""

import json
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from likewise.arrays.ragged import Ragged
from likewise.encoders.layers import initialize_weights
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadModel
from likewise.pooling import Dissection, pooling_of
from likewise.pooling import dissection as module
from likewise.pooling.dissection import Dissected, cosines_between, rounding_noise
from tests.tiny import model_folder

SENTENCES = [
    "A man is playing a guitar on the stage.",
    "The stock market fell sharply after the announcement, and nobody knew why.",
    "",
    "Hi",
    "Two dogs run through a field of tall grass, barking.",
]


# ── the slow procedure, word by word, as the paper and its code describe it


def neighbours_of(k: int, layers: int, window: int, boundary: str = "reference") -> list[int]:
    before = list(range(max(0, k - window), k))
    if boundary == "reference" and k < window:
        before = []
    return before + list(range(k + 1, min(layers - 1, k + window) + 1))


def slow_word(path: np.ndarray, window: int = 2, boundary: str = "reference") -> tuple[np.ndarray, float]:
    """The layer weights of one word (L, D), with a QR factorization per layer, and the word's importance."""
    layers = len(path)
    novelty, alignment = np.empty(layers), np.empty(layers)
    for k in range(layers):
        near = neighbours_of(k, layers, window, boundary)
        r = np.linalg.qr(path[[*near, k]].T, mode="r")
        column, others = r[:, -1], r[:-1, :-1]
        novelty[k] = abs(column[-1]) / np.linalg.norm(column)
        directions = others / np.linalg.norm(others, axis=0)
        agreement = directions.mean(axis=1) @ (column[:-1] / np.linalg.norm(column[:-1]))
        alignment[k] = 1 / (2 * (len(near) + 1) * agreement)
    weights = alignment / alignment.sum() + novelty / novelty.sum()
    unit = path / np.linalg.norm(path, axis=1, keepdims=True)
    return weights / weights.sum(), float(np.var((unit[:-1] * unit[1:]).sum(axis=1)))


def slow_sentence(paths: np.ndarray, window: int = 2, boundary: str = "reference") -> np.ndarray:
    """The vector of one sentence (t, L, D): the importance-weighted sum of all tokens but the last."""
    made = [slow_word(path, window, boundary) for path in paths[:-1]]
    importance = np.array([variance for _, variance in made])
    words = np.stack([weights @ path for (weights, _), path in zip(made, paths, strict=False)])
    return importance / importance.sum() @ words


# ── helpers


def random_paths(words: int, layers: int, width: int, seed: int = 0) -> np.ndarray:
    """Vectors that share a direction, like those of neighbouring layers: x = μ + 0.3 ε."""
    draw = np.random.default_rng(seed)
    return draw.normal(size=(words, 1, width)) + 0.3 * draw.normal(size=(words, layers, width))


def as_layers(paths: np.ndarray | Tensor, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return list(torch.as_tensor(paths).to(dtype).unbind(1))


def sentences_of(*lengths: int) -> Ragged:
    return Ragged(torch.zeros(sum(lengths), dtype=torch.int64), lengths)


def pooled(
    pooling: Dissection, paths: np.ndarray | Tensor, *lengths: int, dtype: torch.dtype = torch.float64
) -> Tensor:
    return pooling(iter(as_layers(paths, dtype)), sentences_of(*lengths))


def dissected(pooling: Dissection, paths: np.ndarray, dtype: torch.dtype = torch.float64) -> Dissected:
    return pooling.dissect(cosines_between(as_layers(paths, dtype)), rounding_noise(dtype))


def equiangular(layers: int, cosine: float) -> np.ndarray:
    """A word whose vectors have the same cosine between any two layers."""
    return np.linalg.cholesky(np.full((layers, layers), cosine) + (1 - cosine) * np.eye(layers))[None]


@pytest.fixture(scope="module")
def real() -> list[np.ndarray]:
    """The paths (t, L, D) of a few sentences through all-MiniLM-L6-v2."""
    embedder = TorchEmbedder.load("all-MiniLM-L6-v2", device="cpu")
    return [layers.transpose(1, 0, 2) for layers in embedder.encode_layers(SENTENCES)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TorchEmbedder:
    folder = model_folder(tmp_path_factory.mktemp("tiny") / "model", changes={"num_hidden_layers": 6})
    return TorchEmbedder.load(folder, device="cpu")


# ── compared with the slow procedure


@pytest.mark.parametrize("boundary", ["reference", "symmetric"])
@pytest.mark.parametrize(("layers", "window"), [(9, 2), (3, 2), (4, 3), (7, 1), (7, 3), (21, 2)])
def test_in_fp64_it_is_the_slow_procedure(layers: int, window: int, boundary: str) -> None:
    paths = random_paths(20, layers, 768, seed=layers)
    pooling = Dissection(0, window, boundary)
    wanted = [slow_sentence(paths[:12], window, boundary), slow_sentence(paths[12:], window, boundary)]
    assert np.abs(pooled(pooling, paths, 12, 8).numpy() - wanted).max() < 1e-10


@pytest.mark.parametrize("start", [0, 2, 4])
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-10), (torch.float32, 5e-5)])
def test_real_sentences_come_out_as_by_the_slow_procedure(
    real: list[np.ndarray], start: int, dtype: torch.dtype, bound: float
) -> None:
    wanted = [slow_sentence(paths[:, start:].astype(np.float64)) for paths in real]
    found = pooled(Dissection(start), np.concatenate(real), *map(len, real), dtype=dtype)
    assert np.abs(found.numpy() - wanted).max() < bound


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_layers_are_measured_in_fp32(real: list[np.ndarray], dtype: torch.dtype) -> None:
    """Rounding the layers causes some error; the procedure itself adds no more than in fp32."""
    rounded = torch.as_tensor(np.concatenate(real)).to(dtype).double().numpy()
    ends = np.cumsum([len(paths) for paths in real])[:-1]
    wanted = [slow_sentence(paths[:, 2:]) for paths in np.split(rounded, ends)]
    found = pooled(Dissection(2), rounded, *map(len, real), dtype=dtype)
    assert found.dtype == torch.float32
    assert np.abs(found.numpy() - wanted).max() < 5e-5


@pytest.mark.parametrize("seed", range(3))
def test_layers_that_differ_in_length_alone_have_nothing_new_in_fp32_either(seed: int) -> None:
    """The novelty that remains because of rounding is no reason to prefer a layer."""
    draw = np.random.default_rng(seed)
    path = (draw.uniform(0.1, 10, size=(7, 1)) * draw.normal(size=(1, 768)))[None].repeat(30, 0)
    exact, rounded = (dissected(Dissection(0), path, dtype) for dtype in (torch.float64, torch.float32))
    assert rounded.novelty.max() > 0, "without rounding there is nothing to see here"
    torch.testing.assert_close(rounded.weights, exact.weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("alignment", ["code", "paper"])
@pytest.mark.parametrize("boundary", ["reference", "symmetric"])
def test_gradients_are_right(boundary: str, alignment: str) -> None:
    paths = torch.as_tensor(random_paths(5, 4, 5)).requires_grad_()
    pooling = Dissection(0, 2, boundary, alignment)  # type: ignore[arg-type]
    assert torch.autograd.gradcheck(lambda x: pooling(iter(x.unbind(1)), sentences_of(3, 2)), (paths,))


def test_gradients_reach_the_words_of_a_model(tiny: TorchEmbedder) -> None:
    embedder = TorchEmbedder(tiny.tokenizer, tiny.encoder, Dissection(2), tiny.heads, tiny.manifest)
    embedder(Ragged.of([[2, 4, 5, 7, 3], [2, 4, 6, 3]]))[:, 0].sum().backward()
    gradient = next(m for m in embedder.encoder.modules() if isinstance(m, torch.nn.Embedding)).weight.grad
    assert gradient is not None
    assert gradient.isfinite().all()
    assert (gradient[[2, 4, 5, 6, 7]].abs().sum(1) > 0).all()


# ── results that are known without the slow procedure


def test_three_vectors_whose_weights_are_known_by_hand() -> None:
    path = np.array([[[1, 0, 0], [0.5**0.5, 0.5**0.5, 0], [0, 1, 0]]])
    found = dissected(Dissection(0, 1), path)
    assert found.novelty.squeeze().numpy() == pytest.approx([0.5**0.5, 0, 0.5**0.5], abs=1e-7)
    alignment = found.alignment.squeeze().numpy()
    assert alignment / alignment[0] * 0.25 == pytest.approx([0.25, 0.235702, 0.25], abs=1e-6)
    assert found.weights.squeeze().numpy() == pytest.approx([0.419906, 0.160189, 0.419906], abs=1e-6)
    assert found.importance.item() == pytest.approx(0, abs=1e-15)


EQUIANGULAR = [
    (3, 1, 0.5, "reference", [0.350424, 0.299152, 0.350424]),
    (3, 1, 0.5, "symmetric", [0.350424, 0.299152, 0.350424]),
    (3, 2, 0.5, "reference", [0.314923, 0.370154, 0.314923]),
    (3, 2, 0.5, "symmetric", [1 / 3] * 3),
    (5, 2, 0.5, "reference", [0.213979, 0.213979, 0.170276, 0.187786, 0.213979]),
    (5, 2, 0.5, "symmetric", [0.220046, 0.192726, 0.174455, 0.192726, 0.220046]),
    (9, 2, 0.9, "reference", [0.132115, 0.132115, *[0.098510] * 5, 0.111107, 0.132115]),
    (9, 2, 0.9, "symmetric", [0.135212, 0.113521, *[0.100507] * 5, 0.113521, 0.135212]),
    (13, 2, 0.95, "reference", [0.095451, 0.095451, *[0.070432] * 9, 0.079758, 0.095451]),
    (13, 2, 0.95, "symmetric", [0.097139, 0.081065, *[0.07151] * 9, 0.081065, 0.097139]),
]


@pytest.mark.parametrize(("layers", "window", "cosine", "boundary", "weights"), EQUIANGULAR)
def test_equal_angles_have_closed_weights(
    layers: int, window: int, cosine: float, boundary: str, weights: list[float]
) -> None:
    pooling = Dissection(0, window, boundary)  # type: ignore[arg-type]
    found = dissected(pooling, equiangular(layers, cosine))
    assert found.weights.squeeze().numpy() == pytest.approx(weights, abs=1.5e-6)
    for k in range(layers):
        m = len(neighbours_of(k, layers, window, boundary))
        spanned = m * cosine**2 / (1 + (m - 1) * cosine)
        assert found.novelty[k].item() == pytest.approx((1 - spanned) ** 0.5, abs=1e-12)
        assert found.alignment[k].item() == pytest.approx(spanned**0.5 / cosine / (2 * (m + 1)), abs=1e-12)


# ── inputs that the reference cannot handle

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_equal_neighbours_are_one(dtype: torch.dtype) -> None:
    """K is singular: the copy adds nothing to the span of the neighbours."""
    paths = random_paths(6, 7, 48)
    paths[:, 3] = paths[:, 4]
    found = pooled(Dissection(0), paths, 6, dtype=dtype)
    assert found.isfinite().all()
    exact = torch.as_tensor(paths).to(dtype).double().numpy()
    span, x = exact[:, [4, 6]], exact[:, 5]  # layer 5 has the neighbours 3, 4 and 6, of which 3 = 4
    rest = [b - a.T @ np.linalg.lstsq(a.T, b, rcond=None)[0] for a, b in zip(span, x, strict=True)]
    wanted = np.linalg.norm(rest, axis=1) / np.linalg.norm(x, axis=1)
    novelty = dissected(Dissection(0), exact, torch.promote_types(dtype, torch.float32)).novelty[5]
    assert novelty.numpy() == pytest.approx(wanted, abs=1e-3)
    assert np.abs(found.double().numpy() - slow_sentence(exact)).max() < 2e-2


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_word_that_never_moves_is_itself(dtype: torch.dtype) -> None:
    paths = np.repeat(random_paths(5, 1, 48), 7, axis=1)
    found = pooled(Dissection(0), paths, 5, dtype=dtype)
    exact = torch.as_tensor(paths).to(dtype).double()
    assert (found - exact[:4, 0].mean(0)).abs().max() < 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dissected(Dissection(0), paths).weights.sum(0).numpy() == pytest.approx(np.ones(5))


@pytest.mark.parametrize("alignment", ["code", "paper"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_layers_that_disagree_do_not_explode(dtype: torch.dtype, alignment: str) -> None:
    """Random vectors: the mean cosine with the neighbours is small or negative."""
    paths = np.random.default_rng(4).normal(size=(200, 7, 16))
    made = Dissection(0, 2, "reference", alignment)  # type: ignore[arg-type]
    weights = dissected(made, paths, torch.promote_types(dtype, torch.float32)).weights
    assert weights.min() >= 0
    assert weights.max() <= 1
    assert pooled(made, paths, 120, 80, dtype=dtype).isfinite().all()
    to_the_letter = dissected(Dissection(0, robust=False), paths).weights.numpy()
    assert np.abs(to_the_letter).max() > 2  # in the original procedure, they do
    assert np.abs(to_the_letter.T - [slow_word(path)[0] for path in paths]).max() < 1e-6 * np.abs(to_the_letter).max()


@pytest.mark.parametrize("dtype", DTYPES)
def test_orthogonal_layers_weigh_by_novelty_alone(dtype: torch.dtype) -> None:
    paths = np.eye(8)[None, :7].repeat(4, axis=0)
    found = dissected(Dissection(0), paths, torch.promote_types(dtype, torch.float32))
    assert found.weights.numpy() == pytest.approx(np.full((7, 4), 1 / 7), abs=1e-6)
    assert pooled(Dissection(0), paths, 4, dtype=dtype).isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_narrower_than_the_window_are_all_spanned(dtype: torch.dtype) -> None:
    """If D < 2 · window + 1, an interior layer has no novelty."""
    paths = random_paths(6, 7, 3)
    found = dissected(Dissection(0), paths, torch.promote_types(dtype, torch.float32))
    assert found.novelty[2:5].max() < 2e-2
    assert pooled(Dissection(0), paths, 6, dtype=dtype).isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_zero_vector_is_borne(dtype: torch.dtype) -> None:
    paths = random_paths(6, 7, 16)
    paths[2, 3], paths[3] = 0, 0
    assert pooled(Dissection(0), paths, 6, dtype=dtype).isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_empty_text_is_its_first_token(dtype: torch.dtype) -> None:
    """[CLS] [SEP]: the share of [CLS] is 1."""
    paths = random_paths(2, 7, 48)
    exact = torch.as_tensor(paths).to(dtype).double().numpy()
    wanted = slow_word(exact[0])[0] @ exact[0]
    assert np.abs(pooled(Dissection(0), paths, 2, dtype=dtype).double().numpy() - wanted).max() < 5e-5


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sentence_of_no_or_one_token_becomes_zeros_and_is_told(dtype: torch.dtype) -> None:
    paths = random_paths(5, 7, 48)
    with pytest.warns(UserWarning, match="one-token sentence has a zero vector"):
        found = pooled(Dissection(0), paths, 1, 0, 4, dtype=dtype)
    assert found[:2].abs().max() == 0
    assert (found[2] - pooled(Dissection(0), paths[1:], 4, dtype=dtype)[0]).abs().max() < 1e-6


def test_without_the_tokens_of_a_prompt_it_leaves_out_the_last_token_still_and_no_more() -> None:
    """The remaining tokens keep their positions, which do not reveal how many tokens there are."""
    paths, tokens = random_paths(9, 7, 16), sentences_of(6, 3)
    kept, rows = tokens.without_first([3, 1])
    assert kept.lengths == (3, 2)
    found = Dissection(0)(iter(as_layers(paths[rows.numpy()])), kept)
    assert torch.equal(found, pooled(Dissection(0), paths[rows.numpy()], 3, 2))


def test_no_sentence_at_all_is_no_row() -> None:
    assert pooled(Dissection(0), np.zeros((0, 7, 16))).shape == (0, 16)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_finite_where_the_formulas_are_not(dtype: torch.dtype) -> None:
    paths = random_paths(8, 7, 16)
    paths[0] = paths[0, 0]
    paths[1], paths[2, 3], paths[3, 2] = 0, 0, paths[3, 3]
    paths[4, :, :] = np.eye(16)[:7]
    leaf = torch.as_tensor(paths).to(dtype).requires_grad_()
    Dissection(0)(iter(leaf.unbind(1)), sentences_of(6, 2)).square().sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.isfinite().all()


def test_a_word_that_never_moves_is_0_over_0_to_the_letter_and_itself_in_robust_mode() -> None:
    still = np.eye(5, 32)[:, None].repeat(4, axis=1)
    assert pooled(Dissection(0, robust=False), still, 5).isnan().all()
    assert pooled(Dissection(0), still, 5)[0, :5].tolist() == pytest.approx([0.25, 0.25, 0.25, 0.25, 0])


def test_a_model_whose_blocks_do_nothing_still_embeds(tiny: TorchEmbedder) -> None:
    still = deepcopy(tiny)
    initialize_weights(still.encoder, deviation=0.2)
    for block in still.encoder.blocks:  # type: ignore[union-attr]
        torch.nn.init.zeros_(block.out.weight)
        torch.nn.init.zeros_(block.down.weight)
    embedder = TorchEmbedder(still.tokenizer, still.encoder, Dissection(1), still.heads, still.manifest)
    texts = ["a cat sleeps .", "dog"]
    tokens_but_the_last = [layers[-1, :-1].mean(0) for layers in still.encode_layers(texts)]  # equally important
    wanted = [mean / np.linalg.norm(mean) for mean in tokens_but_the_last]
    assert np.abs(embedder.encode(texts) - wanted).max() < 1e-5
    assert np.isfinite(embedder.encode([""])).all()


# ── names, models, folders


@pytest.mark.parametrize(("depth", "start"), [(12, 4), (6, 4), (5, 3), (2, 0)])
def test_a_model_of_few_layers_starts_earlier(depth: int, start: int) -> None:
    made = pooling_of("sbert-wk", depth)
    assert isinstance(made, Dissection)
    assert made.start == start


@pytest.mark.parametrize(
    ("spec", "depth"), [("sbert-wk", 1), ("sbert-wk:start=5", 6), ("sbert-wk:window=7", 6), ("sbert-wk:start=13", 12)]
)
def test_too_few_layers_are_refused_before_anything_is_read(spec: str, depth: int) -> None:
    with pytest.raises(BadModel, match=r"layers or more, but the encoder has \d+"):
        pooling_of(spec, depth)


def test_a_folder_may_ask_for_the_last_start_that_its_model_has_layers_for_and_not_for_the_next(tmp_path: Path) -> None:
    """Six blocks have seven layers, including the embeddings."""
    assert Dissection.read({"start": 4}, tmp_path, 6).start == 4
    with pytest.raises(BadModel, match="start=5 needs 8 layers or more, but the encoder has 7"):
        Dissection.read({"start": 5}, tmp_path, 6)


def test_too_few_layers_are_refused_when_they_come() -> None:
    with pytest.raises(BadModel, match="needs 7 layers or more, but the encoder has 5"):
        pooled(Dissection(4), random_paths(3, 5, 16), 3)


@pytest.mark.parametrize(
    "spec",
    [
        *("sbert-wk:start=-1", "sbert-wk:start=x", "sbert-wk:window=0", "sbert-wk:boundary=no"),
        *("sbert-wk:alignment=no", "sbert-wk:robust=3", "sbert-wk:speed=9", "sbert-wk:start=1,start=2"),
        *("sbert-wk+mean", "sbert-wk:start"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_a_name_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises(BadModel, match=r"sbert-wk|unknown"):
        pooling_of(spec, 12)


@pytest.mark.parametrize(
    "pooling",
    [Dissection(), Dissection(0, 3), Dissection(2, 1, "symmetric", "paper", robust=False), Dissection(5, robust=False)],
)
def test_a_name_leads_back_to_the_pooling(pooling: Dissection) -> None:
    assert pooling_of(pooling.spec, 12) == pooling


@pytest.mark.parametrize(
    "spec", ["sbert-wk", "sbert-wk:start=1,window=3,boundary=symmetric,alignment=paper,robust=false"]
)
def test_it_is_saved_in_the_folder_of_a_model(tiny: TorchEmbedder, tmp_path: Path, spec: str) -> None:
    embedder = TorchEmbedder(tiny.tokenizer, tiny.encoder, pooling_of(spec, 6), tiny.heads, tiny.manifest)
    embedder.save(tmp_path)
    again = TorchEmbedder.load(tmp_path, device="cpu")
    assert again.pooling == embedder.pooling
    assert again.fingerprint == embedder.fingerprint
    texts = ["a cat sleeps .", "a dog runs"]
    assert np.abs(again.encode(texts) - embedder.encode(texts)).max() < 1e-6
    rows = json.loads((tmp_path / "modules.json").read_text())
    assert [row["type"] for row in rows][1] == "likewise.pooling.Dissection"
    config = json.loads((tmp_path / rows[1]["path"] / "config.json").read_text())
    assert config["start"] == embedder.pooling.start  # type: ignore[attr-defined]


def test_a_folder_that_asks_for_more_layers_than_there_are_is_refused(tiny: TorchEmbedder, tmp_path: Path) -> None:
    tiny.save(tmp_path)
    rows = json.loads((tmp_path / "modules.json").read_text())
    rows[1] |= {"path": "1_Dissection", "type": "likewise.pooling.Dissection"}
    (tmp_path / "modules.json").write_text(json.dumps(rows))
    (tmp_path / "1_Dissection").mkdir()
    (tmp_path / "1_Dissection" / "config.json").write_text('{"start": 6}')
    with pytest.raises(BadModel, match="needs 9 layers or more"):
        TorchEmbedder.load(tmp_path, device="cpu")


def test_by_name_it_changes_only_the_pooling() -> None:
    plain, chosen = TorchEmbedder.load("all-MiniLM-L6-v2"), TorchEmbedder.load("all-MiniLM-L6-v2", pooling="sbert-wk")
    assert chosen.pooling == Dissection(4)
    assert str(chosen.heads) == str(plain.heads)
    vectors = chosen.encode(SENTENCES)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_in_half_precision_vectors_stay_near(precision: str) -> None:
    texts = [text for text in SENTENCES if text]
    exact = TorchEmbedder.load("all-MiniLM-L6-v2", pooling="sbert-wk", precision="fp32", device="cpu").encode(texts)
    half = TorchEmbedder.load("all-MiniLM-L6-v2", pooling="sbert-wk", precision=precision, device="cpu").encode(texts)  # type: ignore[arg-type]
    assert (exact * half).sum(1).min() > 0.995


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_cosines_may_be_off_by_sixteen_roundings_of_single_precision_or_better(dtype):
    eps = 2**-52 if dtype == torch.float64 else 2**-23
    assert rounding_noise(dtype) == 16 * eps


@pytest.mark.parametrize("robust", [True, False])
def test_shares_of_a_sentence_are_those_of_its_tokens_but_the_last(robust: bool) -> None:
    tokens = Ragged(torch.zeros(9), (4, 3, 2))
    importance = torch.tensor([1.0, 2, 5, 7, 3, 1, 9, 4, 2], dtype=torch.float64)
    wanted = torch.tensor([1 / 8, 2 / 8, 5 / 8, 0, 3 / 4, 1 / 4, 0, 1, 0], dtype=torch.float64)
    torch.testing.assert_close(module.shares_in_sentence(importance, tokens, robust), wanted)


def test_where_no_word_moves_all_but_the_last_share_alike_up_to_a_variance() -> None:
    tokens = Ragged(torch.zeros(4), (3, 1))
    limit = 2 * module.NO_VARIANCE  # of two words
    two = module.shares_in_sentence(torch.zeros(2), Ragged(torch.zeros(2), (2,)))
    assert two.tolist() == [1, 0]
    for total, first in ((0.0, 0.5), (limit, 0.5), (limit * 1.001, 1.0)):
        importance = torch.tensor([total, 0, 5, 5])
        with pytest.warns(UserWarning, match="leaves out a sentence's last token"):
            found = module.shares_in_sentence(importance, tokens)
        torch.testing.assert_close(found, torch.tensor([first, 1 - first, 0, 0]))


def test_shares_over_layers_are_those_given_where_the_sum_is_about_nothing() -> None:
    x = torch.tensor([[1.0, 0.25, 0], [3, 0.25, 0]], dtype=torch.float64)
    otherwise = torch.full_like(x, 0.125)
    wanted = torch.tensor([[0.25, 0.125, 0.125], [0.75, 0.125, 0.125]], dtype=torch.float64)
    torch.testing.assert_close(module._shares(x, 0.5, otherwise), wanted)
    torch.testing.assert_close(module._shares(x, 0.49, otherwise)[:, 1], torch.full((2,), 0.5, dtype=torch.float64))


def test_a_root_of_nothing_is_nothing_and_so_is_its_gradient() -> None:
    x = torch.tensor([-1.0, 0, 1e-30, 4], dtype=torch.float64, requires_grad=True)
    root = module._root(x)
    root.sum().backward()  # type: ignore[no-untyped-call]
    assert root.tolist() == pytest.approx([0, 0, 1e-15, 2], rel=1e-12, abs=0)
    assert x.grad is not None and x.grad.tolist()[:2] == [0, 0] and x.grad.tolist()[3] == 0.25
    below = module._root(torch.tensor([1e-40], dtype=torch.float64))
    assert float(below) == pytest.approx(1e-15, abs=0)


@pytest.mark.parametrize(("size", "lengths"), [(1, [1] * 5), (2 * 3 * 4 * 4, [2, 2, 1]), (10**6, [5])])
def test_words_are_looked_at_in_chunks_that_fit(size: int, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.CHUNK, "cpu", size)
    paths = [torch.randn(5, 4) for _ in range(3)]  # of three layers, four numbers each
    chunks = list(module._chunks(paths))
    assert [len(chunk) for chunk in chunks] == lengths and chunks[0].shape[1:] == (3, 4)
    assert torch.equal(torch.cat(chunks), torch.stack(paths, 1))


@pytest.mark.parametrize(("device", "most"), [("cpu", 2**20), ("meta", 2**28)])
def test_words_fill_a_cpus_cache_or_a_quarter_of_a_gigabyte_elsewhere(device: str, most: int) -> None:
    words = most // (3 * 4 * 4)  # of three layers, four numbers of four bytes each
    paths = [torch.empty(words + 7, 4, device=device) for _ in range(3)]
    assert [len(chunk) for chunk in module._chunks(paths)] == [words, 7]
