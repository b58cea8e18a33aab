"""tokenizer.json in one form: the one that Hugging Face's library writes, whoever wrote the file, and back to text."""

import json
import random

import pytest
import tokenizers
from tokenizers import decoders

from likewise.errors import BadModel
from likewise.runtime.vocabulary import Vocabulary
from likewise.text.decoding import BYTE_LETTERS, DECODERS, decoded
from likewise.text.tokenizer import Tokenizer
from likewise.text.tokenizer_json import PairFrame, around, canonical, read_described, template
from tests.native.test_tokenizing import PIPELINES
from tests.tiny import wordpieces

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "##s", "é"]


def library_form(made):
    made.no_truncation()
    made.no_padding()
    return made.to_str()


@pytest.mark.parametrize("name", PIPELINES)
def test_the_form_is_the_library_s_and_survives_saving(name, tmp_path):
    made = PIPELINES[name]()
    made.enable_padding()
    made.enable_truncation(9)
    made.save(str(tmp_path / "tokenizer.json"))
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))  # it reads scores with a small error
    loaded = Tokenizer.load(tmp_path, 20)
    assert loaded.description == library_form(made)
    assert loaded.token_ids_by_name == made.get_vocab() and loaded.vocabulary == made.get_vocab_size()
    (tmp_path / "again").mkdir()
    loaded.save(tmp_path / "again")
    assert Tokenizer.load(tmp_path / "again", 20).description == loaded.description
    made.save(str(tmp_path / "pretty.json"))
    assert (tmp_path / "again/tokenizer.json").read_text("utf-8") == (tmp_path / "pretty.json").read_text("utf-8")
    assert library_form(tokenizers.Tokenizer.from_file(str(tmp_path / "again/tokenizer.json"))) == loaded.description


@pytest.mark.parametrize("settings", [{}, {"do_lower_case": False}, {"strip_accents": False}])
def test_a_vocab_txt_has_the_form_of_the_library_s_wordpiece(settings, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS), "utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    lowercase, accents = settings.get("do_lower_case", True), settings.get("strip_accents")
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    made = tokenizers.BertWordPieceTokenizer(vocab=vocabulary, lowercase=lowercase, strip_accents=accents)
    assert Tokenizer.load(tmp_path, 20).description == library_form(made)


def test_byte_pairs_have_the_form_of_the_library_s(tmp_path):
    made = tokenizers.ByteLevelBPETokenizer()
    made.train_from_iterator(["the cat sat on the mat"] * 5, 300, special_tokens=["<s>", "</s>"])
    made.save_model(str(tmp_path))
    again = tokenizers.ByteLevelBPETokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))._tokenizer
    again.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False)
    assert canonical(read_described(tmp_path)) == library_form(again)


def test_what_older_files_leave_out_is_written():
    bare = {"model": {"type": "BPE", "vocab": {"b": 1, "a": 0, "ab": 2}, "merges": ["a b"]}}
    metaspace = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}
    found = json.loads(canonical({**bare, "pre_tokenizer": metaspace, "decoder": {"type": "ByteLevel"}}))
    assert found["model"]["vocab"] == {"a": 0, "b": 1, "ab": 2} and list(found["model"]["vocab"]) == ["a", "b", "ab"]
    assert found["model"]["merges"] == [["a", "b"]] and found["model"]["ignore_merges"] is False
    assert found["pre_tokenizer"] == {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True}
    assert found["decoder"]["use_regex"] is True and found["added_tokens"] == []


def fields(part):
    """Each object in a tokenizer.json whose fields may be left out, and their names."""
    if isinstance(part, dict):
        if part.get("type") not in ("BertNormalizer", "RobertaProcessing"):
            yield from ((part, name) for name in part if name != "type" or "vocab" in part)
        yield from (one for name, inner in part.items() if name != "vocab" for one in fields(inner))
    elif isinstance(part, list):
        yield from (one for inner in part[:3] for one in fields(inner))


@pytest.mark.parametrize("name", ["bert", "qwen", "llama", "deberta"])
def test_what_the_library_can_do_without_has_its_defaults(name, tmp_path):
    described, left_out = json.loads(PIPELINES[name]().to_str()), set()
    for part, field in list(fields(described)):
        kept = dict(part)
        del part[field]
        (tmp_path / "tokenizer.json").write_text(json.dumps(described))
        part.clear()
        part.update(kept)
        try:
            made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        except Exception:
            continue
        left_out.add(field)
        assert canonical(read_described(tmp_path)) == library_form(made), field
        assert Tokenizer.load(tmp_path, 20).description == library_form(made), field
    assert left_out >= {"added_tokens", "post_processor", "type"}


def test_scores_are_read_as_the_library_reads_them(tmp_path):
    draw = random.Random(0)
    digits = ["".join(draw.choices("0123456789", k=draw.randint(1, 27))) for _ in range(300)]
    scores = [
        f"{draw.choice(['', '-'])}{draw.choice([0, 1, 17, 305])}.{places}" for places in [*digits, "0" * 25 + "7"]
    ]
    pieces = ",".join(f'["{i}", {score}]' for i, score in enumerate([*scores, "-1.5e-3", "2E2"]))
    model = f'{{"type": "Unigram", "unk_id": 0, "vocab": [{pieces}]}}'
    (tmp_path / "tokenizer.json").write_text(f'{{"version": "1.0", "added_tokens": [], "model": {model}}}')
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    wanted = json.loads(made.to_str())["model"]["vocab"]
    assert read_described(tmp_path)["model"]["vocab"] == wanted


