"""Do our token ids and offsets equal those of Hugging Face's tokenizers, for every published kind, on a million texts?

    python -m benchmarks.token_ids [KIND ...] [--texts 1000000] [--fuzzed 200000] [--json]

The texts are distinct texts from LIKEWISE_DATA, spread as evenly over languages as possible: all texts of a language
with few, and equal numbers for the others. Fuzzed strings are random characters, or real texts with pieces inserted and
removed. Every text is tokenized by the compiled library with and without offsets; every SAMPLE-th also by plain Python.
Tokenizers that are not available as published are trained (token_kinds.py). Results are kept until the tokenizer, the
library or the counts change, so a run may be stopped and resumed, or split up by KIND. The results of a run are written
to benchmarks/results/token_ids.json.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import c_int32, c_int64, c_uint32
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import tokenizers

from likewise.native.library import library_path
from likewise.native.tokenizing import NativeTokenizer
from likewise.runtime.progress import StatusLine
from likewise.text import reference_tokenizer
from likewise.text.reference_tokenizer import ReferenceTokenizer
from likewise.text.tokenizer_json import canonical, read_described

from . import record
from .options import options
from .pages import PageTables, rows
from .token_kinds import CACHE, KINDS, file_of

PIECE, SAMPLE, TRAINING_SAMPLE = 20_000, 500, 12
Engine = Callable[[str], NativeTokenizer | ReferenceTokenizer]
PLAIN = "plain Python"
TEXT_COLUMNS = {
    *("text", "sentence", "sentence1", "sentence2", "english", "question", "answer_sentence", "title"),
    *("anchor", "positive", "negative", "caption1", "caption2", "caption3", "caption4", "caption5"),
}
LANGUAGES = {
    **{"ar": "ara", "cs": "ces", "de": "deu", "el": "ell", "en": "eng", "es": "spa", "es-419": "spa", "fr": "fra"},
    **{"hi": "hin", "id": "ind", "it": "ita", "ja": "jpn", "ko": "kor", "ku": "kur", "lg": "lug", "ln": "lin"},
    **{"ms": "zsm", "nl": "nld", "pl": "pol", "ps": "pus", "pt": "por", "pt-BR": "por", "ru": "rus", "rw": "kin"},
    **{"th": "tha", "tr": "tur", "ur": "urd", "vi": "vie", "zh": "cmn"},
}
"""Maps the language names of some data sets to ISO 639-3 codes, which the other data sets use."""
LANGUAGE_COLUMNS = ("en", "de", "fr", "cs", "ja")
FOLDERS = {"jsts": "jpn", "korsts": "kor"}
ODD = (
    "[CLS]", "[MASK]", " [MASK] ", "<s>", "</s>", "<mask>", "<extra_id_7>", "|||IP_ADDRESS|||", "[unused3]",
    "<unk>", " ", "  ", " " * 9, "\n", "\r\n", "\t", "\x0b", "\x85", "\x00", "\xa0", "\u2028", "\u200b", "\u200d",
    "\ufeff", "\ufffd", "▁", "``", "''", "##s", "'s", "'LL", "'ſ", "İ", "ẞ", "ß", "ﬁ", "①", "½", "²", "豈", "각",
    "\u1100\u1161", "e\u0301", "a\u0323\u0302\u0301", "\u0344", "\u302e", "ｶﾞ", "🏳️\u200d🌈", "👩🏽\u200d🚀", "x" * 120,
    "1" * 30, "．",
)  # fmt: skip
"""Strings that tokenizers treat specially."""
RANGES = ((0x20, 0x7F), (0, 0x250), (0x300, 0x370), (0x370, 0x3000), (0x3000, 0xD800), (0xE000, 0x20000), (0, 0x110000))
"""Ranges of code points from which fuzzed strings are drawn, each with the same probability."""


def texts_by_language() -> dict[str, list[str]]:
    """Return all distinct texts of the data sets by language; a text found in two languages counts for the first."""
    found: dict[str, list[str]] = {}
    seen = set[str]()
    for file in sorted(record.data().rglob("*.parquet")):
        table = parquet.read_table(file)
        for column in sorted({*table.column_names} & {*TEXT_COLUMNS, *LANGUAGE_COLUMNS}):
            languages = _languages(file, column, table)
            for language, text in zip(languages, table[column].to_pylist(), strict=True):
                if text and text not in seen:
                    seen.add(text)
                    found.setdefault(LANGUAGES.get(language, language), []).append(text)
    return found


def _languages(file: Path, column: str, table: Any) -> Sequence[str]:
    if column in LANGUAGE_COLUMNS:
        return [column] * table.num_rows
    if "lang" in table.column_names and column != "english":
        return list(table["lang"].to_pylist())
    translated = file.parent.name == "tatoeba_pairs" and column == "sentence"
    return [file.stem if translated else FOLDERS.get(file.parent.name, "eng")] * table.num_rows


def chosen(count: int) -> dict[str, list[str]]:
    """Choose `count` texts: all texts of languages with few, and equal numbers for the others."""
    found, parts = sorted(texts_by_language().items(), key=lambda of: len(of[1])), dict[str, list[str]]()
    for i, (language, texts) in enumerate(found):
        share = (count - sum(map(len, parts.values()))) // (len(found) - i)
        parts[language] = random.Random(0).sample(texts, min(len(texts), share))
    if sum(map(len, parts.values())) < count:
        found = sum(map(len, parts.values()))
        raise SystemExit(f"the data sets contain only {found:,} distinct texts; expected {count:,}")
    return parts


def fuzzed(texts: Sequence[str], count: int) -> list[str]:
    """Generate distinct strings: random characters and special strings, or texts with insertions and deletions."""
    draw, found = random.Random(0), dict[str, None]()
    while len(found) < count:
        found["".join(map(_piece, [draw] * draw.randint(1, 30))) if draw.random() < 0.5 else _damaged(draw, texts)] = (
            None
        )
    return list(found)


def _piece(draw: random.Random) -> str:
    if draw.random() < 0.3:
        return draw.choice(ODD)
    code = draw.randrange(*draw.choice(RANGES))
    return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)


def _damaged(draw: random.Random, texts: Sequence[str]) -> str:
    text = draw.choice(texts)
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(text))
        text = text[:at] + _piece(draw) * draw.choice((0, 1, 1, 2)) + text[at + draw.choice((0, 0, 1, 4)) :]
    return text


def differences(
    theirs: tokenizers.Tokenizer, ours: NativeTokenizer | ReferenceTokenizer, texts: Sequence[str]
) -> Iterator[tuple[int, bool, bool]]:
    """Yield, for every text, the number of tokens, and whether ids and whether offsets differ."""
    wanted = theirs.encode_batch(texts, add_special_tokens=False)
    spanned = with_spans(ours, texts)
    for expected, ids, (spanned_ids, spans) in zip(wanted, ours.encode(texts).lists(), spanned, strict=True):
        other_offsets = spans != list(chain.from_iterable(expected.offsets))
        yield len(ids), ids != expected.ids or spanned_ids != ids, other_offsets


def with_spans(
    ours: NativeTokenizer | ReferenceTokenizer, texts: Sequence[str]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the ids of every text, and its tokens' alternating start and stop offsets."""
    if isinstance(ours, ReferenceTokenizer):
        yield from ((found.ids.tolist(), found.spans.ravel().tolist()) for found in map(ours.encode_with_spans, texts))
        return
    with ours._tokens(texts, spans=True) as tokens:  # one call, because a call per text takes five times as long
        ids, ends = (
            (c_int32 * tokens.tokens).from_address(tokens.ids or 0)[:],
            (c_int64 * tokens.texts).from_address(tokens.ends)[:],
        )
        spans = (c_uint32 * (2 * tokens.tokens)).from_address(tokens.spans or 0)[:]
    for start, stop in pairwise([0, *ends]):
        yield ids[start:stop], spans[2 * start : 2 * stop]


