"""Retrieval on your own collection: comparing rankers, writing and reading run files, values per query, known items."""

from dataclasses import replace

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate import Cache, EvaluationSettings, collection_task, evaluate, with_baselines
from likewise.evaluate.collection import JudgedCollection, read_collection
from likewise.evaluate.items import items_of_collection
from likewise.evaluate.own_collection import NOTE, collection_tasks, known_items
from likewise.evaluate.rankers import BLOCK, EmbeddingRanker, distinct_names
from likewise.evaluate.rankings import METRICS, Rankings, read_run
from likewise.evaluate.reports.retrieval_report import compare_rankers, format_retrieval_report, query_changes
from likewise.evaluate.statistics.hypothesis_tests import randomisation
from tests.evaluate.small_collection import letters, overlap, write_collection

QUICK = EvaluationSettings(resamples=200)


@pytest.fixture
def folder(tmp_path):
    return write_collection(tmp_path / "beir")


def slow_values(grades, ranked):
    """METRICS of one query, computed from their definitions."""
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    hits = [1 if grades.get(document, 0) > 0 else 0 for document in ranked]
    gain = [max(grades.get(document, 0), 0) for document in ranked[:10]]
    discounted = [sum(g / np.log2(rank + 2) for rank, g in enumerate(gains)) for gains in (gain, ideal[:10])]
    precisions = [sum(hits[: rank + 1]) / (rank + 1) for rank, hit in enumerate(hits[:100]) if hit]
    return {
        "ndcg@10": discounted[0] / discounted[1],
        "map@100": sum(precisions) / len(ideal),
        "mrr@10": 1 / (hits.index(1) + 1) if 1 in hits[:10] else 0.0,
        "recall@10": sum(hits[:10]) / len(ideal),
        "recall@100": sum(hits[:100]) / len(ideal),
        "precision@10": sum(hits[:10]) / 10,
    }


@pytest.mark.parametrize("seed", range(10))
def test_the_metrics_are_the_slow_ones_and_ties_are_broken_by_id_as_in_trec_eval(seed):
    random = np.random.default_rng(seed)
    ids = tuple(f"d{i}" for i in random.permutation(60))
    grades = {ids[i]: int(random.integers(-1, 4)) for i in range(30)} | {ids[0]: 3}
    collection = JudgedCollection("one", ids, ("",) * 60, ids, ("q",), ("q",), {"q": grades})
    scores = random.integers(0, 5, 60) / 3
    rankings = Rankings.of(collection, [(np.arange(60), scores)])
    by_hand = [ids[i] for i in sorted(range(60), key=lambda i: (scores[i], ids[i]), reverse=True)]
    assert [ids[row] for row in rankings.rows[0]] == by_hand
    expected = slow_values(grades, by_hand)
    assert {name: values[0] for name, values in rankings.by_query.items()} == pytest.approx(expected)
    assert list(expected) == list(METRICS)


def test_a_block_at_a_time_finds_what_one_product_finds(folder, monkeypatch):
    collection = read_collection(folder)
    whole = EmbeddingRanker(letters).rank(collection, {})
    assert len(collection.ids) < BLOCK
    monkeypatch.setattr("likewise.evaluate.rankers.BLOCK", 13)  # the last block has one document
    parts = EmbeddingRanker(letters).rank(collection, {})
    assert all((a == b).all() for a, b in zip(whole.rows, parts.rows, strict=True))


class TwoSided:
    """Encodes queries and documents differently, like a model with prompts; its fingerprint allows caching."""

    fingerprint = "two-sided"

    def __init__(self) -> None:
        self.asked = []

    def encode(self, texts):
        pytest.fail(f"{len(texts)} texts have no role")

    def encode_query(self, texts):
        self.asked.append("query")
        return letters(texts)[:, ::-1].copy()

    def encode_document(self, texts):
        self.asked.append("document")
        return letters(texts)


