"""Writes docs/drop-in.md: what the drop-in supports and rejects, and the results of sentence-transformers' own tests.

python -m benchmarks.drop_in_page

The tests' outcomes are those of benchmarks/results/peer-tests.json (python -m benchmarks.peer_tests).
"""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from likewise.integrations.sentence_transformers.loading import UNSERVED
from likewise.integrations.sentence_transformers.submodules import SUBMODULES

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "drop-in.md"
RESULT = ROOT / "benchmarks" / "results" / "peer-tests.json"
KINDS = {"refused": "not supported", "differs": "differs", "unexplained": "unexplained"}
PLACES = {
    "SentenceTransformer": "Methods and attributes of `SentenceTransformer`",
    "CrossEncoder": "Methods and attributes of `CrossEncoder`",
    "util": "Names of `util`",
    "package": "Names of the package",
}
TOP = """# A drop-in for sentence-transformers

```python
from likewise.integrations.sentence_transformers import SentenceTransformer, CrossEncoder, util
```

After you change this one import, your application runs on likewise's engines. The signatures are those of
sentence-transformers 6.2, results agree within 2e-6 in fp32 and have the same types, and neither transformers nor
torch is needed unless you ask for tensors. `make parity` compares both libraries. Without torch, `util` and
`similarity` take and return NumPy arrays.

A library that itself imports sentence-transformers gets the drop-in instead after you call

```python
from likewise.integrations.sentence_transformers import stand_in

stand_in()
```

BERTopic, KeyBERT and LangChain's `HuggingFaceEmbeddings` run unchanged on it (`make integration`). To choose an
engine or a precision, pass a loaded model: `SentenceTransformer(Embedder.load(name, engine="native",
precision="int8"))`.

The drop-in differs as follows. `batch_size` and `chunk_size` are validated but not used, because no result
depends on them. A multi-process pool starts no processes, because this process already uses all cores. Distances
between similar vectors are exact, whereas sentence-transformers loses digits. If scores are equal, the earlier row
comes first. A row that contains NaN or infinity causes an error.
`python -m benchmarks.drop_in_page` writes this page.
"""
TESTS = """## sentence-transformers' own tests of inference and training

{total} tests in these files pass with sentence-transformers itself on the same machine (without the hub; models that
cannot be downloaded are replaced by a local one of the same shape). **{passed} of them pass with the drop-in**,
{refused} need a feature that is not supported, and {otherwise} differ for the reasons given below. `python -m
benchmarks.peer_tests` reads the tests from the project's repository at {commit} and copies none of them; {date},
{machine}, commit {ours}. The project's tests of losses and batch samplers are
not included, because they call a loss with the model's features, which the drop-in's losses do not support.

| file | pass | not supported | differ |
|---|---|---|---|
{files}

| | reason | tests |
|---|---|---|
{reasons}"""


def tests_section(result: dict[str, Any]) -> str:
    """The outcomes of their tests, and the reasons for differences."""
    files: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in result["rows"]:
        file, _, name = row["test"].partition("::")
        files[file.removeprefix("tests/")][row["result"]] += 1
        if row["result"] != "passed":
            reasons[row["result"], row["reason"]].append(name.partition("[")[0])
    counts = Counter(row["result"] for row in result["rows"])
    return TESTS.format(
        total=len(result["rows"]),
        passed=counts["passed"],
        refused=counts["refused"],
        otherwise=counts["differs"] + counts["unexplained"],
        commit=result["tests of"][:10],
        ours=result["commit"],
        date=result["date"],
        machine=result["machine"],
        files="\n".join(f"| {f} | {c['passed']} | {c['refused']} | {c['differs']} |" for f, c in sorted(files.items())),
        reasons="\n".join(
            f"| {KINDS[kind]} | {why} | {named(names)} |" for (kind, why), names in sorted(reasons.items())
        ),
    )


def named(names: list[str]) -> str:
    """The names of tests, each given once with its number of cases."""
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in Counter(names).items())


def not_served_section(names: dict[str, list[str]]) -> str:
    """The options that are rejected, and the names that are missing."""
    options = "\n".join(f"| `{name}` | {instead} |" for name, instead in UNSERVED.items())
    parts = [
        "## What is not supported",
        f"These options are rejected unless they are set to the default:\n\n| option | instead |\n|---|---|\n{options}",
        "The following names are missing: accessing them raises `AttributeError`, and importing them raises "
        "`ImportError` ([what to use instead](moving-from-sentence-transformers.md)).",
    ]
    parts += [f"{title}: {', '.join(f'`{name}`' for name in names[place])}." for place, title in PLACES.items()]
    parts.append(
        f"Programs can import from these submodules: {', '.join(f'`{name}`' for name in sorted(SUBMODULES))}. "
        "Importing any other one, such as `datasets`, `readers` or `sparse_encoder`, raises `ModuleNotFoundError`."
    )
    return "\n\n".join(parts)


def page() -> str:
    """The page as Markdown."""
    result = json.loads(RESULT.read_text("utf-8"))
    return "\n\n".join([TOP.strip(), tests_section(result), not_served_section(result["not served"])]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
