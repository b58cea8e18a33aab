"""Converts the model once to the formats of other libraries, in a cache outside the repository.

python -m benchmarks.peers.exports SPEC TEXTS   converts for this contender; TEXTS contains the calibration sentences

For int8, each library uses its recommended recipe: ONNX Runtime, dynamic quantization with a scale per output channel;
OpenVINO, static quantization of weights and activations by NNCF; CTranslate2, its own conversion at load time.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from .process import Spec

HERE = Path(__file__).parent
REQUIREMENTS = {"peers": HERE / "requirements-peers.txt", "peers-onnx": HERE / "requirements-peers-onnx.txt"}


def exports_folder(model: Path) -> Path:
    """Return the cache folder for this model's weights and these library versions."""
    digest = hashlib.sha256()
    for path in sorted(model.rglob("*.safetensors")):
        digest.update(path.read_bytes())
    for path in REQUIREMENTS.values():
        lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
        digest.update("\n".join(lines).encode())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "likewise-peers" / f"{model.name}-{digest.hexdigest()[:12]}"


def onnx_file(spec: Spec) -> Path:
    """Return the fused ONNX graph in this precision."""
    return Path(spec.exports, "onnx", f"fused-{spec.precision}.onnx")


def openvino_file(spec: Spec) -> Path:
    """Return the OpenVINO graph; for bf16, the fp32 graph, which is computed in bf16."""
    return Path(spec.exports, "openvino", "int8.xml" if spec.precision == "int8" else "fp32.xml")


def ctranslate2_folder(spec: Spec) -> Path:
    """Return CTranslate2's folder in fp32; CTranslate2 quantizes at load time."""
    return Path(spec.exports, "ctranslate2")


def sentence_transformers_folder(spec: Spec, backend: str) -> Path:
    """Return a sentence-transformers folder with this backend's files."""
    return Path(spec.exports, f"sentence-transformers-{backend}")


def made(target: Path, make: Callable[[Path], None]) -> Path:
    """Create a folder once, first under a temporary name, so that it is either complete or missing."""
    if not target.exists():
        partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
        for left in target.parent.glob(f"{target.name}.partial-*"):  # left by a killed run
            shutil.rmtree(left)
        partial.mkdir(parents=True)
        make(partial)
        partial.rename(target)
    return target


def main() -> None:
    spec = Spec.read(sys.argv[1])
    calibration = json.loads(Path(sys.argv[2]).read_text("utf-8"))["calibration"]
    from . import converters

    root = Path(spec.exports)
    if spec.backend in ("onnx_runtime", "openvino_runtime"):
        made(root / "plain", lambda to: converters.to_onnx(spec, to))
    if spec.backend == "onnx_runtime":
        made(root / "onnx", lambda to: converters.to_fused_onnx(spec, root / "plain", to))
    elif spec.backend == "openvino_runtime":
        made(root / "openvino", lambda to: converters.to_openvino(spec, root / "plain", calibration, to))
    elif spec.backend == "ctranslate2_encoder":
        made(root / "ctranslate2", lambda to: converters.to_ctranslate2(spec, to))
    elif spec.options.get("backend") == "onnx":
        made(sentence_transformers_folder(spec, "onnx"), lambda to: converters.to_their_onnx(spec, to))
    elif spec.options.get("backend") == "openvino":
        target = sentence_transformers_folder(spec, "openvino")
        made(target, lambda to: converters.to_their_openvino(spec, calibration, to))


if __name__ == "__main__":
    main()
