"""Whole models beside sentence-transformers: the same vectors, and folders that both read."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import tokenizers
import torch
import transformers
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, LayerNorm, Normalize, Pooling, Transformer

from likewise import Embedder
from likewise.engine_registry import ENGINES
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.heads import Dense as OurDense
from likewise.heads import Norm
from likewise.heads import Normalize as OurNormalize
from likewise.model_files import locate
from likewise.model_files.word_vectors.word_tables import WordVectors, write_word_vectors
from tests.native_library import NATIVE
from tests.parity.assemble import assemble
from tests.tiny import LONG, TEXTS, config_of, model_folder, wordpieces

ODD = [
    "",
    " ",
    "👩‍👩‍👧‍👦 family",
    "שלום עולם",
    "مرحبا بالعالم",
    "a\0b",
    "tab\tand\nnewline",
    "naïve café e\u0301",
    "漢字かな交じり文",
    "[CLS] [SEP] [MASK]",
    "word " * 5000,
    "x" * 3000,
    "\u200b\ufeff",
    "1" * 400,
    "UPPER lower",
]


def _texts(data: Path, count: int) -> list[str]:
    """Odd ones, then sentences of the STS benchmark."""
    columns = pq.read_table(data / "stsb/train.parquet", columns=["sentence1", "sentence2"])
    result = dict.fromkeys([*ODD, *columns["sentence1"].to_pylist(), *columns["sentence2"].to_pylist()])
    return list(result)[:count]


def _agree(folder: Path, texts: list[str], close: float) -> None:
    theirs = SentenceTransformer(str(folder), device="cpu").encode(texts, batch_size=32)
    ours = Embedder.load(folder, device="cpu").encode(texts, overflow="truncate")
    np.testing.assert_allclose(ours, theirs, atol=close, rtol=0)


def test_minilm_has_the_vectors_of_sentence_transformers(data):
    _agree(locate("all-MiniLM-L6-v2"), _texts(data, 2000), 2e-6)


def test_mpnet_has_the_vectors_of_sentence_transformers(data):
    _agree(assemble(Path(__file__).parents[2] / ".models"), _texts(data, 200), 2e-6)


def test_minilm_reaches_its_published_correlation_on_the_sts_benchmark(data):
    rows = pq.read_table(data / "stsb/test.parquet")
    embedder = Embedder.load("all-MiniLM-L6-v2", device="cpu")
    one, other = (embedder.encode(rows[column].combine_chunks()) for column in ("sentence1", "sentence2"))
    correlation = spearmanr((one * other).sum(1), rows["score"].to_numpy()).statistic
    assert 100 * correlation == pytest.approx(82.03, abs=0.01)


def _headed(folder: Path, pooling: str) -> Embedder:
    """A tiny model of ours with every head."""
    torch.manual_seed(1)
    embedder = TorchEmbedder.load(model_folder(folder, heads=()), pooling=pooling)
    width = embedder.dimension
    heads = torch.nn.Sequential(OurDense(width, 24, activation="Tanh"), Norm(24), OurNormalize())
    torch.nn.init.normal_(heads[1].norm.weight)
    return TorchEmbedder(embedder.tokenizer, embedder.encoder, embedder.pooling, heads, embedder.manifest).eval()


@pytest.mark.parametrize("pooling", ["cls+mean", "mean", "max+mean-sqrt-len", "weighted-mean+last-token"])
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "native" or NATIVE])
def test_sentence_transformers_reads_the_folders_that_we_write(engine, pooling, tmp_path):
    _headed(tmp_path / "made", pooling).save(tmp_path / "whole")
    embedder = Embedder.load(tmp_path / "whole", engine=engine, truncate_dim=10)
    embedder.save(tmp_path / "saved")
    texts = [*TEXTS, LONG]
    theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(texts)
    assert theirs.shape == (len(texts), 10)
    np.testing.assert_allclose(embedder.encode(texts, overflow="truncate"), theirs, atol=2e-6, rtol=0)


@pytest.mark.parametrize(
    "pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", ("cls", "mean")]
)
def test_we_read_the_folders_that_sentence_transformers_writes(pooling, tmp_path):
    torch.manual_seed(2)
    encoder = Transformer(str(_plain(tmp_path / "plain")), max_seq_length=40)
    pool = Pooling(32, pooling_mode=pooling)
    width = pool.get_embedding_dimension()
    norm = LayerNorm(20)
    torch.nn.init.normal_(norm.norm.weight)
    modules = [encoder, pool, Dense(width, 20, activation_function=torch.nn.GELU()), norm, Normalize()]
    model = SentenceTransformer(modules=modules, prompts={"query": "query: "}, device="cpu").eval()
    model.save(str(tmp_path / "saved"))
    texts = [*TEXTS, LONG]
    embedder = Embedder.load(tmp_path / "saved")
    assert embedder.tokenizer.max_seq_length == 40
    for prompt in (None, "query"):
        theirs = model.encode(texts, prompt_name=prompt)
        ours = embedder.encode(texts, prompt_name=prompt, overflow="truncate")
        np.testing.assert_allclose(ours, theirs, atol=2e-6, rtol=0)


@pytest.mark.parametrize("mode", ["mean", "weightedmean", "max", "lasttoken", "mean_sqrt_len_tokens"])
def test_a_prompt_that_is_not_pooled_is_left_out_as_they_do(mode, tmp_path):
    encoder = Transformer(str(_plain(tmp_path / "plain")), max_seq_length=40)
    modules = [encoder, Pooling(32, pooling_mode=mode, include_prompt=False)]
    model = SentenceTransformer(modules=modules, prompts={"query": "query: "}, device="cpu").eval()
    model.save(str(tmp_path / "saved"))
    texts = [text for text in TEXTS if text]
    ours = Embedder.load(tmp_path / "saved").encode(texts, prompt_name="query", overflow="truncate")
    np.testing.assert_allclose(ours, model.encode(texts, prompt_name="query"), atol=2e-6, rtol=1e-6)


def _plain(folder: Path) -> Path:
    """A plain encoder with what transformers wants beside the tokenizer."""
    model_folder(folder, plain=True)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=wordpieces(), pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]"
    )
    fast.save_pretrained(folder)
    return folder


def test_byte_level_pairs_of_roberta_give_the_ids_of_transformers(tmp_path):
    built = tokenizers.ByteLevelBPETokenizer()
    built.train_from_iterator([*TEXTS, *ODD] * 3, 195, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    vocabulary = built.get_vocab_size()
    config = transformers.AutoConfig.for_model(**{**config_of("roberta"), "vocab_size": max(vocabulary, 300)})
    transformers.AutoModel.from_config(config).save_pretrained(tmp_path)
    built.save_model(str(tmp_path))
    embedder = Embedder.load(tmp_path, pooling="mean", max_seq_length=60)
    theirs = transformers.RobertaTokenizer(
        vocab=str(tmp_path / "vocab.json"), merges=str(tmp_path / "merges.txt"), model_max_length=60
    )
    texts = [*TEXTS, *ODD, LONG]
    ours = [
        embedder.tokenizer.with_special_tokens(c[: embedder.tokenizer.max_content_length])
        for c in embedder.tokenizer.token_ids(texts)
    ]
    assert ours == theirs(texts, truncation=True)["input_ids"]
    theirs.save_pretrained(tmp_path)
    _agree_with_mean(tmp_path, texts)


def _agree_with_mean(folder: Path, texts: list[str]) -> None:
    encoder = Transformer(str(folder), max_seq_length=60)
    model = SentenceTransformer(modules=[encoder, Pooling(32, pooling_mode="mean")], device="cpu").eval()
    ours = Embedder.load(folder, pooling="mean", max_seq_length=60).encode(texts, overflow="truncate")
    np.testing.assert_allclose(ours, model.encode(texts), atol=3e-6, rtol=0)


@pytest.mark.parametrize("name", ["likewise-mini", "likewise-static"])
def test_weights_in_eight_bits_are_refused_rather_than_misread(name):
    with pytest.raises(ValueError, match="likewise-int8"):
        SentenceTransformer(str(locate(name)), device="cpu")


def test_a_table_of_words_is_refused(tmp_path):
    write_word_vectors(tmp_path, WordVectors(["a", "cat"], np.zeros((3, 4), np.float32)))
    with pytest.raises(ValueError, match="words"):
        SentenceTransformer(str(tmp_path), device="cpu")
