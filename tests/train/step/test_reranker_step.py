"""One step of any model, whatever the pieces; and training of rerankers, each loss beside a slow one."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from likewise import Reranker
from likewise.arrays.ragged import Ragged
from likewise.encoders.layers import without_dropout
from likewise.errors import BadInput, OutOfMemory
from likewise.inference import plan_batches
from likewise.reranker import CrossEncoder, PolyEncoder
from likewise.reranker.poly_encoder import score_candidates
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.evaluators import AccuracyEvaluator, SpearmanEvaluator
from likewise.train.objectives import RERANKER_OBJECTIVES, Contrastive, parse_objective
from likewise.train.objectives.reranking import InBatch, PairClassification, PairMargin, PairRanking, PairRegression
from likewise.train.settings import TrainSettings
from likewise.train.step import reranker_step
from likewise.train.step.memory import StepOptions, TokenBudget
from likewise.train.step.trainable import backward, check_objective, count_tokens
from likewise.train.trainer import Diverged
from tests.train.columns import EVERY, TEXTS, batch_for, columns_for
from tests.train.run_trainer import load, run_trainer, source, weights_of

CROSS = ["regression", "regression:loss=mse,temperature=2", "classification:num_labels=2", "margin", "ranking"]
POLY = ["regression:temperature=8,offset=2", "regression:loss=mse", "margin", "ranking"]
POLY += ["in-batch", "in-batch:temperature=4"]
BOTH = [*(("cross", name) for name in CROSS), *(("poly", name) for name in POLY)]
every = pytest.mark.parametrize(("kind", "name"), BOTH)


anything = pytest.mark.parametrize(("kind", "name"), [*BOTH, *(("embedder", name) for name in EVERY)])
kinds = pytest.mark.parametrize("kind", ["embedder", "cross", "poly"])


@pytest.fixture
def begun(own):
    """A tiny model without dropout and an objective that fits it."""

    def make(kind, name="regression", **how):
        torch.manual_seed(0)
        objective = EVERY[name]() if kind == "embedder" else parse_objective(name, RERANKER_OBJECTIVES)
        model = load(own(**how))
        if kind == "cross":
            model = Reranker.start(model, objective.num_labels, seed=0)
        elif kind == "poly":
            model = PolyEncoder.start(model, 5, seed=0)
        check_objective(model, objective)
        return model, objective

    return make


def _gradients(*models):
    return [None if p.grad is None else p.grad.clone() for model in models for p in model.parameters()]


def _same(found, expected, **how):
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, **how)


EXACT = {"atol": 1e-12, "rtol": 1e-12}


def test_every_objective_of_the_table_is_tested():
    assert {name.partition(":")[0] for _, name in BOTH} == set(RERANKER_OBJECTIVES)


@anything
def test_a_step_in_pieces_has_the_gradient_of_the_step_as_a_whole(kind, name, begun):
    model, objective = begun(kind, name)
    batch, results, gradients = batch_for(objective), [], []
    for budget in (None, lambda: results[0].tokens // 4):
        torch.manual_seed(1)  # of noise, if there is any
        model.double().zero_grad()
        objective.double().zero_grad()
        options = StepOptions(token_budget=TokenBudget(budget and budget()))
        results.append(backward(model, objective, batch, options))
        gradients.append(_gradients(model, objective))
    whole, pieces = results
    assert any(g is not None and g.abs().max() > 0 for g in gradients[0])
    assert whole.parts == 1 and pieces.parts > 3 and pieces.tokens == whole.tokens
    assert pieces.loss == pytest.approx(whole.loss, abs=1e-12)
    _same(gradients[1], gradients[0], **EXACT)


@every
def test_a_step_has_the_gradient_of_the_scores_one_pair_at_a_time(kind, name, begun):
    reranker, objective = begun(kind, name)
    reranker.double()
    batch = batch_for(objective)
    took = backward(reranker, objective, batch)
    found = _gradients(reranker)
    reranker.zero_grad()
    loss = torch.stack(_slow(reranker, objective, batch)).mean()
    loss.backward()
    assert took.loss == pytest.approx(float(loss.detach()), abs=1e-12)
    _same(found, _gradients(reranker), **EXACT)


def _slow(reranker, objective, batch):
    """The losses of the rows, from scores of one pair at a time, by the definitions."""

    def score(a, b):
        if isinstance(reranker, CrossEncoder):
            return reranker(reranker.tokens([(a, b)]))[0]
        return reranker(reranker.tokens([a]), reranker.tokens([b]))[0]

    losses = []
    for i in range(len(batch)):
        first, *others = (column[i] for column in batch.texts)
        logits = [score(first, other) for other in others]
        told = {name: values[i] for name, values in batch.numbers.items()}
        losses.append(REFERENCES[type(objective)](objective, logits, told, batch, i, score))
    return losses


def _regression(objective, logits, told, *_):
    x, y = logits[0][0] / objective.temperature - objective.offset, told["score"].double()
    if objective.loss == "mse":
        return (x - y) ** 2
    p = 1 / (1 + torch.exp(-x))
    return -(y * torch.log(p) + (1 - y) * torch.log(1 - p))


def _classification(objective, logits, told, *_):
    return -torch.log(torch.exp(logits[0]) / torch.exp(logits[0]).sum())[told["label"]]


def _margin(objective, logits, *_):
    positive, *negatives = (x[0] for x in logits)
    return sum(torch.clamp(objective.margin - (positive - n), min=0) for n in negatives) / len(negatives)


def _ranking(objective, logits, told, *_):
    found = [torch.exp(x[0] / objective.temperature) for x in logits]
    wanted = torch.exp(told["scores"].double() / objective.teacher_temperature)
    return -sum(w / wanted.sum() * torch.log(f / sum(found)) for w, f in zip(wanted, found, strict=True))


def _in_batch(objective, logits, told, batch, i, score):
    anchors, positives = batch.texts[0], batch.texts[1]
    right = {positives[j] for j in range(len(batch)) if anchors[j] == anchors[i]}
    wrong = [c for column in batch.texts[1:] for c in column if c not in right and c != anchors[i]]
    scores = [torch.exp(score(anchors[i], c)[0] / objective.temperature) for c in [positives[i], *wrong]]
    return -torch.log(scores[0] / sum(scores))


REFERENCES = {
    PairRegression: _regression,
    PairClassification: _classification,
    PairMargin: _margin,
    PairRanking: _ranking,
    InBatch: _in_batch,
}


def test_without_a_teacher_the_positive_is_what_is_to_be_found():
    objective = PairRanking(temperature=2)
    logits = torch.tensor([[[3.0], [1.0], [-2.0]]], dtype=torch.float64)
    given = [math.exp(x / 2) for x in (3, 1, -2)]
    assert float(objective(logits)) == pytest.approx(-math.log(given[0] / sum(given)), abs=1e-12)
    assert float(objective(logits, scores=torch.tensor([[900.0, 0.0, 0.0]]))) == pytest.approx(float(objective(logits)))


def test_in_pieces_a_poly_encoder_drops_the_same_words_going_forward_and_back(begun):
    reranker, objective = begun("poly", "in-batch")
    reranker.double().train()
    for module in reranker.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.3
    batch = batch_for(objective)
    torch.manual_seed(3)
    took = backward(reranker, objective, batch, StepOptions(token_budget=TokenBudget(40)))
    after, found = torch.get_rng_state(), _gradients(reranker)
    assert took.parts > 3
    reranker.zero_grad()
    torch.manual_seed(3)
    loss = _with_all_graphs_kept(reranker, objective, batch, 40)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(took.loss, abs=1e-12)
    _same(found, _gradients(reranker), **EXACT)
    assert torch.equal(after, torch.get_rng_state())


def _with_all_graphs_kept(poly, objective, batch, budget):
    """The loss, slowly: the vectors of the same pieces, made in the same order, each text's graph kept."""
    contexts, *others = batch.texts
    ids = [*poly.context_ids(contexts), *poly.candidate_ids([text for column in others for text in column])]
    n, vectors = len(contexts), {}
    for piece in plan_batches([len(row) for row in ids], budget):
        for side, make in ((True, poly.contexts), (False, poly.candidates)):
            own = [i for i in piece if (i < n) == side]
            if own:
                vectors |= zip(own, make(Ragged.of([ids[i] for i in own])), strict=True)
    laid = [vectors[i] for i in range(len(ids))]
    scores = score_candidates(torch.stack(laid[:n]), torch.stack(laid[n:]))
    return objective(scores, text_ids=batch.names).mean()


