"""What a page leaves to its reader to have, made small; and the blocks that are not run here, each with its reason."""

from dataclasses import dataclass

TEXTS = 'texts = ["A cat sleeps.", "A kitten naps.", "Shares fell.", "Stocks lost value."] * 5\n'
LABELS = 'labels = ["cats", "cats", "money", "money"] * 5\n'

SETUPS = {
    "docs/overview.md": TEXTS
    + "from likewise import Embedder\nembedder = Embedder.load()"
    + """
import csv
from pathlib import Path
import numpy as np
import pyarrow as pa, pyarrow.parquet as pq
queries, documents, folder = ["how do cats sleep"], texts, "likewise-mini"
my_function = lambda texts: np.array([[len(text), 1.0] for text in texts], np.float32)
columns = {"anchor": texts[:4], "positive": texts[1:5], "negative": texts[2:6]}
pq.write_table(pa.table(columns), "triplets.parquet")
""",
    "docs/evaluation.md": """
from pathlib import Path
Path("faq.csv").write_text("question,answer,rating\\nA cat sleeps.,A kitten naps.,4\\nA cat.,Shares fell.,1\\nB,C,2\\n")
""",
    "docs/indexes.md": """
from pathlib import Path
import numpy as np
from likewise.search.indexes import create_index
from likewise.search.records import Records
ids, texts, vectors = ["a", "b"], ["A cat sleeps.", "A kitten naps."], np.eye(2, 384, dtype=np.float32)
queries, folder = vectors[:1], Path("sidecar")
index = create_index("memory:page", dimension=384)
index.add(Records(ids, vectors, texts))
""",
    "docs/integrations.md": TEXTS
    + LABELS
    + """
import contextlib
import pandas as pd
texts, labels = texts[:10], labels[:10]
frame, documents = pd.DataFrame({"text": texts}), texts * 10
with contextlib.suppress(ImportError):
    from datasets import Dataset
    dataset = Dataset.from_dict({"text": texts})
with contextlib.suppress(ImportError):
    import duckdb
    connection = duckdb.connect()
    connection.execute("CREATE TABLE notes AS SELECT * FROM (VALUES ('A cat sleeps.'), ('Shares fell.')) t(text)")
""",
    "docs/models.md": "from likewise import Embedder\n",
    "docs/scale.md": 'from pathlib import Path\nPath("reviews.jsonl").write_text(\'{"text": "A cat sleeps."}\\n\')\n',
    "docs/search.md": """
from pathlib import Path
Path("notes").mkdir()
Path("notes/cats.md").write_text("# Cats\\nCats sleep 13 hours a day.\\n")
""",
    "docs/serve.md": 'from pathlib import Path\nPath("indexes").mkdir()\n',
}
"""Code that is run before the first block of a page, in the same namespace and folder."""

SMALL_MODEL = tuple(f"docs/how-to/{page}.md" for page in ("classify", "fine-tune", "distil", "rerank"))
"""Pages that train: the bundled model's name is a much smaller model's there."""


@dataclass(frozen=True)
class NotRun:
    """A block of Python that fails here: its page, a phrase of it, and the package or else the thing that is missing.

    Where the package is installed, the block is run. `error` is what a block raises without the thing.
    """

    page: str
    phrase: str
    package: str = ""
    thing: str = ""
    error: str = ""


NOT_RUN = [
    NotRun("docs/indexes.md", "postgresql://", thing="a PostgreSQL server", error="MissingExtra|ServerUnavailable"),
    NotRun("docs/integrations.md", "langchain", package="langchain_core"),
    NotRun("docs/integrations.md", "llama_index", package="llama_index"),
    NotRun("docs/integrations.md", "haystack", package="haystack"),
    NotRun("docs/integrations.md", "BERTopic", package="bertopic"),
    NotRun("docs/integrations.md", "mteb", thing="a data set of the hub", error="ModuleNotFoundError|ConnectionError"),
    NotRun("docs/integrations.md", "vector_batches", package="datasets", error="NameError.*dataset"),
    NotRun("docs/integrations.md", "duckdb", package="duckdb"),
    NotRun("docs/scale.md", "map_batches", thing="a cluster of Ray or Spark", error="NameError.*table"),
    NotRun("docs/serve.md", "Client(", thing="a running server", error="ServerUnavailable"),
]

OUTSIDE = r"pip install|python3? -m venv|npm |make |docker |git clone|curl |likewise (serve|doctor|model download)\b"
"""Commands of a shell that install, need a network or a server, do not end, or print what is about one machine.

A block with one of them has the comment `<!-- not run: REASON -->` before it on its page, and no other has it. A block
that starts a server of its own, and ends it, is run.
"""
OWN_SERVER = r"likewise serve .* & server=\$!(?s:.*)^kill \$server$"
