"""OpenVINO called directly, with our batches: one compiled model and a stream per thread, run asynchronously."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exports import openvino_file
from ..process import Spec
from .padded import Texts, fastest_budget

HINTS = {"fp32": {"INFERENCE_PRECISION_HINT": "f32"}, "bf16": {"INFERENCE_PRECISION_HINT": "bf16"}, "int8": {}}
"""The inference precision; for int8, OpenVINO chooses the precision of other operations: bf16 if supported."""


class OpenVino:
    packages = ("openvino",)

    def __init__(self, spec: Spec) -> None:
        import openvino

        self.texts, core = Texts(spec), openvino.Core()
        able = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        if spec.precision == "bf16" and "BF16" not in able:
            raise ValueError(f"OpenVINO does not support bf16 on this processor; it lists {', '.join(able)}")
        settings = {"INFERENCE_NUM_THREADS": spec.threads, "NUM_STREAMS": spec.threads, **HINTS[spec.precision]}
        self.compiled = core.compile_model(str(openvino_file(spec)), "CPU", settings)
        self.names = [key.any_name for key in self.compiled.inputs]
        self.queue = openvino.AsyncInferQueue(self.compiled, spec.threads)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        blocks: list[tuple[list[int], np.ndarray]] = []

        def done(request: Any, batch: tuple[list[int], np.ndarray]) -> None:
            rows, mask = batch
            blocks.append((rows, self.texts.pooled(request.get_output_tensor(0).data, mask)))

        self.queue.set_callback(done)
        for rows, ids, mask in self.texts.batches(self.texts.ids(texts)):
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            self.queue.start_async({name: given[name] for name in self.names}, (rows, mask))
        self.queue.wait_all()
        return self.texts.gathered(len(texts), blocks)

    def tune(self, texts: list[str]) -> dict[str, Any]:
        """Keep the batch size that is fastest on these texts."""
        return {"batch_tokens": fastest_budget(self.texts, lambda: self.encode(texts))}


load = OpenVino