@kinds
def test_where_memory_runs_out_the_step_is_made_in_pieces_to_the_same_gradient(kind, begun, monkeypatch):
    reranker, objective = begun(kind)
    reranker.double()
    batch = batch_for(objective)
    backward(
        reranker, objective, batch, StepOptions(loss_scale=0.5)
    )  # as if it were the first of two batches of one step
    expected = [None if g is None else 2 * g for g in _gradients(reranker)]
    real, asked = type(reranker.encoder).forward, []

    def narrow(self, tokens):
        asked.append(len(tokens.values))
        if asked[-1] > 60:
            raise torch.OutOfMemoryError("out of memory, says the test")
        return real(self, tokens)

    monkeypatch.setattr(type(reranker.encoder), "forward", narrow)
    budget = TokenBudget()
    took = backward(reranker, objective, batch, StepOptions(token_budget=budget, loss_scale=0.5))
    assert took.parts > 1 and budget.tokens is not None and max(asked) > 60
    _same(_gradients(reranker), expected, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize(("kind", "what"), [("cross", "row"), ("poly", "text"), ("embedder", "text")])
def test_one_row_that_does_not_fit_is_an_error(kind, what, begun, monkeypatch):
    reranker, objective = begun(kind)

    def full(*_):
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(type(reranker.encoder), "forward", full)
    with pytest.raises(OutOfMemory, match=f"one {what} of"):
        backward(reranker, objective, batch_for(objective))


def test_bf16_gives_nearly_the_gradient_of_fp32(begun):
    for kind in ("embedder", "cross", "poly"):
        reranker, objective = begun(kind)
        found = []
        for dtype in (None, torch.bfloat16):
            reranker.zero_grad()
            backward(reranker, objective, batch_for(objective), StepOptions(dtype=dtype))
            found.append(torch.cat([g.flatten() for g in _gradients(reranker) if g is not None]))
        assert torch.cosine_similarity(*found, dim=0) > 0.99 and not torch.equal(*found)


# the loop

FAST = {"learning_rate": 3e-3, "warmup_ratio": 0}
ANIMALS, OTHERS = ("cat", "dog", "fox", "kitten"), ("rain", "mat", "words", "query")
SAME = {
    "sentence1": ["cat", "dog", "cat", "dog"],
    "sentence2": ["cat", "dog", "dog", "cat"],
    "score": [1.0, 1.0, 0.0, 0.0],
}


@pytest.mark.parametrize("kind", ["cross", "poly"])
def test_a_toy_task_is_learned_and_stays_learned_in_the_saved_folder(kind, begun, tmp_path):
    reranker, objective = begun(kind, "regression:temperature=4" if kind == "poly" else "regression")
    without_dropout(reranker)
    run_trainer(reranker, [source(objective, columns=SAME)], TrainSettings(max_steps=120, batch_size=4, **FAST))
    reranker.save(tmp_path / "saved")
    again = Reranker.load(tmp_path / "saved", engine="torch", device="cpu")
    for model in (reranker, again):
        scores = model.score(SAME["sentence1"], SAME["sentence2"])
        assert scores[:2].min() > scores[2:].max() + 0.1
    assert again.fingerprint == reranker.fingerprint


def test_a_poly_encoder_learns_to_find_the_candidate_of_each_context(begun):
    reranker, objective = begun("poly", "in-batch")
    columns = {"anchor": list(ANIMALS), "positive": list(OTHERS)}
    run = TrainSettings(max_steps=40, batch_size=4, **FAST)
    run_trainer(reranker, [source(objective, columns=columns)], run)
    assert [reranker.rank(animal, OTHERS)[0][0] for animal in ANIMALS] == [0, 1, 2, 3]


@pytest.mark.parametrize(("kind", "name"), [("cross", "classification:num_labels=2"), ("poly", "in-batch")])
def test_a_run_that_was_stopped_goes_on_to_the_same_weights_bit_for_bit(kind, name, begun, tmp_path):
    run = TrainSettings(max_steps=8, batch_size=4, **FAST, save_steps=2, max_tokens_per_step=60)

    def measure(model):
        return {"spread": float(model.logits([("a", "dogs bark"), ("x", "y")]).std())}

    def trained(**how):
        reranker, objective = begun(kind, name)
        rows = TrainingRows.of(columns_for(objective, 24), objective)
        return reranker, lambda: run_trainer(reranker, [DataSource(rows, objective)], run, evaluator=measure, **how)

    whole, go = trained()
    expected = go()
    left = iter([False, False, False, True])
    _, go = trained(checkpoint_folder=tmp_path / "run", stop=lambda: next(left))
    assert go().interrupted
    torch.manual_seed(99)
    resumed, go = trained(checkpoint_folder=tmp_path / "run")
    found = go()
    assert (found.best_score, found.best_step, found.steps) == (expected.best_score, expected.best_step, 8)
    for weight, other in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(weight, other)


def test_parts_of_a_reranker_are_frozen_or_adapted_as_an_embedders(begun):
    reranker, objective = begun("cross")
    rows = TrainingRows.of(columns_for(objective, 8), objective)
    before = weights_of(reranker)

    def moved(**how):
        reranker.load_state_dict(before)
        run_trainer(reranker, [DataSource(rows, objective)], TrainSettings(max_steps=2, batch_size=4, **FAST, **how))
        return {name.split(".")[0] for name, p in reranker.state_dict().items() if not torch.equal(p, before[name])}

    assert moved(freeze=("encoder",)) == {"head"}
    assert moved(freeze=("head",)) == {"encoder"}
    assert moved(lora_rank=2) == {"encoder", "head"}
    with pytest.raises(BadInput, match="encoder or head"):
        moved(freeze=("pooling",))


@pytest.mark.parametrize("kind", ["cross", "poly"])
def test_a_reranker_whose_scores_are_no_numbers_after_a_step_is_not_kept(kind, begun):
    reranker, objective = begun(kind)
    settings = TrainSettings(max_steps=1, batch_size=8, learning_rate=1e10, warmup_ratio=0)
    with pytest.raises(Diverged, match="after step 1, weights or outputs of the model are NaN or infinite"):
        run_trainer(reranker, [source(objective)], settings)
    assert all(p.isfinite().all() for p in reranker.parameters())  # so that only its scores tell


# what a run is measured by


def test_a_reranker_is_measured_by_its_order_of_pairs_and_by_its_labels(begun):
    columns = {"sentence1": TEXTS[:6], "sentence2": TEXTS[6:], "score": [0, 3, 1, 5, 2, 4], "label": [0, 1, 1, 0, 1, 0]}
    for kind in ("cross", "poly"):
        reranker, _ = begun(kind)
        scores = [float(reranker.score([pair])[0]) for pair in zip(TEXTS[:6], TEXTS[6:], strict=True)]
        expected = stats.spearmanr(scores, columns["score"]).statistic
        assert SpearmanEvaluator(columns, "x")(reranker) == {"x spearman": pytest.approx(expected)}
    labelled, _ = begun("cross", "classification:num_labels=2")
    logits = labelled.logits(columns["sentence1"], columns["sentence2"])
    right = sum(int(row[1] > row[0]) == label for row, label in zip(logits, columns["label"], strict=True))
    assert AccuracyEvaluator(columns, "x")(labelled) == {"x accuracy": right / 6}


def test_an_objective_for_another_kind_of_model_is_refused(begun, tiny):
    cross, regression = begun("cross")
    poly, _ = begun("poly")
    for model, objective, told in [
        (cross, Contrastive(), "for an embedder's vectors"),
        (tiny, regression, "is for a reranker"),
        (cross, PairClassification(3), "needs 3 labels.*has 1 .LABEL_0.*labels=3"),
        (cross, InBatch(), "expected a PolyEncoder"),
        (poly, PairClassification(2), "needs 2 labels"),
    ]:
        with pytest.raises(BadInput, match=told):
            check_objective(model, objective)


def test_prompts_stand_before_contexts_in_training_as_they_do_in_scoring(begun):
    for kind in ("cross", "poly"):
        reranker, _ = begun(kind)
        object.__setattr__(reranker.manifest, "prompts", {"q": "query: "})
        object.__setattr__(reranker.manifest, "default_prompt", "q")
        if kind == "cross":
            found = (
                reranker_step.reranker_logits(reranker, reranker.token_id_pairs([(TEXTS[0], TEXTS[1])]))
                .detach()
                .numpy()
            )
        else:
            found = reranker(reranker.tokens([TEXTS[0]]), reranker.tokens([TEXTS[1]], prompt="")).detach().numpy()
        np.testing.assert_allclose(found, reranker.logits([(TEXTS[0], TEXTS[1])]), atol=1e-5)


@pytest.mark.parametrize("kind", ["cross", "poly"])
def test_a_prompt_of_the_data_replaces_the_rerankers_own(kind, begun):
    reranker, objective = begun(kind)
    plain = batch_for(objective)
    batch = replace(plain, prompts=("the ", *[None] * (len(plain.texts) - 1)))
    expected = backward(reranker, objective, batch)
    object.__setattr__(reranker.manifest, "prompts", {"q": "query: quick brown "})
    object.__setattr__(reranker.manifest, "default_prompt", "q")
    found = backward(reranker, objective, batch)
    assert (found.loss, found.tokens) == (expected.loss, expected.tokens)
    assert backward(reranker, objective, plain).tokens > expected.tokens


@every
def test_the_tokens_of_a_step_are_counted_without_making_it(kind, name, begun):
    reranker, objective = begun(kind, name)
    batch = batch_for(objective)
    assert count_tokens(reranker, objective, batch) == backward(reranker, objective, batch).tokens > 0


@kinds
def test_gradients_of_parts_of_a_loss_add_up(kind, begun):
    reranker, objective = begun(kind)
    reranker.double()
    batch = batch_for(objective)
    found = []
    for scales in ((1.0,), (0.25, 0.75), (0.25,)):
        reranker.zero_grad()
        losses = [backward(reranker, objective, batch, StepOptions(loss_scale=scale)).loss for scale in scales]
        assert losses == pytest.approx([losses[0]] * len(scales))
        found.append(_gradients(reranker))
    _same(found[1], found[0], atol=1e-12, rtol=1e-9)
    _same([None if g is None else 4 * g for g in found[2]], found[0], atol=1e-12, rtol=1e-9)
