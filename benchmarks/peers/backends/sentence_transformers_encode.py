"""sentence-transformers as its users call it: encode(texts) with its default batch size of 32."""

from typing import Any

from ..exports import sentence_transformers_folder
from ..process import Spec
from .openvino_runtime import HINTS


class SentenceTransformers:
    packages: tuple[str, ...]

    def __init__(self, spec: Spec) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(spec.threads)
        engine = spec.options.get("backend", "torch")
        self.packages = ("sentence-transformers", "transformers", *spec.options.get("packages", ("torch",)))
        if engine == "torch":
            folder, more = spec.folder, {"dtype": torch.bfloat16 if spec.precision == "bf16" else torch.float32}
        else:
            folder, more = sentence_transformers_folder(spec, engine), _session(spec, engine)
        self.tensor = spec.precision == "bf16"  # NumPy has no bfloat16
        self.model = SentenceTransformer(str(folder), device="cpu", backend=engine, model_kwargs=more)

    def encode(self, texts: list[str]) -> Any:
        found = self.model.encode(texts, show_progress_bar=False, convert_to_tensor=self.tensor)
        return found.float().numpy() if self.tensor else found


def _session(spec: Spec, engine: str) -> dict[str, Any]:
    """Return the settings with the number of threads of the library that computes."""
    suffix = "_quantized" if spec.precision == "int8" else ""
    if engine == "openvino":
        settings = {"INFERENCE_NUM_THREADS": spec.threads, **HINTS[spec.precision]}
        return {"file_name": f"openvino_model{suffix}.xml", "ov_config": settings}
    import onnxruntime

    session = onnxruntime.SessionOptions()
    session.intra_op_num_threads = spec.threads
    return {"file_name": f"model{suffix}.onnx", "provider": "CPUExecutionProvider", "session_options": session}


load = SentenceTransformers
