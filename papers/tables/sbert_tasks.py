"""Sentence-BERT's tables 3, 4 and 5: argument pairs, Wikipedia sections, and SentEval's transfer tasks."""

from likewise.evaluate.tasks.senteval import SENTEVAL_NAMES

from ..measuring.evaluated import ModelOnTasks
from ..measuring.trained import TrainedByRecipe
from ..paper_table import BERT, MEAN, PaperRow, PaperTable, System
from .sbert_sts import AVERAGED, AVERAGED_GLOVE, FIRST_TOKEN, GLOVE, SBERT, SMALL_RATE, TUNED

STAND_IN = "UKP ASPECT in place of AFS"
ARGUMENTS = "argument_similarity"
_TRAINED = ("ukp-aspect pearson 10-fold", "ukp-aspect spearman 10-fold")
_ACROSS = ("ukp-aspect pearson cross-topic", "ukp-aspect spearman cross-topic")


def _pairs(columns: tuple[str, str], pearson: float, spearman: float) -> dict[str, float]:
    return dict(zip(columns, (pearson, spearman), strict=True))


_COSINE = ("ukp-aspect pearson", "ukp-aspect spearman")
_FINE_TUNED = TrainedByRecipe(
    *(ARGUMENTS, (*_TRAINED, *_ACROSS), ("ukp_aspect/all",)),
    small=SMALL_RATE,
    quick=("--epochs", "1", "--rows", "1000", "--ways", "10-fold", "--tasks", "stsb"),
)
SBERT_3 = PaperTable(
    name="sbert-3",
    title="Sentence-BERT, table 3: argument similarity",
    citation=SBERT,
    protocol="Pearson's r and Spearman's ρ of cosines with human ratings: without training, with ten folds over all "
    "pairs, and for each topic with a model trained on the others. AFS was not available; UKP ASPECT, with 3,595 pairs "
    "on 28 topics, stands in for it.",
    columns={
        "ukp-aspect pearson": "r, no training",
        "ukp-aspect spearman": "ρ, no training",
        "ukp-aspect pearson 10-fold": "r, ten folds",
        "ukp-aspect spearman 10-fold": "ρ, ten folds",
        "ukp-aspect pearson cross-topic": "r, cross-topic",
        "ukp-aspect spearman cross-topic": "ρ, cross-topic",
    },
    paper=(
        PaperRow("tf-idf", _pairs(_COSINE, 46.77, 42.95)),
        PaperRow("Avg. GloVe", _pairs(_COSINE, 32.40, 34.00)),
        PaperRow("InferSent", _pairs(_COSINE, 27.08, 26.63)),
        PaperRow("SVR", {_TRAINED[0]: 63.33}),
        PaperRow("BERT-base", _pairs(_TRAINED, 77.20, 74.84) | _pairs(_ACROSS, 58.49, 57.23)),
        PaperRow("SBERT-base", _pairs(_TRAINED, 76.57, 74.13) | _pairs(_ACROSS, 52.34, 50.65)),
        PaperRow("BERT-large", _pairs(_TRAINED, 78.68, 76.38) | _pairs(_ACROSS, 62.02, 60.34)),
        PaperRow("SBERT-large", _pairs(_TRAINED, 77.85, 75.93) | _pairs(_ACROSS, 53.82, 53.10)),
    ),
    systems=(
        System("tf-idf", ModelOnTasks("tf-idf", _COSINE), "tf-idf", differs=STAND_IN),
        System("averaged GloVe", ModelOnTasks("avg-glove", _COSINE), "Avg. GloVe", differs=f"{STAND_IN}; {GLOVE}"),
        System("averaged encoder", ModelOnTasks("bert-avg({backbone})", _COSINE)),
        System("tuned for sentences", ModelOnTasks("{model}", _COSINE)),
        System(
            "ridge regression on frozen vectors",
            ModelOnTasks("bert-avg({backbone})", (*_TRAINED, *_ACROSS)),
            "SVR",
            differs=f"{STAND_IN}; a different regression on different features",
        ),
        System("trained on arguments", _FINE_TUNED, "SBERT-base", BERT, differs=STAND_IN),
    ),
    measures={
        "ukp-aspect pearson": ("ukp-aspect", "pearson/cosine/all"),
        "ukp-aspect spearman": ("ukp-aspect", "spearman/cosine/all"),
        "ukp-aspect pearson 10-fold": ("ukp-aspect-10-fold", "pearson/10-fold/mean"),
        "ukp-aspect spearman 10-fold": ("ukp-aspect-10-fold", "spearman/10-fold/mean"),
        "ukp-aspect pearson cross-topic": ("ukp-aspect-cross-topic", "pearson/cross-topic/mean"),
        "ukp-aspect spearman cross-topic": ("ukp-aspect-cross-topic", "spearman/cross-topic/mean"),
    },
    recorded=lambda run: "SBERT-base" if run["recipe"] == "argument-similarity-ukp-aspect" else None,
)

