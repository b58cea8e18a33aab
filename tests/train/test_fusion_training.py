"""Fusions and their training, on a tiny random model."""

import json
import string
from dataclasses import replace

import numpy as np
import pytest
import tokenizers
import torch

from likewise import Embedder
from likewise.arrays.correlation import spearman
from likewise.encoders.families import FAMILIES
from likewise.encoders.layers import initialize_weights
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel
from likewise.evaluate.statistics.significance import difference
from likewise.heads import Normalize
from likewise.model_files import Manifest
from likewise.pooling import Fusion, Reduce, Stack, pooling_of
from likewise.text.tokenizer import Tokenizer
from likewise.train.data import examples as unlabelled
from likewise.train.data.examples import Examples, deduplicated, split_without_overlap, unlabelled_examples
from likewise.train.layers import early_exit, fusion_training
from likewise.train.layers.early_exit import smallest_exit, try_exits
from likewise.train.layers.fusion_training import (
    FUSION_DEFAULTS,
    FusionInputs,
    FusionResult,
    FusionSettings,
    fused_embedder,
    imitation,
    layer_vectors,
    train_fusion,
)
from likewise.train.objectives.labelled_pairs import cosent
from tests.cli.models.pairs import examples_of
from tests.train.run_trainer import load

WIDTH, DEPTH = 16, 3
QUICK = FusionSettings(regularization=(1.0,), epochs=3, batch_size=64)


def tiny(folder, family="bert", pooling="mean"):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *string.ascii_lowercase, *("##" + c for c in string.ascii_lowercase)]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizers.BertWordPieceTokenizer(vocab=vocabulary).save(str(folder / "tokenizer.json"))
    config = {
        "model_type": family, "vocab_size": len(words), "hidden_size": WIDTH, "num_hidden_layers": DEPTH,
        "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 48, "embedding_size": 8,
    }  # fmt: skip
    torch.manual_seed(0)
    encoder = initialize_weights(FAMILIES[family].build(config), 0.2).eval()
    encoder.config = config
    heads = torch.nn.Sequential(Normalize())
    return TorchEmbedder(Tokenizer.load(folder, 32), encoder, pooling_of(pooling, 6), heads, Manifest(folder)).eval()


@pytest.fixture
def embedder(tmp_path):
    return tiny(tmp_path)


def sentences(n, seed=0):
    random = np.random.default_rng(seed)
    return ["".join(random.choice(list("abcdefgh "), size=12)) + f" {i} {'xyz'[i % 3]}" for i in range(n)]


def labelled(n=200, seed=0, meaning=True):
    """Pairs whose score is the share of letters in common, or is drawn at random."""
    texts = sentences(2 * n, seed)
    left, right = texts[::2], texts[1::2]
    share = [len(set(a) & set(b)) / len(set(a) | set(b)) for a, b in zip(left, right, strict=True)]
    scores = share if meaning else np.random.default_rng(seed + 1).normal(size=n)
    return deduplicated([left, right], list(scores))


def jolted(fusion_training, seed=0):
    with torch.no_grad():
        for p in fusion_training.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=torch.Generator().manual_seed(seed)))
    return fusion_training.eval()


@pytest.mark.parametrize("reduce", ["mean", "cls", "cls+max"])
def test_untrained_it_is_plain_pooling(tmp_path, reduce):
    plain = tiny(tmp_path, pooling=reduce)
    texts = sentences(20)
    fusion = Fusion(Stack(Reduce.parse(reduce), 0, DEPTH), WIDTH)
    new = TorchEmbedder(plain.tokenizer, plain.encoder, fusion, plain.heads, plain.manifest).eval()
    np.testing.assert_allclose(new.encode(texts), plain.encode(texts), atol=1e-6)


@pytest.mark.parametrize("first", [0, 1, DEPTH])
def test_a_saved_fusion_loads_with_equal_vectors_and_fingerprint(embedder, tmp_path, first):
    built = fused_embedder(embedder, jolted(Fusion(Stack(Reduce.parse("mean"), first, DEPTH), WIDTH)))
    built.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    np.testing.assert_array_equal(loaded.encode(sentences(20)), built.encode(sentences(20)))
    assert loaded.fingerprint == built.fingerprint != embedder.fingerprint
    rows = [row["type"] for row in json.loads((tmp_path / "saved/modules.json").read_text())]
    own = "likewise.pooling.Fusion" in rows
    assert own is (first < DEPTH) and ("sentence_transformers.models.Dense" in rows) is not own


