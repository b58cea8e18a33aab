"""The path of a GPU, walked without one: vectors, scores, losses and gradients are the CPU's (`make gpu-walk`)."""

import json
import sys
import types
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
import torch

from likewise import Embedder, Reranker
from likewise.arrays.correlation import spearman
from likewise.arrays.reductions import REDUCTIONS
from likewise.cli.main import main
from likewise.encoders import packed_kernel
from likewise.reranker import PolyEncoder
from likewise.runtime.devices import PRECISIONS
from likewise.train.data.examples import Examples
from likewise.train.layers.early_exit import try_exits
from likewise.train.layers.fusion_training import FusionEvaluation, FusionSettings, layer_vectors
from likewise.train.layers.layer_selection import select_layers
from likewise.train.objectives import RERANKER_OBJECTIVES, parse_objective
from likewise.train.run import train
from likewise.train.settings import TrainSettings
from likewise.train.static_distillation import distil_static
from likewise.train.step import embedder_step
from likewise.train.step.memory import StepOptions, TokenBudget
from likewise.train.step.trainable import backward, check_objective
from likewise.train.teacher_outputs import teacher_outputs
from tests.distribute.outputs import numbered, rows_of
from tests.gpu.stand_in import DEVICE, INSTEAD, LOG, OnDevice
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
from tests.train.columns import EVERY, batch_for, model_for
from tests.train.run_trainer import run_trainer, source
from tests.train.step.test_reranker_step import BOTH as RERANKING

MOST = {"fp32": 1e-5, "fp16": 1e-2, "bf16": 1e-1}
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
        layers = list(moved(tokens.like(tokens.values.cuda())))
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
    "in parts": {"token_budget": 40},
    "fp16 autocast": {"dtype": torch.float16},
    "bf16 autocast": {"dtype": torch.bfloat16},
}


def stepped(model, objective, way, device):
    """Loss and gradients of one step on this device."""
    model, objective = model.to(device).eval(), objective.to(device)
    model.encoder.recomputes = way == "checkpointed"
    how = WAYS[way] if device != "cpu" else {}
    options = StepOptions(TokenBudget(how.get("token_budget")), how.get("dtype"))
    torch.manual_seed(0)  # of TSDAE's noise
    result = backward(model, objective, batch_for(objective), options)
    assert (result.parts > 2) == (way == "in parts" and device != "cpu")
    gradients = [p.grad for part in (model, objective) for p in part.parameters()]
    assert all(g is None or g.device.type == device for g in gradients)
    return [torch.tensor(result.loss)], [torch.zeros(1) if g is None else g for g in gradients]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*EVERY, *(f"{kind} {name}" for kind, name in RERANKING)])
def test_every_objective_has_the_cpus_loss_and_gradient(name, way, own, walked):
    precision = way[:4] if "autocast" in way else "fp32"
    results = [stepped(*learner(name, own()), way, device) for device in ("cuda", "cpu")]
    for what, found, expected in zip(("loss", "gradient"), *results, strict=True):
        walked(f"{what} of every objective, {way}", precision, difference(found, expected), 10 * MOST[precision])


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
        model = model_for(objective, model)
    check_objective(model, objective)
    return model, objective


def test_dropout_drops_the_same_when_the_forward_pass_is_repeated(own, walked, monkeypatch):
    """Of two passes in parts, the vectors are equal; of a checkpointed step and a whole one, the gradients."""
    found, vectors, packed_forward = [], [], embedder_step.packed_forward
    for way in ("whole", "checkpointed", "in parts"):
        model, objective = learner("contrastive", own())
        model = model.to("cuda").train()
        model.encoder.recomputes = way == "checkpointed"
        torch.cuda.manual_seed(3)
        monkeypatch.setattr(embedder_step, "packed_forward", lambda *a: vectors.append(x := packed_forward(*a)) or x)
        before = torch.get_rng_state()
        backward(model, objective, batch_for(objective), StepOptions(TokenBudget(40 if way == "in parts" else None)))
        assert torch.equal(before, torch.get_rng_state())  # the device has random numbers of its own
        found.append([p.grad for p in model.parameters() if p.grad is not None])
    half = (len(vectors) - 2) // 2
    assert half > 2
    walked("dropout, checkpointed as whole", "fp32", difference(found[1], found[0]), 1e-6)
    walked("dropout, second pass as first", "fp32", difference(vectors[2 + half :], vectors[2 : 2 + half]), 0.0)
    with pytest.raises(AssertionError, match="differs"):  # another seed drops others
        walked("", "fp32", difference(vectors[1:2], [learner("contrastive", own())[0].encode(TEXTS)]), 0.0)


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
        np.testing.assert_array_equal(
            Embedder.load(tmp_path / "saved", device=device).encode(TEXTS), model.encode(TEXTS)
        )
    walked("a run, stopped and resumed: change of weights", precision, difference(*changes), 20 * MOST[precision])


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
    texts, made = [f"{text} {i}" for i in range(5) for text in TEXTS if text], []
    pairs = Examples(np.arange(40).reshape(20, 2), np.arange(20.0))
    for device in ("cuda", "cpu"):
        model = Embedder.load(own(), engine="torch", device=device, precision="fp32")
        vectors, evaluation = layer_vectors(model, texts), FusionEvaluation(spearman)
        exits = [
            e.embedder for e in try_exits(model, texts, vectors, pairs, [3, 1], evaluation, FusionSettings(epochs=1))
        ]
        layers = model.with_pooling(select_layers(model, texts).best.pooling)
        distil_static(model, tmp_path / f"static-{device}", dimensions=8)
        static = Embedder.load(tmp_path / f"static-{device}", engine="torch", device=device)
        assert len({str(m.device) for m in (model, *exits, layers)}) == 1 and str(model.device).startswith(device)
        made.append([m.encode(TEXTS) for m in (*exits, layers, static)])
    for what, found, expected in zip(("fused", "exit", "select-layers", "distil-static"), *made, strict=True):
        walked(f"models made from one: {what}", "fp32", difference([found], [expected]), 1e-4)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_the_packed_kernel_and_padding_give_the_same(family, trains, precision, walked, monkeypatch, recwarn):
    """The kernel is the slow one of the stand-in, so that its call and its test are walked, not its speed."""
    results, calls = [], LOG["aten._flash_attention_forward.default"]
    for way in ("", "plain"):
        monkeypatch.setenv(packed_kernel.VARIABLE, way)
        encoder, tokens = random_encoder(config_of(family)).to("cuda", PRECISIONS[precision]), pack([9, 9, 4, 1])
        with torch.set_grad_enabled(trains):
            *_, last = encoder(tokens.like(tokens.values.cuda()))
        if trains:
            last.float().square().sum().backward()
        results.append([last, *(p.grad for p in encoder.parameters() if p.grad is not None)])
    assert not len(recwarn) and (len(results[0]) > 1) == trains and LOG["aten._flash_attention_forward.default"] > calls
    walked("packed kernel as padding" + ", gradients" * trains, precision, difference(*results), MOST[precision])


