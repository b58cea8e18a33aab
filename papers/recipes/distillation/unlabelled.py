"""Unlabelled texts for distillation: the texts of several data sets, except those that occur in a test set."""

from collections.abc import Iterator, Sequence
from functools import partial

from likewise.data.catalogue.entry import TEXT_COLUMNS
from likewise.data.datasets import check_dataset, load_dataset
from likewise.evaluate.tasks.registry import TASKS
from likewise.text.normalization import normalized
from likewise.text.tokenizer import Tokenizer

VOCABULARY = "vocabulary"
"""The single words of the teacher's vocabulary, so that words that occur in no sentence are learned as well."""
SOURCES = (
    "nli/train",
    "flickr30k_captions/train",
    "mrpc/train",
    "diverse_text/part-0",
    "diverse_text/part-1",
    "diverse_text/part-2",
    VOCABULARY,
)
"""No test reads any of these, except the MRPC task, which trains a classifier on MRPC's training split."""
ALIKE = {"wiki_sections/sentences": "wiki_sections/triplets", "stsb_multi_mt/train": "stsb/train"}
"""A task's data that have the same texts as a source, or translations of them."""
WORD = "▁"
"""SentencePiece's mark for the start of a word."""

letters = partial(normalized, punctuation=False)


def unlabelled(sources: Sequence[str], tokenizer: Tokenizer) -> dict[str, list[str]]:
    """The distinct texts of each source, in order, except test texts; only letters and digits are compared.

    A test derived from a source (`touched`) does not count as a test here. Single words of the vocabulary are not
    compared, since some tests also contain single words (MPQA, SST-2).
    """
    seen = tested(sources)
    result: dict[str, list[str]] = {}
    for source in sources:
        result[source] = texts = []
        if source == VOCABULARY:
            texts += words(tokenizer)
            continue
        for text in texts_of(source):
            form = letters(text)
            if form not in seen:
                seen.add(form)
                texts.append(text)
    return result


def tested(sources: Sequence[str] = ()) -> set[str]:
    """The texts of every local test that is not derived from the sources, reduced to letters and digits."""
    return {letters(text) for file in _others(sources) for text in texts_of(file)}


def single_words(tokenizer: Tokenizer, sources: Sequence[str]) -> dict[str, tuple[int, int]]:
    """For each test with single words of the vocabulary as texts: their number, and that of all its distinct texts."""
    known = {letters(word) for word in words(tokenizer)}
    forms = {file: {letters(text) for text in texts_of(file)} for file in _others(sources)}
    return {file: (len(texts & known), len(texts)) for file, texts in forms.items() if texts & known}


def _others(sources: Sequence[str]) -> list[str]:
    ours = _with_derived(sources)
    files = dict.fromkeys(file for task in TASKS.values() for file in task.data)
    return [file for file in files if file not in ours and check_dataset(file).state != "missing"]


def touched(sources: Sequence[str]) -> list[str]:
    """The tasks that read a source, or data derived from one."""
    ours = _with_derived(sources)
    return [name for name, task in TASKS.items() if ours & {*task.data}]


def _with_derived(sources: Sequence[str]) -> set[str]:
    return {*sources, *(ALIKE[source] for source in sources if source in ALIKE)}


def texts_of(name: str) -> Iterator[str]:
    """Every text of a data set, column after column; nothing if it has only numbers."""
    columns = load_dataset(name).columns
    for column in TEXT_COLUMNS:
        yield from columns.get(column, ())


def is_question(text: str) -> bool:
    """Whether the text ends in a question mark."""
    return text.rstrip().endswith("?")


def words(tokenizer: Tokenizer) -> list[str]:
    """The whole words of two or more letters in a vocabulary of WordPiece or SentencePiece."""
    pieces = tokenizer.token_ids_by_name
    marked = [piece.removeprefix(WORD) for piece in pieces if piece.startswith(WORD)]
    return sorted({word for word in marked or pieces if len(word) > 1 and word.isalpha()})