def test_a_fusion_that_changes_nothing_is_written_as_plain_pooling(embedder):
    assert fused_embedder(embedder, Fusion(Stack(Reduce.parse("mean"), 0, DEPTH), WIDTH)).pooling == Reduce.parse(
        "mean"
    )


def test_a_fusion_runs_no_block_above_its_last_layer(embedder):
    embedder.encoder.blocks[2].forward = None
    built = TorchEmbedder(embedder.tokenizer, embedder.encoder, Fusion(Stack(Reduce.parse("mean"), 0, 2), WIDTH),
                    embedder.heads, embedder.manifest).eval()  # fmt: skip
    assert built.encode(["a b"]).shape == (1, WIDTH)


def test_a_fusion_of_more_layers_than_there_are_says_so(embedder):
    built = TorchEmbedder(embedder.tokenizer, embedder.encoder, Fusion(Stack(Reduce.parse("mean"), 0, 9), WIDTH),
                    embedder.heads, embedder.manifest).eval()  # fmt: skip
    with pytest.raises(BadModel, match="fewer layers"):
        built.encode(["a b"])


def test_a_fusion_without_its_weights_is_a_bad_model(embedder, tmp_path):
    fused_embedder(embedder, jolted(Fusion(Stack(Reduce.parse("mean"), 0, DEPTH), WIDTH))).save(tmp_path / "saved")
    (tmp_path / "saved/1_Pooling/model.safetensors").unlink()
    for engine in ("torch", "numpy"):
        with pytest.raises(BadModel, match=r"1_Pooling contains no model\.safetensors"):
            Embedder.load(tmp_path / "saved", engine=engine)


@pytest.mark.parametrize("texts", [400, 40])
def test_no_sentence_is_on_both_sides(texts):
    rows = np.random.default_rng(0).integers(texts, size=(600, 2))
    training, held = split_without_overlap(Examples(rows, np.arange(600.0)), 0.2, seed=0)
    assert not set(training.rows.ravel()) & set(held.rows.ravel())


@torch.no_grad()
def trained(embedder, examples, texts, *, recipe=FUSION_DEFAULTS):
    with torch.enable_grad():
        stack = Stack(Reduce.parse("mean"), 0, DEPTH)
        inputs = FusionInputs(layer_vectors(embedder, texts), stack, WIDTH)
        return train_fusion(inputs, examples, recipe)


def test_training_helps_where_there_is_something_to_learn(embedder):
    texts, examples = labelled(600)
    outcome = trained(embedder, examples, texts, recipe=replace(QUICK, regularization=(0.1,), epochs=20))
    assert difference(outcome.fused, outcome.baseline, outcome.gold).low > 0


def test_random_labels_leave_the_model_no_worse_than_plain(embedder):
    better = []
    for seed in range(3):
        texts, examples = labelled(300, seed, meaning=False)
        lucky = trained(embedder, examples, texts, recipe=replace(QUICK, only_significant=False))
        better.append(
            lucky.regularization > 0 and spearman(lucky.fused, lucky.gold) > spearman(lucky.baseline, lucky.gold)
        )
        outcome = trained(embedder, examples, texts, recipe=QUICK)
        assert outcome.regularization == 0
        np.testing.assert_array_equal(outcome.fused, outcome.baseline)
        assert fused_embedder(embedder, outcome.fusion).pooling == Reduce.parse("mean")
    assert any(better), "by chance something was better, and was not kept"


def test_a_seed_gives_the_same_weights(embedder):
    texts, examples = labelled()
    a, b = (trained(embedder, examples, texts, recipe=QUICK).fusion.state_dict() for _ in range(2))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_triplets_train_as_pairs(embedder):
    texts, examples = alike_by_their_first_letters()
    outcome = trained(embedder, examples, texts, recipe=replace(QUICK, regularization=(0.1,), epochs=20))
    assert outcome.regularization > 0 and difference(outcome.fused, outcome.baseline, outcome.gold).low > 0


