"""The texts that quantized models are calibrated and measured with."""

from likewise.engines.int8.texts import KINDS, calibration_texts, held_out_texts, odd_texts


def test_no_text_is_both_calibrated_with_and_measured_on():
    calibrated = {*calibration_texts(), *odd_texts(1)}
    measured = {*held_out_texts(), *odd_texts(2)}
    assert not {*calibration_texts()} & {*held_out_texts()}
    shared = calibrated & measured
    assert all(len(text) == 1 or len(set(text.split())) == 1 for text in shared)  # single symbols and repeated words
    assert len(shared) < 20


def test_bundled_texts_are_distinct_lines_of_prose_and_more():
    for texts in (calibration_texts(), held_out_texts()):
        assert len(texts) == len({*texts}) >= 100
        assert all(text == text.strip() and text for text in texts)


def test_odd_texts_are_drawn_from_their_seed():
    texts = odd_texts(7, 60)
    assert texts == odd_texts(7, 60) != odd_texts(8, 60)
    assert len({*texts}) == 60
    assert max(map(len, texts)) > 200 and min(map(len, texts)) == 1
    assert len(KINDS) == 10
