"""Sentence-BERT's tables 1 and 2: semantic textual similarity, without and with task-specific training."""

from collections.abc import Mapping

from likewise.evaluate.tasks.sts import STS_NAMES

from ..measuring.evaluated import ModelOnTasks
from ..measuring.paired_models import PairedModels
from ..measuring.trained import TrainedByRecipe
from ..paper_table import BERT, MEAN, PaperRow, PaperTable, System
from ..reporting.run_lines import IN_TWO_RUNS

SBERT = "Reimers and Gurevych 2019 (arXiv 1908.10084)"
GLOVE = "50-dimensional GloVe from 6 billion tokens (paper: 300 dimensions, 840 billion tokens)"
HEADS = {f"sts{year}": f"STS{year}" for year in range(12, 17)} | {"stsb": "STS-B", "sick-r": "SICK-R"}
SMALL_RATE = ("--learning-rate", "1e-4")
"""Small backbones learn STS-B's scores at this rate, but hardly at the paper's 2e-5 for BERT-base (docs/results.md)."""
QUICK_TRAINING = ("--rows", "2000")
"""Flags for training with --quick, with which all tables take less than an hour on two cores."""

AVERAGED_GLOVE = System("averaged GloVe", ModelOnTasks("avg-glove"), "Avg. GloVe", differs=GLOVE)
AVERAGED = System("averaged encoder", ModelOnTasks("bert-avg({backbone})"), "Avg. BERT", BERT)
FIRST_TOKEN = System("encoder, CLS", ModelOnTasks("bert-cls({backbone})"), "BERT CLS", BERT)
TUNED = System(
    "tuned for sentences",
    ModelOnTasks("{model}"),
    "SBERT-NLI-base",
    differs="a different model with different training data",
)
SOFTMAX = TrainedByRecipe("sbert_nli", STS_NAMES, ("nli/train",), quick=QUICK_TRAINING)
RANKING = TrainedByRecipe(
    *("sbert_nli", STS_NAMES, ("nli/triplets",)),
    flags=("--objective", "contrastive", "--batch-size", "64", "--learning-rate", "1e-4"),
    quick=QUICK_TRAINING,
)
TRAINED_ON_NLI = (
    System("NLI, softmax", SOFTMAX, "SBERT-NLI-base", BERT),
    System("NLI, ranking in the batch", RANKING, "SBERT-NLI-base", differs="a different objective, recommended since"),
)
INFERSENT = System(
    "InferSent",
    TrainedByRecipe(
        *("baselines.infersent", STS_NAMES, ("nli/train",)),
        start="avg-glove",
        flags=("--width", "256", "--epochs", "1"),
        quick=QUICK_TRAINING,
    ),
    "InferSent",
    differs=f"256 units per direction, one linear layer on top; {GLOVE}",
)
DEEP_AVERAGING = System(
    "deep averaging network",
    TrainedByRecipe(
        *("baselines.deep_averaging", STS_NAMES, ("nli/train",)),
        start="avg-glove",
        quick=(*QUICK_TRAINING, "--epochs", "1"),
    ),
    "USE",
    differs="an architecture like its smaller one, trained only on NLI",
)
SMALL_TRANSFORMER = System(
    "small transformer",
    TrainedByRecipe(
        *("baselines.small_transformer", STS_NAMES, ("nli/triplets",)),
        quick=(*QUICK_TRAINING, "--epochs", "1"),
    ),
    "USE",
    differs="an architecture like its larger one, trained only on NLI from random weights",
)

NLI_RUNS = {
    "sbert-nli": "SBERT-NLI-base",
    "sbert-nli-contrastive": "SBERT-NLI-base",
    "infersent": "InferSent",
    "deep-averaging": "USE",
    "small-transformer-contrastive": "USE",
}
"""Recipes whose recorded runs are rows of table 1, and the paper's row that each is compared with."""
STSB_RUNS = {
    "sbert-nli": "SBERT-NLI-base",
    "sbert-stsb": "SBERT-base, STSb",
    "cross-encoder-stsb": "BERT-base, STSb",
    "sbert-nli-then-stsb": "SBERT-base, NLI then STSb",
    IN_TWO_RUNS[0]: "SBERT-base, NLI then STSb",
}
"""The same for table 2."""

TABLE_1 = {
    model: dict(zip((*STS_NAMES, MEAN), row, strict=True))
    for model, row in {
        "Avg. GloVe": (55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76, 61.32),
        "Avg. BERT": (38.78, 57.98, 57.98, 63.15, 61.06, 46.35, 58.40, 54.81),
        "BERT CLS": (20.16, 30.01, 20.09, 36.88, 38.08, 16.50, 42.63, 29.19),
        "InferSent": (52.86, 66.75, 62.15, 72.77, 66.87, 68.03, 65.65, 65.01),
        "USE": (64.49, 67.80, 64.61, 76.83, 73.18, 74.92, 76.69, 71.22),
        "SBERT-NLI-base": (70.97, 76.53, 73.19, 79.09, 74.30, 77.03, 72.91, 74.89),
        "SBERT-NLI-large": (72.27, 78.46, 74.90, 80.99, 76.25, 79.23, 73.75, 76.55),
        "SRoBERTa-NLI-base": (71.54, 72.49, 70.80, 78.74, 73.69, 77.77, 74.46, 74.21),
        "SRoBERTa-NLI-large": (74.53, 77.00, 73.18, 81.85, 76.82, 79.10, 74.29, 76.68),
    }.items()
}
"""Spearman × 100 as printed. The last column differs from the mean of the others by rounding."""

