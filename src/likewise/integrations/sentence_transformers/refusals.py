"""What sentence-transformers has and the drop-in has not: by name, with the reason and what there is in its place.

One table for each place where a name is looked up. docs/drop-in.md lists them all (benchmarks/drop_in_page.py).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import BadInput


class Refusal(NamedTuple):
    """Why something is not served, and what there is in its place."""

    reason: str
    instead: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.instead}"


_TRAINING = "training is not part of the drop-in"
_GRADIENTS = Refusal(
    "the drop-in is for inference, and is no torch module",
    "gradients and weights: likewise.engines.torch.torch_embedder.TorchEmbedder",
)
_MODULES = Refusal(
    "a model is an embedder, and no list of torch modules",
    "the encoder, the pooling and the tokenizer are those of model.loaded",
)
_HUB = Refusal("the drop-in does not upload", "save(folder), then: hf upload")
_ADAPTERS = Refusal(
    "adapters are not loaded", "merge the adapter into the weights with peft, save the model, and load that folder"
)
_SPARSE = Refusal("sparse models are not served", "words are matched by likewise.search.bm25, and hybrids by TextIndex")
_LATE = Refusal(
    "models of one vector a token are not served", "Embedder.encode_tokens gives the vectors of tokens of any model"
)
_PROCESSES = Refusal("it is a tool of training in several processes", "likewise.train.process_group")
HELPER = Refusal("it is a helper of training or of that library's own files", "likewise has no use for it")

CONSTRUCTOR: dict[str, Refusal] = {
    "modules": Refusal(
        "a model is not put together from torch modules", "Embedder.load(folder, pooling='mean') makes one of a folder"
    ),
    "trust_remote_code": Refusal(
        "code of a model folder is never run", "families that are known need none; engine='torch' reads many more"
    ),
    "config_kwargs": Refusal("a model's configuration is not changed when it is loaded", "edit its config.json"),
    "model_card_data": Refusal("the drop-in writes no model cards", "likewise train writes one for each run"),
    "keep_in_fp32_modules": Refusal("one precision holds for all layers", "load without a dtype: fp32 throughout"),
    "backend": Refusal(
        "models are computed by likewise's own engines, without ONNX or OpenVINO",
        "SentenceTransformer(Embedder.load(name, engine='native', precision='int8'))",
    ),
    "device_map": Refusal("a model is on one device", "device='cuda:1'"),
    "load_in_8bit": Refusal(
        "bitsandbytes is not used", "likewise model quantize makes an int8 model for the native engine"
    ),
    "quantization_config": Refusal(
        "bitsandbytes is not used", "likewise model quantize makes an int8 model for the native engine"
    ),
    "chat_template": Refusal(
        "models that generate text are not used as rerankers", "a sequence classifier is: Reranker.load(name)"
    ),
    "num_labels": Refusal(
        "a model has the labels that it was trained with",
        "likewise.Reranker.start(model, labels) makes an untrained one",
    ),
}
"""Options of the constructors, refused where they are given with a value other than the default."""

CALL: dict[str, Refusal] = {
    "inputs": Refusal("images, audio, video, messages and pairs are not encoded", "texts alone are: str, or a list"),
    "device": Refusal(
        "one call computes on one device", "load a model on each: device='cuda:1'; a CPU's cores are all used"
    ),
    "processing_kwargs": Refusal("a call does not change the tokenizer's settings", "set model.max_seq_length"),
    "safe_serialization": Refusal("weights are not pickled", "model.safetensors is always written"),
}
"""Options and inputs of `encode`, `predict`, `save` …"""

ATTRIBUTES: dict[str, Refusal] = {
    "fit": Refusal(_TRAINING, "from likewise.train import train, or: likewise train"),
    "old_fit": Refusal(_TRAINING, "from likewise.train import train, or: likewise train"),
    "smart_batching_collate": Refusal(_TRAINING, "batches are made by likewise.train"),
    "push_to_hub": _HUB,
    "save_to_hub": _HUB,
    "merge": Refusal("models are not merged", "average the weights with safetensors, and load the folder"),
    "add_adapter": _ADAPTERS,
    "load_adapter": _ADAPTERS,
    "active_adapters": _ADAPTERS,
    "set_adapter": _ADAPTERS,
    "enable_adapters": _ADAPTERS,
    "disable_adapters": _ADAPTERS,
    "get_adapter_state_dict": _ADAPTERS,
    "transformers_model": _MODULES,
    "auto_model": _MODULES,
    "model": _MODULES,
    "processor": _MODULES,
    "config": _MODULES,
    "_modules": _MODULES,
    "_first_module": _MODULES,
    "_last_module": _MODULES,
    "modules": _MODULES,
    "named_modules": _MODULES,
    "children": _MODULES,
    "named_children": _MODULES,
    "add_module": _MODULES,
    "register_forward_hook": _MODULES,
    "parameters": _GRADIENTS,
    "named_parameters": _GRADIENTS,
    "state_dict": _GRADIENTS,
    "load_state_dict": _GRADIENTS,
    "forward": _GRADIENTS,
    "train": _GRADIENTS,
    "half": Refusal("the precision is chosen when a model is loaded", "model_kwargs={'dtype': 'float16'}"),
    "bfloat16": Refusal("the precision is chosen when a model is loaded", "model_kwargs={'dtype': 'bfloat16'}"),
    "float": Refusal("the precision is chosen when a model is loaded", "fp32 is the default"),
    "compile": Refusal("models are not compiled by torch", "the native engine is compiled already"),
    "gradient_checkpointing_enable": Refusal(_TRAINING, "likewise train --gradient-checkpointing"),
    "share_memory": Refusal("no worker processes are started", "encode uses every core of this process"),
    "get_sentence_features": _MODULES,
    "active_adapter": _ADAPTERS,
    "delete_adapter": _ADAPTERS,
    "check_peft_compatible_model": _ADAPTERS,
    "has_peft_compatible_model": _ADAPTERS,
    "clear_placement_cache": CONSTRUCTOR["device_map"],
    "model_card_data_class": CONSTRUCTOR["model_card_data"],
    "default_huggingface_organization": Refusal(
        "names are looked for in the same places", "likewise model list lists them"
    ),
    "get_default_activation_fn": Refusal("the model's own activation is its default", "model.activation_fn"),
    "set_keep_in_fp32_modules": CONSTRUCTOR["keep_in_fp32_modules"],
    "smart_batching_collate_text_only": Refusal(_TRAINING, "batches are made by likewise.train"),
}
"""Methods and attributes of models; an AttributeError, so that `hasattr` is False."""

UTIL: dict[str, Refusal] = {
    "mine_hard_negatives": Refusal(
        "it works on a datasets.Dataset", "likewise.mine.hard_negatives(…) with rules, or: likewise mine MODEL FILE"
    ),
    "maxsim": _LATE,
    "maxsim_pairwise": _LATE,
    "mean_maxsim": _LATE,
    "mean_maxsim_pairwise": _LATE,
    "cat_padded_token_embeddings": _LATE,
    "stack_padded_token_embeddings": _LATE,
    "repad_flattened_features": _LATE,
    "pairwise_angle_sim": Refusal("it is the score of a training objective", "likewise.train.AnglE"),
    "select_max_active_dims": _SPARSE,
    "compute_count_vector": _SPARSE,
    "to_scipy_coo": _SPARSE,
    "all_gather": _PROCESSES,
    "all_gather_padded": _PROCESSES,
    "all_gather_with_grad": _PROCESSES,
    "get_rank": _PROCESSES,
    "get_world_size": _PROCESSES,
    "is_dist_initialized": _PROCESSES,
    "resolve_ids": Refusal("it works on datasets.Dataset", "likewise.train.load_data reads columns of texts"),
    "http_get": Refusal("files are not downloaded by it", "likewise model download, likewise data"),
    "semantic_search_faiss": Refusal("it is another library's index", "likewise.search has one for faiss: open_index"),
    "semantic_search_usearch": Refusal(
        "it is another library's index", "likewise.search.search_quantized scans int8 and one-bit vectors"
    ),
    **dict.fromkeys(
        (
            "save_to_hub_args_decorator",
            "check_package_availability",
            "check_version_requirements",
            "is_accelerate_available",
            "is_datasets_available",
            "is_training_available",
            "is_sentence_transformer_model",
            "load_dir_path",
            "load_file_path",
            "disabled_tqdm",
            "LoggingHandler",
            "install_logger",
            "fullname",
            "similarity_fct_name",
            "check_teacher_targets",
            "import_from_string",
            "import_module_class",
            "disable_datasets_caching",
            "disable_logging",
            "append_to_last_row",
            "ORIGINAL_TRANSFORMER_MODELS",
        ),
        HELPER,
    ),
}
"""Names of `util`."""

NAMES: dict[str, Refusal] = {
    "SparseEncoder": _SPARSE,
    "MultiVectorEncoder": _LATE,
    **dict.fromkeys(("SparseEncoderTrainer", "SparseEncoderTrainingArguments", "SparseEncoderModelCardData"), _SPARSE),
    **dict.fromkeys(
        ("MultiVectorEncoderTrainer", "MultiVectorEncoderTrainingArguments", "MultiVectorEncoderModelCardData"), _LATE
    ),
    "InputExample": Refusal(_TRAINING, "data are columns: likewise.train.load_data('pairs.csv', 'contrastive')"),
    "SentencesDataset": Refusal(_TRAINING, "data are columns: likewise.train.load_data('pairs.csv', 'contrastive')"),
    "ParallelSentencesDataset": Refusal(_TRAINING, "likewise train --objective distillation reads translations"),
    "SentenceTransformerTrainer": Refusal(_TRAINING, "from likewise.train import train"),
    "SentenceTransformerTrainingArguments": Refusal(_TRAINING, "from likewise.train import TrainSettings"),
    "CrossEncoderTrainer": Refusal(_TRAINING, "likewise train --kind cross-encoder"),
    "CrossEncoderTrainingArguments": Refusal(_TRAINING, "from likewise.train import TrainSettings"),
    "losses": Refusal(_TRAINING, "docs/moving-from-sentence-transformers.md has the objective for each loss"),
    "evaluation": Refusal(
        "evaluators are that library's own", "they take a model of the drop-in; ours: likewise evaluate"
    ),
    "SentenceTransformerModelCardData": CONSTRUCTOR["model_card_data"],
    "CrossEncoderModelCardData": CONSTRUCTOR["model_card_data"],
    "DefaultBatchSampler": Refusal(_TRAINING, "likewise.train schedules batches"),
    "MultiDatasetDefaultBatchSampler": Refusal(_TRAINING, "likewise.train schedules batches"),
    "export_optimized_onnx_model": CONSTRUCTOR["backend"],
    "export_dynamic_quantized_onnx_model": CONSTRUCTOR["backend"],
    "export_static_quantized_openvino_model": CONSTRUCTOR["backend"],
    "LoggingHandler": HELPER,
    **{name: UTIL[name] for name in ("mine_hard_negatives", "resolve_ids")},
}
"""Names of the package."""

TABLES: dict[str, Mapping[str, Refusal]] = {
    "constructor": CONSTRUCTOR,
    "call": CALL,
    "model": ATTRIBUTES,
    "util": UTIL,
    "package": NAMES,
}
"""All of them, by where the name is looked up."""


def refuse(what: str, name: str, value: Any, table: Mapping[str, Refusal]) -> BadInput:
    """The error for an option that is not served."""
    return BadInput(f"{what} does not take {name}={value!r:.80}: {table[name]}")


def advice(table: Mapping[str, Refusal]) -> dict[str, str]:
    """The table as sentences, for `lazy_names` and `explain_attributes`."""
    return {name: str(refusal) for name, refusal in table.items()}
