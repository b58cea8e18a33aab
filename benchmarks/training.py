"""How fast is training, and how much memory does it take, compared with the trainer of sentence-transformers?

All contenders have the same rows, model (a BERT of 6 blocks and 384 dimensions), batch size, optimizer, learning rate,
clipping, dropout and maximum length. Every run is a new process, so that memory peaks are comparable; contenders take
turns, A B C D, A B C D. Time runs from the end of the last warm-up step to the end of the last step, as seen by each
library's own step callback, so it covers everything in a step but neither loading nor imports.

    python -m benchmarks.training [--objectives softmax contrastive] [--threads 1] [--rounds 3] [--steps N] [--warm 5]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from .options import options
from .record import RESULTS, data, machine, ratio, read, save

MODEL = "minilm-l6-h384-raw"
LONGEST = 128  # maximum number of tokens per text
RATE, DECAY, EPS, CLIP, WARMUP = 2e-5, 0.01, 1e-6, 1.0, 0.1
CONTENDERS = ("sentence-transformers fp32", "likewise fp32", "sentence-transformers bf16", "likewise bf16")
LABELS = ("contradiction", "entailment", "neutral")


@dataclass(frozen=True)
class Question:
    """The training task: its file, our objective, and the number of rows per batch."""

    title: str
    file: tuple[str, str]
    columns: tuple[str, ...]
    objective: str
    batch: int
    steps: int  # the default number of steps


QUESTIONS = {
    "softmax": Question(
        "NLI softmax", ("nli", "train.parquet"), ("sentence1", "sentence2", "label"), "classification", 16, 60
    ),
    "contrastive": Question(
        "in-batch contrastive", ("nli", "triplets.parquet"), ("anchor", "positive", "negative"), "contrastive", 64, 20
    ),
}


def main() -> None:
    """Compare all contenders; `--one CONTENDER` does a single run in this process and prints its results as JSON."""
    args = options(__doc__, objectives=QUESTIONS, threads=[1], rounds=3, steps=int, warm=5, one=(None, *CONTENDERS))
    if args.one:
        print(json.dumps(one(args.one, args.objectives[0], args.threads[0], args.steps, args.warm)))
        return
    results = []
    for name in args.objectives:
        for threads in args.threads:
            results.append(compared(name, threads, args.rounds, args.steps or QUESTIONS[name].steps, args.warm))
            show(results[-1])
    save("training", [*others(results), *results])


def others(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return earlier results for other questions."""
    known = read("training")["results"] if (RESULTS / "training.json").exists() else []
    new = {(one["question"], one["threads"]) for one in found}
    return [one for one in known if (one["question"], one["threads"]) not in new]


def compared(name: str, threads: int, rounds: int, steps: int, warm: int) -> dict[str, Any]:
    """Run every contender in every round."""
    if not 0 < warm < steps:
        raise SystemExit(f"--warm is {warm}; expected at least 1 and fewer than the {steps} steps of a run")
    runs: dict[str, list[dict[str, float]]] = {contender: [] for contender in CONTENDERS}
    for _ in range(rounds):
        for contender in CONTENDERS:
            runs[contender].append(apart(contender, name, threads, steps, warm))
    seconds = {contender: [run["seconds"] for run in some] for contender, some in runs.items()}
    question = QUESTIONS[name]
    return {
        "question": question.title,
        "batch": question.batch,
        "threads": threads,
        "rounds": rounds,
        "steps": steps,
        "warm": warm,
        "machine": machine(),
        "contenders": {contender: row(contender, runs[contender], seconds) for contender in CONTENDERS},
    }


def row(name: str, runs: list[dict[str, float]], seconds: dict[str, list[float]]) -> dict[str, float]:
    """Return medians, and the speed relative to the peer in the same round."""
    described = {key: median(run[key] for run in runs) for key in ("rows_per_s", "peak_mb", "last_loss")}
    if name.startswith("likewise"):
        described["times_peer"] = ratio(seconds, name, "sentence-transformers fp32")
        described["times_peer_same_precision"] = ratio(seconds, name, name.replace("likewise", "sentence-transformers"))
    return described


def show(question: dict[str, Any]) -> None:
    print(f"{question['question']}, batches of {question['batch']}, {question['threads']} thread(s)")
    for name, result in question["contenders"].items():
        print(f"  {name:28} {result['rows_per_s']:8.1f} rows/s  {result['peak_mb']:6.0f} MB at most", end="")
        print(f"   {result['times_peer']:.2f} × sentence-transformers fp32" if "times_peer" in result else "")


