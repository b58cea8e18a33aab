"""What does Python's standard library talk about? A demonstration on real text, offline; `make demo` runs it.

The script reads the docstrings of the standard library of the Python that runs it, embeds their sentences, finds the
most similar pairs, groups the sentences, answers three questions, and draws a map. Reimers and Gurevych (2019) report
that finding the most similar pair among 10,000 sentences takes 65 hours with a cross-encoder and 5 seconds with
Sentence-BERT.
"""

import argparse
import ast
import json
import re
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from likewise import Embedder
from likewise.cli.terminal_tables import excerpt, printable, styled
from likewise.cluster import ClusterSummary, cluster_vectors, describe_clusters
from likewise.cluster.maps.cluster_map import ClusterMap
from likewise.cluster.maps.layout import map_layout
from likewise.cluster.maps.page import write_page
from likewise.cluster.maps.plot import draw_map
from likewise.errors import NativeUnavailable
from likewise.model_files import DEFAULT_MODEL
from likewise.runtime.atomic_files import atomic_file
from likewise.search import ScoredPair, closest_pairs, search

QUESTIONS = (
    "How do I find out how long my code takes?",
    "Where can I compress a file?",
    "What turns text into a date?",
)
TESTS = {"test", "tests", "idle_test", "site-packages", "dist-packages"}
NEAR_COPIES = 0.995  # cosine; more similar pairs hardly differ, for example by a bracket
IN_OTHER_WORDS = 0.4  # maximum share of words that the sentences of a displayed pair have in common
DOTS = 1500  # in the map: t-SNE of all sentences would take longer than all other steps
OVERVIEW = "65 hours with a cross-encoder, 5 seconds with sentence embeddings"


def sentences(root: Path) -> dict[str, str]:
    """The distinct sentences of all docstrings in a folder, and the module in which each first occurs."""
    result: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if TESTS.isdisjoint(place.parts):
            for sentence in docstring_sentences(path):
                result.setdefault(sentence, ".".join(place.with_suffix("").parts))
    return result


def docstring_sentences(path: Path) -> Iterator[str]:
    """The complete sentences of prose in a file's docstrings, without examples, tables and signatures."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                if ">>>" not in paragraph:
                    yield from filter(is_prose, re.split(r"(?<=[.!?]) (?=[A-Z])", " ".join(paragraph.split())))


def is_prose(sentence: str) -> bool:
    """Whether a text has 25 to 220 characters, mostly letters, and runs from a capital letter to a full stop."""
    letters = sum(c.isalpha() or c == " " for c in sentence)
    return (
        25 <= len(sentence) <= 220 and sentence[0].isupper() and sentence[-1] in ".!?" and letters > 0.8 * len(sentence)
    )


def load(name: str) -> Embedder:
    """The model in int8, the fastest precision; in fp32 if the native library was not compiled."""
    try:
        return Embedder.load(name, precision="int8")
    except NativeUnavailable:
        return Embedder.load(name)


class Clock:
    """Measures the time of each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower()))


def in_other_words(found: Sequence[ScoredPair], texts: Sequence[str]) -> list[ScoredPair]:
    """The pairs that have few words in common, which a search by words would not find."""
    shared = [(words_of(texts[i]), words_of(texts[j]), pair) for pair in found for i, j, _ in [pair]]
    return [pair for a, b, pair in shared if len(a & b) <= IN_OTHER_WORDS * len(a | b)]


def show_pairs(found: Sequence[ScoredPair], texts: Sequence[str], homes: Sequence[str]) -> None:
    for i, j, score in found:
        print(f"  {styled(f'{score:.3f}', 'bold green')}  {texts[i]}  {styled(homes[i], 'dim')}")
        print(f"         {texts[j]}  {styled(homes[j], 'dim')}")


def show_groups(groups: Sequence[ClusterSummary], texts: Sequence[str], most: int = 12) -> None:
    shown = groups[:most]
    central = [texts[group.central[0]] for group in shown]
    columns = {">texts": [group.size for group in shown], "words": [group.name for group in shown], "example": central}
    printable(excerpt(columns, 130, 0), 130)


