"""Charts as SVG: scales with round ticks, labels that keep apart, two variants that differ in colours only."""

from xml.etree import ElementTree

import pytest

from papers.reporting.chart import PALETTES, Box, Chart, Mark, Scale, around, dot_rows, picture, text_width, tick_text


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0, 10, 0, 400), [0, 2, 4, 6, 8, 10]),
        (Scale(-0.3, 0.31, 0, 120), [-0.2, 0, 0.2]),
        (Scale(20, 81, 0, 60), [50]),
        (Scale(3, 40_000, 0, 500, log=True), [10, 100, 1000, 10_000]),
        (Scale(3, 40_000, 0, 100, log=True), [10, 1000]),
    ],
)
def test_ticks_are_round_and_have_room(scale, ticks):
    assert scale.ticks() == ticks
    assert sum(text_width(tick_text(tick)) for tick in ticks) < abs(scale.end - scale.start)


def test_a_scale_maps_its_ends_to_its_ends():
    for log in (False, True):
        scale = Scale(1, 100, 30, 10, log)
        assert scale(1) == 30 and scale(100) == 10
    assert Scale(1, 100, 0, 2, log=True)(10) == 1


def test_a_range_has_room_at_both_ends():
    assert around([0, 10], 0.1) == (-1, 11) and around([3, 3], 0.1) == (2.9, 3.1)
    assert around([10, 1000], 0.5, log=True) == pytest.approx((1, 10_000))


def test_labels_of_close_dots_keep_apart_from_each_other_and_from_the_dots():
    chart, area = Chart(300, 100, "close"), Box(0, 0, 300, 100)
    places = [(150, 50), (158, 52), (150, 56), (160, 44)]
    dots = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    for number, at in enumerate(places):
        chart.place_label(at, f"point {number}", "ink", dots, area)
    boxes = [*chart.labels, *dots]
    assert not any(one.meets(other) for i, one in enumerate(chart.labels) for other in boxes[i + 1 :])
    with pytest.raises(ValueError, match=r"no room for the label 'a name that is too long.*make it larger"):
        chart.place_label((150, 50), "a name that is too long for the whole chart" * 2, "ink", dots, area)


def test_a_row_has_its_name_its_interval_and_its_label_beside_it():
    rows = {"<first>": [Mark(2, 1, 3, label="two")], "second": [Mark(5, kind="ours")]}
    chart = dot_rows(rows, 'what "it" shows', "a score", legend={"ours": "likewise"}, lines={4: "dim"})
    drawn = ElementTree.fromstring(chart.svg(""))
    texts = [one.text for one in drawn.findall("{*}text")]
    assert {"<first>", "second", "two", "a score", "likewise"} <= {*texts} and drawn.find(
        "{*}title"
    ).text == chart.words
    dots = drawn.findall("{*}circle")
    assert [dot.get("class") for dot in dots] == ["ours", "blue", "ours"]  # the first is the legend's
    (line,) = [one for one in drawn.findall("{*}polyline") if one.get("class") == "blue"]
    left, right = (float(point.split(",")[0]) for point in line.get("points").split())
    assert left < float(dots[1].get("cx")) < right < chart.labels[texts.index("two")].left


def test_both_variants_have_the_same_shapes_and_the_page_names_both(tmp_path):
    chart = Chart(100, 50, 'a "b" & <c>')
    chart.text((10, 10), "name", "dim", size=11)
    chart.bar(Box(0, 20, 50, 30), "ours", 0.5)
    chart.save(tmp_path / "x")
    light, dark = ((tmp_path / name).read_text() for name in ("x.svg", "x-dark.svg"))
    assert light != dark
    for variant, text in zip(PALETTES, (light, dark), strict=True):
        for kind, colour in PALETTES[variant].items():
            text = text.replace(f".{kind} {{ color: {colour} }}", "")
        assert ElementTree.fromstring(text) is not None and "".join(chart.parts) in text.replace("\n", "")
    assert chart.picture("../x") == picture("../x", chart.words, "svg")
    assert chart.picture("../x")[1:3] == [
        '  <source media="(prefers-color-scheme: dark)" srcset="../x-dark.svg">',
        '  <img src="../x.svg" alt="a &quot;b&quot; &amp; &lt;c&gt;">',
    ]
