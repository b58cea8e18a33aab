"""The texts that a model is calibrated and measured with: bundled sentences, all our own, and generated odd ones."""

import random
import string
from collections.abc import Callable
from pathlib import Path

ODD_TEXTS = 200
"""The odd texts on which a quantized model is measured."""
_WORDS = (
    "a",
    "the",
    "of",
    "no",
    "cat",
    "stone",
    "seven",
    "quickly",
    "Berlin",
    "e-mail",
    "naïve",
    "GDP",
    "3.5",
    "(sic)",
)
_EMOJI = "😀😂🔥❤👍🏽🐈🌧✈️🇩🇪"
_RANGES = ((0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x5D0, 0x700), (0x900, 0xE00), (0x3040, 0xA000))


def calibration_texts() -> list[str]:
    """The sentences from which ranges of activations are measured."""
    return _lines("calibration.txt")


def held_out_texts() -> list[str]:
    """The sentences on which a quantized model is measured; none is a calibration text."""
    return _lines("held_out.txt")


def odd_texts(seed: int, count: int = ODD_TEXTS) -> list[str]:
    """Distinct texts unlike sentences: any script, repeated words, digits, code, one symbol, hundreds of tokens."""
    draw, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        found[draw.choice(KINDS)(draw)] = None
    return list(found)


def _lines(name: str) -> list[str]:
    return (Path(__file__).parent / name).read_text("utf-8").splitlines()


def _any_script(draw: random.Random) -> str:
    first, end = draw.choice(_RANGES)
    return "".join(chr(draw.randrange(first, end)) for _ in range(draw.randrange(1, 120)))


def _mixed_scripts(draw: random.Random) -> str:
    return "".join(chr(draw.randrange(*draw.choice(_RANGES))) for _ in range(draw.randrange(1, 120)))


def _repeated(draw: random.Random) -> str:
    return " ".join([draw.choice(_WORDS)] * draw.randrange(2, 250))


def _shuffled(draw: random.Random) -> str:
    return " ".join(draw.choice(_WORDS) for _ in range(draw.randrange(1, 200)))


def _digits(draw: random.Random) -> str:
    return "".join(draw.choice(string.digits + " ,.-/:") for _ in range(draw.randrange(1, 100)))


def _printable(draw: random.Random) -> str:
    return "".join(draw.choice(string.printable) for _ in range(draw.randrange(1, 200)))


def _emoji(draw: random.Random) -> str:
    return "".join(draw.choice(_EMOJI) for _ in range(draw.randrange(1, 40)))


def _single(draw: random.Random) -> str:
    return draw.choice(string.printable + "éßλж漢あ€–…")


def _long_word(draw: random.Random) -> str:
    return "".join(draw.choice(string.ascii_letters) for _ in range(draw.randrange(20, 150)))


def _code(draw: random.Random) -> str:
    names = [draw.choice(string.ascii_lowercase) + str(draw.randrange(99)) for _ in range(draw.randrange(1, 30))]
    return "".join(f"{name} = {draw.choice('([{')}{draw.randrange(1 << 20):#x}, '{name}'); " for name in names)


KINDS: tuple[Callable[[random.Random], str], ...] = (
    _any_script,
    _mixed_scripts,
    _repeated,
    _shuffled,
    _digits,
    _printable,
    _emoji,
    _single,
    _long_word,
    _code,
)
"""Each draws one text."""
