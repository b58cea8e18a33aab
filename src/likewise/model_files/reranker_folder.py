"""The manifest of a reranker folder: a plain classifier, sentence-transformers' CrossEncoder, or likewise's own type.

sentence-transformers saved cross-encoders as plain Hugging Face folders up to version 5, and has written a modules.json
with one row since then; both are supported, and a saved folder is valid in both forms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import BadModel
from ..runtime.untrusted_files import read_json, read_object, regular_file_exists
from .folder import (
    CROSS_ENCODER,
    OWN,
    ModulePart,
    input_limits,
    module_part,
    module_rows,
    prompts_of,
    with_config,
    write_json,
)
from .saving import check_saved

OWN_RERANKER = f"{OWN}reranker."
CROSS = "sentence_transformers.base.modules.transformer.Transformer"
TASK = {
    "transformer_task": "sequence-classification",
    "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
    "module_output_name": "scores",
}  # classifier settings that sentence-transformers 6 requires
STARTED = "Reranker.start(folder) turns it into an untrained reranker"
MODULAR = (
    "Modules after a reranker's encoder are not supported: use one that transformers loads as a sequence classifier, "
    "or train one with Reranker.start(folder) on the scores of this one"
)


@dataclass(frozen=True)
class PairManifest:
    """The components of a reranker, before any weights are read."""

    encoder: Path
    late: ModulePart | None = None  # the part after the encoder in likewise's own rerankers; None: a classifier
    activation: str | None = None  # applied to the scores; None: the default for the number of labels
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    max_seq_length: int | None = None
    lowercase: bool = False


def read_pair_manifest(folder: Path) -> PairManifest:
    """Read the manifest of a reranker folder."""
    check_saved(folder)
    modules = read_json(folder / "modules.json")
    if modules is None and not regular_file_exists(folder / "config.json"):
        raise BadModel(f"{folder} contains neither modules.json nor config.json, so it is not a model folder")
    parts = [module_part(folder, row) for row in module_rows(modules, folder)] if modules is not None else []
    kinds = [part.kind for part in parts] or ["Transformer"]
    late = parts[1] if len(parts) == 2 and kinds[1].startswith(OWN_RERANKER) else None
    spoken = read_object(folder / "config_sentence_transformers.json")
    if kinds[0] != "Transformer" or len(kinds) > (2 if late else 1):
        raise BadModel(
            f"{folder} consists of {', '.join(kinds)}; expected a Transformer with a classification head. "
            + (MODULAR if spoken.get("model_type") == CROSS_ENCODER else STARTED)
        )
    encoder = parts[0].folder if parts else folder
    return PairManifest(
        encoder=encoder,
        late=None if late is None else with_config(late),
        activation=_activation(spoken, read_object(encoder / "config.json")),
        **prompts_of(spoken, folder),
        **input_limits(encoder),
    )


def write_pair_manifest(folder: Path, manifest: PairManifest) -> None:
    """Write the JSON files of a reranker folder."""
    rows: list[dict[str, Any]] = [{"idx": 0, "name": "0", "path": "", "type": CROSS}]
    if manifest.late is not None:
        place = f"1_{manifest.late.kind.rpartition('.')[2]}"
        rows.append({"idx": 1, "name": "1", "path": place, "type": manifest.late.kind})
        write_json(folder / place / "config.json", dict(manifest.late.config))
    write_json(folder / "modules.json", rows)
    settings = {"max_seq_length": manifest.max_seq_length, "do_lower_case": manifest.lowercase}
    write_json(folder / "sentence_bert_config.json", settings | ({} if manifest.late else TASK))
    spoken = {"prompts": dict(manifest.prompts), "default_prompt_name": manifest.default_prompt}
    if manifest.late is None:
        spoken |= {"model_type": CROSS_ENCODER, "activation_fn": manifest.activation}
    write_json(folder / "config_sentence_transformers.json", spoken)


def _activation(spoken: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """The name of the activation, from wherever sentence-transformers 6, 4 or 3 stored it."""
    middle = config.get("sentence_transformers")
    if middle is not None and not isinstance(middle, dict):
        raise BadModel(f"config.json says sentence_transformers = {middle!r:.100}; expected an object")
    for holder, key in (
        (spoken, "activation_fn"),
        (middle or {}, "activation_fn"),
        (config, "sbert_ce_default_activation_function"),
    ):
        if (name := holder.get(key)) is not None:
            if not isinstance(name, str):
                raise BadModel(f"the activation for the scores is {name!r}; expected a name")
            return name
    return None