def apart(contender: str, name: str, threads: int, steps: int, warm: int) -> dict[str, float]:
    """Do one run in a new process."""
    requested = ["--one", contender, "--objectives", name, "--threads", threads, "--steps", steps, "--warm", warm]
    built = subprocess.run(
        [sys.executable, "-m", "benchmarks.training", *map(str, requested)],
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    if built.returncode:
        raise SystemExit(f"{contender}, {name}: {built.stderr[-2000:]}")
    result: dict[str, float] = json.loads(built.stdout.splitlines()[-1])
    return result


def one(contender: str, name: str, threads: int, steps: int, warm: int) -> dict[str, float]:
    """Do one run in this process; returns rows per second after warm-up, and peak memory."""
    import torch

    torch.set_num_threads(threads)
    who, precision = contender.split()
    ends, losses = (ours if who == "likewise" else theirs)(QUESTIONS[name], precision, steps)
    seconds = ends[-1] - ends[warm - 1]
    rows = (len(ends) - warm) * QUESTIONS[name].batch
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    assert len(ends) == steps, (len(ends), steps)
    return {"seconds": seconds, "rows_per_s": rows / seconds, "peak_mb": peak, "last_loss": losses[-1]}


def columns(question: Question, steps: int) -> dict[str, list[Any]]:
    """Read as many rows from the start of the file as the run needs, with labels as numbers."""
    table = pq.read_table(data(*question.file), columns=list(question.columns)).slice(0, steps * question.batch)
    result = table.to_pydict()
    if "label" in result:
        result["label"] = [LABELS.index(label) if isinstance(label, str) else label for label in result["label"]]
    return result


def model() -> Path:
    root = os.environ.get("LIKEWISE_MODELS")
    if not root or not Path(root, MODEL).exists():
        raise SystemExit(f"{MODEL} was not found; set LIKEWISE_MODELS (now {root!r}) to the folder of models")
    return Path(root, MODEL)


def ours(question: Question, precision: str, steps: int) -> tuple[list[float], list[float]]:
    """Train with likewise; returns the time at which each step ended, and its loss."""
    from likewise import Embedder
    from likewise.train.data.batch import TrainingRows
    from likewise.train.data.schedule import DataSource
    from likewise.train.objectives import parse_objective
    from likewise.train.settings import TrainSettings
    from likewise.train.trainer import Trainer

    warnings.simplefilter("ignore")  # the folder specifies no pooling, so both libraries use the mean
    objective = parse_objective(question.objective)
    embedder = Embedder.load(model(), engine="torch", device="cpu", precision="fp32", max_seq_length=LONGEST)
    settings = TrainSettings(
        max_steps=steps,
        batch_size=question.batch,
        precision=precision,
        learning_rate=RATE,
        weight_decay=DECAY,
        adam_epsilon=EPS,
        max_grad_norm=CLIP,
        warmup_ratio=WARMUP,
    )
    ends, losses = [], []

    def record_step(state: Any) -> None:
        ends.append(time.perf_counter())
        losses.append(state.loss)

    data = [DataSource(TrainingRows.of(columns(question, steps), objective), objective)]
    Trainer(model=embedder, data=data, settings=settings, callbacks=[record_step]).run()
    return ends, losses


def theirs(question: Question, precision: str, steps: int) -> tuple[list[float], list[float]]:
    """Train with sentence-transformers; returns the same as `ours`."""
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from sentence_transformers.sentence_transformer import losses as known
    from transformers import TrainerCallback

    embedder = SentenceTransformer(
        str(model()), device="cpu", model_kwargs={"dtype": torch.float32}
    )  # because the file stores the weights in fp16
    embedder.max_seq_length = LONGEST
    if question.objective == "contrastive":
        loss = known.MultipleNegativesRankingLoss(embedder)
    else:
        width = embedder.get_embedding_dimension()
        loss = known.SoftmaxLoss(embedder, width, num_labels=len(LABELS))
    ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *args: Any, **more: Any) -> None:  # noqa: ARG002
            ends.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        how = Arguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=question.batch,
            learning_rate=RATE,
            weight_decay=DECAY,
            adam_epsilon=EPS,
            max_grad_norm=CLIP,
            warmup_steps=round(WARMUP * steps),
            optim="adamw_torch_fused",
            lr_scheduler_type="linear",
            bf16=precision == "bf16",
            use_cpu=True,
            save_strategy="no",
            logging_strategy="steps",
            logging_steps=steps,
            report_to="none",
            disable_tqdm=True,
        )
        rows = Dataset.from_dict(columns(question, steps))
        trainer = SentenceTransformerTrainer(
            model=embedder, args=how, train_dataset=rows, loss=loss, callbacks=[Clock()]
        )
        embedder.train()
        trainer.train()
    return ends, [float(line["loss"]) for line in trainer.state.log_history if "loss" in line]


if __name__ == "__main__":
    main()