SBERT_1 = PaperTable(
    name="sbert-1",
    title="Sentence-BERT, table 1: textual similarity without task-specific training",
    citation=SBERT,
    protocol="Spearman's correlation of cosines with human ratings, over all pairs of a year at once; test splits of "
    "STS-B and SICK-R. The last column is the plain mean of the seven.",
    columns=HEADS,
    paper=tuple(PaperRow(model, row) for model, row in TABLE_1.items()),
    systems=(
        AVERAGED_GLOVE,
        AVERAGED,
        FIRST_TOKEN,
        INFERSENT,
        DEEP_AVERAGING,
        SMALL_TRANSFORMER,
        *TRAINED_ON_NLI,
        TUNED,
        System(
            "averaging minus CLS",
            PairedModels("bert-avg({backbone})", "bert-cls({backbone})"),
            claim="averaging beats CLS",
        ),
    ),
    measures={task: (task, None) for task in STS_NAMES},
    recorded=lambda run: NLI_RUNS.get(run["recipe"]),
    claims_on=("untrained", "random", "sbert-nli", "sbert-nli-contrastive"),
    mean=True,
)

UNTRAINED_ROWS = ("Avg. GloVe", "Avg. BERT", "InferSent", "USE", "SBERT-NLI-base", "SBERT-NLI-large")
STSB: Mapping[str, tuple[float, float | None]] = {
    **{model: (TABLE_1[model]["stsb"], None) for model in UNTRAINED_ROWS},
    "BERT-base, STSb": (84.30, 0.76),
    "SBERT-base, STSb": (84.67, 0.19),
    "SRoBERTa-base, STSb": (84.92, 0.34),
    "BERT-large, STSb": (85.64, 0.81),
    "SBERT-large, STSb": (84.45, 0.43),
    "SRoBERTa-large, STSb": (85.02, 0.76),
    "BERT-base, NLI then STSb": (88.33, 0.19),
    "SBERT-base, NLI then STSb": (85.35, 0.17),
    "SRoBERTa-base, NLI then STSb": (84.79, 0.38),
    "BERT-large, NLI then STSb": (88.77, 0.46),
    "SBERT-large, NLI then STSb": (86.10, 0.13),
    "SRoBERTa-large, NLI then STSb": (86.15, 0.35),
}
"""Spearman × 100 on STS-B's test split, and its standard deviation over ten seeds."""
_ON_STSB = TrainedByRecipe(
    *("sbert_stsb", ("stsb",), ("stsb/train",)),
    small=SMALL_RATE,
    quick=(*QUICK_TRAINING, "--epochs", "1", "--tasks", "stsb"),
)
_CROSS = TrainedByRecipe(
    *("rerankers_stsb", ("stsb",), ("stsb/train",)),
    flags=("--kind", "cross"),
    small=SMALL_RATE,
    quick=(*QUICK_TRAINING, "--epochs", "1"),
)
_POLY = TrainedByRecipe(
    *("rerankers_stsb", ("stsb",), ("stsb/train",)),
    flags=("--kind", "poly"),
    small=SMALL_RATE,
    quick=(*QUICK_TRAINING, "--epochs", "1"),
)
_NLI_THEN_STSB = TrainedByRecipe(
    *("sbert_nli_then_stsb", ("stsb",), ("nli/train", "stsb/train")),
    small=SMALL_RATE,
    quick=(*QUICK_TRAINING, "--epochs", "1", "--tasks", "stsb"),
)
SBERT_2 = PaperTable(
    name="sbert-2",
    title="Sentence-BERT, table 2: the STS benchmark, with training",
    citation=SBERT,
    protocol="Spearman's correlation on STS-B's test split, with cosines for embedders and with scores for rerankers, "
    "which read both sentences at once. Training takes four epochs with a batch size of 16; the paper uses ten seeds.",
    columns={"stsb": "STS-B"},
    paper=tuple(
        PaperRow(model, {"stsb": value}, {} if sd is None else {"stsb": sd}) for model, (value, sd) in STSB.items()
    ),
    systems=(
        AVERAGED_GLOVE,
        AVERAGED,
        *TRAINED_ON_NLI,
        TUNED,
        System("STS-B, cosine", _ON_STSB, "SBERT-base, STSb", BERT),
        System("STS-B, cross-encoder", _CROSS, "BERT-base, STSb", BERT),
        System("STS-B, poly-encoder", _POLY),
        System("NLI, then STS-B, cosine", _NLI_THEN_STSB, "SBERT-base, NLI then STSb", BERT),
    ),
    measures={"stsb": ("stsb", None)},
    recorded=lambda run: STSB_RUNS.get(run["recipe"]),
    claims_on=(
        *("sbert-stsb", "cross-encoder-stsb", "poly-encoder-stsb"),
        *("sbert-nli-then-stsb", "sbert-nli-then-stsb-contrastive", *IN_TWO_RUNS),
    ),
)