def test_queries_and_documents_are_encoded_in_their_roles_and_cached_apart(folder, tmp_path):
    collection, model = read_collection(folder), TwoSided()
    wanted = EmbeddingRanker(model.encode_query, model.encode_document).rank(collection, {}).rows
    cache = Cache(tmp_path / "cache")
    for again in (False, True):
        model.asked.clear()
        found = evaluate({"two": model}, collection_task(folder), settings=QUICK, cache=cache)["two", "beir"]
        assert not found.error
        assert all((a == b).all() for a, b in zip(found.result.rankings.rows, wanted, strict=True))
        assert ("document" in model.asked) is not again  # individual queries are encoded again to measure the time
    model.fingerprint = None
    for _ in range(2):  # nothing is cached, because another model could have the same name
        model.asked.clear()
        evaluate({"two": model}, collection_task(folder), settings=QUICK, cache=cache)
        assert "document" in model.asked


def test_bm25_hybrids_rerankers_and_run_files_are_rows_beside_the_model(folder, tmp_path):
    models = {"letters": letters}
    rest = with_baselines(["letters"], rerank=overlap)
    results = evaluate({**rest, **models}, collection_task(folder), settings=QUICK)
    names = ["letters", "bm25", "letters + bm25", "letters > overlap", "bm25 > overlap"]
    assert (list(results.models), results.failed) == (names, ())
    for name in names:
        assert len(results[name, "beir"].result.headline.evidence.values) == 8
        assert results[name, "beir"].result.headline.interval is not None
    path = tmp_path / "mine.trec"
    results["letters", "beir"].result.rankings.write(path, "my letters")
    again = evaluate([letters, str(path)], collection_task(folder), settings=QUICK)
    first, second = (again[name, "beir"].result for name in again.models)
    assert [score.value for score in first.scores] == [score.value for score in second.scores]
    assert first.rankings.seconds
    assert not second.rankings.seconds
    assert compare_rankers(again, "beir")["mine"].difference.value == 0


def test_a_run_file_has_a_line_for_each_document_as_trec_eval_reads_it(tmp_path):
    rankings = Rankings.of(itself(), [(np.array([1, 2]), np.array([0.25, 1 / 3])), (np.array([3]), np.array([7.0]))])
    rankings.write(tmp_path / "mine.trec", "my letters")
    lines = (tmp_path / "mine.trec").read_text().splitlines()
    assert lines == ["a Q0 c 1 0.333333343 my_letters", "a Q0 b 2 0.25 my_letters", "c Q0 d 1 7 my_letters"]
    rankings.write(tmp_path / "mine.trec", " ")
    assert (tmp_path / "mine.trec").read_text().splitlines()[0].endswith(" run")
    (tmp_path / "mine.trec").write_text("\n".join([*lines, "unjudged Q0 d 1 7 x", ""]))
    assert [rows.tolist() for rows in read_run(tmp_path / "mine.trec", itself()).rows] == [[2, 1], [3]]


def test_the_best_hundred_documents_are_ranked_besides_the_query_itself():
    ids = tuple(f"d{i:03}" for i in range(130))
    texts = tuple(f"cat {'ab'[i % 2] * (i % 9)} {i}" for i in range(130))
    judgements = {query: {"d129": 1} for query in ids[:25]}
    collection = JudgedCollection("one", ids, ("",) * 130, texts, ids[:25], texts[:25], judgements)
    models = {**with_baselines(["letters"]), "letters": letters}
    results = evaluate(models, collection_task(collection), settings=QUICK)
    for name in results.models:
        assert not results[name, "one"].error
        rankings = results[name, "one"].result.rankings
        assert [len(rows) for rows in rankings.rows] == [100] * 25
        assert all(i not in rows for i, rows in enumerate(rankings.rows))
        assert len(rankings.seconds) == (25 if name == "bm25" else 20)
        assert all(0 < seconds < 60 for seconds in rankings.seconds)
        assert rankings.median_seconds == np.median(rankings.seconds)
    assert Rankings.of(collection, []).median_seconds is None


def test_a_text_whose_vector_is_not_finite_is_named_by_its_id(folder, monkeypatch):
    monkeypatch.setattr("likewise.evaluate.rankers.BLOCK", 7)
    collection = read_collection(folder)
    for kind, place, text in (("document", "d16", collection.documents[16]), ("query", "q3", collection.queries[3])):

        def broken(texts, text=text):
            return np.array([[np.nan if one == text else 1.0, 2.0] for one in texts])

        with pytest.raises(BadInput, match=f"1 text has a vector with NaN or infinity; the first is {kind} '{place}'"):
            EmbeddingRanker(broken).rank(collection, {})


