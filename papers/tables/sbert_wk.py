"""SBERT-WK's table: dissecting a word's way through the layers, beside averaging, in that paper's protocol."""

from likewise.evaluate.tasks.sts import PUBLISHED_STS, SBERT_WK_NAMES

from ..measuring.evaluated import ModelOnTasks
from ..measuring.paired_models import PairedModels
from ..measuring.trained import TrainedByRecipe
from ..paper_table import MEAN, PaperRow, PaperTable, System
from .sbert_sts import AVERAGED_GLOVE, BERT

NLI_MODEL = "bert-base-nli-mean-tokens"
"""The backbone of the paper's last two rows."""
CLAIM = "SBERT-WK beats averaging"
_WK = "(pooling=sbert-wk)"
_SYMMETRIC = "(pooling=sbert-wk:boundary=symmetric)"
_BESIDE = ("SBERT-WK (bert-base-nli)", NLI_MODEL)
WK_AVERAGES = {
    "Avg. GloVe": 58.40,
    "InferSent": 70.65,
    "USE": 72.57,
    "BERT CLS": 38.96,
    "Avg. BERT": 61.50,
    "SBERT-NLI-base": 72.59,
    "SBERT-WK (bert-base-nli)": 76.09,
}
"""The table's last column as printed."""
_NAMES = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
_FUSION = TrainedByRecipe(
    *("fusion_stsb", SBERT_WK_NAMES, ("stsb/train",)), quick=("--rows", "1500"), seconds=(600.0, 90.0), on_tasks=True
)
SBERT_WK = PaperTable(
    name="sbert-wk",
    title="SBERT-WK: its table, in its protocol",
    citation="Wang and Kuo 2020 (arXiv 2002.06652)",
    protocol="STS12 to STS16: Pearson's correlation of the cosine, the plain mean of a year's subsets. STS-B and "
    "SICK-R: a regressor trained on frozen vectors, which raises figures by much: nothing here compares with "
    "Sentence-BERT's tables. Dissection starts at layer 4, or as late as its window of 2 allows; *symmetric* takes the "
    "neighbours that there are, the reference none where a layer has fewer than two before it. † trained on STS-B, "
    "whose training split shares many pairs with STS12 to STS16: those are no fair figures.",
    columns=dict(zip(SBERT_WK_NAMES, _NAMES, strict=True)),
    paper=tuple(
        PaperRow(model, {task: PUBLISHED_STS[task][model] for task in SBERT_WK_NAMES} | {MEAN: average})
        for model, average in WK_AVERAGES.items()
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
