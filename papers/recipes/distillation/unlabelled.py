"""Texts without labels to distil from: what several data sets hold, less every text of the tests."""

from collections.abc import Iterator, Sequence
from functools import partial

from likewise.data.catalogue.entry import TEXT_COLUMNS
from likewise.data.datasets import check_dataset, load_dataset
from likewise.embedder import Embedder
from likewise.evaluate.tasks.registry import TASKS
from likewise.text.normalization import normalized

VOCABULARY = "vocabulary"
"""The teacher's own words, each alone, so that those no sentence holds are learned as well."""
SOURCES = (
    "nli/train",
    "flickr30k_captions/train",
    "mrpc/train",
    "diverse_text/part-0",
    "diverse_text/part-1",
    "diverse_text/part-2",
    VOCABULARY,
)
"""None of them is read by a test, except MRPC's training split by the task that trains a classifier on it."""
ALIKE = {"wiki_sections/sentences": "wiki_sections/triplets"}
"""Data of a test that are made of a source's texts."""

letters = partial(normalized, punctuation=False)


def unlabelled(sources: Sequence[str], teacher: Embedder) -> dict[str, list[str]]:
    """The distinct texts of each source, in their order, less those that a test has, by letters and digits alone.

    A test made of a source itself (`touched`) is none for what is learned here. Single words of the vocabulary are
    not compared: some tests hold single words as well (MPQA, SST-2).
    """
    seen = tested(sources)
    result: dict[str, list[str]] = {}
    for source in sources:
        result[source] = texts = []
        if source == VOCABULARY:
            texts += words(teacher)
            continue
        for text in texts_of(source):
            form = letters(text)
            if form not in seen:
                seen.add(form)
                texts.append(text)
    return result


def tested(sources: Sequence[str] = ()) -> set[str]:
    """The texts of every test at hand that is not made of the sources, by their letters and digits."""
    return {letters(text) for file in _others(sources) for text in texts_of(file)}


def single_words(model: Embedder, sources: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How many of its distinct texts a test has that are words of the vocabulary; of those that have any."""
    known = {letters(word) for word in words(model)}
    forms = {file: {letters(text) for text in texts_of(file)} for file in _others(sources)}
    return {file: (len(texts & known), len(texts)) for file, texts in forms.items() if texts & known}


def _others(sources: Sequence[str]) -> list[str]:
    ours = _with_derived(sources)
    files = dict.fromkeys(file for task in TASKS.values() for file in task.data)
    return [file for file in files if file not in ours and check_dataset(file).state != "missing"]


def touched(sources: Sequence[str]) -> list[str]:
    """The tasks that read a source, or what is derived from it."""
    ours = _with_derived(sources)
    return [name for name, task in TASKS.items() if ours & {*task.data}]


def _with_derived(sources: Sequence[str]) -> set[str]:
    return {*sources, *(ALIKE[source] for source in sources if source in ALIKE)}


def texts_of(name: str) -> Iterator[str]:
    """Every text of a data set, column after column; nothing of a file of numbers alone."""
    columns = load_dataset(name).columns
    for column in TEXT_COLUMNS:
        yield from columns.get(column, ())


def is_question(text: str) -> bool:
    """It ends in a question mark."""
    return text.rstrip().endswith("?")


def words(teacher: Embedder) -> list[str]:
    """The whole words of two letters or more in a vocabulary of word pieces."""
    return sorted(word for word in teacher.tokenizer.backend.get_vocab() if len(word) > 1 and word.isalpha())
