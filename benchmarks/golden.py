"""Do this machine's instruction sets compute the same vectors, and do these match the committed hashes?  make golden

python -m benchmarks.golden --texts 20000   encodes all texts, which takes minutes
python -m benchmarks.golden --write         rewrites golden.json by the best instruction set, if ARITHMETIC has changed
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator

from likewise import Embedder
from likewise.engines.native.golden import FEW, FILE, PART, TEXTS, golden_hash, vectors_hash
from likewise.engines.native.library import load
from likewise.model_files import local_models
from likewise.native.library import ARITHMETIC

MODELS = ("likewise-mini", "likewise-static", "all-MiniLM-L6-v2")
PRECISIONS = ("fp32", "int8")
SLOW, LARGE = "portable", "all-MiniLM-L6-v2"
"""This instruction set has no fused multiply-add and takes 300 times as long. It encodes only the few texts, and those
with the large model only if the other instruction sets encode all texts."""


def present() -> list[str]:
    """Return the models available on this machine; prints which of `MODELS` are missing."""
    found = local_models()
    for name in MODELS:
        if found.get(name) is None:
            print(f"{name:18} is missing and is not checked; download it with: likewise model download {name}")
    return [name for name in MODELS if found.get(name) is not None]


def hashes(count: int, sets: tuple[str, ...]) -> Iterator[tuple[str, str, str, int, str]]:
    """Yield model, precision, instruction set, number of texts and hash for every available model."""
    for model in present():
        for precision in PRECISIONS:
            for name in sets:
                if (name, model) == (SLOW, LARGE) and count < TEXTS:
                    print(f"{model:18} {precision:5} {name:11} is checked only with --texts {TEXTS}: it takes minutes")
                    continue
                os.environ["LIKEWISE_ISA"] = name
                embedder = Embedder.load(model, engine="native", precision=precision)
                some = FEW if name == SLOW else count
                yield model, precision, name, some, vectors_hash(embedder, some)


def write() -> None:
    """Write the hashes of the best instruction set, each as soon as it is computed."""
    known = json.loads(FILE.read_text("utf-8")) | {"arithmetic": ARITHMETIC}
    for count in (FEW, PART, TEXTS):
        for model, precision, _, _, found in hashes(count, load().instruction_sets[:1]):
            known["models"].setdefault(model, {}).setdefault(precision, {})[str(count)] = found
            FILE.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


def check(count: int, sets: tuple[str, ...]) -> int:
    """Print a line for each hash, and return how many differ from the committed hashes."""
    wrong, began = 0, time.monotonic()
    for model, precision, name, some, found in hashes(count, sets):
        equal = found == golden_hash(model, precision, some)
        wrong += not equal
        result = "equal" if equal else f"DIFFERENT: {found}"
        print(f"{model:18} {precision:5} {name:11} {some:6,} texts  {result}  {time.monotonic() - began:.0f} s")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the hashes instead of checking them")
    parser.add_argument("--texts", type=int, choices=(FEW, PART, TEXTS), default=PART, help="how many texts to encode")
    parser.add_argument("--isa", nargs="+", default=None, help="instruction sets to check (default: all supported)")
    args = parser.parse_args()
    if args.write:
        write()
        return 0
    return min(1, check(args.texts, tuple(args.isa or load().instruction_sets)))


if __name__ == "__main__":
    sys.exit(main())