def alike_by_their_first_letters(n=300):
    """Triplets whose anchor and positive begin alike, and whose negative ends as the anchor does."""
    random = np.random.default_rng(0)

    def word(letters):
        return "".join(random.choice(list(letters), size=5))

    columns = [[], [], []]
    for i in range(n):
        kind, other = random.choice(6, 2, replace=False)
        begin, another = ("".join("abcdef"[k] * 4) for k in (kind, other))
        end = word("uvwxyz")
        for column, text in zip(
            columns, (f"{begin} {end}", f"{begin} {word('uvwxyz')}", f"{another} {end}"), strict=True
        ):
            column.append(f"{text} {i}")
    return deduplicated(columns, None)


def test_a_teacher_scores_pairs_of_different_texts_with_its_cosines():
    vectors = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    examples = unlabelled_examples(vectors, 200)
    u, v = (vectors[examples.rows[:, side]] for side in (0, 1))
    expected = (u * v).sum(1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    np.testing.assert_allclose(examples.scores, expected, atol=1e-6)
    assert (examples.rows[:, 0] != examples.rows[:, 1]).all()


@pytest.mark.parametrize("family", ["bert", "albert", "modernbert"])
def test_every_exit_is_what_was_trained_for_it(tmp_path, family):
    whole = tiny(tmp_path, family)
    texts, examples = labelled(120)
    result = list(try_exits(whole, texts, layer_vectors(whole, texts), examples, [1, 2, 3], QUICK))
    assert [e.embedder.encoder.depth for e in result] == [1, 2, 3]
    for e in result:
        _, held = split_without_overlap(examples, QUICK.held_out, QUICK.seed)
        u, v = (e.embedder.encode([texts[i] for i in held.rows[:, side]]) for side in (0, 1))
        np.testing.assert_allclose((u * v).sum(1), e.result.fused, atol=1e-4)


def test_what_an_exit_is_compared_with_is_plain_pooling_of_the_whole_model_and_below_it_an_imitation(embedder):
    """Nothing is trained: what remains is where each exit's training begins."""
    texts, examples = labelled(60)
    vectors, untrained = layer_vectors(embedder, texts), replace(QUICK, regularization=())
    lower, whole = try_exits(embedder, texts, vectors, examples, [1, DEPTH], untrained)
    _, held = split_without_overlap(examples, QUICK.held_out, QUICK.seed)
    copied = imitation(vectors[:, : 2 * WIDTH], vectors[:, -WIDTH:])
    last = torch.from_numpy(vectors)[:, -WIDTH:]
    imitated = copied(torch.from_numpy(vectors[:, : 2 * WIDTH]))
    for exit_, rows in ((lower, imitated), (whole, last)):
        sides = (rows[torch.from_numpy(held.rows[:, side])] for side in (0, 1))
        cosines = torch.nn.functional.cosine_similarity(*sides).numpy()
        np.testing.assert_allclose(exit_.result.baseline, cosines, atol=1e-6)
        np.testing.assert_array_equal(exit_.result.fused, exit_.result.baseline)
    assert whole.embedder.pooling == Reduce.parse("mean") and not whole.embedder.training
    assert isinstance(lower.embedder.pooling, Fusion) and lower.embedder.encoder.depth == 1
    torch.testing.assert_close(lower.result.fusion.map.weight, copied.weight)
    assert not np.allclose(lower.result.baseline, whole.result.baseline, atol=1e-3)


@pytest.mark.usefixtures("unchecked")
def test_of_exits_that_are_not_worse_than_the_deepest_the_smallest_is_chosen():
    draw = np.random.default_rng(0)
    gold, noise = draw.normal(size=200), draw.normal(size=200)
    for enough in (1, 2, 4, 5):  # below it, the cosines are nearly noise
        results = {
            d: FusionResult(None, 1, gold if d >= enough else gold + 9 * noise, None, gold) for d in (2, 5, 1, 4)
        }
        assert smallest_exit([early_exit.ExitResult(d, None, one) for d, one in results.items()]).depth == enough


def test_half_of_unlabelled_pairs_are_near_neighbours_and_half_are_drawn_from_all_others():
    vectors = np.random.default_rng(0).normal(size=(70, 4)).astype(np.float32)
    examples = unlabelled_examples(vectors, 7000)
    left, right = examples.rows.T
    assert np.bincount(left).tolist() == [100] * 70
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = unit @ unit.T - 9 * np.eye(70)
    rank = (alike[left, :] > alike[left, right][:, None]).sum(1)
    assert sorted(set(rank[::2])) == list(range(50)) and sorted(set(rank[1::2])) == list(range(69))
    assert sorted(set((right - left)[1::2] % 70)) == list(range(1, 70))
    again, other = unlabelled_examples(vectors, 7000), unlabelled_examples(vectors, 7000, seed=1)
    assert np.array_equal(examples.rows, again.rows) and not np.array_equal(examples.rows, other.rows)
    assert len(unlabelled_examples(vectors[:20], 30)) == 30
    with pytest.raises(BadInput, match="19 distinct texts; expected at least 20 for a teacher"):
        unlabelled_examples(vectors[:19], 30)


def test_neighbours_are_the_same_in_blocks_and_a_vector_of_zeros_is_like_none(monkeypatch):
    vectors = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    whole = np.sort(unlabelled._nearest(vectors, 5))
    monkeypatch.setattr(unlabelled, "_BLOCK", 7)
    assert np.array_equal(np.sort(unlabelled._nearest(vectors, 5)), whole)
    vectors[3] = 0
    examples = unlabelled_examples(vectors, 60)
    assert (examples.scores[(examples.rows == 3).any(1)] == 0).all() and np.isfinite(examples.scores).all()


def changed(x, narrow=3, seed=0):
    """A change of pooling whose map is drawn at random."""
    change = fusion_training._PoolingChange(x, narrow)
    with torch.no_grad():
        for p in change.parameters():
            assert not p.any()
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(seed)))
    return change


