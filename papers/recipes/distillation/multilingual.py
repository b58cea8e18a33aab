"""likewise-multi: one vector for a sentence and its translations (Reimers and Gurevych 2020).

    python -m papers.recipes.distillation.multilingual multilingual-e5-small-cut -o out/multi

The student is every other block of a multilingual backbone, with narrower word vectors. A sentence with an English
translation learns the teacher's vector of the English; every other text learns the teacher's vector of itself.
"""

from argparse import ArgumentParser
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import nn

from likewise.data.columns import DatasetColumns
from likewise.data.datasets import load_dataset
from likewise.encoders.layers import without_dropout
from likewise.heads import Dense, Normalize
from likewise.text.tokenizer import Tokenizer

from ..flags import count_from, flags
from ..recipe import backbone, start
from .distil import (
    check_repeated,
    distillation_settings,
    kept,
    names,
    read_as_much,
    sources_of,
    student_of,
    times,
    with_blocks,
)
from .mini import narrowed
from .teacher import evened, load_teacher, whitened, with_teacher
from .unlabelled import SOURCES, VOCABULARY, letters, tested, texts_of, unlabelled, words

TATOEBA = tuple(f"tatoeba_pairs/{language}" for language in ("deu", "fra", "spa", "jpn", "nld", "cmn", "vie"))
CAPTIONS, MEDICINE, STS, JAPANESE = "multi30k/train", "tico19/all", "stsb_multi_mt/train", "jsts/train"
PARALLEL = (*TATOEBA, CAPTIONS, MEDICINE, STS)
STS_DEVELOPMENT = "stsb_multi_mt/dev"
CAPTION_LANGUAGES = ("de", "fr")
MEDICINE_LANGUAGES = ("es-419", "fr", "pt-BR", "ru", "zh")
ENGLISH = tuple(name for name in SOURCES if name != VOCABULARY)
ASIDE = 50
"""One of so many English sentences of Tatoeba, with all its translations, is set aside as development data."""
Rows = list[tuple[str, str]]
"""Texts, each with the text whose vector it learns."""


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Encode the texts with the teacher; train, evaluate and record the student."""
    args = multilingual_flags().parse_args(argv)
    teacher, whole = load_teacher(args), backbone(args, "mean")
    base = whole.fingerprint
    read_as_much(whole, teacher)
    rows = rows_by_source(whole.tokenizer, args.sentences, args.english)
    check_repeated(args.repeat, [*rows])
    taught_by = list(dict.fromkeys(source for of in rows.values() for _, source in of))
    vectors = teacher.vectors({"": taught_by})
    student = narrowed(kept(whole, args.keep), args.words, whole.encoder.config["intermediate_size"])
    without_dropout(student)
    student.heads = evening_head(vectors, args.whiten)
    number = {text: i for i, text in enumerate(taught_by)}
    lessons = whitened(vectors, args.whiten)[[number[source] for of in rows.values() for _, source in of]]
    sources = list(sources_of({name: [text for text, _ in of] for name, of in rows.items()}, lessons, args))
    shape = {"blocks": args.keep, "words": args.words, "english": args.english}
    return student_of("multilingual", args, teacher, base, **shape).train(student, sources, distillation_settings(args))


def multilingual_flags() -> ArgumentParser:
    """The recipe's flags."""
    parser = with_teacher(with_blocks(flags(__doc__, batch_size=128, learning_rate=5e-4), "1,3,5,7,9,11"), 0.15)
    parser.set_defaults(
        keep=(1, 3, 5, 7, 9, 11), changed=0, near_texts=0, rotate=False, centre=0.0, adam_bias_correction=True
    )
    add = parser.add_argument
    add("--words", type=count_from(1), default=192, metavar="N", help="dimensions of the word vectors (%(default)s)")
    message = "data sets whose English texts are read (the distillation recipes' own)"
    add("--sentences", type=names, default=ENGLISH, metavar="DATA,…", help=message)
    message = "number of English texts without a translation (%(default)s)"
    add("--english", type=count_from(0), default=200_000, metavar="N", help=message)
    message = f"number of times that each pass reads the texts of a data set ({STS}=2)"
    add("--repeat", type=times, default={STS: 2}, metavar="DATA=TIMES,…", help=message)
    return parser


