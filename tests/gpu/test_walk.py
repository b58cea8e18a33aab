"""The path of a GPU, walked without one: vectors, scores, losses and gradients are the CPU's (`make gpu-walk`)."""

import json
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch

from likewise import Embedder, Reranker
from likewise.arrays.ragged import Ragged
from likewise.arrays.reductions import REDUCTIONS
from likewise.reranker import PolyEncoder
from likewise.runtime.devices import PRECISIONS
from likewise.train.layers.layer_selection import select_layers
from likewise.train.objectives import RERANKER_OBJECTIVES, parse_objective
from likewise.train.run import train
from likewise.train.settings import TrainSettings
from likewise.train.static_distillation import distil_static
from likewise.train.step import embedder_step
from likewise.train.step.memory import StepOptions, TokenBudget
from likewise.train.step.trainable import backward, check_objective
from likewise.train.teacher_outputs import teacher_outputs
from tests.gpu.stand_in import DEVICE, OnDevice
from tests.tiny import (
    CONFIGS,
    LONG,
    TEXTS,
    classifier_folder,
    colbert_folder,
    config_of,
    model_folder,
    pack,
    random_encoder,
)
from tests.train.columns import EVERY, batch_for
from tests.train.run_trainer import run_trainer, source
from tests.train.step.test_reranker_step import BOTH as RERANKING

MOST = {"fp32": 1e-5, "fp16": 1e-2, "bf16": 5e-2}
"""The largest difference from the CPU in fp32 that rounding explains, relative to the size of what is compared."""
precisions = pytest.mark.parametrize("precision", PRECISIONS)
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def difference(found, expected):
    """‖found − expected‖ / ‖expected‖, over all tensors or arrays."""
    a, b = (np.concatenate([_flat(x) for x in side]) for side in (found, expected))
    assert a.shape == b.shape and np.isfinite(a).all()
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-6))


def _flat(x):
    return (x.detach().cpu().double().numpy() if isinstance(x, torch.Tensor) else np.asarray(x, np.float64)).ravel()


def on_both(folder, precision, load=Embedder.load, **options):
    """A model on the device in this precision, and on the CPU in fp32."""
    model = load(folder, engine="torch", device="cuda", precision=precision, **options)
    assert all(isinstance(x, OnDevice) for x in (*model.parameters(), *model.buffers()))
    return model, load(folder, engine="torch", device="cpu", precision="fp32", **options)


@precisions
@pytest.mark.filterwarnings("ignore:PyTorch was compiled without cuDNN")
@pytest.mark.parametrize("family", CONFIGS)
def test_every_family_has_the_cpus_layers(family, precision, walked):
    encoder, tokens = random_encoder(config_of(family)), pack([9, 9, 4, 1])
    with torch.inference_mode():
        expected = [x.clone() for x in encoder(tokens)]
        moved = encoder.to("cuda", PRECISIONS[precision])
        layers = list(moved(Ragged(tokens.values.cuda(), tokens.lengths)))
    assert all(x.device == DEVICE and x.dtype == PRECISIONS[precision] for x in layers)
    walked("layers of every family", precision, difference(layers, expected), MOST[precision])


@precisions
@pytest.mark.parametrize("pooling", [*REDUCTIONS, "cls+mean", "mean:layers=0+2", "sbert-wk"])
def test_every_pooling_gives_the_cpus_vectors(pooling, precision, own, walked):
    model, cpu = on_both(own(), precision, pooling=pooling)
    walked("encode, every pooling", precision, difference([model.encode(TEXTS)], [cpu.encode(TEXTS)]), MOST[precision])


@precisions
def test_prompts_outside_the_pooling_long_texts_and_tokens_are_the_cpus(own, walked, precision):
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": False}
    spoken = {"prompts": {"query": "the query: "}, "default_prompt_name": None}
    model, cpu = on_both(own(pooling=pooling, heads=(), spoken=spoken), precision, truncate_dim=20)
    texts = [*TEXTS, LONG]
    for what, encode in (
        ("encode, a prompt outside the pooling", lambda m: [m.encode(TEXTS, prompt_name="query")]),
        ("encode, normalized", lambda m: [m.encode(TEXTS, normalize_embeddings=True)]),
        ("encode, long texts in windows", lambda m: [m.encode(texts, overflow="mean")]),
        ("encode, long texts cut, tiny batches", lambda m: [m.encode(texts, overflow="truncate", batch_tokens=9)]),
        ("encode, tokens", lambda m: m.encode_tokens(TEXTS)),
        ("encode, all layers of tokens", lambda m: m.encode_layers(TEXTS)),
        ("encode, a tensor", lambda m: [m.encode_tensor(TEXTS)]),
    ):
        walked(what, precision, difference(encode(model), encode(cpu)), MOST[precision])
    assert model.encode_tensor(TEXTS).device == DEVICE


