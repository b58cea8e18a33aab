"""Writes what the fuzz target starts from: tokenizers, model folders, an input from each of their files, a dictionary.

    python -m native.tests.fuzz_inputs FOLDER

The tokenizers are those of tests/native/test_tokenizing.py, the folders those of tests/tiny.py that the library reads.
"""

import json
import re
import sys
from pathlib import Path

from tests.native.test_tokenizing import CORPUS, PIECES, PIPELINES
from tests.tiny import CONFIGS, model_folder
from tests.without_torch import TORCH

FAMILIES = [name for name in CONFIGS if name not in ("bilstm", "dan")] if TORCH else ["bert"]


def texts() -> list[bytes]:
    """Texts of many scripts, and pieces that tokenizers treat in their own way."""
    return [text.encode() for text in (*CORPUS, *PIECES, " ".join(PIECES))]


def replaceable(path: Path) -> bytes:
    """A file; of safetensors the header only."""
    whole = path.read_bytes()
    return whole[: 8 + int.from_bytes(whole[:8], "little")] if path.suffix == ".safetensors" else whole


def words(files: list[Path]) -> list[bytes]:
    """Names of fields and kinds in these JSON files, in quotes, and the pieces of texts."""
    found = {word for file in files for word in re.findall(rb'"[A-Za-z]\w{2,40}"', file.read_bytes())}
    return [*sorted(found), *(piece.encode() for piece in PIECES), b"null", b"true", b"-1", b"1e999", b"[[[["]


def main(root: Path) -> None:
    """Write the folder."""
    seeds = root / "seeds"
    for folder in (seeds, root / "tokenizers"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, make in PIPELINES.items():
        (root / "tokenizers" / f"{name}.json").write_text(json.dumps(json.loads(make().to_str())), "utf-8")
    for name in FAMILIES:
        model_folder(root / "folders" / name, name, spoken={"prompts": {"query": "query: "}})
    kinds = sorted((root / "tokenizers").iterdir())
    files = sorted(path for path in (root / "folders").rglob("*") if path.is_file())
    inputs = [bytes([0, i, 0]) + text for i in range(len(kinds)) for text in texts()]
    inputs += [bytes([1, 0, 0]) + kind.read_bytes() for kind in kinds]
    inputs += [bytes([2, i, i % 3]) + replaceable(file) for i, file in enumerate(files)]
    for i, content in enumerate(inputs):
        (seeds / f"{i:04}").write_bytes(content)
    json_files = [*kinds, *(file for file in files if file.suffix == ".json")]
    entries = ("".join(f"\\x{byte:02x}" for byte in word) for word in words(json_files))
    (root / "words.dict").write_text("".join(f'"{entry}"\n' for entry in entries))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
