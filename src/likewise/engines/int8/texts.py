"""The texts on which quantized models are evaluated: bundled sentences, all written by us, and generated odd texts."""

import random
import string
from collections.abc import Callable, Sequence
from pathlib import Path

ODD_TEXTS = 200  # the number of odd texts on which a quantized model is evaluated
_WORDS = "a the of no cat stone seven quickly Berlin e-mail naïve GDP 3.5 (sic)".split()  # noqa: SIM905
_EMOJI = "😀😂🔥❤👍🏽🐈🌧✈️🇩🇪"
_RANGES = ((0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x5D0, 0x700), (0x900, 0xE00), (0x3040, 0xA000))


def held_out_texts() -> list[str]:
    """The bundled held-out sentences."""
    return (Path(__file__).parent / "held_out.txt").read_text("utf-8").splitlines()


def odd_texts(seed: int, count: int = ODD_TEXTS) -> list[str]:
    """Distinct texts that are not sentences: any script, repetition, digits, code, lone symbols, hundreds of tokens."""
    draw, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        found[draw.choice(KINDS)(draw)] = None
    return list(found)


def _any_script(draw: random.Random) -> str:
    first, end = draw.choice(_RANGES)
    return "".join(chr(draw.randrange(first, end)) for _ in range(draw.randrange(1, 120)))


def _mixed_scripts(draw: random.Random) -> str:
    return "".join(chr(draw.randrange(*draw.choice(_RANGES))) for _ in range(draw.randrange(1, 120)))


def _code(draw: random.Random) -> str:
    names = [draw.choice(string.ascii_lowercase) + str(draw.randrange(99)) for _ in range(draw.randrange(1, 30))]
    return "".join(f"{name} = {draw.choice('([{')}{draw.randrange(1 << 20):#x}, '{name}'); " for name in names)


def _chosen(parts: Sequence[str], least: int, end: int, between: str = "") -> Callable[[random.Random], str]:
    return lambda draw: between.join(draw.choice(parts) for _ in range(draw.randrange(least, end)))


KINDS: tuple[Callable[[random.Random], str], ...] = (
    _any_script,
    _mixed_scripts,
    lambda draw: " ".join([draw.choice(_WORDS)] * draw.randrange(2, 250)),
    _chosen(_WORDS, 1, 200, " "),
    _chosen(string.digits + " ,.-/:", 1, 100),
    _chosen(string.printable, 1, 200),
    _chosen(_EMOJI, 1, 40),
    lambda draw: draw.choice(string.printable + "éßλж漢あ€–…"),
    _chosen(string.ascii_letters, 20, 150),
    _code,
)  # each draws one text