@precisions
@pytest.mark.parametrize("kind", ["cross-encoder", "poly-encoder", "late interaction"])
def test_every_reranker_gives_the_cpus_scores(kind, precision, tmp_path, walked):
    pairs = [(TEXTS[i], TEXTS[-i]) for i in range(9)]
    if kind == "poly-encoder":
        PolyEncoder.start(Embedder.load(model_folder(tmp_path / "bert"), engine="torch", device="cpu"), 5).save(
            tmp_path / "m"
        )
    else:
        (classifier_folder if kind == "cross-encoder" else colbert_folder)(tmp_path / "m")
    model, cpu = (
        Reranker.load(tmp_path / "m", engine="torch", device=d, precision=p)
        for d, p in (("cuda", precision), ("cpu", "fp32"))
    )
    assert torch.device(str(model.device)).type == "cuda"
    walked(
        f"scores, {kind}",
        precision,
        difference(*([m.score(pairs, overflow="truncate")] for m in (model, cpu))),
        MOST[precision],
    )


WAYS = {
    "whole": {},
    "checkpointed": {},
    "in parts": {"token_budget": 16},
    "fp16 autocast": {"dtype": torch.float16},
    "bf16 autocast": {"dtype": torch.bfloat16},
}


NAMES = [*EVERY, *(f"{kind} {name}" for kind, name in RERANKING)]
IN_EVERY_WAY = ("contrastive", "classification", "batch-triplets", "similarity-distillation", "tsdae", "cross ranking")
"""Pairs, labels, one text, a teacher's numbers, a decoder, a cross-encoder; the others take a whole step."""
STEPS = [(name, way) for name in NAMES for way in WAYS if way == "whole" or name in IN_EVERY_WAY]


def stepped(model, objective, way, device):
    """Loss and gradients of one step on this device."""
    model, objective = model.to(device).eval(), objective.to(device)
    model.encoder.recomputes = way == "checkpointed"
    how = WAYS[way] if device != "cpu" else {}
    options = StepOptions(TokenBudget(how.get("token_budget")), how.get("dtype"))
    torch.manual_seed(0)  # of TSDAE's noise
    result = backward(model, objective, batch_for(objective), options)
    assert (result.parts > 1) == (way == "in parts" and device != "cpu")
    gradients = [p.grad for part in (model, objective) for p in part.parameters()]
    assert all(g is None or g.device.type == device for g in gradients)
    return [torch.tensor(result.loss)], [torch.zeros(1) if g is None else g for g in gradients]


@pytest.mark.parametrize(("name", "way"), STEPS)
def test_every_objective_has_the_cpus_loss_and_gradient(name, way, own, walked):
    precision = way[:4] if "autocast" in way else "fp32"
    results = [stepped(*learner(name, own()), way, device) for device in ("cuda", "cpu")]
    for what, found, expected in zip(("loss", "gradient"), *results, strict=True):
        walked(f"{what} of objectives, {way}", precision, difference(found, expected), 3 * MOST[precision])


def learner(name, folder):
    """An untrained model, the same each time, and an objective that fits it."""
    torch.manual_seed(0)
    model = Embedder.load(folder, engine="torch", device="cpu")
    kind, _, spec = name.partition(" ")
    if kind in ("cross", "poly"):
        objective = parse_objective(spec, RERANKER_OBJECTIVES)
        model = Reranker.start(model, objective.num_labels) if kind == "cross" else PolyEncoder.start(model, 5)
    else:
        objective = EVERY[name]()
    check_objective(model, objective)
    return model, objective


