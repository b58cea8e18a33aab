"""The one path from texts to windows: what a window carries, what is refused, and the mean of several."""

import json

import numpy as np
import pytest

from likewise import Embedder
from likewise.arrays.sequences import Sequences
from likewise.errors import BadInput
from likewise.native.tokenizing import EncodedTexts
from likewise.text.inputs import PER_WINDOW, TokenizedTexts, Windows, mean_of_windows
from likewise.text.tokenizer import Tokenizer
from tests.native_library import NATIVE
from tests.tiny import LONG, TEXTS, model_folder, wordpieces

ENGINES = ["torch", "numpy", *["native"] * NATIVE]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A tokenizer that reads 18 tokens between [CLS] and [SEP]."""
    folder = tmp_path_factory.mktemp("tokenizer")
    wordpieces().save(str(folder / "tokenizer.json"))
    return Tokenizer.load(folder, 20)


def _read(windows):
    """Each window's ids, its place, its tokens without special ones, and how many of them are hidden."""
    arrays = (windows.places, windows.content_lengths, windows.hidden)
    return list(zip(windows.tokens.lists(), *(array.tolist() for array in arrays), strict=True))


def test_a_window_knows_its_tokens_its_place_and_what_of_it_is_hidden(tokenizer):
    texts = TokenizedTexts(tokenizer, "a b", EncodedTexts.of([[7, 8, 9], list(range(20, 50)), []]))
    windows = texts.windows(hides_prompt=True)
    read = [[7, 8, 9], list(range(20, 38)), []]
    framed = [tokenizer.with_special_tokens(content) for content in read]
    assert _read(windows) == [(framed[0], 0, 3, 3), (framed[1], 0, 18, 3), (framed[2], 0, 0, 3)]
    assert [_read(window) for window in windows] == [[one] for one in _read(windows)]
    assert (texts.contents.lengths.tolist(), texts.used.tolist()) == ([3, 30, 0], [3, 18, 0])


@pytest.mark.parametrize("overlapping", [False, True])
def test_nothing_is_hidden_without_a_prompt_or_where_it_is_read(tokenizer, overlapping):
    for prompt, hides in (("", True), ("", False), ("the quick ", False)):
        texts = TokenizedTexts.of(tokenizer, ["a", LONG], prompt)
        assert not texts.windows(hides_prompt=hides, overlapping=overlapping).hidden.any()


def test_later_windows_begin_with_what_a_prompt_and_a_text_with_it_have_in_common(tokenizer):
    prompt_ids = tokenizer.token_ids(["a b c"])[0]
    text = [*prompt_ids[:2], 50, *range(20, 50)]  # the prompt's last token was merged with the text's first
    texts = TokenizedTexts(tokenizer, "a b c", EncodedTexts.of([[*prompt_ids, 9], text]))
    first, *later = _read(texts.windows(hides_prompt=True, overlapping=True))
    assert first == (tokenizer.with_special_tokens([*prompt_ids, 9]), 0, 4, 4)
    framed = [tokenizer.with_special_tokens(window) for window in tokenizer.windows(text, prompt_ids[:2])]
    assert later == [(framed[0], 0, 18, 4), (framed[1], 1, 18, 3), (framed[2], 2, 18, 3)]
    assert {i for ids, *_ in later for i in ids} >= {*text}


@pytest.mark.parametrize("prompt", ["", "the quick "])
def test_token_ids_with_and_without_special_ones_stand_for_their_text(tokenizer, prompt):
    bare = tokenizer.token_ids(["a cat", "dogs"])
    framed = [tokenizer.with_special_tokens(ids) for ids in bare]
    expected = TokenizedTexts.of(tokenizer, ["a cat", "dogs"], prompt).contents.lists()
    for inputs in (bare, framed, ["a cat", framed[1]], [tuple(bare[0]), "dogs"]):
        assert TokenizedTexts.of(tokenizer, inputs, prompt).contents.lists() == expected
    prefix = list(tokenizer.prefix)
    assert TokenizedTexts.of(tokenizer, [[*prefix, 7], prefix, []], "").contents.lists() == [[*prefix, 7], prefix, []]
    ends = [0, tokenizer.vocabulary - 1]  # the first and the last id there is
    given = [ends, tokenizer.with_special_tokens([])]
    assert TokenizedTexts.of(tokenizer, given, "").contents.lists() == [ends, []]