@pytest.mark.parametrize(
    "score", [lambda pairs: np.zeros(len(pairs) + 1), lambda pairs: np.full(len(pairs), np.nan), lambda pairs: 1.0]
)
def test_a_reranker_that_returns_anything_but_a_finite_number_for_each_pair_is_an_error(score, folder):
    results = evaluate(with_baselines([], rerank=score), collection_task(folder), settings=QUICK)
    (name,) = {*results.models} - {"bm25"}
    assert "expected one finite number for each pair" in results[name, "beir"].error and results["bm25", "beir"].result


def test_a_query_without_any_document_needs_no_reranking():
    collection = JudgedCollection("one", ("a", "b"), ("",) * 2, ("cat", "dog"), ("q",), ("xyz",), {"q": {"a": 1}})
    results = evaluate(with_baselines([], rerank=overlap), collection_task(collection), settings=QUICK)
    assert [results[name, "one"].result.rankings.rows[0].tolist() for name in results.models] == [[], []]


def test_a_model_that_is_fitted_learns_from_queries_and_documents_together(folder):
    asked = []

    class Fitted:
        def fitted(self, texts):
            asked.append(list(texts))
            return letters

    evaluate(Fitted(), collection_task(folder), settings=QUICK)
    collection = read_collection(folder)
    assert asked == [list(dict.fromkeys([*collection.queries, *collection.documents]))]


def test_reranking_orders_the_first_stage_by_the_scores(folder):
    results = evaluate({"letters": letters, **with_baselines(["letters"], rerank=overlap)}, collection_task(folder))
    reranked = results["bm25 > overlap", "beir"].result.rankings
    first = results["bm25", "beir"].result.rankings
    for i, query in enumerate(reranked.collection.queries):
        assert set(reranked.rows[i]) == set(first.rows[i])
        values = overlap([(query, reranked.collection.documents[row]) for row in reranked.rows[i]])
        assert (np.diff(values) <= 0).all()


def test_a_reranker_is_loaded_once_by_its_name(folder):
    loaded = []
    rerankers = with_baselines(["letters"], rerank="toy", load=lambda name: loaded.append(name) or overlap)
    results = evaluate({**rerankers, "letters": letters}, collection_task(folder), settings=QUICK)
    assert loaded == ["toy"] and not results.failed and "letters > toy" in results.models


def test_what_needs_a_failed_ranking_says_so_and_rankers_have_no_vectors(folder):
    def broken(texts):
        raise RuntimeError("no memory")

    results = evaluate({**with_baselines(["broken"]), "broken": broken}, collection_task(folder), settings=QUICK)
    assert "needs the rankings of broken" in results["broken + bm25", "beir"].error
    assert results["bm25", "beir"].result
    other = evaluate(with_baselines(["x.trec"]), "stsb", read=lambda name: {}, settings=QUICK)
    assert "only ranks the documents of a collection" in other["bm25", "stsb"].error


RUNS = {
    "q0 Q0 d1 1 0.5": "found 5 fields; expected query Q0 document rank score name",
    "q0 Q0 d99 1 0.5 x": "the document 'd99' is not in the corpus",
    "q0 Q0 d1 1 nan x": "the score is 'nan'; expected a finite number",
    "q0 Q0 d1 1 1e39 x": "the score is '1e39'; expected a finite number",
    "q0 Q0 d1 1 high x": "the score is 'high'",
    "q0 Q0 d2 1 0.5 x": "the document 'd2' is already ranked for query 'q0'",
}


@pytest.mark.parametrize("line", RUNS)
def test_what_is_wrong_in_a_run_file_is_named_with_its_line(line, folder, tmp_path):
    path = tmp_path / "other.trec"
    path.write_text(f"q0 Q0 d2 1 0.9 x\n{line}\n")
    with pytest.raises(BadInput, match=f"other.trec, line 2: {RUNS[line]}"):
        read_run(path, read_collection(folder))


def test_a_run_of_other_queries_is_refused(folder, tmp_path):
    (path := tmp_path / "other.trec").write_text("z Q0 d2 1 0.9 x\n")
    with pytest.raises(BadInput, match="ranks no document for any of the 8 judged queries"):
        read_run(path, read_collection(folder))