@torch.no_grad()
def test_a_change_of_pooling_is_its_formula_and_can_be_folded_into_one_map():
    x = (
        torch.randn(20, 9, generator=torch.Generator().manual_seed(1)) * torch.tensor([1.0, 2, 3] + [4] * 3 + [0.5] * 3)
        + 1
    )
    x[:, 3:6] = 2.0  # a layer that is the same for every text
    change = changed(x)
    sizes = [float((x[:, i : i + 3] - x[:, i : i + 3].mean(0)).square().mean().sqrt()) for i in (0, 3, 6)]
    expected = torch.tensor([max(size, 1e-12) for size in sizes]).repeat_interleave(3)
    torch.testing.assert_close(change.size, expected)
    torch.testing.assert_close(change.unit, x[:, -3:].square().mean().sqrt())
    assert torch.equal(change.center, x.mean(0))
    moved = (x - x.mean(0)) / expected @ change.map.weight.T + change.map.bias
    torch.testing.assert_close(change(x), moved)
    for a in (0.0, 0.3, 1.0):
        torch.testing.assert_close(change.interpolated(a)(x), x[:, -3:] + a * change.unit * moved)
    x[:, 3:6] = torch.randn(20, 3, generator=torch.Generator().manual_seed(2))
    change = changed(x)
    for a in (0.3, 1.0):
        torch.testing.assert_close(change.folded(a)(x), change.interpolated(a)(x), atol=1e-4, rtol=1e-4)


class Scorer(fusion_training._HeldOutScorer):
    """Held-out qualities by a list; it notes what it was asked."""

    def __init__(self, qualities):
        self.qualities, self.asked = iter(qualities), []

    def __call__(self, transform):
        self.asked.append(transform)
        return next(self.qualities)


@pytest.mark.parametrize(
    ("qualities", "patience", "epochs", "best"),  # its quality and interpolation
    [  # of each epoch with 0.5 and 1.0 of the change; plain pooling has 3
        ([(4, 5), (6, 2), (5, 5), (6, 6), (7, 1)], 9, 5, (7, 0.5)),
        ([(4, 5), (5, 5), (9, 9), (0, 0)], 1, 2, (5, 1.0)),  # one epoch without a better one
        ([(4, 5), (5, 5), (1, 1), (0, 0), (9, 9)], 3, 4, (5, 1.0)),  # three
        ([(3, 3), (3, 3), (9, 9)], 0, 1, (3, 0.0)),  # no better than plain pooling
        ([(4, 5), (3, 3), (9, 9)], 0, 2, (5, 1.0)),  # 0 counts as 1
        ([(4, 4), (1, 1), (5, 2), (1, 1), (6, 6), (0, 0)], 2, 6, (6, 1.0)),  # counted anew after a better one
    ],
)
def test_of_the_epochs_the_best_is_kept_until_patience_ends(qualities, patience, epochs, best, monkeypatch):
    passed = []

    def train_epochs(*given):
        for _ in qualities:
            passed.append(1)
            yield

    monkeypatch.setattr(fusion_training, "_train_epochs", train_epochs)
    change = changed(torch.randn(5, 6))
    plain = fusion_training._Candidate(3, 0.0, None)
    scorer = Scorer(q for pair in qualities for q in pair)
    settings = FusionSettings(patience=patience, interpolation=(0.5, 1.0))
    result = fusion_training._train_candidates(scorer, change, Examples(np.zeros((1, 3), int)), 2.0, settings, plain)
    assert len(passed) == epochs and result.quality == best[0]
    assert result.regularization == (2.0 if best[1] else 0.0)
    if result.map is not None:
        torch.testing.assert_close(result.map.weight, change.folded(best[1]).weight)


