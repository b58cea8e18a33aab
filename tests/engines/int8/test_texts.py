"""The texts on which quantized models are measured."""

import hashlib

from likewise.engines.int8.quantize import ODD_SEED
from likewise.engines.int8.texts import KINDS, held_out_texts, odd_texts


def test_bundled_sentences_are_distinct_lines_of_prose():
    texts = held_out_texts()
    assert len(texts) == len({*texts}) >= 100
    assert all(text == text.strip() and text for text in texts)


def test_odd_texts_are_drawn_from_their_seed():
    texts = odd_texts(7, 60)
    assert texts == odd_texts(7, 60) != odd_texts(8, 60)
    assert len({*texts}) == 60
    assert max(map(len, texts)) > 200 and min(map(len, texts)) == 1
    assert len(KINDS) == 10


def test_models_are_measured_on_the_texts_that_earlier_ones_were_measured_on():
    texts = odd_texts(ODD_SEED)
    assert len(texts) == 200
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    assert digest == "81fb126525c9ebfa7b7fc77313d460d88f7764b48c712426cb8cedd91e4901d7"
