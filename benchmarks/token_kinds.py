"""The published kinds of tokenizers: the published file, or else a tokenizer trained on real text with its pipeline."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from likewise.model_files import locate

from . import record

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "likewise" / "token_ids"
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>"]
SPACES = [AddedToken(" " * k, normalized=True) for k in range(24, 1, -1)]
PRIVATE = [AddedToken(f"|||{name}|||", normalized=True) for name in ("IP_ADDRESS", "EMAIL_ADDRESS", "PHONE_NUMBER")]
UNUSED = [AddedToken(f"[unused{i}]", normalized=True) for i in range(83)]
EXTRA = [AddedToken(f"<extra_id_{i}>", special=True) for i in range(100)]

Train = Callable[[Sequence[str]], Tokenizer]


def bert(vocabulary: int) -> Train:
    """Return a trainer for the kind of google-bert/bert-base-cased and bert-base-multilingual-cased."""

    def train(texts: Sequence[str]) -> Tokenizer:
        made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=False)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=vocabulary, special_tokens=BERT, show_progress=False)
        made.train_from_iterator(texts, trainer)
        return framed(made, "[CLS]", "[SEP]")

    return train


def roberta(texts: Sequence[str]) -> Tokenizer:
    """Train a tokenizer like that of FacebookAI/roberta-base."""
    made = byte_pairs(texts, 50_265, [*ROBERTA, AddedToken("<mask>", lstrip=True, special=True)])
    made.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return made


def modernbert(texts: Sequence[str]) -> Tokenizer:
    """Train a tokenizer like that of answerdotai/ModernBERT-base, including the added tokens taken over from OLMo."""
    made = byte_pairs(texts, 50_254, ["<|padding|>", "<|endoftext|>"], normalizers.NFC())
    made.add_tokens([*PRIVATE, *SPACES])
    made.add_special_tokens([*BERT[:-1], AddedToken("[MASK]", lstrip=True, special=True)])
    made.add_tokens(UNUSED)
    return framed(made, "[CLS]", "[SEP]")


def byte_pairs(
    texts: Sequence[str], vocabulary: int, special: Sequence[str | AddedToken], normalizer: object = None
) -> Tokenizer:
    """Train byte-level BPE as in GPT-2."""
    made = Tokenizer(models.BPE())
    if normalizer:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=alphabet, special_tokens=list(special), show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    return made


def albert(texts: Sequence[str]) -> Tokenizer:
    """Train a tokenizer like that of albert/albert-base-v2."""
    quotes = [normalizers.Replace(pair, '"') for pair in ("``", "''")]
    folded = [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", AddedToken("[MASK]", lstrip=True, special=True)]
    made = unigram(texts, 30_000, special, normalizers.Sequence([*quotes, *folded, charsmap()]))
    return framed(made, "[CLS]", "[SEP]")


def t5(texts: Sequence[str]) -> Tokenizer:
    """Train a tokenizer like that of google-t5/t5-base."""
    made = unigram(texts, 32_000, ["<pad>", "</s>", "<unk>", *EXTRA], charsmap())
    return framed(made, "", "</s>")


def unigram(
    texts: Sequence[str], vocabulary: int, special: Sequence[str | AddedToken], normalizer: object
) -> Tokenizer:
    """Train a SentencePiece unigram model, in the form converted for the tokenizers library."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary, special_tokens=list(special), unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    return made


def charsmap() -> normalizers.Normalizer:
    """Return SentencePiece's nmt_nfkc rules as compiled for XLM-R; T5 and ALBERT use the same rules."""
    return Tokenizer.from_file(str(xlm_r())).normalizer[0]


def framed(made: Tokenizer, begin: str, end: str) -> Tokenizer:
    """Return the tokenizer with special tokens added around each text."""
    special = [(token, made.token_to_id(token)) for token in (begin, end) if token]
    made.post_processor = processors.TemplateProcessing(single=f"{begin} $A {end}".strip(), special_tokens=special)
    return made


def xlm_r() -> Path:
    """Return the file of the whole tokenizer of FacebookAI/xlm-roberta-base, which lies beside the data sets."""
    path = record.data().parent / "tokenizers/xlm-r/tokenizer.json"
    if not path.is_file():
        raise SystemExit(f"{path} is missing; put the tokenizer.json of FacebookAI/xlm-roberta-base there")
    return path


def file_of(kind: str, texts: Sequence[str]) -> Path:
    """Return the tokenizer.json of a kind, trained on these texts unless it is published or was trained before."""
    made = KINDS[kind]
    if isinstance(made, str):
        return locate(made) / "tokenizer.json"
    if made is None:
        return xlm_r()
    path = CACHE / f"{kind} {len(texts)}" / "tokenizer.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        made(texts).save(str(path.with_suffix(".partial")))
        path.with_suffix(".partial").replace(path)
    return path


KINDS: dict[str, Train | str | None] = {
    "BERT, cased": bert(28_996),
    "BERT, uncased": "e5-small-v2",
    "BERT, multilingual": bert(119_547),
    "RoBERTa": roberta,
    "ModernBERT": modernbert,
    "XLM-R": None,
    "ALBERT": albert,
    "T5": t5,
    "likewise-mini": "likewise-mini",
    "likewise-static": "likewise-static",
    "all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
}
"""For each kind, how to train it, or the model that provides the file; the file of XLM-R lies beside the data sets."""