def itself(known=()):
    """A collection whose queries are also documents; those in `known` are judged relevant for themselves."""
    texts = ("cat sleeps", "cat naps", "dog barks", "dog growls")
    ids, judgements = ("a", "b", "c", "d"), {"a": {"b": 1}, "c": {"d": 1}}
    judgements = {query: {**grades, **({query: 1} if query in known else {})} for query, grades in judgements.items()}
    return JudgedCollection("one", ids, ("",) * 4, texts, ("a", "c"), (texts[0], texts[2]), judgements)


def test_a_query_that_is_a_document_does_not_find_itself_as_in_beirs_evaluation(tmp_path):
    results = evaluate({**with_baselines(["letters"]), "letters": letters}, collection_task(itself()), settings=QUICK)
    for name in results.models:
        found = results[name, "one"].result
        assert [0 in found.rankings.rows[0], 2 in found.rankings.rows[1]] == [False, False]
        assert found.notes[0] == "2 queries are themselves documents (a document is not ranked for itself)"
    (path := tmp_path / "own.trec").write_text("a Q0 a 1 9 x\na Q0 b 2 8 x\nc Q0 d 1 5 x\n")
    assert [rows.tolist() for rows in read_run(path, itself()).rows] == [[1], [3]]
    assert results["bm25", "one"].result.rankings.by_query["mrr@10"].tolist() == [1, 1]
    known = evaluate({"letters": letters}, collection_task(itself(known=["a"])), settings=QUICK)["letters", "one"]
    assert [0 in known.result.rankings.rows[0], 2 in known.result.rankings.rows[1]] == [True, False]


def test_ids_that_only_coincide_leave_nothing_out():
    texts = ("how to bake bread at home", "cats", "dogs", "rain")
    collection = JudgedCollection(
        "one", ("0", "1", "2", "3"), ("",) * 4, texts, ("0",), ("bake bread",), {"0": {"3": 1}}
    )
    found = evaluate({"letters": letters}, collection_task(collection), settings=QUICK)["letters", "one"].result
    assert 0 in found.rankings.rows[0] and "documents too" not in str(found.notes)


def test_choosing_does_not_let_a_query_find_itself():
    source = items_of_collection(itself())
    score = source.scorer(lambda texts, role: letters(texts))
    assert score(np.array([1, 0]), [(13, None), (13, 0.5)]).tolist() == [[1, 1], [1, 1]]


def test_models_and_runs_of_one_name_are_numbered(folder, tmp_path):
    for name in ("before", "after"):
        (tmp_path / name / "final").mkdir(parents=True)
        (tmp_path / name / "bm25.trec").write_text("q0 Q0 d2 1 0.9 x\n")
    models = [str(tmp_path / name / "final") for name in ("before", "after")]
    models += [str(tmp_path / name / "bm25.trec") for name in ("before", "after")]
    found = with_baselines(models)
    assert [*found] == [
        *("final", "final (2)", "bm25 (2)", "bm25 (3)"), *("bm25", "final + bm25", "final (2) + bm25")
    ]  # fmt: skip
    assert [found["final"], found["final (2)"]] == models[:2]
    assert found["bm25 (3)"].path == tmp_path / "after" / "bm25.trec"
    reranked = [name for name in with_baselines(["m"], rerank=tmp_path / "reranker") if "reranker" in name]
    assert reranked == [name for name in with_baselines(["m"], rerank=str(tmp_path / "reranker")) if "reranker" in name]
    assert len(reranked) == 2
    assert distinct_names(["a", "a (2)", "a"]) == ["a", "a (2)", "a (3)"]


def test_gains_and_losses_are_the_largest_differences(folder):
    results = evaluate({**with_baselines(["letters"]), "letters": letters}, collection_task(folder), settings=QUICK)
    before, after = (results[name, "beir"].result.rankings for name in ("letters", "bm25"))
    gains, losses = query_changes(before, after)
    shift = after.by_query["ndcg@10"] - before.by_query["ndcg@10"]
    assert shift[gains].tolist() == sorted(shift[shift > 0])[::-1] and shift[losses].tolist() == sorted(
        shift[shift < 0]
    )
    report = format_retrieval_report(results, queries=True)
    assert "bm25: the largest gains compared with letters" in report


