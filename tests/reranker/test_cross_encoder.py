"""Cross-encoders of torch: pairs of texts to logits, scores and ranks; what other engines compute is that."""

import json
import subprocess
import sys
from collections import UserDict
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from likewise import Reranker
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, MissingExtra, OutOfMemory, TooLong
from likewise.reranker import CrossEncoder, PolyEncoder, cross_encoder
from likewise.reranker.classification_heads import CLASSIFIERS, HeadShape, labels_of
from likewise.runtime.devices import PRECISIONS
from tests.tiny import LONG, TEXTS, TRANSFORMERS, amend, classifier_folder, reweigh

families = pytest.mark.parametrize("family", CLASSIFIERS)
load = partial(Reranker.load, engine="torch")
PAIRS = [*zip(TEXTS, TEXTS[::-1], strict=True), ("A cat sleeps.", TEXTS[-1]), ("dogs", "dogs")]


def _close(a, b, atol=1e-6):
    np.testing.assert_allclose(a, b, atol=atol, rtol=0)


@pytest.fixture(scope="session")
def classifiers(tmp_path_factory):
    """A family's name to a reranker of it; not to be changed."""
    made: dict[str, Reranker] = {}

    def classifier(family):
        if family not in made:
            made[family] = load(classifier_folder(tmp_path_factory.mktemp(family), family))
        return made[family]

    return classifier


@pytest.fixture(scope="session")
def small(classifiers):
    return classifiers("bert")


@pytest.fixture
def fresh(tmp_path):
    """A folder of one's own."""
    return classifier_folder(tmp_path / "fresh")


@pytest.mark.parametrize("start", [CrossEncoder.start, PolyEncoder.start])
def test_a_reranker_in_training_mode_scores_without_dropout(start, own):
    folder = own(changes={"hidden_dropout_prob": 0.5})
    reranker = start(str(folder))
    before = reranker.score(PAIRS)
    reranker.train()
    assert np.array_equal(reranker.score(PAIRS), before) and not reranker.training


def test_every_family_of_encoders_has_a_classification_head():
    others = {"t5", "t5_gated", "qwen3", "gemma3_text"}  # whose heads read a decoder, or the last token
    assert set(CLASSIFIERS) == set(TRANSFORMERS) - others


# what is computed


@families
def test_a_pair_scores_the_same_alone_and_in_company_in_the_order_given(family, classifiers):
    reranker = classifiers(family)
    together = reranker.score(PAIRS)
    assert together.dtype == np.float32
    assert together.shape == (len(PAIRS),)
    assert np.ptp(together) > 1e-3
    _close(together, [reranker.score([pair])[0] for pair in PAIRS])
    _close(reranker.score(PAIRS[::-1]), together[::-1])
    for budget in (1, 40):
        _close(reranker.score(PAIRS, batch_tokens=budget), together)


def test_a_batch_of_pairs_keeps_to_its_tokens(classifiers):
    reranker, sizes, budget = classifiers("bert"), [], 40
    with reranker.encoder.register_forward_pre_hook(lambda _, args: sizes.append(args[0].lengths)):
        reranker.score([("a", "b"), *PAIRS], batch_tokens=budget)
    assert any(len(lengths) > 1 for lengths in sizes)
    assert all(sum(lengths) <= budget or len(lengths) == 1 for lengths in sizes)


@families
def test_pairs_and_two_columns_are_the_same(family, classifiers):
    reranker = classifiers(family)
    first, second = zip(*PAIRS, strict=True)
    wanted = reranker.score(PAIRS)
    table = pd.DataFrame({"query": first, "document": second})
    for given_ in ((list(first), list(second)), (table["query"], table["document"]), (iter(first), iter(second))):
        assert np.array_equal(reranker.score(*given_), wanted)
    for given_ in ([list(pair) for pair in PAIRS], iter(PAIRS), np.array(PAIRS), table.to_numpy()):
        assert np.array_equal(reranker.score(given_), wanted)


