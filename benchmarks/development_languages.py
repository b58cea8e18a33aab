"""Compares multilingual models on development data only, to choose between students.

    python -m benchmarks.development_languages out/multi-1 multilingual-e5-small-cut

    stsb-dev    the development split of STS-B in eleven languages, translated by machine: Spearman × 100
    tatoeba     pairs that were kept out of the students' training data (`papers.recipes.distillation.multilingual`),
                at most 1,000 per language: how many sentences find their translation, in percent, in both directions

benchmarks/results/development_languages.jsonl has a line for each model. Models are names or folders; --label describes
them in the file (by default, the model's name).
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.arrays.correlation import spearman
from likewise.data.datasets import load_dataset
from likewise.model_names import load_named_embedder
from likewise.runtime.atomic_files import atomic_file
from papers.recipes.distillation.multilingual import STS_DEVELOPMENT, TATOEBA, is_aside

from .options import options
from .record import RESULTS, machine

FILE = RESULTS / "development_languages.jsonl"
PAIRS = 1000
ENGLISH = "en"


def sts_by_language(encode: Any) -> dict[str, float]:
    """Return Spearman's correlation of the cosines with the human scores, × 100."""
    columns = load_dataset(STS_DEVELOPMENT).columns
    languages = np.array(columns["lang"])
    scores = np.asarray(columns["score"], np.float64)
    cosines = (encode(columns["sentence1"]) * encode(columns["sentence2"])).sum(1)
    rows = {language: np.flatnonzero(languages == language) for language in dict.fromkeys(columns["lang"])}
    return {language: round(100 * spearman(cosines[of], scores[of]), 2) for language, of in rows.items()}


def translations_found(encode: Any, name: str) -> float:
    """Return the percentage of sentences that find their translation, averaged over both directions."""
    columns = load_dataset(name).columns
    marks = columns["english_in_any_tatoeba_test"]
    rows = zip(columns["english"], columns["sentence"], marks, strict=True)
    pairs = {english: sentence for english, sentence, marked in rows if not marked and is_aside(english)}
    english, sentences = list(pairs)[-PAIRS:], list(pairs.values())[-PAIRS:]  # the longer ones
    cosines = encode(english) @ encode(sentences).T
    own = np.arange(len(english))
    return round(50 * float((cosines.argmax(0) == own).mean() + (cosines.argmax(1) == own).mean()), 2)


def development_scores(model: Any) -> dict[str, Any]:
    """The scores by language, and their means; `other` is the mean of STS-B's languages without English."""

    def encode(texts: Sequence[str]) -> Any:
        return model.encode(list(texts), overflow="truncate", show_progress_bar=False, normalize_embeddings=True)

    sts = sts_by_language(encode)
    tatoeba = {name.rpartition("/")[2]: translations_found(encode, name) for name in TATOEBA}
    other = [value for language, value in sts.items() if language != ENGLISH]
    means = {"other": float(np.mean(other)), "tatoeba": float(np.mean([*tatoeba.values()]))}
    return {"english": sts[ENGLISH], **{k: round(v, 2) for k, v in means.items()}, "sts": sts, "pairs": tatoeba}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the models, print their scores and append their lines."""
    args = options(__doc__, argv, {"models": [str]}, label=str)
    lines = FILE.read_text("utf-8").splitlines() if FILE.exists() else []
    for name in args.models:
        model = load_named_embedder(name)
        scores = development_scores(model)
        print(args.label or name, json.dumps(scores), flush=True)
        line = {"label": args.label or name, "fingerprint": model.fingerprint, **scores, **machine()}
        lines = [one for one in lines if json.loads(one)["fingerprint"] != model.fingerprint]
        lines.append(json.dumps(line))
        with atomic_file(FILE) as file:
            file.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