def compared(what: str, file: Path, make: Engine, texts: Sequence[str]) -> dict[str, Any]:
    """Compare all texts; returns totals, and the first texts that differ."""
    theirs, ours = tokenizers.Tokenizer.from_file(str(file)), make(canonical(read_described(file.parent)))
    theirs.no_truncation()
    theirs.no_padding()
    source = library_path() if make is NativeTokenizer else Path(reference_tokenizer.__file__)
    key = hashlib.sha256(f"{what} {len(texts)} {tokenizers.__version__}".encode())
    key.update(file.read_bytes() + source.read_bytes())
    line, totals = StatusLine(), dict[str, Any]()
    for start in range(0, len(texts), PIECE):
        path = CACHE / f"{key.hexdigest()[:32]}-{start}.json"
        if not path.is_file():
            path.write_text(json.dumps(_piece_of(theirs, ours, texts[start : start + PIECE])), "utf-8")
        found = json.loads(path.read_text("utf-8"))
        totals = {name: totals[name] + found[name] for name in found} if totals else found
        line(f"{what}: {totals['texts']:,} of {len(texts):,} texts, {totals['other ids']} with other ids")
    line.close(f"{what}: {totals | {'examples': ...}}")
    return {**totals, "examples": totals["examples"][:20]}


def _piece_of(
    theirs: tokenizers.Tokenizer, ours: NativeTokenizer | ReferenceTokenizer, texts: Sequence[str]
) -> dict[str, Any]:
    tokens, ids, offsets = zip(*differences(theirs, ours, texts), strict=True)
    examples = [text for text, *other in zip(texts, ids, offsets, strict=True) if any(other)]
    sums = {"tokens": sum(tokens), "other ids": sum(ids), "other offsets": sum(offsets)}
    return {"texts": len(texts), **sums, "examples": examples}