def show_answers(embedder: Embedder, vectors: np.ndarray, texts: Sequence[str], homes: Sequence[str]) -> None:
    hits = search(embedder.encode(QUESTIONS), vectors, k=3)
    for question, indices, scores in zip(QUESTIONS, *hits, strict=True):
        print(f"  {styled(question, 'bold')}")
        for i, score in zip(indices, scores, strict=True):
            print(f"    {styled(f'{score:.2f}', 'green')}  {texts[i]}  {styled(homes[i], 'dim')}")


def draw(
    vectors: np.ndarray, labels: np.ndarray, texts: Sequence[str], groups: Sequence[ClusterSummary], folder: Path
) -> list[Path]:
    """Draw the map as a picture and a web page, with at most DOTS sentences as dots in the colours of their groups."""
    (rows,) = np.nonzero(labels >= 0)
    rows = rows[:: -(-len(rows) // DOTS)]  # every second or third one
    title = f"{len(rows):,} sentences of the standard library's docstrings, in {len(groups)} groups"
    places = map_layout(vectors[rows], "t-sne")
    shown = ClusterMap(title, places, labels[rows], [texts[row] for row in rows], [group.name for group in groups])
    paths = [folder / f"stdlib-map{ending}" for ending in (".png", ".html")]
    draw_map(shown, paths[0])
    write_page(shown, paths[1])
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("out"),
        metavar="FOLDER",
        help="folder for the map (default: %(default)s)",
    )
    parser.add_argument("-m", "--model", default=DEFAULT_MODEL, help="name or folder of a model (default: %(default)s)")
    parser.add_argument("--limit", type=int, metavar="N", help="read only the first N sentences (default: all)")
    parser.add_argument("--json", action="store_true", help="also write the time of each step to the folder as JSON")
    args = parser.parse_args()
    clock = Clock()

    print(styled("What does Python's standard library talk about?", "bold"))
    with clock.step("read the docstrings"):
        result = sentences(Path(sysconfig.get_path("stdlib")))
        texts, homes = list(result)[: args.limit], list(result.values())[: args.limit]
    print(f"{len(texts):,} distinct sentences from {len(set(homes)):,} modules. Embedding them …")
    with clock.step("load the model"):
        embedder = load(args.model)
    with clock.step("embed the sentences"):
        vectors = embedder.encode(texts, show_progress_bar=True)
    with clock.step("compare all pairs"):
        alike = closest_pairs(vectors, 2000, below=NEAR_COPIES)
    with clock.step("group them"):
        labels = cluster_vectors(vectors, "communities", threshold=0.6, min_size=12)
        groups = describe_clusters(texts, vectors, labels)
    if not groups:
        raise SystemExit(f"{len(texts):,} sentences contain no group of 12, so there is no map to draw: raise --limit")

    print(
        f"\n{styled('The most similar pairs', 'bold')} of {len(texts) * (len(texts) - 1) // 2:,} with different words"
    )
    show_pairs(in_other_words(alike, texts)[:6], texts, homes)
    print(
        f"\n{styled(f'{len(groups)} groups', 'bold')} of at least 12 sentences; the largest, with their typical words"
    )
    show_groups(groups, texts)
    print(f"\n{styled('Three questions', 'bold')}, answered by meaning rather than by words")
    with clock.step("answer three questions"):
        show_answers(embedder, vectors, texts, homes)
    print("\nDrawing the map …")
    with clock.step("draw the map"):
        paths = draw(vectors, labels, texts, groups, args.output)

    print(f"\n{styled('How long it took', 'bold')}")
    for name, seconds in clock.seconds.items():
        print(f"  {name:24} {seconds:8.2f} s")
    work = sum(clock.seconds[name] for name in ("embed the sentences", "compare all pairs"))
    took = styled(f"{work:.1f} s", "bold green")
    print(
        f"\nFinding the most similar pair among {len(texts):,} sentences took {took} here.\n"
        f"{styled(f'The paper reports for 10,000 sentences on a V100: {OVERVIEW}.', 'dim')}\n\n"
        f"The map is in {styled(str(paths[0]), 'bold')}, and a page to explore it is in {styled(str(paths[1]), 'bold')}"
    )
    if args.json:
        with atomic_file(args.output / "stdlib-map.json") as partial:
            partial.write_text(json.dumps({"sentences": len(texts), "groups": len(groups), "seconds": clock.seconds}))


if __name__ == "__main__":
    main()