def test_a_kernel_that_fails_is_left_out_with_one_warning(own, monkeypatch, walked):
    monkeypatch.delitem(INSTEAD, "aten._flash_attention_forward.default")
    packed_kernel._passes.cache_clear()
    packed_kernel._warned.clear()
    model, cpu = on_both(own(), "bf16")
    with pytest.warns(UserWarning, match="Sentences are padded instead") as caught:
        vectors = model.encode(TEXTS)
    assert len(caught) == 1
    walked("encode without the packed kernel", "bf16", difference([vectors], [cpu.encode(TEXTS)]), MOST["bf16"])
    packed_kernel._passes.cache_clear()


def test_rays_actors_get_a_gpu_each_and_encode_on_it(own, tmp_path, monkeypatch, walked, capsys):
    ray = local_ray(monkeypatch)
    source, folder, outputs = numbered(tmp_path / "n.jsonl", 12), own(), {}
    for device in ("cuda", "cpu"):
        how = ["--engine", "torch", "--device", device, "--precision", "fp32", "--shard-rows", "4", "-q"]
        assert (
            main(["encode", str(source), "-m", str(folder), "-o", str(tmp_path / device), "--ray", "local", *how]) == 0
        )
        outputs[device] = [row["vector"] for row in rows_of(tmp_path / device)]
    walked("shards of Ray's actors", "fp32", difference(outputs["cuda"], outputs["cpu"]), MOST["fp32"])
    assert ray.needs == [{"num_gpus": 1}, {"num_gpus": 1}, {"num_cpus": 1}, {"num_cpus": 1}, {"num_cpus": 1}]
    assert ray.devices == ["cuda:0", "cuda:0", "cpu", "cpu", "cpu"]


def local_ray(monkeypatch):
    """Ray's interface over this process: two GPUs and three processors, and what the actors asked for."""
    ray = types.ModuleType("ray")
    ray.needs, ray.devices, ray.exceptions = [], [], types.ModuleType("ray.exceptions")
    for name in ("RayActorError", "RayError", "RayTaskError"):
        setattr(ray.exceptions, name, type(name, (Exception,), {}))

    class Actor:
        def __init__(self, actor):
            self.actor = actor

        def __getattr__(self, name):
            def remote(*arguments):
                result = getattr(self.actor, name)(*arguments)
                if name == "load":
                    ray.devices.append(str(self.actor._embedder.device))
                return [result]  # a reference

            return types.SimpleNamespace(remote=lambda *a: Reference(remote(*a)[0]))

    class Reference:
        def __init__(self, value):
            self.value = value

    def options(cls, **needs):
        return types.SimpleNamespace(remote=lambda *a: ray.needs.append(needs) or Actor(cls(*a)))

    def remote(**_):
        return lambda cls: types.SimpleNamespace(options=lambda **needs: options(cls, **needs))

    ray.remote, ray.put, ray.get, ray.kill = remote, lambda x: x, lambda r: r.value, lambda _: None
    ray.wait = lambda references, **_: (references[:1], references[1:])
    ray.is_initialized = lambda: True
    ray.cluster_resources = ray.available_resources = lambda: {"GPU": 2, "CPU": 3}
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.exceptions", ray.exceptions)
    monkeypatch.delitem(sys.modules, "likewise.distribute.workers.ray_cluster", raising=False)
    return ray


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
