"""Late chunking: the document is read once, and a chunk's vector pools the tokens of its own characters."""

from types import SimpleNamespace

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from likewise import Embedder
from likewise.arrays.reductions import REDUCTIONS, reduce_sentences
from likewise.engine_registry import ENGINES
from likewise.errors import BadInput, BadModel
from likewise.late_chunking import POOLED, _grouped, late_reductions
from likewise.text.chunking import ChunkSettings
from tests.native_library import NATIVE
from tests.tiny import LONG

ENGINES_HERE = [name for name in ENGINES if name != "native" or NATIVE]
DOCUMENT = "The cat and the dog. The quick query on the cat! Dogs bark, and the cat naps? Yes."


def slow(embedder: Embedder, text: str, spans: list[tuple[int, int]], prompt: str = "") -> np.ndarray:
    """The same by plain loops: every token from the window in whose middle it lies more, then means of its chunk's."""
    tokenizer = embedder.tokenizer
    encoded = tokenizers.Tokenizer.from_str(tokenizer.description).encode(prompt + text, add_special_tokens=False)
    width = tokenizer.max_content_length
    assert not prompt or len(encoded.ids) <= width
    lead, count = len(tokenizer.prefix), len(encoded.ids)
    stride = width - width // 4
    windows = 1 if count <= width else -(-(count - width) // stride) + 1
    starts = [round(i * (count - width) / (windows - 1)) for i in range(windows)] if windows > 1 else [0]
    layers = [embedder.layers_of([tokenizer.with_special_tokens(encoded.ids[s : s + width])])[0][-1] for s in starts]
    vectors, best = {}, {}
    for start, x in zip(starts, layers, strict=True):
        inside = min(width, count - start)
        for place in range(inside):
            middle = min(place + 0.5, inside - place - 0.5)
            if middle > best.get(start + place, -1) or (start + place not in best):
                best[start + place], vectors[start + place] = middle, x[lead + place]
    rows = []
    for i, (begin, end) in enumerate(spans):
        tokens = [place for place, (_, stop) in enumerate(encoded.offsets) if begin <= stop - len(prompt) - 1 < end]
        chosen = [vectors[place] for place in tokens]
        if i == 0:
            before = [vectors[place] for place, (_, stop) in enumerate(encoded.offsets) if stop <= len(prompt)]
            chosen = [*layers[0][:lead], *before, *chosen]
        if i == len(spans) - 1:
            chosen += [*layers[-1][len(layers[-1]) - len(tokenizer.suffix) :]]
        rows.append(np.mean(chosen, axis=0))
    return np.stack(rows)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("engine", ENGINES_HERE)
@pytest.mark.parametrize("text", [DOCUMENT, LONG + DOCUMENT + LONG], ids=["one window", "several"])
def test_a_chunk_is_the_mean_of_its_own_tokens_in_the_whole_document(folders, engine, text):
    embedder = Embedder.load(folders("bert"), engine=engine)
    [found] = embedder.encode_chunks([text], chunking=ChunkSettings(9))
    spans = [(chunk.start, chunk.stop) for chunk in found.chunks]
    assert len(spans) > 3
    np.testing.assert_allclose(found.vectors, unit(slow(embedder, text, spans)), atol=2e-5)


@pytest.mark.parametrize("engine", ENGINES_HERE)
def test_a_document_of_one_chunk_has_the_vector_of_the_text(folders, engine):
    embedder = Embedder.load(folders("bert"), engine=engine)
    texts = ["a cat", "# The dog\n\nand the quick cat.", "\u200d", "x"]
    found = embedder.encode_chunks(texts)
    vectors = np.concatenate([document.vectors for document in found])
    np.testing.assert_allclose(vectors, embedder.encode(texts), atol=1e-5)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("prompt", ["query: ", "query:"])
def test_a_prompt_stands_before_the_document_and_belongs_to_the_first_chunk(own, prompt, hidden):
    spoken = {"prompts": {"document": prompt}}
    folder = own(
        pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": not hidden},
        spoken=spoken,
    )
    embedder = Embedder.load(folder)
    text = "a cat. the dog"
    [found] = embedder.encode_chunks([text])
    np.testing.assert_allclose(found.vectors, embedder.encode_document([text]), atol=1e-5)
    [own_words] = embedder.encode_chunks([text], prompt="dog ", chunks=[[(0, 6), (7, 14)]])
    if not hidden:
        expected = unit(slow(embedder, text, [(0, 6), (7, 14)], "dog "))
        np.testing.assert_allclose(own_words.vectors, expected, atol=2e-5)


@pytest.mark.parametrize("pooling", [*POOLED, "mean+max"])
def test_every_pooling_of_a_set_of_tokens_is_pooled_late(own, pooling):
    embedder = Embedder.load(own(heads=()), pooling=pooling)
    [one] = embedder.encode_chunks([DOCUMENT], chunking=ChunkSettings(500))
    np.testing.assert_allclose(one.vectors, embedder.encode([DOCUMENT]), atol=1e-4)
    [tokens] = embedder.encode_tokens([DOCUMENT])
    half = DOCUMENT.index("!") + 1
    [two] = embedder.encode_chunks([DOCUMENT], chunks=[[(0, half), (half, len(DOCUMENT))]])
    _, spans = embedder.tokenizer.ids_and_spans(DOCUMENT)
    first = 1 + int((spans[:, 1] <= half).sum())
    expected = reduce_sentences(tokens, np.array([first, len(tokens) - first]), late_reductions(pooling))
    np.testing.assert_allclose(two.vectors, expected, atol=1e-4)


@pytest.mark.parametrize(
    "pooling", [*(name for name in REDUCTIONS if name not in POOLED), "cls+mean", "sbert-wk", "mean:layers=0+3"]
)
def test_other_poolings_are_refused_with_the_way_to_vectors(own, pooling):
    embedder = Embedder.load(own(heads=()), pooling=pooling)
    with pytest.raises(BadInput, match=r"this model's pooling is .* encode\(texts\)"):
        embedder.encode_chunks(["a cat"])


def test_chunks_of_word_vectors_are_encoded_as_alone(folders):
    embedder = Embedder.load(folders("words"), engine="torch")
    [found] = embedder.encode_chunks([DOCUMENT], chunking=ChunkSettings(15))
    texts = [DOCUMENT[chunk.start : chunk.stop] for chunk in found.chunks]
    assert len(texts) > 2
    tokens = embedder.encode_tokens(texts)[1:-1]  # the special tokens go with the first and the last
    expected = unit(np.stack([vectors[1:-1].mean(0) for vectors in tokens]))
    np.testing.assert_allclose(found.vectors[1:-1], expected, atol=1e-5)


def test_documents_are_encoded_the_same_alone_and_in_company(tiny):
    texts = [DOCUMENT, "", LONG * 20, " \n", "cat", LONG]
    together = tiny.encode_chunks(texts)
    assert [len(document.chunks) > 0 for document in together] == [True, False, True, False, True, True]
    for text, document in zip(texts, together, strict=True):
        [alone] = tiny.encode_chunks([text])
        assert alone.chunks == document.chunks and document.vectors.shape == (len(alone.chunks), 32)
        np.testing.assert_allclose(alone.vectors, document.vectors, atol=1e-5)


def test_chunks_can_be_given_and_may_overlap_or_hold_no_token(tiny):
    text = "the cat \u200d\u200d and the dog"
    [found] = tiny.encode_chunks([text], chunks=[[(8, 10), (0, 7), (4, 18)]])
    assert found.vectors.shape == (3, 32) and np.isfinite(found.vectors).all()
    for one, empty, nearest in (
        (text, (8, 10), (11, 14)),
        ("the cat \u200d", (8, 9), (4, 7)),
        ("a \u200d", (2, 3), (0, 1)),
    ):
        [found] = tiny.encode_chunks([one], chunks=[[empty, nearest]])
        np.testing.assert_allclose(found.vectors[0], found.vectors[1], atol=1e-6)


def test_chunks_that_were_found_can_be_given_again(tiny):
    texts = [f"# Cats\n\n{DOCUMENT}", "a dog"]
    found = tiny.encode_chunks(texts, chunking=ChunkSettings(9))
    again = tiny.encode_chunks(iter(texts), chunks=[one.chunks for one in found])
    for one, other in zip(found, again, strict=True):
        assert one.chunks == other.chunks and any(chunk.headings for chunk in found[0].chunks)
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-6)


