"""Logistic regression by L-BFGS, multinomial or one per label, and the temperature that calibrates it."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..array_types import Bool, Float

Matrix = Float[np.ndarray, "_ _"]
Right = Bool[np.ndarray, " _"]
Vector = Float[np.ndarray, " _"]
LossAndGradient = Callable[[Vector], tuple[float, Vector]]
MEMORY, STEPS = 10, 200  # correction pairs to keep, a common choice; maximum number of iterations
_FLAT = 1e-4  # stop when the gradient has shrunk to this fraction of the one at zero
_SUFFICIENT, _HALVINGS = 1e-4, 20  # Armijo's constant; how often a step may be halved to meet the condition
HOTTEST = 20.0  # temperatures from 1/20 to 20 are tried


def probabilities(logits: Matrix, is_multi_label: bool) -> Matrix:
    """Softmax over the classes, or a sigmoid for each label."""
    if is_multi_label:
        return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(shares / shares.sum(1, keepdims=True))


def log_loss(logits: Matrix, truth: Matrix, is_multi_label: bool) -> float:
    """The mean negative log-likelihood per text, in nats; the losses of one text's labels are summed."""
    if is_multi_label:
        return float((np.logaddexp(0, logits) - truth * logits).sum(1).mean())
    top = logits.max(1)
    return float((top + np.log(np.exp(logits - top[:, None]).sum(1)) - (truth * logits).sum(1)).mean())


def logits_of(weights: Matrix, x: Matrix) -> Matrix:
    """`weights` is (classes, dimensions + 1); the last column is the bias."""
    return np.asarray(x @ weights[:, :-1].T + weights[:, -1], np.float64)


def fit_logistic(x: Matrix, truth: Matrix, l2: float, is_multi_label: bool, start: Matrix | None = None) -> Matrix:
    """Minimize the mean log loss plus l2 / 2 × the squared weights of standardized features, excluding biases.

    Features are centred and divided by a single number, their root mean square, which preserves their geometry. The
    returned weights apply to x itself. `start` is a solution for another l2 on the same rows.
    """
    x = np.asarray(x, np.float32)
    mean = x.mean(0)
    scale = float(np.sqrt(np.square(x - mean).mean())) or 1.0
    standard, target = (x - mean) / scale, truth.astype(np.float32)
    shape = truth.shape[1], x.shape[1] + 1

    def loss(flat: Vector) -> tuple[float, Vector]:
        weights = flat.reshape(shape).astype(np.float32)
        logits = logits_of(weights, standard)
        error = ((probabilities(logits, is_multi_label) - target) / len(x)).astype(np.float32)
        gradient = np.concatenate([error.T @ standard + l2 * weights[:, :-1], error.sum(0)[:, None]], 1)
        penalty = l2 / 2 * float(np.square(weights[:, :-1], dtype=np.float64).sum())
        return log_loss(logits, target, is_multi_label) + penalty, gradient.ravel().astype(np.float64)

    first = np.zeros(shape) if start is None else _standardized(start, mean, scale)
    found = minimize(loss, first.ravel()).reshape(shape)
    inner = found[:, :-1] / scale
    return np.concatenate([inner, (found[:, -1] - inner @ mean)[:, None]], 1)


def fit_path(x: Matrix, truth: Matrix, penalties: Sequence[float], is_multi_label: bool) -> Iterator[Matrix]:
    """The weights for each penalty, along a regularization path: each fit starts from the previous solution.

    `minimize` stops before the exact minimum, so weights are comparable only if they were found along the same path.
    """
    weights = None
    for l2 in penalties:
        weights = fit_logistic(x, truth, l2, is_multi_label, weights)
        yield weights


def _standardized(weights: Matrix, mean: Vector, scale: float) -> Matrix:
    bias = weights[:, -1] + weights[:, :-1] @ mean
    return np.concatenate([weights[:, :-1] * scale, bias[:, None]], 1)


def minimize(function: LossAndGradient, start: Vector) -> Vector:
    """The minimum of a smooth convex function, by L-BFGS (Liu and Nocedal 1989) with step halving."""
    at = start.astype(np.float64)
    value, gradient = function(at)
    flat = _FLAT * float(np.linalg.norm(function(np.zeros_like(at))[1]))
    pairs: deque[tuple[Vector, Vector]] = deque(maxlen=MEMORY)
    for _ in range(STEPS):
        if np.linalg.norm(gradient) <= flat:
            break
        direction = -_inverse_hessian_times(gradient, pairs)
        slope, size = float(gradient @ direction), 1.0
        for _ in range(_HALVINGS):
            moved = at + size * direction
            new_value, new_gradient = function(moved)
            if new_value <= value + _SUFFICIENT * size * slope:
                break
            size /= 2
        else:
            break  # no step goes downhill anymore, because of rounding
        step, change = moved - at, new_gradient - gradient
        if step @ change > 1e-12 * (step @ step):
            pairs.append((step, change))
        at, value, gradient = moved, new_value, new_gradient
    return at


def _inverse_hessian_times(gradient: Vector, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """The two-loop recursion of L-BFGS (Nocedal and Wright 2006, algorithm 7.4)."""
    result, parts = gradient.copy(), []
    for step, change in reversed(pairs):
        parts.append((step @ result) / (step @ change))
        result -= parts[-1] * change
    if pairs:
        step, change = pairs[-1]
        result *= (step @ change) / (change @ change)
    for (step, change), part in zip(pairs, reversed(parts), strict=True):
        result += step * (part - (change @ result) / (step @ change))
    return result


def best_temperature(logits: Matrix, truth: Matrix, is_multi_label: bool) -> float:
    """The temperature with the smallest log loss of logits / temperature (Guo et al. 2017), by golden section."""
    low, high, golden = -np.log(HOTTEST), np.log(HOTTEST), (5**0.5 - 1) / 2
    for _ in range(40):  # the interval is then 1e-8 wide
        left, right = high - golden * (high - low), low + golden * (high - low)
        losses = [log_loss(logits / np.exp(one), truth, is_multi_label) for one in (left, right)]
        low, high = (low, right) if losses[0] < losses[1] else (left, high)
    return float(np.exp((low + high) / 2))


def soft_targets(truth: Matrix, is_multi_label: bool) -> Matrix:
    """Targets (N, C) for the temperature: N correct texts suggest a probability of (N + 1) / (N + 2) (Platt 1999).

    With hard targets, the best temperature for a few separable texts would make every probability 0 or 1.
    """
    wrong = 1 / (len(truth) + 2)
    others = 1 if is_multi_label else truth.shape[1] - 1
    return np.where(truth, 1 - wrong, wrong / others)


def calibration_error(confidence: Vector, right: Right, bins: int = 15) -> float:
    """Expected calibration error: mean |accuracy − confidence| over equal-width confidence bins (Guo et al. 2017)."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    sums = np.bincount(place, confidence - right, minlength=bins)
    return float(np.abs(sums).sum() / len(confidence))
