"""Queries made from the documents themselves, if there are no judgements: known-item search.

The query is a document's title, and its text has to be found without the title; or, in a collection without titles,
one of its sentences, and the rest of the document has to be found. This measures whether parts of one text are similar,
which is not the same as answering users' questions: docs/how-to/evaluate-on-your-documents.md says how well the two
agree.
"""

import random
from dataclasses import replace

from ..errors import BadInput
from ..text.sentences import sentence_spans
from ..wording import counted
from .collection import JudgedCollection

MAX_QUERIES = 500
MIN_WORDS = 4
"""Shorter sentences rarely say which document they are from."""
NOTE = "known-item search: the queries are {} of the documents themselves, not questions that people asked"


def known_items(collection: JudgedCollection, *, count: int = MAX_QUERIES, seed: int = 0) -> JudgedCollection:
    """The collection with up to `count` queries from its own texts, each of which has one relevant document.

    Raises:
        BadInput: fewer than two documents have a title and a text, or two sentences.
    """
    order = list(range(len(collection.ids)))
    random.Random(seed).shuffle(order)
    titled = [row for row in order if collection.titles[row].strip() and collection.bodies[row].strip()]
    if len(titled) >= 2:
        chosen, bodies = titled[:count], list(collection.bodies)
        queries, what = [collection.titles[row] for row in chosen], "titles"
    else:
        bodies, chosen, queries = _without_sentences(collection, order, count, seed)
        what = "sentences"
    if len(chosen) < 2:
        raise BadInput(
            f"{collection.name}: no queries can be made from documents without titles and second sentences; "
            "give queries and judgements (--queries, --qrels)"
        )
    ids = tuple(collection.ids[row] for row in chosen)
    note = f"{NOTE.format(what)} ({counted(len(ids), 'document')} drawn at random)"
    judgements = {document: {document: 1} for document in ids}
    return replace(
        collection,
        titles=("",) * len(collection.ids),
        bodies=tuple(bodies),
        query_ids=ids,
        queries=tuple(queries),
        judgements=judgements,
        notes=(*collection.notes, note),
    )


def _without_sentences(
    collection: JudgedCollection, order: list[int], count: int, seed: int
) -> tuple[list[str], list[int], list[str]]:
    """The texts without the sentences drawn from them, the rows that these are from, and the sentences."""
    bodies, chosen, queries = list(collection.documents), list[int](), list[str]()
    draw = random.Random(seed)
    for row in order:
        text = bodies[row]
        spans = sentence_spans(text)
        long = [(start, stop) for start, stop in spans if len(text[start:stop].split()) >= MIN_WORDS]
        if len(spans) < 2 or not long:
            continue
        start, stop = draw.choice(long)
        bodies[row] = f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()
        chosen.append(row)
        queries.append(text[start:stop])
        if len(chosen) == count:
            break
    return bodies, chosen, queries