SECTIONS = "4,000 test triplets from 60 articles, not Dor et al.'s 222,957"
_SECTION_TRAINING = TrainedByRecipe(
    *("wiki_sections_triplets", ("wiki-sections",), ("wiki_sections/triplets",)),
    small=SMALL_RATE,
    quick=("--max-steps", "100", "--tasks", "wiki-sections"),
)
SBERT_4 = PaperTable(
    name="sbert-4",
    title="Sentence-BERT, table 4: Wikipedia sections",
    citation=SBERT,
    protocol="The share of triplets whose anchor is closer (by Euclidean distance) to the sentence from its own "
    "section than to the one from another; ties count as wrong. Training takes one epoch on triplets from different "
    "articles, with Euclidean distances and a margin of 1.",
    columns={"wiki-sections": "accuracy"},
    paper=tuple(
        PaperRow(system, {"wiki-sections": value})
        for system, value in {
            "mean of word vectors": 65.0,
            "skip-thoughts-CS": 62.0,
            "Dor et al.": 74.0,
            "SBERT-base": 80.42,
            "SBERT-large": 80.78,
            "SRoBERTa-base": 79.45,
            "SRoBERTa-large": 79.73,
        }.items()
    ),
    systems=(
        System("averaged GloVe", ModelOnTasks("avg-glove"), "mean of word vectors", differs=f"{SECTIONS}; {GLOVE}"),
        System("averaged encoder", ModelOnTasks("bert-avg({backbone})")),
        System("tuned for sentences", ModelOnTasks("{model}")),
        System("trained on triplets", _SECTION_TRAINING, "SBERT-base", BERT, differs=SECTIONS),
    ),
    measures={"wiki-sections": ("wiki-sections", None)},
    recorded=lambda run: "SBERT-base" if run["recipe"] == "wiki-sections-triplets" else None,
)

TRANSFER_ROWS = {
    "Avg. GloVe": (77.25, 78.30, 91.17, 87.85, 80.18, 83.00, 72.87, 81.52),
    "Avg. fastText": (77.96, 79.23, 91.68, 87.81, 82.15, 83.60, 74.49, 82.42),
    "Avg. BERT": (78.66, 86.25, 94.37, 88.66, 84.40, 92.80, 69.45, 84.94),
    "BERT CLS": (78.68, 84.85, 94.21, 88.23, 84.13, 91.40, 71.13, 84.66),
    "InferSent": (81.57, 86.54, 92.50, 90.38, 84.18, 88.20, 75.77, 85.59),
    "USE": (80.09, 85.19, 93.98, 86.70, 86.38, 93.20, 70.14, 85.10),
    "SBERT-NLI-base": (83.64, 89.43, 94.39, 89.86, 88.96, 89.60, 76.00, 87.41),
    "SBERT-NLI-large": (84.88, 90.07, 94.52, 90.33, 90.66, 87.40, 75.94, 87.69),
}
SBERT_5 = PaperTable(
    name="sbert-5",
    title="Sentence-BERT, table 5: SentEval's transfer tasks",
    citation=SBERT,
    protocol="Accuracy of softmax regression on frozen vectors, following SentEval's protocols: nested ten-fold "
    "cross-validation for MR, CR, SUBJ and MPQA, and the published splits for SST-2, TREC and MRPC. The last column is "
    "the plain mean of the seven.",
    columns=dict(zip(SENTEVAL_NAMES, ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC"), strict=True)),
    paper=tuple(
        PaperRow(model, dict(zip((*SENTEVAL_NAMES, MEAN), row, strict=True))) for model, row in TRANSFER_ROWS.items()
    ),
    systems=(AVERAGED_GLOVE, AVERAGED, FIRST_TOKEN, TUNED),
    measures={task: (task, None) for task in SENTEVAL_NAMES},
    mean=True,
)
