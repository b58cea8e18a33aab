"""Progress of long work."""

import io

import pytest

from likewise.runtime import progress
from likewise.runtime.progress import Meter, format_duration, show_progress
from tests.tiny import LONG, TEXTS


class _Screen(io.StringIO):
    def __init__(self, live: bool) -> None:
        super().__init__()
        self.live = live

    def isatty(self) -> bool:
        return self.live


@pytest.fixture
def screen(monkeypatch):
    def make(live: bool) -> _Screen:
        built = _Screen(live)
        monkeypatch.setattr("sys.stderr", built)
        monkeypatch.setattr(progress, "SHOW_AFTER", -1)
        monkeypatch.setattr(progress, "LINE_INTERVAL", -1)
        return built

    return make


def _work(show) -> None:
    with show_progress(show, 3) as advance:
        for _ in range(3):
            advance(1, 10)


def test_plain_lines_where_stderr_is_no_terminal(screen):
    shown = screen(live=False)
    _work(True)
    lines = shown.getvalue().splitlines()
    assert "\r" not in shown.getvalue() and "\x1b" not in shown.getvalue()
    assert lines[0].startswith("1 of 3 texts · ")
    assert lines[-1].startswith("3 of 3 texts · ") and "tokens/s" in lines[-1]


def test_one_line_that_rewrites_itself_on_a_terminal(screen, monkeypatch):
    shown = screen(live=True)
    _work(None)
    assert shown.getvalue().count("\n") == 1
    assert shown.getvalue().startswith("\r\x1b[K1 of 3")


@pytest.mark.parametrize(("live", "show"), [(False, None), (False, False), (True, False)])
def test_nothing_is_shown_where_none_is_wanted(screen, live, show):
    shown = screen(live)
    _work(show)
    assert shown.getvalue() == ""


@pytest.mark.parametrize("stream", [None, "a log"])
@pytest.mark.parametrize("show", [None, True])
def test_work_goes_on_where_stderr_is_missing_or_has_only_write_and_flush(stream, show, screen, monkeypatch, capsys):
    screen(live=False)
    log = stream and type("Log", (), {"write": lambda *_: None, "flush": lambda _: None})()
    monkeypatch.setattr("sys.stderr", log)
    _work(show)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("overflow", ["truncate", "mean"])
def test_a_callable_is_given_a_meter_whose_texts_end_at_the_total(tiny, overflow):
    seen = []
    texts = [*TEXTS, LONG, LONG + " end", *TEXTS]
    tiny.encode(
        texts,
        show_progress_bar=lambda meter: seen.append((meter.texts, meter.tokens, meter.total)),
        overflow=overflow,
        batch_tokens=70,
    )
    assert len(seen) > 3
    assert [t for t, _, _ in seen] == sorted(t for t, _, _ in seen)
    assert seen[-1][0] == pytest.approx(len(texts))
    assert {total for _, _, total in seen} == {len(texts)}
    assert seen[-1][1] > 0


def test_a_generator_has_no_total(tiny):
    seen = []
    tiny.encode((t for t in TEXTS), show_progress_bar=lambda meter: seen.append(str(meter)))
    assert seen[-1].startswith("9 texts · ")


def test_time_left_is_what_the_rest_takes_at_the_rate_so_far(monkeypatch):
    meter = Meter(total=40, texts=10, began=100.0)
    monkeypatch.setattr(progress.time, "perf_counter", lambda: 105.0)
    assert meter.left == 15.0
    assert str(meter) == "10 of 40 texts · 2 texts/s · 0:15 left"


def test_what_is_done_or_has_not_begun_has_no_time_left():
    assert "left" not in str(Meter(total=10, texts=10))
    assert str(Meter(total=10)) == "0 of 10 texts" and str(Meter(total=None, texts=3, began=0)).startswith("3 texts")


@pytest.mark.parametrize(
    ("live", "times", "expected"),
    [
        (True, (0.5, 1.4, 1.6, 1.65, 1.75, 9.0), ["1.6", "1.75", "9.0"]),
        (False, (0.5, 1.4, 10.5, 12.0, 20.4, 20.6), ["10.5", "20.6"]),
    ],
)
def test_a_line_is_shown_after_a_while_and_then_from_time_to_time(live, times, expected, monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: clock[0])
    line = progress.StatusLine(live, began=0.0)
    for clock[0] in times:
        line(clock[0])
    shown = capsys.readouterr().err
    assert shown.split("\r\x1b[K" if live else "\n")[live:][: len(expected)] == expected
    line.close("the end")
    assert capsys.readouterr().err == ("\r\x1b[Kthe end\n" if live else "the end\n")


def test_a_line_is_cut_to_the_terminal_lest_it_could_not_be_overwritten(screen, monkeypatch):
    shown = screen(live=True)
    monkeypatch.setenv("COLUMNS", "20")
    progress.StatusLine()("x" * 100)
    assert shown.getvalue() == "\r\x1b[K" + "x" * 19


@pytest.mark.parametrize(
    ("count", "seconds", "shown"),
    [
        *((3, 7.6, "0.39 texts/s"), (20, 10, "2 texts/s"), (12_345, 1, "12,345 texts/s"), (1, 60, ""), (0, 0, "")),
        *((1, 20, "0.05 texts/s"), (9.5, 1, "9.5 texts/s"), (104, 10, "10 texts/s")),
    ],
)
def test_no_rate_is_shown_as_zero(count, seconds, shown):
    assert progress.format_rate(count, seconds, "texts") == shown


def test_clock_reads_like_a_clock():
    assert [format_duration(s) for s in (0, 59.6, 75, 3600, 3725)] == ["0:00", "1:00", "1:15", "1:00:00", "1:02:05"]