@pytest.mark.parametrize("chunk", [(0.5, 3.7), (0,), "ab", 3, None, (0, 1, (), ())])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_span_is_refused(tiny, chunk):
    with pytest.raises(BadInput, match="expected its start and stop in characters, two whole numbers"):
        tiny.encode_chunks(["a cat"], chunks=[[chunk]])


@pytest.mark.parametrize("span", [(0, 0), (-1, 2), (2, 1), (0, 6)])
def test_a_span_that_is_no_part_of_the_document_is_refused(tiny, span):
    with pytest.raises(BadInput, match="is outside a text of 5 characters"):
        tiny.encode_chunks(["a cat"], chunks=[[span]])
    expected = "expected either chunking, or chunks with one list for each of the 2 documents; got . lists"
    with pytest.raises(BadInput, match=expected):
        tiny.encode_chunks(["a cat", "a dog"], chunks=[[(0, 1)]])


def test_progress_counts_documents_and_the_tokens_of_all_windows(tiny):
    meters = []
    tiny.encode_chunks(
        [DOCUMENT, LONG, "cat"], show_progress_bar=lambda meter: meters.append((meter.texts, meter.tokens, meter.total))
    )
    assert meters == [(done, 34 + 7 * 66 + 3, 3) for done in range(4)]  # all windows are in the first batch