@families
def test_which_text_comes_first_matters(family, classifiers):
    one, other = classifiers(family).logits([("the cat", "a dog barks"), ("a dog barks", "the cat")])
    assert np.abs(one - other).max() > 1e-4


def test_segments_tell_the_texts_apart_where_the_encoder_knows_them(small, fresh):
    pair = [("the cat", "a dog barks")]
    assert small.segmented
    assert small.tokens(pair).segments.tolist() == [0, 0, 0, 0, *[1] * (len(small.tokens(pair).values) - 4)]
    (fresh / "tokenizer_config.json").write_text('{"model_input_names": ["input_ids", "attention_mask"]}')
    without = load(fresh)
    assert without.tokens(pair).segments is None
    assert np.abs(without.logits(pair) - small.logits(pair)).max() > 1e-4


@pytest.mark.parametrize(
    ("settings", "segmented"),
    [
        (None, True),  # the family's own class
        ({}, True),
        ({"tokenizer_class": "BertTokenizer"}, True),
        ({"tokenizer_class": "ElectraTokenizerFast"}, True),
        ({"tokenizer_class": "DebertaV2Tokenizer"}, True),
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, False),
        ({"tokenizer_class": "TokenizersBackend"}, False),
        ({"tokenizer_class": "DistilBertTokenizer"}, False),
        ({"tokenizer_class": "SomebodysTokenizer"}, False),
        ({"tokenizer_class": "TokenizersBackend", "model_input_names": ["input_ids", "token_type_ids"]}, True),
        ({"tokenizer_class": "BertTokenizer", "model_input_names": ["input_ids"]}, False),
    ],
)
def test_token_types_are_given_where_the_tokenizers_class_gives_them(settings, segmented, fresh, tmp_path):
    path = fresh / "tokenizer_config.json"
    path.unlink(missing_ok=True)
    if settings is not None:
        path.write_text(json.dumps(settings))
    reranker = load(fresh)
    assert reranker.segmented is segmented
    reranker.save(tmp_path / "saved")
    assert load(tmp_path / "saved").segmented is segmented


def test_a_tokenizer_class_that_only_config_json_names_counts(fresh):
    (fresh / "tokenizer_config.json").unlink(missing_ok=True)
    amend(fresh / "config.json", tokenizer_class="PreTrainedTokenizerFast")
    assert not load(fresh).segmented


def test_an_encoder_with_a_single_token_type_gets_none(tmp_path):
    assert not load(classifier_folder(tmp_path, type_vocab_size=1)).segmented


@families
def test_logits_are_the_heads_of_the_encoders_last_layer_one_pair_at_a_time(family, classifiers):
    reranker = classifiers(family)
    tokens, logits = reranker.tokens(PAIRS), reranker.logits(PAIRS)
    with torch.no_grad():
        states = list(reranker.encoder(tokens))[-1]
        starts = np.cumsum([0, *tokens.lengths[:-1]])
        head = reranker.head
        for start, row in zip(starts, logits, strict=True):
            bias = head.dense.bias if family != "modernbert" else 0
            x = head.norm(head.activation(states[start] @ head.dense.weight.T + bias))
            _close((x @ head.out.weight.T + head.out.bias).numpy(), row, 1e-5)


@families
def test_logits_are_the_same_with_gradients_which_reach_every_weight(family, tmp_path):
    reranker = load(classifier_folder(tmp_path, family, labels=2))
    logits = reranker(reranker.tokens(PAIRS))
    _close(logits.detach().numpy(), reranker.logits(PAIRS), 2e-6)
    logits.square().sum().backward()
    idle = [name for name, weight in reranker.named_parameters() if weight.grad is None or not weight.grad.abs().sum()]
    assert idle == []


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@families
def test_half_precision_is_near_full_precision(family, precision, classifiers, tmp_path):
    classifiers(family).save(tmp_path / "model")
    half = load(tmp_path / "model", precision=precision)
    assert half.precision == precision
    _close(half.score(PAIRS), classifiers(family).score(PAIRS), 0.05)


