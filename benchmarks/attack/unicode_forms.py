"""Unicode forms wherever a caller names something: ids, words, filters, files, folders, columns, keys, requests.

Data stored under a name must be found by that name and by no other. Words must be found regardless of composition and
case. Names that cannot be stored must be refused.
"""

import json
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np

from likewise import Embedder
from likewise.files.documents import read_documents
from likewise.search.collection import Collection
from likewise.search.records import Records
from likewise.search.texts.text_index import TextIndex
from likewise.serve.api_keys import add_key, read_keys, remove_key

from .attempt import Attempt, Setup, expect
from .command import cli, outcome_of
from .served import GONE, tiny_server

FORMS: Mapping[str, str] = {
    "composed": "café",
    "decomposed": "cafe\u0301",
    "order-of-marks": "e\u0323\u0302x",
    "turkish": "İstanbul",
    "dotless": "ısı",
    "sharp-s": "Straße",
    "capital-sharp-s": "STRAẞE",
    "ligature": "ﬁne ﬂy",
    "apostrophe-n": "ŉa",
    "full-width": "ｃａｔ",
    "circled": "①②",
    "roman": "Ⅻ",
    "angstrom": "\u212bngstrom",
    "kelvin": "\u212aelvin",
    "ohm": "\u2126a",
    "micro": "µm",
    "sigma": "ΟΔΥΣΣΕΥΣ",
    "greek-accents": "ἄνθρωπος",
    "cyrillic": "ёлка й",
    "hangul": "한글",
    "jamo": "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "compatibility-ideograph": "\uf900x",
    "ideographs": "猫が寝る",
    "kana-marks": "か\u3099",
    "half-kana": "ｶﾞｷﾞ",
    "extension-b": "𠮷野",
    "arabic-forms": "\ufefb\ufe8e",
    "arabic": "مَرْحَبًا",
    "tatweel": "مـــرحبا",
    "hebrew": "שָׁלוֹם",
    "devanagari": "क्षि",
    "nukta": "\u0958",
    "thai": "น้ำใจ",
    "khmer": "ខ្មែរ",
    "tamil": "கொ",
    "math": "𝒞𝒶𝓉",
    "deseret": "𐐀𐐨",
    "cherokee": "Ꭰꭰ",
    "georgian": "ᲐᲑ",
    "superscript": "x²",
    "emoji-family": "👩\u200d👩\u200d👧",
    "flag": "🇩🇪",
    "skin": "👍🏽",
    "variation": "☃\ufe0f",
    "keycap": "1\ufe0f\u20e3",
    "joiner": "a\u200db",
    "non-joiner": "a\u200cb",
    "zero-width-space": "a\u200bb",
    "soft-hyphen": "co\u00adop",
    "bom": "\ufeffcat",
    "override": "\u202etac",
    "tags": "a\U000e0061\U000e0062",
    "noncharacter": "a\uffff",
    "private": "a\ue000",
    "unassigned": "a\U0003fff0",
    "nul": "a\0b",
    "control": "a\x1b[31mb\x07",
    "newline": "a\nb",
    "line-separator": "a\u2028b\x85c",
    "no-break": "a\u00a0b",
    "many-marks": "e" + "\u0301" * 300,
    "only-marks": "\u0301\u0302",
    "surrogate": "a\ud800b",
    "half-byte": "a\udcffb",
    "quotes": 'O\'Reilly "x" `y`',
    "sql": "'; DROP TABLE records; --",
    "glob": "*?[a]",
    "dots": "..",
    "slash": "a/b",
    "backslash": "a\\b",
    "percent": "%00%ff%2f",
    "blank": " a ",
    "dash": "-rf",
    "home": "~root",
    "markup": "<b>&amp;[red]",
    "braces": "{0} {x!r} $HOME",
    "long": "é" * 200,
    "case": "CaT",
}
VARIANTS: Mapping[str, Callable[[str], str]] = {
    **{form: partial(unicodedata.normalize, form) for form in ("NFC", "NFD", "NFKC", "NFKD")},
    **{"casefold": str.casefold, "upper": str.upper, "lower": str.lower},
}


def attempts(setup: Setup) -> Iterator[Attempt]:
    """Yield an attempt for every form in every place."""
    for place, work in PLACES.items():
        for name in [*FORMS][:: 10 if setup.quick else 1]:
            yield Attempt(f"unicode/{place}/{name}", partial(work, setup, FORMS[name]), ("*",))
    for how in VARIANTS:
        for name in [*FORMS][:: 10 if setup.quick else 1]:
            yield Attempt(f"unicode/words-{how}/{name}", partial(_words, FORMS[name], VARIANTS[how]), ("c", "c/*"))


def _variants(form: str) -> list[str]:
    """Return the form and similar but different texts, all of which are distinct ids."""
    return [*dict.fromkeys([form, *(change(form) for change in VARIANTS.values())])]


