"""Write unicode_tables.h: what tokenizers know of every code point, and how it is decomposed, composed, lower-cased.

    python native/text/make_unicode_tables.py native/text/unicode_tables.h

Published tokenizers were trained behind Hugging Face's library, whose parts are of several Unicode versions: its BERT
normalizer has the categories of Unicode 8, its lower case that of 16. Ids are equal only if the tables are, so we ask
that library about every code point; classes of combining marks and pairs to compose come from Python's unicodedata,
and are kept where the library agrees. tests/native/test_tokenizing.py holds the result to it.
"""

import struct
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import tokenizers
from tokenizers import Regex
from tokenizers.normalizers import NFC, NFD, NFKD, BertNormalizer, Nmt, Precompiled, StripAccents
from tokenizers.pre_tokenizers import BertPreTokenizer, Split, Whitespace

BLOCK = 128
HANGUL = range(0xAC00, 0xAC00 + 11172)
"""Syllables, which are decomposed by arithmetic (The Unicode Standard, section 3.12)."""


def code_points() -> Iterator[int]:
    """Every code point but the halves of surrogate pairs."""
    yield from range(0xD800)
    yield from range(0xE000, 0x110000)


def bert(**options: bool) -> BertNormalizer:
    """One step of BERT's normalizer alone."""
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return BertNormalizer(**{**off, **options})


CLEAN, CHINESE, ACCENTS, LOWER = (
    bert(**{name: True}) for name in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
)
BERT_WORDS, ANY_ACCENTS, NMT = BertPreTokenizer(), StripAccents(), Nmt()
CLASSES = {name: Split(Regex(pattern), "isolated") for name, pattern in (("LETTER", r"\p{L}"), ("NUMBER", r"\p{N}"))}
FLAGS = (
    *("REMOVED", "SPACE", "PUNCTUATION", "CHINESE", "NONSPACING", "MARK", "LETTER", "NUMBER"),
    *("NMT_REMOVED", "NMT_SPACE", "EXTENDS", "CONTROL", "WORD", "PREPENDS"),
)
"""In the order of their bits; DECOMPOSES and COMPATIBLE follow."""


def probe_of_graphemes() -> Precompiled:
    """A SentencePiece normalizer that makes `b` of a short grapheme with a first letter `a`, of whatever follows it."""
    units = [0] * 1024
    units[0] = 256 << 10
    units[256 ^ ord("a")] = (256 ^ ord("a") ^ 600) << 10 | 1 << 8 | ord("a")
    units[600] = 1 << 31
    return Precompiled(struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + b"b\0")


GRAPHEMES = probe_of_graphemes()


def flags(c: int) -> set[str]:
    """The names of FLAGS that hold for a code point."""
    s = chr(c)
    clean, nmt = CLEAN.normalize_str(s), NMT.normalize_str(s)
    words = len(BERT_WORDS.pre_tokenize_str(f"a{s}a"))
    extends = GRAPHEMES.normalize_str("a" + s) == "b"
    prepends = GRAPHEMES.normalize_str(s + "a\u0301")[-1] == "\u0301"
    found = {
        "EXTENDS": extends,
        "PREPENDS": prepends,
        "WORD": len(Whitespace().pre_tokenize_str(f"a{s}a")) == 1,
        "CONTROL": unicodedata.category(s) in ("Cc", "Cf", "Zl", "Zp") and not (extends or prepends),
        "REMOVED": clean == "",
        "SPACE": words == 2,
        "PUNCTUATION": words == 3,
        "CHINESE": CHINESE.normalize_str(s) != s,
        "NONSPACING": ACCENTS.normalize_str(s) == "",
        "MARK": ANY_ACCENTS.normalize_str(s) == "",
        "NMT_REMOVED": nmt == "",
        "NMT_SPACE": nmt == " " and s != " ",
        **{name: len(split.pre_tokenize_str(f"\0{s}\0")) == 3 for name, split in CLASSES.items()},
    }
    return {name for name, holds in found.items() if holds}


def combining_class(c: int) -> int:
    """The canonical combining class, 0 where the library does not reorder the mark."""
    order = unicodedata.combining(chr(c))
    probe = "\u0345" if order < 240 else "\u0334"  # of class 240 and 1
    pair = probe + chr(c) if order < 240 else chr(c) + probe
    return order if order and NFD().normalize_str("a" + pair) != "a" + pair else 0