def test_dropout_is_there_in_training_and_gone_afterwards(fresh):
    reranker = load(fresh)
    tokens = reranker.tokens(PAIRS)
    before = reranker(tokens)
    assert not torch.allclose(reranker.train()(tokens), before, atol=1e-4)
    torch.testing.assert_close(reranker.eval()(tokens), before)


def test_equal_pairs_are_computed_once_and_every_text_is_tokenised_once(fresh, monkeypatch):
    reranker = load(fresh)
    seen, read = [], []
    reranker.encoder.register_forward_pre_hook(lambda module, args: seen.append(len(args[0])))
    contents = cross_encoder.CrossEncoder._token_ids
    monkeypatch.setattr(
        cross_encoder.CrossEncoder, "_token_ids", lambda self, texts: read.extend(texts) or contents(self, texts)
    )
    scores = reranker.score(["a cat"] * 6, ["x", "y", "x", "x", "y", "x"])
    assert seen == [2]
    assert sorted(read) == ["a cat", "x", "y"]
    assert len(set(scores.tolist())) == 2


def test_windows_of_pairs_are_joined(small, monkeypatch):
    wanted = small.score(PAIRS)
    monkeypatch.setattr("likewise.reranker.text_pairs.CHUNK_TEXTS", 3)
    _close(small.score(PAIRS), wanted)


def test_nothing_to_score_gives_nothing(small):
    assert small.score([]).shape == (0,)
    assert small.score([], []).shape == (0,)
    assert small.logits([]).shape == (0, 1)
    assert small.rank("a", []) == []


# labels and activations