@pytest.mark.parametrize("size", [8, 100])
def test_a_fusion_is_trained_as_a_plain_loop_would(size):
    """Two passes over 20 scored pairs, in batches of 10 (which are as equal as can be) or all at once."""
    draw = np.random.default_rng(0)
    x = torch.from_numpy(draw.normal(size=(15, 6)).astype(np.float32))
    examples = Examples(draw.integers(15, size=(20, 2)), draw.normal(size=20))
    settings = FusionSettings(batch_size=size, epochs=2, seed=5, scale=3.0, learning_rate=0.1, weight_decay=0.5)
    result, slow = changed(x), changed(x)
    scorer = fusion_training._HeldOutScorer(x, Normalize(), examples)
    assert len(list(fusion_training._train_epochs(scorer, result, examples, 0.7, settings))) == 2
    order, batches = np.random.default_rng(5), 2 if size == 8 else 1
    optimizer = torch.optim.AdamW(slow.parameters(), lr=0.1, weight_decay=0.5)
    for step in range(2 * batches):
        if step % batches == 0:
            parts = np.array_split(order.permutation(20), batches)
        which = parts[step % batches]
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * min((step + 1) / (0.2 * batches + 1), 1) * (1 - step / (2 * batches))
        sides = [x[examples.rows[which, side]] for side in (0, 1)]
        moves = [slow(side) for side in sides]
        vectors = [Normalize()(side[:, -3:] + slow.unit * move) for side, move in zip(sides, moves, strict=True)]
        loss = cosent(*vectors, torch.from_numpy(examples.scores[which]).float(), 3.0)
        loss = loss + 0.7 * torch.cat(moves).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for a, b in zip(result.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_a_map_of_vectors_and_their_imitation_becomes_one_of_the_vectors_alone():
    torch.manual_seed(0)
    anchor, trained, target = torch.nn.Linear(6, 3), torch.nn.Linear(9, 3), torch.nn.Linear(6, 3)
    fusion_training._write_map(target, trained, anchor)
    x = torch.randn(5, 6)
    torch.testing.assert_close(target(x), trained(torch.cat([x, anchor(x)], dim=1)))


def test_an_imitation_has_a_penalty_of_a_thousandth_of_the_mean_variance():
    draw = np.random.default_rng(0)
    x, whole = draw.normal(size=(9, 12)).astype(np.float32) * 3 + 1, draw.normal(size=(9, 4)).astype(np.float32)
    centred = x.astype(np.float64) - x.mean(0, dtype=np.float64)
    gram = centred.T @ centred
    aim = whole - whole.mean(0, dtype=np.float64)
    weight = np.linalg.inv(gram + 1e-3 * np.trace(gram) / 12 * np.eye(12)) @ centred.T @ aim
    result = imitation(x, whole)
    np.testing.assert_allclose(result.weight.numpy().T, weight, atol=1e-5)
    np.testing.assert_allclose(result(torch.from_numpy(x)).mean(0).numpy(), whole.mean(0), atol=1e-5)
    assert not result.weight.requires_grad and not result.bias.requires_grad


def test_speed_is_that_of_the_fastest_of_several_runs(embedder, monkeypatch):
    clock, encoded = iter([0.0, 4.0, 10.0, 12.0, 20.0, 25.0]), []
    monkeypatch.setattr(early_exit.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(type(embedder), "encode", lambda self, texts, **how: encoded.append((texts, how)))
    assert early_exit.texts_per_second(embedder, ["a", "b"]) == 1.0
    assert encoded == [(["a", "b"], {"overflow": "truncate", "show_progress_bar": False})] * 3


def test_columns_that_a_fusion_cannot_learn_from_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("left,right\na,b\n")
    with pytest.raises(BadInput, match="left, right"):
        examples_of(tmp_path / "a.csv")


def test_what_cannot_be_fused_or_read_is_refused(embedder, tmp_path):
    stack = Stack(Reduce.parse("mean"), 0, DEPTH)
    dissecting = tiny(tmp_path, pooling="sbert-wk:start=1")
    with pytest.raises(BadInput, match="cannot be fused; expected cls, mean, max"):
        fusion_training.last_layer_pooling(dissecting)
    assert fusion_training.last_layer_pooling(embedder) == Reduce.parse("mean")
    fused = TorchEmbedder(embedder.tokenizer, embedder.encoder, Fusion(stack, WIDTH), embedder.heads, embedder.manifest)
    assert fusion_training.last_layer_pooling(fused) == Reduce.parse("mean")


def test_pairs_of_triplets_are_the_positive_the_negative_and_that_of_another():
    rows = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])
    pairs, scores = Examples(rows).pairs
    others = [[0, 7], [3, 10], [6, 1], [9, 4]]  # of the example two further on
    assert pairs.tolist() == [[0, 1], [3, 4], [6, 7], [9, 10], [0, 2], [3, 5], [6, 8], [9, 11], *others]
    assert scores.tolist() == [2] * 4 + [1] * 4 + [0] * 4
    pairs, scores = Examples(np.array([[0, 1, 2], [3, 1, 5], [1, 6, 7]])).pairs  # the same positive, and one's own text
    assert pairs[6:].tolist() == [[0, 6]] and scores.tolist() == [2] * 3 + [1] * 3 + [0]
    assert Examples(np.array([[0, 1, 2]])).pairs[0].tolist() == [[0, 1], [0, 2]]


