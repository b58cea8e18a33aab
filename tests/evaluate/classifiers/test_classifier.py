"""Classifiers follow SentEval's rules, whether trained one by one or in batches."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from likewise.errors import BadInput, MissingExtra
from likewise.evaluate.classifiers import batched, sequential
from likewise.evaluate.classifiers.classifier import ClassifierRecipe, Fold, Problem, TrainedClassifier, random_starts
from likewise.evaluate.classifiers.protocols import splits
from likewise.evaluate.tasks.senteval import classifier_trainer
from tests.evaluate.slow_senteval import Slow

L2 = (1e-5, 1e-4, 1e-3, 1e-2)
RECIPES = {
    "softmax regression": ClassifierRecipe(max_epochs=100),
    "a hidden layer": ClassifierRecipe(hidden=7, max_epochs=12),
    "a hidden layer with dropout": ClassifierRecipe(hidden=5, dropout=0.2, max_epochs=12),
}
MASKS_OF_MKL = (
    torch.empty(64).bernoulli_(0.5, generator=torch.Generator().manual_seed(3)).bool().tolist()
    != batched.kept_by_dropout(np.random.RandomState(3), (8, 8), 0.5).ravel().tolist()
)
"""On Intel processors, torch takes dropout masks from MKL, so classifiers with dropout differ."""
if MASKS_OF_MKL:
    del RECIPES["a hidden layer with dropout"]
WAYS = {"one by one": sequential.train_sequential, "together": batched.train_batched}


def noisy(n: int, width: int = 6, classes: int = 3, seed: int = 0, noise: float = 1.0) -> Problem:
    """Data with overlapping classes."""
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    centres = random.normal(size=(classes, width))
    return Problem((centres[y] + noise * random.normal(size=(n, width))).astype(np.float32), y, classes)


def some_folds(problem: Problem, k: int = 4, l2: tuple[float, ...] = L2) -> list[Fold]:
    return [Fold(kept, held, l2) for kept, held in splits(problem.y, k, 1111)]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("held_out", [False, True], ids=["dev set given", "dev set drawn"])
def test_a_classifier_is_that_of_the_slow_transcription(way, recipe, held_out):
    problem = noisy(90)
    folds = some_folds(problem)[:1]
    if held_out:
        folds = [Fold(fold.train, None, fold.l2) for fold in folds]
    for fold, built in zip(folds, way(problem, folds, recipe), strict=True):
        for l2, classifier in zip(fold.l2, built, strict=True):
            slow = Slow(6, 3, l2, recipe.hidden, recipe.dropout, recipe.max_epochs)
            dev = None if held_out else (problem.x[fold.dev], problem.y[fold.dev])
            assert slow.fit(problem.x[fold.train], problem.y[fold.train], dev) == classifier.dev_accuracy
            assert slow.predict(problem.x).tolist() == classifier.predict(problem.x).tolist()
            state = list(slow.model.state_dict().values())
            for weight, bias, layer in zip(state[::2], state[1::2], classifier.layers, strict=True):
                np.testing.assert_allclose(layer, torch.cat([weight, bias[:, None]], 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("gathered", [1, 1 << 18])
def test_company_changes_nothing(threads, gathered, monkeypatch):
    """Alone, in groups and in threads; with folds of unequal size, and with both drawn and given dev sets."""
    monkeypatch.setattr(batched, "_GATHERED", gathered)
    problem = noisy(101)
    folds = [*some_folds(problem, 5), *[Fold(fold.train, None, (1e-3,)) for fold in some_folds(problem, 3)]]
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    recipe = ClassifierRecipe(hidden=4, dropout=0.0 if MASKS_OF_MKL else 0.1, max_epochs=12)
    built = batched.train_batched(problem, folds, recipe)
    for fold, classifiers in zip(folds, built, strict=True):
        assert len(classifiers) == len(fold.l2)
        for alone, classifier in zip(sequential.train_sequential(problem, [fold], recipe)[0], classifiers, strict=True):
            assert alone.dev_accuracy == classifier.dev_accuracy
            for a, b in zip(alone.layers, classifier.layers, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_training_leaves_the_global_generators_alone(way):
    torch.manual_seed(3)
    np.random.seed(3)
    before = torch.random.get_rng_state(), np.random.get_state()[1].tolist()
    way(noisy(60), some_folds(noisy(60), 2), ClassifierRecipe(hidden=3, dropout=0.5, max_epochs=0))
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert before[1] == np.random.get_state()[1].tolist()


def test_a_hidden_layer_learns_what_a_line_cannot():
    x = np.random.default_rng(0).uniform(-1, 1, (600, 2)).astype(np.float32) * 3
    problem = Problem(x, (x[:, 0] * x[:, 1] > 0).astype(int), 2)
    [fold] = some_folds(problem, 2, (1e-5,))[:1]
    patient = ClassifierRecipe(patience=100, learning_rate=0.02, max_epochs=60)
    [[line]], [[curve]] = (
        batched.train_batched(problem, [fold], ClassifierRecipe(**{**vars(patient), "hidden": hidden}))
        for hidden in (0, 8)
    )
    assert line.dev_accuracy < 0.7 < 0.9 < curve.dev_accuracy


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_constant_features_say_the_commonest_class(way):
    y = np.array([0] * 60 + [1] * 20)
    problem = Problem(np.zeros((80, 4), np.float32), y, 2)
    [[classifier]] = way(problem, some_folds(problem, 2, (1e-5,))[:1], ClassifierRecipe(learning_rate=0.05))
    assert classifier.predict(problem.x).tolist() == [0] * 80


def test_a_saturated_sigmoid_is_no_warning():
    huge = TrainedClassifier((np.full((1, 2), -1e30, np.float32), np.array([[1, 0], [-1, 0.5]], np.float32)), 1.0)
    assert huge.predict(np.array([[1e8], [-1e8]], np.float32)).tolist() == [1, 0]


def test_a_twentieth_is_held_out_and_nothing_is_lost():
    draw = random_starts(Fold(np.arange(100, 159), None, (0.1,)), 1111)
    assert len(draw.dev) == 2
    assert sorted([*draw.dev, *draw.train]) == list(range(100, 159))


def test_too_few_rows_to_hold_any_out_are_an_error():
    assert len(random_starts(Fold(np.arange(20), None, (0.1,)), 0).dev) == 1
    with pytest.raises(BadInput, match="19 training rows, of which 5% are held out.* at least 20"):
        random_starts(Fold(np.arange(19), None, (0.1,)), 0)


def test_only_sentevals_own_training_needs_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "likewise.evaluate.classifiers.sequential", raising=False)
    monkeypatch.delattr("likewise.evaluate.classifiers.sequential", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert classifier_trainer("fast") is batched.train_batched
    with pytest.raises(MissingExtra, match=r"--faithful.* pip install .*\[torch\]"):
        classifier_trainer("faithful")


@pytest.mark.parametrize("seed", [0, 1111, 2**32 - 1])
def test_weights_and_masks_are_drawn_as_torch_draws_them(seed):
    random, torchs = np.random.RandomState(seed), torch.Generator().manual_seed(seed)
    ours = batched.linear_weights(random, 40, 7)
    drawn = [torch.empty(size).uniform_(-(40**-0.5), 40**-0.5, generator=torchs) for size in ((7, 40), (7, 1))]
    np.testing.assert_allclose(ours, torch.cat(drawn, 1), atol=2e-8)
    kept = [batched.kept_by_dropout(random, (64, 50), p) for p in (0.9, 0.3)]
    assert [abs(mask.mean() - p) < 0.03 for mask, p in zip(kept, (0.9, 0.3), strict=True)] == [True, True]
    if not MASKS_OF_MKL:
        for mask, p in zip(kept, (0.9, 0.3), strict=True):
            assert mask.tolist() == torch.empty(64, 50).bernoulli_(p, generator=torchs).bool().tolist()


def test_classifiers_train_in_a_process_without_torch():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np\n"
        "from likewise.evaluate import EvaluationSettings\n"
        "from likewise.evaluate.runner import evaluate\n"
        "from likewise.evaluate.tasks.registry import select_tasks\n"
        "rows = {'label': [0, 1] * 100, 'text': [f'{w} {i}' for i in range(100) for w in ('bad', 'good')]}\n"
        "probe = {**rows, 'split': (['tr'] * 8 + ['va', 'te']) * 20}\n"
        "read = lambda name: probe if name.startswith('probing') else rows\n"
        "def vectors(texts): return np.array([[len(t), 't' > t[0] > 'f', 1, 0] for t in texts], np.float32)\n"
        "tasks = select_tasks('mr,sentence-length')\n"
        "results = evaluate(vectors, tasks, read=read, settings=EvaluationSettings(hidden=3))\n"
        "assert not results.failed, results.as_dict()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
