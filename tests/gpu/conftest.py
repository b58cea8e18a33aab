"""Prints what was walked: one line for each kind, with how many and the largest difference."""

from collections.abc import Callable

import pytest

from tests.gpu.stand_in import DEVICE, LOG

Walked = Callable[[str, str, float, float], None]
_LINES: dict[tuple[str, str], tuple[int, float, float]] = {}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are padded: the CPU has no kernel for packed ones (tests/encoders/test_packed_kernel.py guards it)."""
    monkeypatch.setenv("LIKEWISE_GPU", "plain")


@pytest.fixture
def walked() -> Walked:
    """What was computed on the device, its precision, its difference from the CPU in fp32, and the most allowed."""

    def walk(what: str, precision: str, difference: float, most: float) -> None:
        count, largest, _ = _LINES.get((what, precision), (0, 0.0, 0.0))
        _LINES[what, precision] = count + 1, max(largest, difference), most
        assert difference <= most, f"{what} in {precision} differs from the CPU's by {difference:.2g} of its size"

    return walk


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write, where = terminalreporter.write_line, f"walked on {DEVICE}"
    write(f"\n{where:46} {'in':5} {'times':>5}  {'differs from the CPU (fp32) by':>30}  {'allowed':>7}")
    for (what, precision), (count, difference, most) in _LINES.items():
        write(f"{what:46} {precision:5} {count:5}  {difference:30.1e}  {most:7.0e}")
    unjudged = ", ".join(sorted(name.split(".")[1] for name in LOG if name.startswith("unjudged")))
    write(
        f"{LOG['operations']:,} operations agree with FakeTensorMode in devices, data types and shapes; it has no rule"
    )
    write(f"for {unjudged}")