@pytest.mark.parametrize("texts", [["a", "the cat"], ["query", "a"]])
def test_a_token_without_a_vector_names_its_document(texts, own):
    embedder = Embedder.load(own(changes={"vocab_size": 50}))
    index = texts.index("query") if "query" in texts else 1
    with pytest.raises(BadInput, match=rf"documents\[{index}\] holds the token"):
        embedder.encode_chunks(texts)


def test_words_too_long_for_the_tokenizer_are_told_of_documents(tiny):
    with pytest.warns(UserWarning, match="1 of 2 documents has words of more than 100 characters"):
        tiny.encode_chunks(["a cat", "b" * 101])


@given(st.lists(st.text(st.sampled_from("the cat.\n#é東 İ"), max_size=80), max_size=4), st.integers(1, 20))
def test_any_document_has_a_finite_vector_for_each_chunk(tiny, texts, size):
    for text, document in zip(texts, tiny.encode_chunks(texts, chunking=ChunkSettings(size)), strict=True):
        assert len(document.chunks) == len(document.vectors)
        assert np.isfinite(document.vectors).all()
        covered = "".join(text[chunk.start : chunk.stop] for chunk in document.chunks)
        assert "".join(covered.split()) == "".join(text.split())


def test_a_chunk_whose_vector_is_not_finite_is_reported(tiny, monkeypatch):
    heads = tiny.through_heads
    monkeypatch.setattr(tiny, "through_heads", lambda rows: heads(rows) * np.where(len(rows) > 1, np.nan, 1))
    with pytest.raises(BadModel, match=r"the chunks of documents\[1\]: chunk\[0\] gave a vector that is not finite"):
        tiny.encode_chunks(["a cat", "the dog naps"], chunks=[[(0, 5)], [(0, 3), (4, 7)]])


def test_documents_are_read_together_until_they_have_64_windows():
    documents = [SimpleNamespace(windows=[None] * count) for count in (63, 1, 64, 65, 2)]
    groups = [[len(document.windows) for document in group] for group in _grouped(documents)]
    assert groups == [[63, 1], [64], [65], [2]]