def test_dropout_drops_the_same_when_the_forward_pass_is_repeated(own, walked, monkeypatch):
    """Of two passes in parts, the vectors are equal; of a checkpointed step and a whole one, the gradients."""
    found, vectors, packed_forward = [], [], embedder_step.packed_forward
    for way, seed in (("whole", 3), ("checkpointed", 3), ("in parts", 3), ("whole", 4)):
        model, objective = learner("contrastive", own())
        model = model.to("cuda").train()
        model.encoder.recomputes = way == "checkpointed"
        torch.cuda.manual_seed(seed)
        monkeypatch.setattr(embedder_step, "packed_forward", lambda *a: vectors.append(x := packed_forward(*a)) or x)
        before = torch.get_rng_state()
        backward(model, objective, batch_for(objective), StepOptions(TokenBudget(40 if way == "in parts" else None)))
        assert torch.equal(before, torch.get_rng_state())  # the device has random numbers of its own
        found.append([p.grad for p in model.parameters() if p.grad is not None])
    half = (len(vectors) - 3) // 2  # whole steps pass once, one in parts twice
    assert half > 2
    walked("dropout, checkpointed as whole", "fp32", difference(found[1], found[0]), 1e-6)
    walked(
        "dropout, second pass as first",
        "fp32",
        difference(vectors[2 + half : 2 + 2 * half], vectors[2 : 2 + half]),
        0.0,
    )
    assert difference(found[3], found[0]) > 1e-3  # another seed drops others


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("correction", [True, False])
def test_a_run_that_is_stopped_and_resumed_has_the_weights_of_the_cpu(precision, correction, own, tmp_path, walked):
    settings = TrainSettings(
        max_steps=4, batch_size=8, precision=precision, ema_decay=0.9, eval_steps=2, save_steps=1,
        gradient_checkpointing=True, adam_bias_correction=correction, learning_rate=1e-3,
    )  # fmt: skip
    changes, folder, data = [], own(changes=NO_DROPOUT), "classification"
    for device in ("cuda", "cpu"):
        run = settings if device == "cuda" else replace(settings, precision="fp32")
        scores, steps = count(), count()  # rising scores, so that the last weights are the best ones
        evaluator = lambda m, n=scores: {"score": next(n) * len(m.encode(TEXTS))}  # noqa: E731
        how = {"checkpoint_folder": tmp_path / device, "evaluator": evaluator}
        for stop in (lambda n=steps: next(n) == 1, lambda: False):
            model, objective = learner(data, folder)
            result = run_trainer(model.to(device), [source(objective, 16)], run, stop=stop, **how)
        assert (result.steps, result.interrupted) == (4, False)
        before, after = learner(data, folder)[0].parameters(), model.parameters()
        changes.append([p.cpu() - q for p, q in zip(after, before, strict=True)])
        model.save(tmp_path / "saved")
        saved = Embedder.load(tmp_path / "saved", engine="torch", device=device, precision="fp32")
        np.testing.assert_array_equal(saved.encode(TEXTS), model.encode(TEXTS))
    walked("a run, stopped and resumed: change of weights", precision, difference(*changes), 3 * MOST[precision])


def test_train_writes_a_model_that_is_the_trained_one_and_names_the_device(own, tmp_path, walked):
    model, objective = learner("contrastive", own())
    settings = TrainSettings(max_steps=1, batch_size=8, precision="bf16")
    train(model.to("cuda"), source(objective, 8), settings, output=tmp_path / "out")
    loaded = Embedder.load(tmp_path / "out", engine="torch", device="cpu")
    assert json.loads((tmp_path / "out/run.json").read_text())["machine"]["device"] == torch.cuda.get_device_name()
    walked("train, its saved model", "fp32", difference([model.encode(TEXTS)], [loaded.encode(TEXTS)]), MOST["fp32"])


@precisions
@pytest.mark.parametrize("kind", ["embedder", "cross-encoder"])
def test_a_teacher_on_the_device_teaches_as_on_the_cpu(kind, tmp_path, walked, precision):
    folder = (model_folder if kind == "embedder" else classifier_folder)(tmp_path / "teacher")
    model, cpu = on_both(folder, precision, Embedder.load if kind == "embedder" else Reranker.load)
    objective = parse_objective("similarity-distillation" if kind == "embedder" else "margin-mse")
    columns = {name: TEXTS[i : i + 5] for i, name in enumerate(objective.reads().texts)}
    found, expected = (
        [teacher_outputs(columns, m, objective)[name] for name in objective.reads().numbers] for m in (model, cpu)
    )
    walked(f"a teacher's outputs, {kind}", precision, difference(found, expected), MOST[precision])


def test_models_made_from_one_on_the_device_are_those_of_the_cpu(own, tmp_path, walked):
    texts, made = [f"{text} {i}" for i in range(20) for text in TEXTS if text], []
    for device in ("cuda", "cpu"):
        model = Embedder.load(own(), engine="torch", device=device, precision="fp32")
        layers = model.with_pooling(select_layers(model, texts).best.pooling)
        distil_static(model, tmp_path / f"static-{device}", dimensions=8)
        static = Embedder.load(tmp_path / f"static-{device}", engine="torch", device=device, precision="fp32")
        assert all(str(one.device).startswith(device) for one in (layers, static))
        made.append([one.encode(TEXTS[:2]) for one in (layers, static)])
    for what, found, expected in zip(("select-layers", "distil-static"), *made, strict=True):
        walked(f"models made from one: {what}", "fp32", difference([found], [expected]), 1e-4)


WRONG = [
    lambda x: x + torch.ones(3),
    lambda x: torch.ones(3).add_(x),
    lambda x: torch.cat([x, torch.ones(1)]),
    lambda x: torch.where(torch.ones(3, dtype=torch.bool), x, x),
    lambda x: x[x.bool()] + torch.ones(3),  # of a size that only the values say
    lambda x: x.numpy(),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_gpu_rejects_is_rejected(wrong):
    with pytest.raises((RuntimeError, TypeError), match=r"same device|numpy"):
        wrong(torch.ones(3, device="cuda"))


def test_what_a_gpu_accepts_is_accepted():
    x = torch.ones(3, device="cuda")
    assert float((x + torch.tensor(1.0)).sum()) == 6  # a single number of the CPU
    assert x[torch.tensor([0, 2])].device == DEVICE  # an index of the CPU
    assert x.cpu().numpy().tolist() == [1, 1, 1]
