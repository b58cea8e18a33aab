"""ONNX Runtime called directly, with our batches; its own optimizer for transformers fuses the graph."""

import numpy as np

from ..exports import onnx_file
from ..process import Spec
from .padded import ByHand


class OnnxRuntime(ByHand):
    packages = ("onnxruntime",)

    def __init__(self, spec: Spec) -> None:
        import onnxruntime

        super().__init__(spec)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = spec.threads, 1
        self.session = onnxruntime.InferenceSession(str(onnx_file(spec)), options, providers=["CPUExecutionProvider"])
        self.inputs = {value.name: value.type for value in self.session.get_inputs()}

    def compute(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        types = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
        feed = {name: given[name].astype(types[type_], copy=False) for name, type_ in self.inputs.items()}
        return np.asarray(self.session.run(None, feed)[0])


load = OnnxRuntime