def pairs() -> Iterator[tuple[int, int, int]]:
    """First, second and composed code point of every pair that canonical composition joins, Hangul aside."""
    for c in code_points():
        pair = unicodedata.decomposition(chr(c)).split()
        if c in HANGUL or len(pair) != 2 or pair[0].startswith("<"):
            continue
        first, second = (int(part, 16) for part in pair)
        if NFC().normalize_str(chr(first) + chr(second)) == chr(c):
            yield first, second, c


def numbers(values: Iterable[int]) -> str:
    """Lines of a C array."""
    texts, lines, line = [f"{v}," for v in values], [], "   "
    for text in texts:
        if len(line) + len(text) > 118:
            lines.append(line)
            line = "   "
        line += text
    return "\n".join([*lines, line])


def array(kind: str, name: str, values: Iterable[int]) -> str:
    """A C array."""
    values = list(values)
    return f"constexpr {kind} {name}[{len(values)}] = {{\n{numbers(values)}\n}};\n"


def decompositions(normalizer: NFD | NFKD, skip: dict[int, str]) -> dict[int, str]:
    """Code points that a normalizer replaces, but those that are replaced alike in `skip`."""
    return {
        c: d
        for c in code_points()
        if c not in HANGUL and (d := normalizer.normalize_str(chr(c))) != chr(c) and skip.get(c) != d
    }


def tables() -> Iterator[str]:
    canonical = decompositions(NFD(), {})
    compatible = decompositions(NFKD(), canonical)
    records: dict[tuple[int, int, int], int] = {}
    stage = []
    for c in range(0x110000):
        known = set() if 0xD800 <= c < 0xE000 else flags(c)
        bits = sum(1 << i for i, name in enumerate(FLAGS) if name in known)
        bits |= (c in canonical or c in HANGUL) << len(FLAGS) | (c in compatible) << len(FLAGS) + 1
        lower = chr(c) if 0xD800 <= c < 0xE000 else LOWER.normalize_str(chr(c))
        step = 0 if len(lower) > 1 else ord(lower) - c  # İ alone becomes two
        mark = 0 if 0xD800 <= c < 0xE000 else combining_class(c)
        stage.append(records.setdefault((bits, step, mark), len(records)))
    blocks: dict[tuple[int, ...], int] = {}
    first = [blocks.setdefault(tuple(stage[i : i + BLOCK]), len(blocks)) for i in range(0, len(stage), BLOCK)]
    for i, name in enumerate((*FLAGS, "DECOMPOSES", "COMPATIBLE")):
        yield f"constexpr uint16_t {name} = 1 << {i};\n"
    yield "struct CodePoint { uint16_t flags; uint8_t combining; int32_t lower; };  // lower: to be added\n"
    rows = "\n".join(f"    {{{bits}, {mark}, {step}}}," for bits, step, mark in records)
    yield f"constexpr CodePoint RECORDS[{len(records)}] = {{\n{rows}\n}};\n"
    yield f"constexpr int BLOCK_SIZE = {BLOCK};\n"
    yield array("uint8_t" if len(blocks) < 256 else "uint16_t", "BLOCKS", first)
    yield array(
        "uint8_t" if len(records) < 256 else "uint16_t", "RECORD_NUMBERS", (n for block in blocks for n in block)
    )
    for name, table in (("CANONICAL", canonical), ("COMPATIBILITY", compatible)):
        ends, pool = [], ""
        for text in table.values():
            pool += text
            ends.append(len(pool))
        yield array("uint32_t", f"{name}_KEYS", table)
        yield array("uint16_t", f"{name}_ENDS", ends)
        yield array("uint32_t", f"{name}_POOL", map(ord, pool))
    joined = sorted(pairs())
    yield "// first << 32 | second, ascending, and what they are composed to\n"
    yield array("uint64_t", "PAIRS", (a << 32 | b for a, b, _ in joined))
    yield array("uint32_t", "COMPOSED", (c for *_, c in joined))


def main(path: Path) -> None:
    """Write the tables."""
    head = (
        f"// Made by make_unicode_tables.py from tokenizers {tokenizers.__version__} and Unicode "
        f"{unicodedata.unidata_version} (Python's unicodedata); do not edit.\n#pragma once\n\n#include <cstdint>\n\n"
        "namespace likewise::unicode {\n\n"
    )
    path.write_text(head + "\n".join(tables()) + "\n}  // namespace likewise::unicode\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