def rows_by_source(tokenizer: Tokenizer, sentences: Sequence[str], english: int) -> dict[str, Rows]:
    """Every distinct text that occurs in no test, by source, with the text whose vector it learns."""
    seen = tested((*PARALLEL, JAPANESE)) | {letters(text) for text in texts_of(STS_DEVELOPMENT)}
    tests = frozenset(seen)
    result = {name: list(_new(taught_rows(name, tests), seen)) for name in PARALLEL}
    result[JAPANESE] = list(_new(_alone(texts_of(JAPANESE)), seen))
    found = [(name, text) for name, of in unlabelled(sentences, tokenizer).items() for text in of]
    some = [found[i] for i in np.sort(np.random.default_rng(0).permutation(len(found))[:english])]
    for name in sentences:
        result[name] = list(_new(_alone(text for source, text in some if source == name), seen))
    result[VOCABULARY] = list(_alone(words(tokenizer)))
    return result


def taught_rows(name: str, tests: Container[str]) -> Iterator[tuple[str, str]]:
    """A row for each translation and one for its English sentence, unless that occurs in a test.

    A translation whose English occurs in a test is left out as well, but for STS-B's, most of whose English sentences
    are in STS12 to STS16: it learns the vector of itself.
    """
    for english, translation in translations(name):
        if letters(english) not in tests:
            yield from ((translation, english), (english, english))
        elif name == STS:
            yield translation, translation


def translations(name: str) -> Iterator[tuple[str, str]]:
    """Pairs of an English sentence and its translation, without those set aside or marked as test sentences."""
    columns = load_dataset(name).columns
    if name in TATOEBA:
        marks = columns["english_in_any_tatoeba_test"]
        for english, sentence, marked in zip(columns["english"], columns["sentence"], marks, strict=True):
            if not marked and not is_aside(english):
                yield english, sentence
    elif name == CAPTIONS:
        for language in CAPTION_LANGUAGES:
            yield from zip(columns["en"], columns[language], strict=True)
    elif name == MEDICINE:
        rows = zip(columns["lang"], columns["english"], columns["text"], strict=True)
        yield from ((of, text) for language, of, text in rows if language in MEDICINE_LANGUAGES)
    else:
        yield from _sts_translations(columns)


def _sts_translations(columns: DatasetColumns) -> Iterator[tuple[str, str]]:
    rows = list(zip(*(columns[key] for key in ("lang", "index", "sentence1", "sentence2")), strict=True))
    english = {row: both for language, row, *both in rows if language == "en"}
    for language, row, *both in rows:
        if language != "en":
            yield from zip(english[row], both, strict=True)


def is_aside(english: str) -> bool:
    """Whether this sentence of Tatoeba is development data."""
    return crc32(letters(english).encode()) % ASIDE == 0


def _alone(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((text, text) for text in texts)


def _new(rows: Iterable[tuple[str, str]], seen: set[str]) -> Iterator[tuple[str, str]]:
    for text, source in rows:
        if (form := letters(text)) not in seen:
            seen.add(form)
            yield text, source


def evening_head(vectors: np.ndarray, power: float) -> nn.Sequential:
    """A linear layer that does to the backbone's vectors what `whitened` does to the teacher's, and Normalize."""
    axes, scales = evened(torch.from_numpy(vectors), power)
    layer = Dense(len(axes), len(axes), bias=False, activation="Identity")
    with torch.no_grad():
        layer.linear.weight.copy_((axes * (scales / scales.max())) @ axes.T)
    return nn.Sequential(layer, Normalize())


if __name__ == "__main__":
    start(main)