def test_examples_that_hang_together_are_held_out_together():
    rows = np.arange(80).reshape(40, 2)
    rows[1, 0] = rows[0, 1]  # the first two share a text
    examples = Examples(rows, np.arange(40.0))
    training, held = split_without_overlap(examples, 0.25, seed=3)
    assert len(held) == 10 and len(training) == 30 and (0 in held.scores) == (1 in held.scores)
    assert sorted([*training.scores, *held.scores]) == list(range(40))
    again, other = (split_without_overlap(examples, 0.25, seed=seed)[1] for seed in (3, 4))
    assert np.array_equal(held.rows, again.rows) and not np.array_equal(held.rows, other.rows)


@pytest.mark.parametrize(("linked", "by_group"), [(85, True), (92, False)])
def test_sentences_are_split_where_whole_groups_are_less_than_half_of_what_is_to_be_held_out(linked, by_group):
    """Of a hundred pairs, a quarter; each of the linked ones shares a text with the next."""
    chain, apart = np.arange(linked), 2 * np.arange(linked, 100)
    rows = np.concatenate([np.stack([chain, chain + 1], 1), np.stack([apart, apart + 1], 1)])
    training, held = split_without_overlap(Examples(rows, np.arange(100.0)), 0.25, seed=0)
    assert ((len(training), len(held)) == (linked, 100 - linked)) is by_group
    assert not {*training.rows.flat} & {*held.rows.flat}


def test_a_single_group_is_split_by_its_sentences():
    rows = np.array([[i, j] for i in range(12) for j in range(i)])  # every pair of twelve
    training, held = split_without_overlap(Examples(rows, np.arange(66.0)), 0.25, seed=0)
    assert len(held) == 15 and len(training) == 15  # six sentences on each side: √0.25
    with pytest.raises(BadInput, match="after splitting by sentence, 0 examples are left for training|are held out"):
        split_without_overlap(Examples(np.stack([np.zeros(30, int), np.arange(1, 31)], 1), np.arange(30.0)), 0.2, 0)
    scores = np.r_[np.zeros(65), 2.0]
    with pytest.raises(BadInput, match="one side's scores are all equal"):
        split_without_overlap(Examples(rows, scores), 0.25, seed=0)