def _ids(_: Setup, form: str) -> None:
    """Check that ids that look alike differ: each finds its own record, even after the index is reopened."""
    ids = [one for one in _variants(form) if one]
    with Collection.create("c", 4) as collection:
        vectors = np.random.default_rng(0).normal(size=(len(ids), 4)).astype(np.float32)
        collection.add(Records(ids, vectors, [f"text {i}" for i in range(len(ids))]))
    with Collection.open("c") as collection:
        for i, one in enumerate(ids):
            expect(
                [*(collection.get([one]).texts or ())] == [f"text {i}"], "wrong answer", f"{one!r} finds another record"
            )
        expect(
            collection.delete(ids[:1]) == 1 and collection.count() == len(ids) - 1, "lost rows", f"deleting {form!r}"
        )
        expect(sorted(collection.ids()) == sorted(ids[1:]), "wrong answer", f"ids {[*collection.ids()]!a}")
        collection.upsert(Records(ids, vectors, ["new"] * len(ids)))
        expect(collection.count() == len(ids) and collection.verify().is_clean, "wrong answer", "after an upsert")


def _text_ids(setup: Setup, form: str) -> None:
    """Check the same for texts in a TextIndex with the caller's ids."""
    ids = [one for one in _variants(form) if one.strip()]
    with TextIndex.open("c", Embedder.load(setup.models / "words", engine="numpy")) as index:
        index.add([f"the cat sleeps {i} hours" for i in range(len(ids))], ids=ids)
        for i, one in enumerate(ids):
            found = [row["text"] for row in index.get([one])]
            expect(found == [f"the cat sleeps {i} hours"], "wrong answer", f"{one!a}: {found}")
        result = index.search("the cat sleeps 0 hours", len(ids), hybrid=True)
        expect(
            {one.id for one in result.passages} == {*ids}, "wrong answer", f"{[one.id for one in result.passages]!a}"
        )
        index.delete([ids[0]])
        expect(index.index.count() == len(ids) - 1, "lost rows", f"{index.index.count()} of {len(ids)} are left")


def _words(form: str, change: Callable[[str], str]) -> str:
    """Check that a text is found by changed forms of its words, and a changed text by the original words."""
    if not any(character.isalnum() for character in form):
        return "refused"  # the form contains no words
    texts = [f"before {form} after", f"before {change(form)} after", "before nothing after"]
    with Collection.create("c", 2) as collection:
        collection.add(Records(["0", "1", "2"], np.eye(3, 2, dtype=np.float32) + 1, texts))
        for query in (form, change(form)):
            found = {match.id for match in collection.search_words(query)}
            expect(found == {"0", "1"}, "wrong answer", f"{query!a} finds {sorted(found)} of 0 and 1: {texts!a}")
    return "answered"


def _filters(_: Setup, form: str) -> None:
    """Check that metadata names and values are compared exactly."""
    values = _variants(form)
    with Collection.create("c", 2) as collection:
        about = [{"lang": value, form: i} for i, value in enumerate(values)]
        vectors = np.ones((len(values), 2), np.float32)
        collection.add(Records([f"{i}" for i in range(len(values))], vectors, metadata=about))
        for value in values:
            quoted = "'" + value.replace("'", "''") + "'"
            for where, expected in (
                (f"lang = {quoted}", 1),
                (f"lang != {quoted}", len(values) - 1),
                (f"lang in ({quoted})", 1),
            ):
                count = collection.count(where)
                expect(count == expected, "wrong answer", f"{where!a}: {count} of {expected}")
        if "`" not in form:
            count = collection.count(f"`{form}` >= 1")
            expect(count == len(values) - 1, "wrong answer", f"name {form!a}: {count} of {len(values) - 1}")


def _vector_files(setup: Setup, form: str) -> str:
    """Encode a file of texts into a file of vectors; both have this name."""
    if not _is_file_name(form):
        return outcome_of(cli("encode", f"{form}.txt", "-o", "v.npy", "-m", setup.models / "words", "-q"))
    Path(f"{form}.txt").write_text("a cat\na dog\n")
    outcome = outcome_of(cli("encode", f"./{form}.txt", "-o", f"./{form}.npy", "-m", setup.models / "words", "-q"))
    if outcome == "answered":
        expect(len(np.load(f"{form}.npy")) == 2, "lost rows", f"of {form!a}")
    return outcome


def _is_file_name(form: str) -> bool:
    """Whether a file with this name can be created at all."""
    try:
        Path(f"{form}.x").write_text("")
        Path(f"{form}.x").unlink()
    except (OSError, ValueError):
        return False
    return "/" not in form and form != ".."


