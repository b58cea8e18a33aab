"""The supported sentence-transformers evaluators, under their original names; they return dictionaries of metrics."""

# ruff: noqa: ARG002, no result depends on the batch size

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays.correlation import pearson, spearman
from ...errors import BadInput
from ...evaluate.metrics.binary_classification import average_precision, best_accuracy, best_f1
from ...evaluate.metrics.ranking import RANKING_METRICS
from ...search import search
from .loading import refuse_argument, refused_classes
from .util import SimilarityFunction, as_array, similarity_name

Metrics = dict[str, float]


class BaseEvaluator:
    """The base class of evaluators; custom evaluators override `__call__`."""

    greater_is_better = True
    primary_metric: str | None = None

    def __call__(self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __call__")

    def prefix_name_to_metrics(self, metrics: Mapping[str, float], name: str) -> Metrics:
        """Prefix the names of the metrics, and `primary_metric`, with the evaluator's name."""
        prefix = f"{name}_" if name else ""
        if self.primary_metric is not None and not self.primary_metric.startswith(prefix):
            self.primary_metric = prefix + self.primary_metric
        return {prefix + key: float(value) for key, value in metrics.items()}

    def store_metrics_in_model_card_data(self, model: Any, metrics: Any, epoch: float = 0, step: int = 0) -> None:
        """Do nothing, because the model card lists the scores of the final model."""


SentenceEvaluator = BaseEvaluator


class SequentialEvaluator(BaseEvaluator):
    """Runs evaluators in turn; `main_score_function` reduces their main scores to one, by default the last."""

    def __init__(
        self, evaluators: Sequence[Any], main_score_function: Callable[[list[float]], float] = lambda scores: scores[-1]
    ) -> None:
        self.evaluators, self.main_score_function = list(evaluators), main_score_function
        self.primary_metric = "sequential_score"

    def __call__(self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1) -> Metrics:
        results: Metrics = {}
        scores: list[float] = []
        for number, evaluator in enumerate(self.evaluators):
            found = evaluator(model, output_path, epoch, steps)
            found = found if isinstance(found, dict) else {f"evaluator_{number}": found}
            scores.append(found[getattr(evaluator, "primary_metric", None) or next(iter(found))])
            results |= found
        return {**results, "sequential_score": self.main_score_function(scores) if scores else 0.0}


class _Evaluator(BaseEvaluator, ABC):
    """An evaluator with a name and a CSV file, to which each evaluation appends a line."""

    kind = ""

    def __init__(self, name: str, write_csv: bool) -> None:
        self.name, self.write_csv = name, write_csv
        self.csv_file = f"{self.kind}{'_' + name if name else ''}_results.csv"

    def __call__(self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1) -> Metrics:
        metrics = self.compute_metrics(model)
        if output_path is not None and self.write_csv:
            path, line = Path(output_path) / self.csv_file, {"epoch": epoch, "steps": steps, **metrics}
            path.parent.mkdir(parents=True, exist_ok=True)
            header = [] if path.exists() else [list(line)]
            with path.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([*header, list(line.values())])
        return self.prefix_name_to_metrics(metrics, self.name)

    @abstractmethod
    def compute_metrics(self, model: Any) -> Metrics:
        """Compute the metrics, without the evaluator's name in their names."""


class _EmbeddingEvaluator(_Evaluator):
    """An evaluator of embeddings, with one or more similarities."""

    metrics: tuple[str, ...] = ()
    main_metric = "{}"

    def __init__(
        self, name: str, write_csv: bool, similarity_fn_names: Sequence[str] | None, main: Any, truncate_dim: int | None
    ) -> None:
        super().__init__(name, write_csv)
        self.main = None if main is None else similarity_name(main)
        self.similarity_fn_names = [similarity_name(one) for one in similarity_fn_names or ([main] if main else [])]
        self.truncate_dim = truncate_dim

    def names(self, model: Any) -> list[str]:
        """The names of the similarities to use, by default the model's own; this also sets `primary_metric`."""
        self.similarity_fn_names = self.similarity_fn_names or [model.similarity_fn_name]
        several = "max" if len(self.similarity_fn_names) > 1 else self.similarity_fn_names[0]
        self.primary_metric = self.main_metric.format(self.main or several)
        return self.similarity_fn_names

    def pairwise(self, name: str, a: Any, b: Any) -> np.ndarray:
        """The similarity between vectors at the same position."""
        return np.asarray(as_array(SimilarityFunction.to_similarity_pairwise_fn(name)(a, b)), np.float64)

    def vectors(self, model: Any, texts: Iterable[str], role: str = "", **prompt: Any) -> np.ndarray:
        """Encode texts, as queries or documents if a role is given."""
        encode = getattr(model, f"encode_{role}" if role else "encode")
        return np.asarray(encode(list(texts), truncate_dim=self.truncate_dim, show_progress_bar=False, **prompt))

    def with_highest(self, by_similarity: Mapping[str, Metrics], pattern: str) -> Metrics:
        """The metrics of all similarities and, if there are several similarities, the highest value of each metric."""
        found = {pattern.format(s, metric): v for s, some in by_similarity.items() for metric, v in some.items()}
        if len(by_similarity) > 1:
            for metric in next(iter(by_similarity.values())):
                found[pattern.format("max", metric)] = max(some[metric] for some in by_similarity.values())
        return found


class EmbeddingSimilarityEvaluator(_EmbeddingEvaluator):
    """Pearson and Spearman correlation between the similarities of pairs and their gold scores."""

    kind, main_metric = "similarity_evaluation", "spearman_{}"

    def __init__(
        self,
        sentences1: Sequence[str],
        sentences2: Sequence[str],
        scores: Sequence[float],
        batch_size: int = 16,
        main_similarity: Any = None,
        similarity_fn_names: Sequence[str] | None = None,
        name: str = "",
        show_progress_bar: bool = False,
        write_csv: bool = True,
        precision: str | None = None,
        truncate_dim: int | None = None,
    ) -> None:
        super().__init__(name, write_csv, similarity_fn_names, main_similarity, truncate_dim)
        _check_lengths(sentences1=sentences1, sentences2=sentences2, scores=scores)
        refuse_argument(type(self).__name__, "precision", precision, "model.encode quantizes vectors")
        self.sentences1, self.sentences2, self.scores = sentences1, sentences2, scores

    def compute_metrics(self, model: Any) -> Metrics:
        a, b = (self.vectors(model, texts) for texts in (self.sentences1, self.sentences2))
        gold, found = np.asarray(self.scores, np.float64), {}
        for name in self.names(model):
            scores = self.pairwise(name, a, b)
            found[name] = {"pearson": pearson(gold, scores), "spearman": spearman(gold, scores)}
        return self.with_highest(found, "{1}_{0}")


class TripletEvaluator(_EmbeddingEvaluator):
    """The fraction of triplets whose positive is more similar to the anchor than the negative by a margin."""

    kind, main_metric = "triplet_evaluation", "{}_accuracy"

    def __init__(
        self,
        anchors: Sequence[str],
        positives: Sequence[str],
        negatives: Sequence[str],
        main_similarity_function: Any = None,
        margin: float | Mapping[str, float] | None = None,
        name: str = "",
        batch_size: int = 16,
        show_progress_bar: bool = False,
        write_csv: bool = True,
        truncate_dim: int | None = None,
        similarity_fn_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, write_csv, similarity_fn_names, main_similarity_function, truncate_dim)
        _check_lengths(anchors=anchors, positives=positives, negatives=negatives)
        self.anchors, self.positives, self.negatives = anchors, positives, negatives
        self.margin = (
            {similarity_name(one): x for one, x in margin.items()} if isinstance(margin, Mapping) else margin or 0.0
        )

    def compute_metrics(self, model: Any) -> Metrics:
        anchors = self.vectors(model, self.anchors, "query")
        positives, negatives = (self.vectors(model, texts, "document") for texts in (self.positives, self.negatives))
        found = {}
        for name in self.names(model):
            margin = self.margin.get(name, 0.0) if isinstance(self.margin, Mapping) else self.margin
            right = self.pairwise(name, anchors, positives) > self.pairwise(name, anchors, negatives) + margin
            found[name] = {"accuracy": float(right.mean())}
        return self.with_highest(found, "{0}_{1}")


class BinaryClassificationEvaluator(_EmbeddingEvaluator):
    """How well a threshold on the similarity separates pairs labelled 1 from pairs labelled 0."""

    kind, main_metric = "binary_classification_evaluation", "{}_ap"

    def __init__(
        self,
        sentences1: Sequence[str],
        sentences2: Sequence[str],
        labels: Sequence[int],
        name: str = "",
        batch_size: int = 32,
        show_progress_bar: bool = False,
        write_csv: bool = True,
        truncate_dim: int | None = None,
        similarity_fn_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, write_csv, similarity_fn_names, None, truncate_dim)
        _check_lengths(sentences1=sentences1, sentences2=sentences2, labels=labels)
        self.sentences1, self.sentences2, self.labels = sentences1, sentences2, labels

    def compute_metrics(self, model: Any) -> Metrics:
        a, b = (self.vectors(model, texts) for texts in (self.sentences1, self.sentences2))
        gold, found = np.asarray(self.labels, np.float64), {}
        for name in self.names(model):
            scores = self.pairwise(name, a, b)
            accuracy, f1 = best_accuracy(scores, gold), best_f1(scores, gold)
            sign = -1 if name in ("euclidean", "manhattan") else 1  # these similarities are negated distances
            predicted = (scores >= f1.threshold).astype(float)
            found[name] = {
                "accuracy": accuracy.value,
                "accuracy_threshold": sign * accuracy.threshold,
                "f1": f1.value,
                "f1_threshold": sign * f1.threshold,
                "precision": f1.precision,
                "recall": f1.recall,
                "ap": average_precision(scores, gold),
                "mcc": pearson(predicted, gold) if predicted.std() and gold.std() else 0.0,  # Matthews 1975
            }
        return self.with_highest(found, "{0}_{1}")


class InformationRetrievalEvaluator(_EmbeddingEvaluator):
    """How well queries find their relevant documents in a corpus, by several metrics at several cutoffs."""

    kind = "Information-Retrieval_evaluation"

    def __init__(
        self,
        queries: Mapping[str, str],
        corpus: Mapping[str, str],
        relevant_docs: Mapping[str, set[str]],
        corpus_chunk_size: int = 50000,
        mrr_at_k: Sequence[int] = (10,),
        ndcg_at_k: Sequence[int] = (10,),
        accuracy_at_k: Sequence[int] = (1, 3, 5, 10),
        precision_recall_at_k: Sequence[int] = (1, 3, 5, 10),
        map_at_k: Sequence[int] = (100,),
        show_progress_bar: bool = False,
        batch_size: int = 32,
        name: str = "",
        write_csv: bool = True,
        truncate_dim: int | None = None,
        score_functions: Any = None,
        main_score_function: Any = None,
        query_prompt: str | None = None,
        query_prompt_name: str | None = None,
        corpus_prompt: str | None = None,
        corpus_prompt_name: str | None = None,
        write_predictions: bool = False,
    ) -> None:
        super().__init__(name, write_csv, None, main_score_function, truncate_dim)
        what = type(self).__name__
        refuse_argument(what, "score_functions", score_functions, "set main_score_function, or the model's similarity")
        refuse_argument(what, "write_predictions", write_predictions, "likewise evaluate writes runs")
        self.queries = {key: text for key, text in queries.items() if relevant_docs.get(key)}
        if not self.queries or not corpus:
            found = f"{len(self.queries)} such queries and a corpus of {len(corpus)} documents"
            raise BadInput(f"{what} needs queries with relevant documents in a corpus; found {found}")
        self.corpus, self.relevant_docs = corpus, relevant_docs
        self.prompts = {
            "query": {"prompt": query_prompt, "prompt_name": query_prompt_name},
            "document": {"prompt": corpus_prompt, "prompt_name": corpus_prompt_name},
        }
        self.cutoffs = {
            "accuracy": ("hit", accuracy_at_k),
            "precision": ("precision", precision_recall_at_k),
            "recall": ("recall", precision_recall_at_k),
            "ndcg": ("ndcg", ndcg_at_k),
            "mrr": ("mrr", mrr_at_k),
            "map": ("map", map_at_k),
        }
        self.main_metric = "{}_ndcg@" + str(max(ndcg_at_k))

    def compute_metrics(self, model: Any) -> Metrics:
        (similarity,) = self.names(model)
        queries, documents = (
            self.vectors(model, texts.values(), role, **self.prompts[role])
            for role, texts in (("query", self.queries), ("document", self.corpus))
        )
        deepest = max(k for _, cutoffs in self.cutoffs.values() for k in cutoffs)
        found = search(queries, documents, min(deepest, len(documents)), metric=similarity).indices
        ids = np.asarray(list(self.corpus), object)
        relevant = [self.relevant_docs[key] for key in self.queries]
        ranked = np.array([[float(one in some) for one in ids[row]] for row, some in zip(found, relevant, strict=True)])
        return {
            f"{similarity}_{name}@{k}": float(self._values(metric, ranked, relevant, k).mean())
            for name, (metric, cutoffs) in self.cutoffs.items()
            for k in cutoffs
        }

    def _values(self, metric: str, ranked: np.ndarray, relevant: Sequence[Any], k: int) -> np.ndarray:
        """A metric for each query; as in sentence-transformers, average precision considers at most k documents."""
        sizes = [min(len(some), k) if metric == "map" else len(some) for some in relevant]
        judged = np.zeros((len(sizes), max(sizes)))
        for row, size in zip(judged, sizes, strict=True):
            row[:size] = 1
        return np.asarray(RANKING_METRICS[metric](ranked, judged, k))


class CrossEncoderCorrelationEvaluator(_Evaluator):
    """Pearson and Spearman correlation between a cross-encoder's scores and the gold scores of pairs."""

    kind, primary_metric = "CrossEncoderCorrelationEvaluator", "spearman"

    def __init__(
        self,
        sentence_pairs: Sequence[Any],
        scores: Sequence[float],
        name: str = "",
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        write_csv: bool = True,
    ) -> None:
        super().__init__(name, write_csv)
        _check_lengths(sentence_pairs=sentence_pairs, scores=scores)
        self.sentence_pairs, self.scores = sentence_pairs, scores

    def compute_metrics(self, model: Any) -> Metrics:
        found = np.asarray(model.predict(list(self.sentence_pairs), show_progress_bar=False), np.float64)
        gold = np.asarray(self.scores, np.float64)
        return {"pearson": pearson(gold, found), "spearman": spearman(gold, found)}


class CrossEncoderRerankingEvaluator(_Evaluator):
    """How well a cross-encoder ranks the candidates of queries: mean average precision, MRR and nDCG at `at_k`.

    Each sample has a `query`, `positive` texts, and either `negative` texts or `documents` as ranked by a first stage.
    The metrics of the first stage are reported beside those of the cross-encoder, as `base_…`. Positive texts missing
    from the documents are also candidates, unless `always_rerank_positives` is false; the first stage ranks them last.
    """

    def __init__(
        self,
        samples: Any,
        at_k: int = 10,
        always_rerank_positives: bool = True,
        name: str = "",
        prompt_name: str | None = None,
        batch_size: int = 64,
        show_progress_bar: bool = False,
        write_csv: bool = True,
    ) -> None:
        super().__init__(name, write_csv)
        self.csv_file = f"{type(self).__name__}{'_' + name if name else ''}_results_@{at_k}.csv"
        self.at_k, self.prompt_name, self.primary_metric = at_k, prompt_name, f"ndcg@{at_k}"
        self.candidates: list[tuple[str, list[str], np.ndarray]] = []
        self.base: list[np.ndarray] = []
        for sample in samples.values() if isinstance(samples, Mapping) else samples:
            self._add(sample, always_rerank_positives)
        if not self.candidates:
            raise BadInput(f"{type(self).__name__} got no samples; expected at least one")

    def _add(self, sample: Mapping[str, Any], always_rerank_positives: bool) -> None:
        """Read a sample: a query, its candidates with their relevance, and the first stage's ranking."""
        if not {"query", "positive"} <= {*sample} or ("negative" in sample) == ("documents" in sample):
            raise BadInput(
                "each sample needs 'query', 'positive', and exactly one of 'negative' and 'documents'; "
                f"this one has {', '.join(sample)}"
            )
        positive = [sample["positive"]] if isinstance(sample["positive"], str) else list(sample["positive"])
        texts = list(sample["documents" if "documents" in sample else "negative"])
        relevant = np.array([float("documents" in sample and one in positive) for one in texts])
        if "documents" in sample:
            missing = len(positive) - int(relevant.sum())
            self.base.append(np.append(relevant, np.ones(max(0, missing))) if relevant.any() else relevant)
        if "negative" in sample or always_rerank_positives:
            texts = [*positive, *(one for one, yes in zip(texts, relevant, strict=True) if not yes)]
            relevant = np.arange(len(texts)) < len(positive)
        self.candidates.append((sample["query"], texts, relevant.astype(float)))

    def compute_metrics(self, model: Any) -> Metrics:
        pairs = [(query, text) for query, texts, _ in self.candidates for text in texts]
        scores = np.asarray(model.predict(pairs, prompt_name=self.prompt_name, show_progress_bar=False), np.float64)
        ranked, start = [], 0
        for _, texts, relevant in self.candidates:
            ranked.append(relevant[np.argsort(-scores[start : start + len(texts)], kind="stable")])
            start += len(texts)
        return {**self._means(ranked, ""), **(self._means(self.base, "base_") if self.base else {})}

    def _means(self, rows: Sequence[np.ndarray], prefix: str) -> Metrics:
        """The mean metrics over queries, given each query's relevance values in ranked order."""
        ranked = np.zeros((len(rows), max(map(len, rows))))
        for padded, row in zip(ranked, rows, strict=True):
            padded[: len(row)] = row
        cutoffs = {"map": ranked.shape[1], "mrr": self.at_k, "ndcg": self.at_k}
        return {
            prefix + (name if name == "map" else f"{name}@{k}"): float(RANKING_METRICS[name](ranked, ranked, k).mean())
            for name, k in cutoffs.items()
        }


REFUSED = {
    "NanoBEIREvaluator": "InformationRetrievalEvaluator on local files",
    "RerankingEvaluator": "InformationRetrievalEvaluator",
    "ParaphraseMiningEvaluator": "BinaryClassificationEvaluator on labelled pairs",
    "TranslationEvaluator": "InformationRetrievalEvaluator, with the translations as documents",
    "LabelAccuracyEvaluator": "BinaryClassificationEvaluator",
    **dict.fromkeys(
        ("MSEEvaluator", "MSEEvaluatorFromDataFrame"), "EmbeddingSimilarityEvaluator with the teacher's similarities"
    ),
    "CrossEncoderClassificationEvaluator": "CrossEncoderCorrelationEvaluator",
    "CrossEncoderNanoBEIREvaluator": "CrossEncoderRerankingEvaluator on local files",
}
"""Maps each unsupported evaluator to what to use instead."""


def _check_lengths(**columns: Sequence[Any]) -> None:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1 or not all(lengths.values()):
        raise BadInput(f"expected columns of equal length with at least one row; found {lengths}")


__getattr__ = refused_classes(__name__, REFUSED)
