"""SBERT-WK's table: dissection of each word's path through the layers, compared with averaging by its own protocol."""

from likewise.evaluate.tasks.sts import SBERT_WK_NAMES

from ..measuring.evaluated import ModelOnTasks
from ..measuring.paired_models import PairedModels
from ..measuring.trained import TrainedByRecipe
from ..paper_table import BERT, MEAN, PaperRow, PaperTable, System
from .sbert_sts import AVERAGED_GLOVE

NLI_MODEL = "bert-base-nli-mean-tokens"
"""The backbone of the paper's last two rows."""
CLAIM = "SBERT-WK beats averaging"
_WK = "(pooling=sbert-wk)"
_SYMMETRIC = "(pooling=sbert-wk:boundary=symmetric)"
_BESIDE = ("SBERT-WK (bert-base-nli)", NLI_MODEL)
WK_ROWS = {
    "Avg. GloVe": (52.22, 49.60, 54.60, 56.26, 51.41, 64.79, 79.92, 58.40),
    "InferSent": (59.33, 58.85, 69.57, 71.26, 71.46, 75.74, 88.35, 70.65),
    "USE": (61.00, 64.00, 71.00, 74.00, 74.00, 78.00, 86.00, 72.57),
    "BERT CLS": (27.58, 22.52, 25.63, 32.11, 42.69, 52.14, 70.05, 38.96),
    "Avg. BERT": (46.87, 52.77, 57.15, 63.47, 64.51, 65.22, 80.54, 61.50),
    "SBERT-NLI-base": (64.61, 67.54, 73.22, 74.34, 70.13, 74.09, 84.23, 72.59),
    "SBERT-WK (bert-base-nli)": (70.22, 68.13, 75.46, 76.94, 74.51, 80.00, 87.38, 76.09),
}
"""Figures as printed, × 100; the last column is the mean of the others."""
_NAMES = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
_FUSION = TrainedByRecipe(*("fusion_stsb", SBERT_WK_NAMES, ("stsb/train",)), quick=("--rows", "1500"), on_tasks=True)
SBERT_WK = PaperTable(
    name="sbert-wk",
    title="SBERT-WK: its table, by its own protocol",
    citation="Wang and Kuo 2020 (arXiv 2002.06652)",
    protocol="STS12 to STS16: Pearson's correlation of cosines, as the plain mean over a year's subsets. STS-B and "
    "SICK-R: a regressor trained on frozen vectors, which raises figures so much that nothing here is comparable with "
    "Sentence-BERT's tables. Dissection starts at layer 4, or as late as its window of 2 allows; *symmetric* uses all "
    "existing neighbours, whereas the authors' code uses none if fewer than two layers precede a layer. †: trained on "
    "STS-B, whose training split shares many pairs with STS12 to STS16, so those figures are inflated.",
    columns=dict(zip(SBERT_WK_NAMES, _NAMES, strict=True)),
    paper=tuple(
        PaperRow(model, dict(zip((*SBERT_WK_NAMES, MEAN), row, strict=True))) for model, row in WK_ROWS.items()
    ),
    systems=(
        AVERAGED_GLOVE,
        System("averaged encoder", ModelOnTasks("{backbone}(pooling=mean)"), "Avg. BERT", BERT),
        System("encoder, CLS", ModelOnTasks("{backbone}(pooling=cls)"), "BERT CLS", BERT),
        System("SBERT-WK", ModelOnTasks("{backbone}" + _WK), *_BESIDE),
        System("SBERT-WK, symmetric", ModelOnTasks("{backbone}" + _SYMMETRIC), *_BESIDE),
        System("tuned, as it is", ModelOnTasks("{model}"), "SBERT-NLI-base", NLI_MODEL),
        System("tuned, SBERT-WK", ModelOnTasks("{model}" + _WK), *_BESIDE),
        System("tuned, SBERT-WK, symmetric", ModelOnTasks("{model}" + _SYMMETRIC), *_BESIDE),
        System("learned fusion of all layers, on STS-B †", _FUSION),
        System("SBERT-WK minus averaging", PairedModels("{backbone}" + _WK, "{backbone}(pooling=mean)"), claim=CLAIM),
        System("tuned: SBERT-WK minus as it is", PairedModels("{model}" + _WK, "{model}"), claim=CLAIM),
    ),
    measures={task: (task, None) for task in SBERT_WK_NAMES},
    mean=True,
)
