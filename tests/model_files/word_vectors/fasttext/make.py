"""How small.bin and expected.json were made, by the real fastText; run once, by hand.

    pip install fasttext-wheel==0.9.2 "numpy<2" && python make.py

fastText's threads make no run equal to another, so that the two files belong together.
"""

import json
import random
import tempfile
from pathlib import Path

import fasttext

HERE = Path(__file__).parent
WORDS = [
    "the", "cat", "dog", "bird", "house", "tree", "sleeps", "runs", "naps", "barks", "on", "under",
    "a", "small", "straße", "élan", "naïve", "co-op", "ångström", "日本語", "Paris",
]  # fmt: skip
ASKED = [*WORDS, "</s>", "dogs", "treehouse", "straßen", "ångströms", "日本", "I", "x1", "<cat>", "Ünder"]


def main() -> None:
    """Trains on random sentences, keeps the model and the vectors of known and unknown words."""
    draw = random.Random(1)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(" ".join(draw.choices(WORDS, k=8)) + "\n" for _ in range(300))
        file.flush()
        model = fasttext.train_unsupervised(
            file.name, "skipgram", dim=6, minCount=1, bucket=150, minn=2, maxn=4, epoch=5, lr=0.05, thread=1
        )
    model.save_model(str(HERE / "small.bin"))
    vectors = {word: [float(x) for x in model.get_word_vector(word)] for word in ASKED}
    (HERE / "expected.json").write_text(json.dumps(vectors, ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