def test_one_label_is_squeezed_by_the_sigmoid_unless_the_folder_says_otherwise(fresh):
    logits = load(fresh).logits(PAIRS)[:, 0]
    _close(load(fresh).score(PAIRS), 1 / (1 + np.exp(-logits)))
    amend(fresh / "config.json", sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity"})
    assert np.array_equal(load(fresh).score(PAIRS), logits)
    load(fresh).save(fresh.parent / "saved")
    for file in ("config.json", "config_sentence_transformers.json"):  # of versions before 6, and of 6
        assert "torch.nn.modules.linear.Identity" in (fresh.parent / "saved" / file).read_text()


def test_of_several_labels_the_chosen_ones_probability_is_the_score(tmp_path):
    names = {"0": "contradiction", "1": "entailment", "2": "neutral"}
    reranker = load(classifier_folder(tmp_path / "nli", labels=3, id2label=names))
    assert reranker.labels == list(names.values())
    logits = reranker.logits(PAIRS).astype(float)
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    _close(reranker.probabilities(PAIRS), softmax)
    for label in ("entailment", "Entailment", 1):
        _close(reranker.score(PAIRS, label=label), softmax[:, 1])
    listed = r"3 labels \(contradiction, entailment, neutral\)"
    with pytest.raises(BadInput, match=f"{listed}; choose the one whose probability is the score"):
        reranker.score(PAIRS)


def test_two_labels_have_the_probabilities_of_a_softmax_and_are_chosen_by_name_or_number(tmp_path):
    reranker = load(classifier_folder(tmp_path / "nli", labels=2, id2label={"0": "no", "1": "yes"}))
    logits = reranker.logits(PAIRS).astype(float)
    _close(reranker.score(PAIRS, label=0), 1 / (1 + np.exp(logits[:, 1] - logits[:, 0])))
    _close(reranker.score(PAIRS, label=1), reranker.score(PAIRS, label="yes"))
    for absent in (2, -1, "maybe"):
        with pytest.raises(BadInput, match=f"there is no label {absent!r}; expected one of no, yes$"):
            reranker.score(PAIRS, label=absent)


def test_labels_that_differ_only_in_case_are_distinguished(tmp_path):
    reranker = load(classifier_folder(tmp_path / "nli", labels=3, id2label={"0": "no", "1": "yes", "2": "Yes"}))
    probabilities = reranker.probabilities(PAIRS)
    for i, label in enumerate(reranker.labels):
        _close(reranker.score(PAIRS, label=label), probabilities[:, i])
    with pytest.raises(BadInput, match="there is no label 'YES'"):
        reranker.score(PAIRS, label="YES")


@pytest.mark.parametrize("activation", ["torch.nn.modules.activation.Softsign", "mine.Sigmoid", "Sigmoid"])
def test_an_activation_that_is_not_known_is_refused(activation, fresh):
    amend(fresh / "config.json", sentence_transformers={"activation_fn": activation})
    with pytest.raises(BadModel, match="unknown activation"):
        load(fresh)


@pytest.mark.parametrize("names", [{}, {"1": "a"}, {"0": "a", "2": "b"}, ["a"], {"x": "a"}, 3])
def test_labels_that_are_no_labels_are_refused(names):
    with pytest.raises(BadModel, match="id2label"):
        labels_of({"id2label": names})


def test_labels_that_are_only_counted_have_names_too():
    assert labels_of({"num_labels": 3}) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    assert len(labels_of({})) == 2


# ranking


def test_rank_gives_the_best_first_and_equals_in_their_order(small):
    documents = [*TEXTS, TEXTS[0]]
    ranked = small.rank("the query", documents)
    scores = small.score(["the query"] * len(documents), documents)
    assert ranked == [(i, float(scores[i])) for i in sorted(range(len(documents)), key=lambda i: (-scores[i], i))]
    assert small.rank("the query", documents, k=3) == ranked[:3]
    assert small.rank("the query", iter(documents), k=99) == ranked
    assert small.rank("the query", documents, k=1) == ranked[:1]
    with_texts = small.rank("the query", iter(documents), k=2, return_documents=True)
    assert with_texts == [(i, score, documents[i]) for i, score in ranked[:2]]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("k", [0, -1, 1.5, True, "many"])
def test_a_k_that_is_no_number_of_documents_is_refused(k, small):
    with pytest.raises(BadInput, match="the number of documents to keep"):
        small.rank("a", ["b"], k=k)


# what may be given


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ((None,), r"pairs is None \(NoneType\); expected a list of pairs"),
        (("ab",), "pairs is 'ab'"),
        ((["ab", "cd"],), r"pairs\[0\] is 'ab' \(str\); expected two texts"),
        (([("a", "b"), ("a",)],), r"pairs\[1\] is .*; expected two texts"),
        (([("a", "b", "c")],), "expected two texts"),
        (([("a", "b"), None],), r"pairs\[1\] is None"),
        (([("a", None)],), r"pairs\[0\]\[1\] is None .*; expected a str"),
        (([(3, "a")],), r"pairs\[0\]\[0\] is 3 \(int\); expected a str"),
        (([{"a", "b"}],), "expected two texts"),
        (({"a": "b"},), "pairs is"),
        ((["a"], "b"), "documents is 'b'"),
        ((["a"], UserDict({"b": 1})), "documents is"),
        ((["a"], np.array("b")), "documents is"),
        ((["a"], np.array([["b"]])), "documents is"),
        ((["a"], pd.DataFrame({"b": ["c"]})), "documents is"),
        (("a", ["b"]), "queries is 'a'"),
        ((["a", "b"], ["c"]), "2 queries and 1 documents"),
        ((["a"], [None]), r"documents\[0\] is None"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_place(given_, told, small):
    with pytest.raises(BadInput, match=told):
        small.score(*given_)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("query", "documents"), [(None, ["a"]), (["a"], ["b"]), ("a", "b"), ("a", [None]), ("a", None)]
)
def test_a_query_is_one_text_and_documents_are_several(query, documents, small):
    with pytest.raises(BadInput, match="query is|documents"):
        small.rank(query, documents)


@given(pairs=st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=4))
def test_any_texts_have_a_score_between_0_and_1(pairs, small):
    scores = small.score(pairs, overflow="truncate")
    assert scores.shape == (len(pairs),)
    assert ((scores > 0) & (scores < 1)).all()


