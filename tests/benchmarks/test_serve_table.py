"""The measured rows of docs/serve.md are those that its script draws from the results."""

import re

from benchmarks.serve_table import BEGIN, END, PAGE, SECTIONS, page


def test_the_rows_are_drawn_from_the_results():
    text = PAGE.read_text("utf-8")
    assert text == page(text)


def test_every_measurement_has_a_row():
    assert all([*rows()] for rows in SECTIONS.values())


def test_no_other_rate_or_latency_is_typed_into_the_page():
    text = PAGE.read_text("utf-8")
    rest = text.split(BEGIN)[0] + text.split(END)[1]
    assert not re.findall(r"\d+(?:\.\d+)? ?(?:texts/s|requests/s|%)", rest)
