"""The texts: STS-B sentences, paragraphs of 230 tokens, a long-tailed mix, odd texts, and scored pairs."""

import random
import string
from dataclasses import dataclass
from itertools import cycle, pairwise

import numpy as np
import pyarrow.parquet as pq

from likewise.text.tokenizer import Tokenizer

from ..record import data

PARAGRAPH = 230  # tokens, including special tokens
MEDIAN, SPREAD, LEAST, MOST = 24, 1.0, 5, 250
"""The parameters of the mix, whose lengths in tokens are lognormal, truncated at both ends."""
ODD = 200
SEED = 14


@dataclass(frozen=True)
class Sizes:
    """The amount of work in a run."""

    sentences: int
    paragraphs: int
    mix: int
    rounds: int
    queries: int
    """Number of single-text queries in each round."""
    pairs: int | None
    """Number of pairs for each rank correlation; None: all."""
    starts: int


FULL = Sizes(sentences=640, paragraphs=30, mix=220, rounds=3, queries=120, pairs=None, starts=2)
QUICK = Sizes(sentences=96, paragraphs=6, mix=32, rounds=1, queries=20, pairs=60, starts=1)
CORPORA = ("sentences", "paragraphs", "mix")
TITLES = {"sentences": "STS-B sentences", "paragraphs": "paragraphs of 230 tokens", "mix": "long-tailed mix"}


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts, as indices into a corpus, with human scores."""

    first: list[int]
    second: list[int]
    scores: list[float]


@dataclass(frozen=True)
class Material:
    """All corpora by name, and the pairs of the corpora with human scores."""

    texts: dict[str, list[str]]
    pairs: dict[str, Pairs]


def material(tokenizer: Tokenizer, sizes: Sizes) -> Material:
    """Return the texts of a run, which are always the same."""
    texts: dict[str, list[str]] = {}
    pairs = {}
    for name in ("stsb", "sick"):
        texts[name], pairs[name] = scored_pairs(name, sizes.pairs)
    whole = pq.read_table(data("stsb", "test.parquet")).to_pydict()
    sentences = list(dict.fromkeys(whole["sentence1"] + whole["sentence2"]))
    step = max(1, len(sentences) // sizes.sentences)
    texts["sentences"] = sentences[::step][: sizes.sentences]
    running = RunningText(tokenizer)
    texts["paragraphs"] = [running.piece(PARAGRAPH) for _ in range(sizes.paragraphs)]
    texts["mix"] = [running.piece(tokens) for tokens in mixed_lengths(sizes.mix)]
    short = [text for text in sentences if 6 <= len(text.split()) <= 9]
    texts["queries"] = short[:: max(1, len(short) // 20)][:20]
    texts["odd"] = odd_texts(sentences)
    dev = pq.read_table(data("stsb", "dev.parquet")).to_pydict()
    texts["calibration"] = list(dict.fromkeys(dev["sentence1"] + dev["sentence2"]))[:300]
    return Material(texts, pairs)


def scored_pairs(name: str, count: int | None) -> tuple[list[str], Pairs]:
    """Return the distinct sentences of a test set, and its pairs."""
    rows = pq.read_table(data(name, "test.parquet")).slice(0, count).to_pydict()
    at = {text: i for i, text in enumerate(dict.fromkeys(rows["sentence1"] + rows["sentence2"]))}
    first, second = ([at[text] for text in rows[column]] for column in ("sentence1", "sentence2"))
    return list(at), Pairs(first, second, [float(score) for score in rows["score"]])


def mixed_lengths(count: int) -> list[int]:
    """Draw lengths in tokens, most of them short and a few very long."""
    drawn = np.random.default_rng(SEED).lognormal(np.log(MEDIAN), SPREAD, count)
    return [int(length) for length in np.clip(drawn, LEAST, MOST)]


class RunningText:
    """SciFact's abstracts in sequence, cut into pieces of the requested numbers of tokens, without overlaps."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        abstracts = pq.read_table(data("scifact", "corpus.parquet")).to_pydict()["text"]
        self.tokenizer, self.abstracts, self.rest = tokenizer, iter(abstracts), ""

    def piece(self, tokens: int) -> str:
        """Return the next text of this many tokens, including special tokens."""
        room = tokens - len(self.tokenizer.prefix) - len(self.tokenizer.suffix)
        while True:
            spans = self.tokenizer.ids_and_spans(self.rest)[1].tolist()
            cuts = [begin for (_, end), (begin, _) in pairwise(spans[room - 1 :]) if begin > end]
            if cuts:
                found, self.rest = self.rest[: cuts[0]].strip(), self.rest[cuts[0] :]
                return found
            self.rest = f"{self.rest} {next(self.abstracts)}".strip()


def odd_texts(sentences: list[str]) -> list[str]:
    """Return two hundred texts unlike the sentences on which models are trained and calibrated."""
    fixed = ["a", "?", "👩‍👩‍👧‍👦 family", "שלום עולם", "مرحبا بالعالم", "漢字かな交じり文", "naïve café e\u0301",
             "tab\tand\nnewline", "[MASK]", "1" * 60, "UPPER lower", "The " * 60, "!" * 40, "0.1 + 0.2 != 0.3",
             "def f(x): return x ** 2", "https://example.org/a?b=c&d=e#f", "SELECT * FROM t WHERE a = 'b';", "E = mc²",
             "<div class=\"a\">b</div>", "Привет, мир", "γνῶθι σεαυτόν", "C8H10N4O2", "+49 30 1234567"]  # fmt: skip
    draw = random.Random(SEED)
    kinds = (
        lambda: "".join(draw.choices(string.ascii_letters, k=draw.randint(1, 40))),
        lambda: "".join(draw.choices(string.punctuation + string.digits + " ", k=draw.randint(2, 60))),
        lambda: " ".join(draw.choices(draw.choice(sentences).split(), k=draw.randint(1, 60))),
        lambda: draw.choice(sentences).upper(),
        lambda: " ".join(draw.sample(sentences, draw.randint(3, 12))),
        lambda: draw.choice(sentences)[:: draw.choice((-1, 2))],
    )
    found = dict.fromkeys(fixed)
    turn = cycle(kinds)  # one kind may run out of new texts
    while len(found) < ODD:
        found[next(turn)()] = None
    return list(found)


def token_counts(tokenizer: Tokenizer, texts: dict[str, list[str]]) -> dict[str, int]:
    """Count the tokens of each corpus that the model reads, including special tokens."""
    special = tokenizer.max_seq_length - tokenizer.max_content_length
    return {
        name: sum(min(len(ids), tokenizer.max_content_length) + special for ids in tokenizer.token_ids(texts[name]))
        for name in CORPORA
    }