def test_a_token_that_the_encoder_has_no_vector_for_is_named(tmp_path):
    reranker = load(classifier_folder(tmp_path, vocab_size=50))
    with pytest.raises(BadInput, match="'a query' has the token 'query', for which the encoder has no vector"):
        reranker.score([("a", "b"), ("a query", "b")])


# pairs that are too long


def test_overflow_is_counted_warned_of_refused_or_silent(small):
    pairs = [("a", "b"), ("a", LONG), (LONG, LONG)]
    with pytest.warns(UserWarning, match=r"2 of 3 pairs were truncated to the 63 tokens .*the first is pairs\[1\]"):
        loud = small.score(pairs)
    assert np.array_equal(small.score(pairs, overflow="truncate"), loud)
    with pytest.raises(TooLong, match=r'pairs\[1\] has [0-9,]+ tokens, and the model reads 63. .*overflow="warn" or'):
        small.score(pairs, overflow="error")
    assert small.tokens(pairs).lengths == (5, 66, 66)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("overflow", ["mean", "perhaps"])
def test_a_policy_that_pairs_do_not_have_is_refused(overflow, small):
    with pytest.raises(BadInput, match="expected one of error, warn, truncate"):
        small.score(PAIRS, overflow=overflow)


@pytest.mark.parametrize("kind", ["cross", "poly"])
def test_a_warning_points_at_the_line_that_asked(kind, fresh, tiny):
    (load(fresh) if kind == "cross" else PolyEncoder.start(tiny, 2)).save(fresh.parent / "model")
    folder = str(fresh.parent / "model")
    script = f"from likewise import Reranker\nm = Reranker.load({folder!r})\nm.rank('a', ['a b ' * 99])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "<string>:3: UserWarning: 1 of 1" in ran.stderr


