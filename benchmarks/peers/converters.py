"""Converts a model folder to each library's format; runs where that library is installed."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .process import Spec

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def to_onnx(spec: Spec, to: Path) -> None:
    """Export the encoder with torch in fp32: from ids, mask and segments to the last hidden states."""
    import torch
    from transformers import AutoModel

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModel.from_pretrained(spec.folder, dtype=torch.float32, attn_implementation="eager").eval()

        def forward(self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
            absent = 1.0 - mask[:, None, None, :].expand(-1, 1, mask.shape[1], -1).to(torch.float32)
            added = absent.masked_fill(
                absent.to(torch.bool), torch.finfo(torch.float32).min
            )  # in the form that the optimizer recognizes
            states: torch.Tensor = self.model(ids, attention_mask=added, token_type_ids=segments).last_hidden_state
            return states

    names, axes = (*INPUTS, "last_hidden_state"), {0: "batch", 1: "tokens"}
    torch.onnx.export(
        Encoder(),
        tuple(torch.ones((2, 8), dtype=torch.int64) for _ in INPUTS),
        str(to / "model.onnx"),
        input_names=names[:-1],
        output_names=names[-1:],
        dynamic_axes=dict.fromkeys(names, axes),
        opset_version=17,
        dynamo=False,
    )


def to_fused_onnx(spec: Spec, plain: Path, to: Path) -> None:
    """Fuse attention, GELU and layer norms with ONNX Runtime's tool for BERT; for int8, with dynamic scales."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers.optimizer import optimize_model
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(spec.folder)
    fused = optimize_model(
        str(plain / "model.onnx"),
        model_type="bert",
        num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
    )
    fused.save_model_to_file(str(to / "fused-fp32.onnx"))
    print("fused:", {name: count for name, count in fused.get_fused_operator_statistics().items() if count})
    quantize_dynamic(
        to / "fused-fp32.onnx",
        to / "fused-int8.onnx",
        per_channel=True,
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


def to_openvino(spec: Spec, plain: Path, calibration: Sequence[str], to: Path) -> None:
    """Convert to an OpenVINO graph; for int8, NNCF calibrates weights and activations on these sentences."""
    import nncf
    import openvino
    from transformers import AutoTokenizer

    graph = openvino.convert_model(str(plain / "model.onnx"))
    openvino.save_model(graph, str(to / "fp32.xml"), compress_to_fp16=False)
    tokenizer, names = AutoTokenizer.from_pretrained(spec.folder), [key.any_name for key in graph.inputs]

    def inputs(text: str) -> dict[str, Any]:
        rows = tokenizer([text], truncation=True, max_length=256, return_tensors="np")
        return {name: rows[name] for name in names}

    small = nncf.quantize(
        graph,
        nncf.Dataset(list(calibration), inputs),
        model_type=nncf.ModelType.TRANSFORMER,
        subset_size=len(calibration),
    )
    openvino.save_model(small, str(to / "int8.xml"), compress_to_fp16=False)


def to_ctranslate2(spec: Spec, to: Path) -> None:
    """Convert with CTranslate2's own converter."""
    from ctranslate2.converters import TransformersConverter

    TransformersConverter(spec.folder).convert(str(to / "model"), force=True)
    for path in (to / "model").iterdir():
        path.rename(to / path.name)
    (to / "model").rmdir()


def to_their_onnx(spec: Spec, to: Path) -> None:
    """Write a sentence-transformers folder with its ONNX export; for int8, its export for this processor."""
    from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model

    model = SentenceTransformer(spec.folder, device="cpu", backend="onnx", model_kwargs={"export": True})
    model.save_pretrained(str(to))
    kind = "avx512_vnni" if "avx512_vnni" in _flags() else "avx2"
    export_dynamic_quantized_onnx_model(model, kind, str(to), file_suffix="quantized")


def to_their_openvino(spec: Spec, calibration: Sequence[str], to: Path) -> None:
    """Write a sentence-transformers folder with its OpenVINO export; int8 uses its static recipe on local sentences."""
    import nncf
    from optimum.intel import OVConfig, OVQuantizationConfig, OVQuantizer
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(spec.folder, device="cpu", backend="openvino", model_kwargs={"export": True})
    model.save_pretrained(str(to))
    rows = model.tokenizer(list(calibration), padding="max_length", max_length=384, truncation=True)
    samples = [{name: [values[i]] for name, values in rows.items()} for i in range(len(calibration))]
    quantizer = OVQuantizer.from_pretrained(model.transformers_model)
    quantizer.quantize(
        nncf.Dataset(samples, lambda row: {name: np.asarray(value) for name, value in row.items()}),
        save_directory=to / "quantized",
        ov_config=OVConfig(quantization_config=OVQuantizationConfig()),
    )
    for kind in ("xml", "bin"):
        (to / "quantized" / "openvino" / f"openvino_model.{kind}").rename(
            to / "openvino" / f"openvino_model_quantized.{kind}"
        )
    shutil.rmtree(to / "quantized")


def _flags() -> str:
    info = Path("/proc/cpuinfo")
    return info.read_text() if info.exists() else ""