def test_the_randomisation_test_is_that_over_all_signs():
    random = np.random.default_rng(3)
    ours, theirs = random.random(10), random.random(10) + 0.2
    differences = ours - theirs
    signs = 1 - 2 * (np.arange(1024)[:, None] >> np.arange(10) & 1)
    exact = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12)
    found = randomisation(ours, theirs, draws=20_000)
    assert found.p == pytest.approx(exact, abs=0.01)
    assert found.statistic == pytest.approx(differences.mean())
    for draws in (1, 999, 1001, 2500):
        assert randomisation(ours, ours, draws=draws).p == 1
    assert randomisation(np.ones(40), np.zeros(40), draws=99).p == 1 / 100
    assert randomisation(np.ones(40), np.zeros(40)).p == 1 / 10_001


def test_known_items_take_titles_or_sentences_out_of_the_documents_and_say_so():
    texts = [f"Number {i} is the first sentence here. And {i} has a second one." for i in range(30)]
    ids, none = tuple(map(str, range(30))), ("",) * 30
    titled = known_items(JudgedCollection("t", ids, tuple(f"title {i}" for i in ids), tuple(texts)), count=5)
    assert titled.documents == tuple(texts)
    assert [f"title {query}" for query in titled.query_ids] == list(titled.queries)
    plain = known_items(JudgedCollection("p", ids, none, tuple(texts)), count=5)
    for query, text in zip(plain.query_ids, plain.queries, strict=True):
        assert plain.judgements[query] == {query: 1}
        assert text in texts[int(query)]
        assert text not in plain.documents[plain.rows[query]]
    assert sum(a != b for a, b in zip(plain.documents, texts, strict=True)) == 5
    for made, what in ((titled, "titles"), (plain, "sentences")):
        assert NOTE.format(what) in made.notes[0]
    with pytest.raises(BadInput, match="queries can be made only from documents that have a title"):
        known_items(JudgedCollection("s", ids, none, ids))


def test_as_many_as_500_queries_are_drawn_at_random_from_the_titles():
    ids = tuple(map(str, range(600)))
    found = known_items(JudgedCollection("t", ids, tuple(f"title {i}" for i in ids), ("text",) * 600))
    assert len({*found.query_ids}) == 500 and list(found.query_ids) != sorted(found.query_ids, key=int)
    assert {*found.query_ids} != {*ids[:500]} and found.judgements["7"] == {"7": 1}
    again = [known_items(JudgedCollection("t", ids, ids, ids), count=9, seed=seed).query_ids for seed in (0, 0, 1)]
    assert again[0] == again[1] != again[2] and again[0] == found.query_ids[:9]


@pytest.mark.parametrize("titles", [("one", "two", ""), ("one", "", ""), ("one", "two", " ")])
def test_two_titles_are_enough_and_with_fewer_sentences_of_four_words_are_the_queries(titles):
    bodies = ("A cat is here. Yes it is.", "Rain falls at night. And so on.", "Only one sentence is here.")
    found = known_items(JudgedCollection("t", ("a", "b", "c"), titles, bodies))
    expected = {"a": "one", "b": "two"} if titles[1] else {"b": "Rain falls at night."}
    if titles[1] == "":  # the title is part of the document's first sentence
        expected["a"] = "one A cat is here."
    assert dict(zip(found.query_ids, found.queries, strict=True)) == expected
    assert found.documents[1] == ("And so on." if "Rain" in found.queries[-1] + found.queries[0] else bodies[1])


def test_a_document_that_is_a_query_without_a_grade_above_nothing_is_left_out():
    collection = itself()
    ranked = replace(collection, judgements={"a": {"a": 0, "b": 1}, "c": {"c": -1, "d": 1}})
    assert ranked.own_rows == collection.own_rows == {0: 0, 1: 2}


def test_a_folder_of_collections_is_a_task_each(folder):
    assert [task.name for task in collection_tasks(folder.parent)] == ["beir"]
    with pytest.raises(BadInput, match="has the BEIR layout"):
        collection_tasks(folder / "qrels")