def test_both_texts_keep_their_share_of_a_pair_that_is_too_long(small):
    cut = small.score([(LONG, LONG)], overflow="truncate")
    limit = small.max_content_length
    first = small.tokenizer.token_ids([LONG])[0]
    ids = small.tokens([(LONG, LONG)]).values.tolist()
    assert ids[1 : 1 + limit // 2] == first[: limit // 2]
    assert ids[2 + limit // 2 : -1] == first[: limit - limit // 2]
    assert cut.shape == (1,)


# prompts


def test_a_prompt_stands_before_the_first_text(fresh, small):
    spoken = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    (fresh / "config_sentence_transformers.json").write_text(json.dumps(spoken))
    prompted = load(fresh)
    wanted = small.score([("query: " + a, b) for a, b in PAIRS])
    for model, how in ((prompted, {}), (prompted, {"prompt_name": "query"}), (small, {"prompt": "query: "})):
        _close(model.score(PAIRS, **how), wanted)


def test_names_of_prompts_are_the_models_own(fresh, small):
    for call in (small.logits, small.score, small.tokens, small.token_id_pairs):
        with pytest.raises(BadInput, match=r"no prompt named 'query'; its prompts are \(none\)"):
            call(PAIRS, prompt_name="query")
        with pytest.raises(BadInput, match="were both passed"):
            call(PAIRS, prompt_name="query", prompt="query")
        with pytest.raises(
            BadInput, match="the prompt has 99 tokens, and the model reads .*: no room is left for text"
        ):
            call(PAIRS, prompt="cat " * 99)


def test_the_tokens_of_a_pair_are_counted_before_it_is_truncated(small):
    [((first, second), total)] = small.counted_pairs([("the cat", "cat " * 99)])
    assert (total, len(first), len(second)) == (2 + 99, 2, small.max_content_length - 2)


def test_words_too_long_for_the_tokenizer_are_told(small):
    pairs = [("a cat", "a dog"), ("a", "b" * 120), ("c" * 300, "b" * 120), ("a cat", "a dog")]
    with pytest.warns(UserWarning, match=r"2 of 4 pairs have words of more than 100 .*pairs\[1\], .* has 300 char"):
        small.score(pairs)
    with pytest.raises(TooLong, match=r"pairs\[1\] has a word of 120 characters"):
        small.score(pairs, overflow="error")
    small.score(pairs, overflow="truncate")


# memory and threads


def test_when_memory_runs_out_smaller_batches_give_the_same_scores(fresh, small):
    reranker, sizes = load(fresh), []

    def costly(module, args):
        sizes.append(len(args[0].values))
        if sizes[-1] > 100:
            raise torch.OutOfMemoryError("out of memory")

    reranker.encoder.register_forward_pre_hook(costly)
    _close(reranker.score(PAIRS), small.score(PAIRS))
    assert sizes[0] > 100


def test_one_pair_that_does_not_fit_is_an_error_of_its_own(fresh):
    reranker = load(fresh)
    reranker.encoder.register_forward_pre_hook(lambda module, args: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(OutOfMemory):
        reranker.score(PAIRS)


def test_a_score_that_is_not_finite_names_its_pair(fresh):
    reranker = load(fresh)
    with torch.no_grad():
        reranker.encoder.embeddings.words.weight[reranker.tokenizer.token_ids(["q"])[0][0]] = torch.inf
    with pytest.raises(BadModel, match=r"pairs\[2\] gave a vector that is not finite in fp32"):
        reranker.score([("a", "b"), ("a", "b"), ("a", "q")])
    contents = reranker.token_id_pairs([("a", "b"), ("a", "q")])
    with pytest.raises(BadModel, match=r"pairs\[1\] gave a vector that is not finite"):
        reranker.logits_of(contents)
    sizes = []
    with reranker.encoder.register_forward_pre_hook(lambda _, args: sizes.append(len(args[0]))):
        found = reranker.logits_of(contents[:1] * 2)
    _close(found, reranker.logits([("a", "b")] * 2))
    assert sizes == [2]  # in one batch


# folders


@families
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_saved_reranker_loads_with_the_same_scores_and_fingerprint(family, precision, classifiers, tmp_path):
    classifiers(family).save(tmp_path / "first")
    reranker = load(tmp_path / "first", precision=precision, max_seq_length=40)
    reranker.save(tmp_path / "saved")
    again = load(tmp_path / "saved", precision=precision)
    assert again.fingerprint == load(tmp_path / "saved").fingerprint
    assert (again.fingerprint == reranker.fingerprint) == (precision == "fp32")  # 16 bits round the weights written
    assert np.array_equal(again.logits(PAIRS, overflow="truncate"), reranker.logits(PAIRS, overflow="truncate"))


def test_an_encoder_that_cannot_be_saved_is_refused_before_anything_is_written(classifiers, tmp_path, monkeypatch):
    def refused(encoder):
        raise BadModel("no")

    monkeypatch.setattr("likewise.reranker.cross_encoder.checkpoint.check_writable", refused)
    with pytest.raises(BadModel, match="no"):
        classifiers("bert").save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("activation", "Mine", "the activation 'Mine' cannot be saved; expected one of .*Identity"),
        ("labels", ["no", "yes"], "the labels are no, yes, but would be loaded as LABEL_0, LABEL_1; Reranker.start"),
    ],
)
def test_what_would_be_loaded_otherwise_is_not_saved(name, value, message, tiny, tmp_path):
    reranker = CrossEncoder.start(tiny, 2)
    setattr(reranker, name, value)
    with pytest.raises(BadModel, match=message):
        reranker.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


CHANGES = {
    "a weight of the encoder": lambda f: reweigh(
        f, lambda n, t: t + 1e-3 if n.endswith("layer.1.output.dense.bias") else t
    ),
    "a weight of the head": lambda f: reweigh(f, lambda n, t: t + 1e-3 if n == "classifier.weight" else t),
    "the heads' activation": lambda f: amend(
        f / "config.json", sentence_transformers={"activation_fn": "torch.nn.Tanh"}
    ),
    "the longest input": lambda f: (f / "tokenizer_config.json").write_text('{"model_max_length": 9}'),
    "segments": lambda f: (f / "tokenizer_config.json").write_text('{"model_input_names": ["input_ids"]}'),
    "a word": lambda f: (f / "tokenizer.json").write_text((f / "tokenizer.json").read_text().replace('"cat"', '"dot"')),
    "labels": lambda f: amend(f / "config.json", id2label={"0": "other"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_fingerprint_changes_with_anything_that_changes_scores(change, fresh):
    before = load(fresh).fingerprint
    assert load(fresh).fingerprint == before
    CHANGES[change](fresh)
    assert load(fresh).fingerprint != before


@pytest.mark.parametrize("names", [None, [], ["BertModel", "BertForSequenceClassification"]])
def test_a_head_is_found_whatever_else_the_config_names(names, fresh, small):
    amend(fresh / "config.json", architectures=names)
    _close(load(fresh).score(PAIRS), small.score(PAIRS))


@pytest.mark.parametrize("file", ["classifier.weight", "bert.pooler.dense.bias"])
def test_a_folder_without_a_head_says_how_one_is_started(file, fresh):
    reweigh(fresh, lambda name, tensor: None if name == file else tensor)
    with pytest.raises(BadModel, match=r"is not a reranker \(.*Reranker.start\(folder\) creates an untrained one"):
        load(fresh)


def test_a_head_for_something_else_is_no_reranker(fresh):
    amend(fresh / "config.json", architectures=["BertForTokenClassification"])
    with pytest.raises(BadModel, match="its config.json names BertForTokenClassification.*Reranker.start"):
        load(fresh)


def test_an_embedder_is_no_reranker_and_a_reranker_no_embedder(folders, classifiers, tmp_path):
    with pytest.raises(BadModel, match=r"consists of Transformer, Pooling, Normalize.*Reranker.start\(folder\)"):
        load(folders("bert"))
    classifiers("bert").save(tmp_path / "saved")
    with pytest.raises(BadModel, match="consists of Transformer; expected Transformer, Pooling"):
        TorchEmbedder.load(tmp_path / "saved")


@pytest.mark.parametrize(
    "change",
    [
        lambda n, t: torch.zeros(2, 32) if n == "classifier.weight" else t,
        lambda n, t: t[:-1] if n == "bert.pooler.dense.weight" else t,
        lambda n, t: t * torch.nan if n == "classifier.bias" else t,
    ],
)
def test_a_head_of_another_shape_or_not_finite_is_named(change, fresh):
    reweigh(fresh, change)
    with pytest.raises(
        BadModel, match=r"expects shape \(\d+, 32\) for .*(classifier|pooler.dense)|tensor classifier.bias .* has NaN"
    ):
        load(fresh)


def test_any_prefix_may_stand_before_the_names(fresh, small):
    weights = load_file(fresh / "model.safetensors")
    save_file({f"model.{name}": tensor for name, tensor in weights.items()}, fresh / "model.safetensors")
    _close(load(fresh).score(PAIRS), small.score(PAIRS))


def test_an_empty_folder_and_a_pickle_are_refused(tmp_path, fresh):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadModel, match="is not a model folder"):
        load(tmp_path / "empty")
    (fresh / "model.safetensors").rename(fresh / "pytorch_model.bin")
    with pytest.raises(BadModel, match="only safetensors is supported"):
        load(fresh)


def test_a_tokenizer_without_a_mark_between_two_texts_is_refused(fresh):
    amend(fresh / "tokenizer.json", post_processor=None)
    with pytest.raises(BadModel, match="adds no token between two texts"):
        load(fresh)


@pytest.mark.parametrize("length", [0, 3, 4, 9999])
def test_a_length_that_leaves_no_room_or_is_too_long_is_refused(length, fresh):
    with pytest.raises((BadInput, BadModel), match="leaves no|reads 1 to 66 tokens"):
        load(fresh, max_seq_length=length)


def test_the_shortest_length_leaves_one_token_of_each_text(fresh):
    (first, second), *_ = load(fresh, max_seq_length=5).token_id_pairs([("the cat", "the cat")])
    assert len(first) == len(second) == 1


@pytest.mark.usefixtures("unchecked")
def test_a_precision_that_is_not_there_is_refused(fresh):
    for wrong in ("fp8", "", ["fp32"], {"a": 1}, 5):
        with pytest.raises(BadInput, match="precision is .*; expected one of fp32, bf16, fp16"):
            load(fresh, precision=wrong)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("label", [object(), 3j, np.array([0, 1]), [0], 0.5, float("nan"), True, 9, -1, "entails"])
def test_what_is_no_label_is_refused(label, fresh):
    with pytest.raises(BadInput, match="there is no label"):
        load(fresh).score([("a", "b")], label=label)


# beginnings


@families
def test_an_untrained_reranker_is_begun_from_an_embedder_or_a_folder(family, embedders, folders, tmp_path):
    reranker = Reranker.start(embedders(family), seed=1)
    assert isinstance(reranker, CrossEncoder)
    assert reranker.fingerprint == Reranker.start(embedders(family), seed=1).fingerprint
    assert reranker.fingerprint != Reranker.start(embedders(family), seed=2).fingerprint
    _close(reranker.score(PAIRS), Reranker.start(folders(family), seed=1).score(PAIRS))
    reranker.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert again.fingerprint == reranker.fingerprint
    [architecture] = CrossEncoder.load(tmp_path / "saved").encoder.config["architectures"]
    assert architecture.endswith("ForSequenceClassification")


def test_training_what_was_begun_leaves_the_embedder_as_it_is(tiny):
    before, reranker = tiny.fingerprint, Reranker.start(tiny)
    with torch.no_grad():
        for weight in reranker.parameters():
            weight.add_(1)
    assert tiny.fingerprint == before


def test_labels_are_counted_or_named(tiny):
    usual = Reranker.start(tiny)
    assert usual.labels == ["LABEL_0"] and usual.fingerprint == CrossEncoder.start(tiny, 1, seed=0).fingerprint
    assert usual.fingerprint == CrossEncoder.start(tiny).fingerprint
    assert Reranker.start(tiny, 3).labels == ["LABEL_0", "LABEL_1", "LABEL_2"]
    named = Reranker.start(tiny, ["no", "yes"], max_seq_length=20)
    assert named.labels == ["no", "yes"]
    assert named.tokenizer.max_seq_length == 20
    assert named.score(PAIRS, label="yes", overflow="truncate").shape == (len(PAIRS),)
    assert Reranker.start(tiny, ["relevance"]).labels == ["relevance"]
    with pytest.raises(BadInput, match="expected one of LABEL_0, .*, LABEL_18, LABEL_19$"):
        Reranker.start(tiny, 25).score([], label="relevance")


def test_the_number_of_labels_in_the_config_of_the_encoder_is_not_kept(own, tmp_path):
    Reranker.start(own(changes={"num_labels": 5})).save(tmp_path / "saved")
    config = json.loads((tmp_path / "saved/config.json").read_text())
    assert "num_labels" not in config and config["id2label"] == {"0": "LABEL_0"}


def test_without_torch_the_extra_is_named(tiny, monkeypatch):
    monkeypatch.setattr("likewise.runtime.lazy_imports.has_torch", lambda: False)
    with pytest.raises(MissingExtra, match=r"Reranker\.start .*pip install"):
        Reranker.start(tiny)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("labels", [0, -1, True, [], ["a", "a"], [1, 2], "yes", None])
def test_what_are_no_labels_is_refused(labels, tiny):
    with pytest.raises(BadInput, match="labels is"):
        Reranker.start(tiny, labels)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("norm", "norm_bias"), [(None, False), (1e-5, False), (1e-5, True)])
def test_a_head_reads_exactly_its_own_tensors(bias, norm, norm_bias):
    shape = HeadShape(width=6, labels=3, dropout=0.1, bias=bias, norm=norm, norm_bias=norm_bias)
    tensors = cross_encoder.PairClassifier(shape).state_dict()
    assert shape.tensors == {name: tuple(tensor.shape) for name, tensor in tensors.items()}