def test_the_order_of_keys_in_a_file_is_no_other_tokenizer(tmp_path):
    described = json.loads(wordpieces().to_str())
    identities = []
    for one in (described, reversed_keys(described)):
        (tmp_path / "tokenizer.json").write_text(json.dumps(one))
        identities.append(Tokenizer.load(tmp_path, 20).identity)
    assert identities[0] == identities[1]


def reversed_keys(part):
    if isinstance(part, dict):
        return {name: reversed_keys(part[name]) for name in reversed(part)}
    return [reversed_keys(inner) for inner in part] if isinstance(part, list) else part


def test_letters_of_bytes_are_those_of_the_library():
    split = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in map(chr, [*range(0x800), *range(0x800, 0xD800, 0x1000), *range(0x10000, 0x110000, 0x10000)]):
        [(written, _)] = split.pre_tokenize_str(text)
        assert written == "".join(BYTE_LETTERS[byte] for byte in text.encode())
    assert {*BYTE_LETTERS.values()} == {*split.alphabet()} and len(BYTE_LETTERS) == 256


@pytest.mark.parametrize("broken", ["1", "-1", "1.5", '"1"', "true", "null"])
def test_an_id_that_is_no_number_is_refused(broken, tmp_path):
    described = json.loads(wordpieces().to_str())
    described["model"]["vocab"]["a"] = json.loads(broken)
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    if broken == "1":
        assert Tokenizer.load(tmp_path, 20)
        return
    with pytest.raises(BadModel):
        Tokenizer.load(tmp_path, 20)


def test_post_processors_that_are_not_known_or_repeat_a_text_are_refused():
    with pytest.raises(BadModel, match="post-processor 'Other' is not supported"):
        template({"type": "Other"})
    with pytest.raises(BadModel, match="several post-processors"):
        template({"type": "Sequence", "processors": [{"type": "BertProcessing"}, {"type": "RobertaProcessing"}]})
    alone = {"type": "TemplateProcessing", "special_tokens": {}, "pair": [{"Sequence": {"id": "A", "type_id": 0}}]}
    with pytest.raises(BadModel, match="no pair template with the first and the second text once each"):
        PairFrame.of(alone)
    with pytest.raises(BadModel, match="inserts special tokens into a text"):
        around([("A", 0), ((1,), 0), ("A", 0)])


def test_pairs_are_framed_as_berts_and_as_robertas():
    ends = {"sep": ["</s>", 2], "cls": ["<s>", 0]}
    first = [((0,), 0), ("A", 0), ((2,), 0)]
    assert template({"type": "BertProcessing", **ends}, pair=True) == [*first, ("B", 1), ((2,), 1)]
    assert template({"type": "RobertaProcessing", **ends}, pair=True) == [*first, ((2,), 0), ("B", 0), ((2,), 0)]


def test_byte_level_steps_among_post_processors_add_no_tokens():
    bytes_only, roberta = {"type": "ByteLevel"}, {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
    for pair in (False, True):
        for inner, alone in (([bytes_only], None), ([bytes_only, roberta], roberta), ([], bytes_only)):
            assert template({"type": "Sequence", "processors": inner}, pair=pair) == template(alone, pair=pair)
    assert template(None) == [("A", 0)] and template(None, pair=True) == [("A", 0), ("B", 1)]


# Back to text

DECODED = {
    "WordPiece": decoders.WordPiece(),
    "WordPiece as it is": decoders.WordPiece(cleanup=False),
    "ByteLevel": decoders.ByteLevel(),
    "Metaspace": decoders.Metaspace(),
    "Metaspace never": decoders.Metaspace(prepend_scheme="never"),
    "BPEDecoder": decoders.BPEDecoder("</w>"),
    "Fuse": decoders.Fuse(),
    "ByteFallback": decoders.ByteFallback(),
    "Replace": decoders.Replace("▁", " "),
    "Strip": decoders.Strip(" ", 1, 0),
    "Sequence": decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
}
TOKENS = ["▁the", "▁cat", "##s", "Ġdog", "ÃŃ", "do</w>", "n't", ",", " '", "<0xC3>", "<0xA9>", "<0xFF>", "é", " x", "▁"]


def test_every_decoder_is_compared():
    assert {name.partition(" ")[0] for name in DECODED} == {*DECODERS}


@pytest.mark.parametrize("name", DECODED)
def test_a_decoder_gives_the_text_that_the_library_gives(name):
    decoder = DECODED[name]
    settings = json.loads(decoder.__getstate__())
    for start in range(len(TOKENS)):
        tokens = TOKENS[start:] + TOKENS[:start]
        assert decoded(tokens, settings) == decoder.decode(tokens)


def test_without_a_decoder_tokens_are_joined_and_an_unknown_one_is_refused():
    assert decoded(["a", "b"], None) == "a b"
    with pytest.raises(BadModel, match="the decoder 'CTC' is not supported; expected one of BPEDecoder"):
        decoded(["a"], {"type": "CTC"})
    with pytest.raises(BadModel, match="a Replace decoder with a regular expression is not supported"):
        decoded(["a"], {"type": "Replace", "pattern": {"Regex": "a"}, "content": ""})


def test_special_tokens_are_left_out_of_a_text_unless_they_are_wanted(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS), "utf-8")
    tokenizer = Tokenizer.load(tmp_path, 20)
    assert tokenizer.decode([2, 5, 6, 7, 99, 3]) == "a cats"
    assert tokenizer.decode([2, 5, 6, 7, 99, 3], skip_special_tokens=False) == "[CLS] a cats [SEP]"
    assert Vocabulary(tokenizer.described).special == {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
