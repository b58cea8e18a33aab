"""Words of the field lead to their file: by the name of a file, class, function, constant or field."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "likewise"

WORDS = {
    "anisotropy": "explain/anatomy.py",
    "attention": "encoders/attention.py",
    "batch size": "train/settings.py",
    "BERT": "encoders/architectures/bert.py",
    "BM25": "search/bm25.py",
    "bootstrap": "evaluate/statistics/bootstrap.py",
    "bitext": "search/bitext.py",
    "bundled": "bundled",
    "calibration": "calibrate/calibration.py",
    "callback": "train/trainer.py",
    "checkpoint": "train/output/checkpoint.py",
    "chunking": "text/chunking.py",
    "c-TF-IDF": "cluster/naming.py",
    "HDBSCAN": "cluster/clusterings.py",
    "linkage": "cluster/hierarchical.py",
    "hierarchical": "cluster/hierarchical.py",
    "t-SNE": "cluster/maps/layout.py",
    "community detection": "cluster/community_detection.py",
    "contrastive": "train/objectives/contrastive.py",
    "cosine": "arrays/similarity.py",
    "cross encoder": "reranker/cross_encoder.py",
    "dense": "heads.py",
    "distillation": "train/objectives/distillation.py",
    "download": "model_files/download.py",
    "dry run": "cli/train/dry_run.py",
    "early stopping": "train/settings.py",
    "EMA": "train/optimizer.py",
    "engine": "engines",
    "evaluator": "train/evaluators.py",
    "false discovery": "calibrate/false_discovery.py",
    "fingerprint": "runtime/fingerprint.py",
    "gradient accumulation": "train/settings.py",
    "gradient checkpointing": "train/settings.py",
    "hard negatives": "mine/hard_negatives.py",
    "hypothesis test": "evaluate/statistics/hypothesis_tests.py",
    "inference": "inference.py",
    "isotonic": "calibrate/labelled_pairs.py",
    "k-means": "arrays/kmeans.py",
    "known positives": "mine/rules.py",
    "late chunking": "late_chunking.py",
    "layer mean": "arrays/layer_means.py",
    "layer selection": "train/layers/layer_selection.py",
    "leaks": "data/leaks.py",
    "learning rate": "train/settings.py",
    "LoRA": "train/trained_parts.py",
    "Matryoshka": "train/objectives/wrappers.py",
    "out of memory": "runtime/devices.py",
    "migration": "migrate/background.py",
    "model card": "train/output/model_card.py",
    "optimizer": "train/optimizer.py",
    "poly encoder": "reranker/poly_encoder.py",
    "pooling": "pooling",
    "progress": "runtime/progress.py",
    "prompt": "text/inputs.py",
    "prune layers": "encoders/prune_layers.py",
    "quantization": "engines/int8/quantize.py",
    "ragged": "arrays/ragged.py",
    "reciprocal rank fusion": "search/texts/text_index.py",
    "reranker": "reranker",
    "retrieval": "evaluate/tasks/retrieval.py",
    "SentEval": "evaluate/tasks/senteval.py",
    "shards": "distribute/shards.py",
    "similarity": "arrays/similarity.py",
    "STS": "evaluate/tasks/sts.py",
    "TF-IDF": "baselines/tfidf.py",
    "tokenizer": "text/tokenizer.py",
    "triplet": "train/objectives/triplets.py",
    "truncation": "text/truncation.py",
    "unknown words": "text/unknown_words.py",
    "vector cache": "distribute/vector_cache.py",
    "weight decay": "train/settings.py",
    "word pairs": "explain/word_pairs.py",
    "window": "text/inputs.py",
    "workers": "distribute/workers/processes.py",
}


def letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def names_in(path: Path) -> list[str]:
    """The file's own name, and those of its public classes, functions, constants and dataclass fields."""
    if path.is_dir():
        return [path.name]
    names = [path.stem]
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        if isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.ClassDef):
            names += [n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


@pytest.mark.parametrize(("word", "home"), WORDS.items(), ids=WORDS)
def test_a_word_of_the_field_leads_to_its_file(word, home):
    path = SOURCE / home
    assert path.exists(), f"{home} is not there"
    assert any(letters(word) in letters(name) for name in names_in(path)), f"nothing in {home} is called {word}"