def test_a_word_too_long_to_be_read_is_not_used_if_it_is_within_the_limit(tokenizer):
    long_words = np.array([[0, 17, 200], [1, 18, 200], [2, 0, 200], [2, 1, 200]])
    contents = EncodedTexts(np.zeros(60, np.int32), np.array([20, 20, 2, 18]), long_words)
    assert TokenizedTexts(tokenizer, "", contents).used.tolist() == [17, 18, 0, 18]


def test_chosen_windows_are_those_asked_for_in_their_order(tokenizer):
    one, other = (TokenizedTexts.of(tokenizer, texts, "").windows() for texts in (["a", "b cat"], ["dogs", "the"]))
    for places in (
        [(one, 0), (one, 1)], [(one, 1), (one, 0)], [(one, 0)], [(one, 0), (one, 1), (one, 0)],
        [(one, 0), (other, 1)], [(other, 1), (one, 0), (other, 0)],
    ):  # fmt: skip
        chosen, wanted = Windows.chosen(places), [of[i] for of, i in places]
        assert chosen.tokens.lists() == [ids for window in wanted for ids in window.tokens.lists()]
        for name in PER_WINDOW:
            assert getattr(chosen, name).tolist() == [getattr(window, name)[0] for window in wanted]


def test_what_cannot_be_read_is_named_as_the_caller_names_it(own, tokenizer):
    model = Embedder.load(own(changes={"vocab_size": 50}), engine="numpy")
    for inputs, message in (
        (["a", "b", "query"], "input 7 holds the token 'query', for which the encoder has no vector"),
        (["a", "b", [3, tokenizer.vocabulary - 1]], "input 7 holds the token 'query'"),
        (["a", [5], [5, tokenizer.vocabulary]], f"input 7 contains the token id {tokenizer.vocabulary}; this model's"),
        (["a", [5], [-1]], f"input 7 contains the token id -1; this model's ids are 0 to {tokenizer.vocabulary - 1}"),
    ):
        with pytest.raises(BadInput, match=message):
            model.windows(inputs, name=lambda i: f"input {5 + i}")
    with pytest.raises(BadInput, match=r"texts\[2\] holds the token 'query'"):
        model.windows(["a b " * 60, "a b " * 40, "query"], overlapping=True)  # of texts, not of windows


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("call", ["encode", "encode_tokens", "encode_layers"])
def test_a_text_without_tokens_is_refused_where_a_model_puts_none_around_it(engine, call, own):
    folder = own()
    settings = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    (folder / "tokenizer.json").write_text(json.dumps({**settings, "post_processor": None}), "utf-8")
    model = Embedder.load(folder, engine=engine)
    with pytest.raises(BadInput, match=r"texts\[2\] has no tokens, and this model adds no special tokens"):
        getattr(model, call)(["a", "a", ""])


def test_a_mean_of_windows_is_weighted_by_tokens_and_leaves_single_windows_alone():
    lengths = np.array([3, 18, 18, 6, 5])
    tokens = Sequences(np.zeros(50, np.int32), lengths)
    windows = Windows(tokens, np.array([0, 0, 1, 2, 0]), lengths, np.zeros(5, np.int64))
    pooled = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    means = mean_of_windows(pooled, windows)
    np.testing.assert_allclose(means[1], np.average(pooled[1:4], axis=0, weights=[18, 18, 6]), rtol=1e-6)
    assert np.array_equal(means[[0, 2]], pooled[[0, 4]])
    of_one_text = Windows.joined([windows[i] for i in (1, 2, 3)])
    assert np.array_equal(mean_of_windows(pooled[1:4], of_one_text), means[1:2])
    assert np.array_equal(mean_of_windows(pooled[:1], windows[0]), pooled[:1])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("prompt", ["", "the quick "])
def test_a_vector_is_the_same_beside_texts_of_several_windows(engine, prompt, tmp_path):
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": False}
    model = Embedder.load(model_folder(tmp_path / "m", pooling=pooling), engine=engine)
    texts = [*dict.fromkeys(TEXTS), LONG, LONG * 2]
    options = {"overflow": "mean", "prompt": prompt, "batch_tokens": 1}  # each window in a batch of its own
    together = model.encode(texts, **options)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(model.encode([text], **options)[0], vector), text


def test_windows_of_several_batches_of_texts_can_be_put_together(own):
    model = Embedder.load(own(), engine=ENGINES[-1])
    texts = ["a cat", LONG, "dogs", LONG * 2, "x"]
    apart = [window for text in texts for window in model.windows([text], overlapping=True)[1]]
    found = model.encode_windows(Windows.joined(apart))
    np.testing.assert_allclose(found, model.encode(texts, overflow="mean"), rtol=0, atol=1e-6 if not NATIVE else 0)
