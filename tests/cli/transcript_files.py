"""The small inputs that transcripts' commands read."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tiny import classifier_folder, model_folder

QUESTIONS = (
    ("How do I reset my password?", "Use the link on the sign-in page to choose a new password.", "account"),
    ("I forgot my password, what now?", "Follow the reset link in the e-mail that we send you.", "account"),
    ("Can I change my e-mail address?", "Yes, under Settings, Profile.", "account"),
    ("How long does shipping take?", "Parcels arrive within three working days.", "delivery"),
    ("When will my parcel arrive?", "Within three working days of the order.", "delivery"),
    ("Do you ship to Norway?", "We ship to all of Europe.", "delivery"),
    ("What does express delivery cost?", "Express delivery costs nine euros.", "delivery"),
    ("Can I pay by invoice?", "Companies can pay by invoice within 30 days.", "payment"),
    ("Which credit cards do you accept?", "We accept all common credit cards.", "payment"),
    ("Why was my card declined?", "Please ask the bank that issued your card.", "payment"),
    ("How do I return an item?", "Print the return label and hand the parcel in at any post office.", "returns"),
    ("How do I return an item?", "Returns are free for 30 days.", "returns"),
    ("When do I get my money back?", "Within a week after the return has arrived.", "returns"),
    ("Is the lamp suitable for bathrooms?", "Yes, it is protected against splashing water.", "products"),
    ("Does the lamp work outdoors?", "It may be used outdoors below a roof.", "products"),
    ("What bulbs does the lamp need?", "Any E27 bulb of up to 40 watts.", "products"),
)
SCORED = (
    ("A cat sleeps on the sofa.", "A kitten naps on a couch.", 4.5),
    ("A man plays the guitar.", "Someone is playing an instrument.", 3.6),
    ("The children run to school.", "The pupils hurry to class.", 3.9),
    ("A woman slices an onion.", "A woman is cutting vegetables.", 3.4),
    ("The train is late.", "The bus was on time.", 1.5),
    ("A dog barks at the postman.", "Share prices fell on Monday.", 0.2),
    ("It rains in Bergen.", "The weather in Bergen is wet.", 4.2),
    ("He reads the newspaper.", "She paints the fence.", 0.6),
)
SUBJECTS = ("The cat", "A pilot", "The old bank", "My neighbour", "This lamp", "The orchestra", "A glacier", "The law",
            "Her bicycle", "The soup", "An engineer", "The harbour")  # fmt: skip
PREDICATES = ("waits in the rain.", "costs too much.", "was painted green.", "makes a strange noise.", "is famous.",
              "moved to another town.", "needs repair.", "pleases the children.", "disappeared at night.")  # fmt: skip
NOTES = {
    "cats.md": "---\ntitle: Cats\nyear: 2021\n---\n# Sleep\n\nCats sleep for thirteen hours a day.\n\n# Food\n\n"
    "Cats eat meat.\n",
    "trains.html": "<html><head><title>Trains</title></head><body><nav>Home</nav><p>Night trains run from Oslo to "
    "Bergen.</p></body></html>",
    "todo.txt": "Buy milk.\nFeed the cat.\nBook the night train to Bergen.\n",
    "picture.png": "not a picture",
}
DOCUMENTS = (
    ("d1", "Cats sleep for thirteen hours a day."),
    ("d2", "Night trains run from Oslo to Bergen."),
    ("d3", "Express delivery costs nine euros."),
    ("d4", "A lamp for bathrooms is protected against water."),
    ("d5", "Dogs need a walk twice a day."),
)
SEARCHES = (
    ("q1", "how long do cats sleep"),
    ("q2", "train to Bergen"),
    ("q3", "price of express shipping"),
    ("q4", "dogs and walks"),
)
JUDGED = (("q1", "d1", 2), ("q1", "d5", 1), ("q2", "d2", 1), ("q3", "d3", 1), ("q4", "d5", 1))


def write_files(place: Path) -> None:
    """Write all of them into a folder."""
    _write_csv(place / "faq.csv", ("question", "answer", "topic"), QUESTIONS)
    _write_csv(place / "scored.csv", ("sentence1", "sentence2", "score"), SCORED)
    _write_csv(place / "labelled.csv", ("sentence1", "sentence2", "label"), [(a, b, int(x > 3)) for a, b, x in SCORED])
    _write_lines(place / "faq.jsonl", [{"anchor": q, "positive": a} for q, a, _ in QUESTIONS])
    (place / "texts.txt").write_text("".join(f"{question}\n" for question, _, _ in QUESTIONS), "utf-8")
    (place / "phrases.txt").write_text("".join(f"{a} {b}\n" for a in SUBJECTS for b in PREDICATES), "utf-8")
    (place / "notes").mkdir()
    for name, text in NOTES.items():
        (place / "notes" / name).write_text(text, "utf-8")
    model_folder(place / "tiny", "bert")
    classifier_folder(place / "reranker", "bert", labels=1)
    corpus = place / "corpus"
    (corpus / "qrels").mkdir(parents=True)
    _write_lines(corpus / "corpus.jsonl", [{"_id": id_, "title": "", "text": text} for id_, text in DOCUMENTS])
    _write_lines(corpus / "queries.jsonl", [{"_id": id_, "text": text} for id_, text in SEARCHES])
    judged = "".join(f"{query}\t{document}\t{grade}\n" for query, document, grade in JUDGED)
    (corpus / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")


def _write_csv(path: Path, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])


def _write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