def result(kind: str, real: Sequence[str], odd: Sequence[str]) -> dict[str, Any]:
    """Return the comparisons for one kind of tokenizer."""
    CACHE.mkdir(parents=True, exist_ok=True)
    file = file_of(kind, real[::TRAINING_SAMPLE])
    parts = (
        ("real", NativeTokenizer, real),
        ("fuzzed", NativeTokenizer, odd),
        (PLAIN, ReferenceTokenizer, [*real, *odd][::SAMPLE]),
    )
    about = {"file": "trained here" if file.is_relative_to(CACHE) else "as published"}
    about["vocabulary"] = tokenizers.Tokenizer.from_file(str(file)).get_vocab_size()
    return about | {part: compared(f"{kind}, {part}", file, make, texts) for part, make, texts in parts}


def table(kinds: Mapping[str, Any]) -> list[str]:
    """Return the results as a Markdown table."""
    body = []
    for kind, of in kinds.items():
        cells = [
            f"{of[part]['other ids']:,} and {of[part]['other offsets']:,} of {of[part]['texts']:,}"
            for part in ("real", "fuzzed", PLAIN)
        ]
        body.append([kind, of["file"], f"{of['vocabulary']:,}", f"{of['real']['tokens']:,}", *cells])
    return rows("tokenizer | vocabulary | its size | tokens of real texts | real texts | fuzzed | plain Python", body)


def drawn() -> list[str]:
    """Return the table of the saved results."""
    return table(record.read("token_ids")["results"]["kinds"])


TABLES: PageTables = {"docs/supported-models.md": {"token ids": drawn}}


def main(argv: Sequence[str] | None = None) -> None:
    """Compare the kinds, and print and save the results."""
    args = options(__doc__, argv, {"kinds": list(KINDS)}, texts=1_000_000, fuzzed=200_000, json=False)
    by_language = chosen(args.texts)
    real = list(chain.from_iterable(by_language.values()))
    odd = fuzzed(real, args.fuzzed)
    kinds = {kind: result(kind, real, odd) for kind in args.kinds}
    counts = dict(sorted(((language, len(texts)) for language, texts in by_language.items()), key=lambda of: -of[1]))
    results = {"tokenizers": tokenizers.__version__, "languages": counts, "kinds": kinds}
    record.save("token_ids", results)
    print(json.dumps(results, indent=2) if args.json else "\n".join(table(kinds)))


if __name__ == "__main__":
    main()