def _documents(setup: Setup, form: str) -> str:
    """Index a folder and a file in it; both have this name."""
    if not _is_file_name(form):
        return outcome_of(cli("index", "add", f"./{form}.index", "no-folder", "-m", setup.models / "words"))
    Path(f"d/{form}").mkdir(parents=True)
    Path(f"d/{form}/{form}.md").write_text("the cat sleeps\n")
    add = ("index", "add", f"./{form}.index", "d", "-m", setup.models / "words", "--json")
    output = cli(*add)
    outcome = outcome_of(output)
    if outcome == "answered":
        expect(json.loads(output.out)["documents"] == 1, "lost rows", output.out)
        outcome_of(cli(*add))
        with TextIndex.open(f"./{form}.index", Embedder.load(setup.models / "words", engine="numpy")) as index:
            expect(
                index.index.count() == 1,
                "wrong answer",
                f"after adding it twice there are {index.index.count()} passages",
            )
            (found,) = index.search("cat", 3, hybrid=True).passages
            expect(found.text == "the cat sleeps", "wrong answer", f"{found!a}")
            index.add(read_documents(["d"]))
            expect(index.index.count() == 1, "wrong answer", "the library sees a different file than the command")
    return outcome


def _model_folder(setup: Setup, form: str) -> str:
    """Load a model from a folder with this name."""
    if not _is_file_name(form):
        return outcome_of(cli("similarity", "a", "b", "-m", f"./{form}"))
    shutil.copytree(setup.models / "words", f"./{form}")
    outcome = outcome_of(cli("similarity", "a cat", "a dog", "-m", f"./{form}"))
    expected, found = (Embedder.load(at).encode(["a cat"]) for at in (setup.models / "words", f"./{form}"))
    expect(np.array_equal(expected, found), "wrong answer", "another model's vectors")
    return outcome


def _columns(setup: Setup, form: str) -> str:
    """Use the form as the name of a column."""
    with Path("given.jsonl").open("w") as file:
        for text in ("a cat", "a dog"):
            file.write(json.dumps({form: text, "other": "x"}) + "\n")
    outcome = outcome_of(
        cli("encode", "given.jsonl", f"--column={form}", "-o", "v.npy", "-m", setup.models / "words", "-q")
    )
    if outcome == "answered":
        expected = Embedder.load(setup.models / "words").encode(["a cat", "a dog"])
        expect(np.allclose(np.load("v.npy"), expected, atol=1e-6), "wrong answer", f"column {form!a}")
    return outcome


def _keys(_: Setup, form: str) -> None:
    """Use the form as the name of an API key."""
    file = Path("keys.json")
    add_key(file, form)
    expect([key.name for key in read_keys(file)] == [form], "wrong answer", f"{form!a}")
    remove_key(file, form)
    expect(read_keys(file) == [], "wrong answer", f"{form!a} stays")


def _requests(setup: Setup, form: str) -> None:
    """Use the form in every part of requests: vectors must equal the library's, and no server error may occur."""
    quoted = quote(form.encode("utf-8", "surrogatepass"), safe="")
    name = {"collection": form, "query": "cat"}
    with tiny_server(setup) as server:
        embedded = server.ask("POST", "/embed", {"inputs": [form]})
        answers = [
            embedded,
            server.ask("POST", "/tokenize", {"inputs": form}),
            server.ask("POST", "/v1/search", {"query": form, "hybrid": True, "collection": "notes"}),
            server.ask("POST", "/v1/search", {"query": "cat", "filter": f"lang = '{form}'", "collection": "notes"}),
            server.ask("POST", "/v1/search", name),
            server.ask("POST", "/rerank", {"query": form, "texts": [form]}),
            server.ask("POST", "/embed", {"inputs": "cat", "model": form, "prompt_name": form}),
            server.ask("POST", "/embed", {"inputs": "cat", form: form}),
            server.ask("POST", "/explain", {"first": form, "second": form}),
            *(server.ask("GET", f"{path}/{quoted}") for path in ("/v1/collections", "/v1/models", "/page", "")),
            server.ask("GET", f"/v1/collections/notes/map?layout={quoted}"),
        ]
        for i, answer in enumerate(answers):
            server.check(answer, f"request {i}")
            expect(answer.status != GONE, "wrong answer", f"request {i} was not answered")
        server.end()
    if embedded.status == 200:
        expected = Embedder.load(setup.models / "bert", engine="numpy").encode([form])
        expect(np.allclose(embedded.json(), expected, atol=1e-5), "wrong answer", f"vectors of {form!a}")


PLACES: Mapping[str, Callable[[Setup, str], str | None]] = {
    "ids": _ids,
    "text-ids": _text_ids,
    "filters": _filters,
    "vector-files": _vector_files,
    "documents": _documents,
    "model-folder": _model_folder,
    "columns": _columns,
    "keys": _keys,
    "requests": _requests,
}
