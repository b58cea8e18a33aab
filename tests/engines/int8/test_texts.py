"""The texts on which quantized models are measured."""

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
