"""The manifest of a reranker folder: a plain classifier, sentence-transformers' CrossEncoder, or likewise's own type.

Up to version 5, sentence-transformers saved cross-encoders as plain Hugging Face folders; since then it has written a
modules.json, with a single row for a classifier. Both formats are read, and a saved classifier is valid in both. A
modular reranker has further rows, for its pooling and for the layers that turn pooled vectors into scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import BadModel
from ..runtime.untrusted_files import read_object, regular_file_exists
from .folder import (
    CROSS_ENCODER,
    OWN,
    Manifest,
    ModulePart,
    input_limits,
    modules_of,
    pooling_and_heads,
    prompts_of,
    with_config,
    write_json,
    write_manifest,
)
from .late_interaction_folder import late_interaction
from .saving import check_saved

OWN_RERANKER = f"{OWN}reranker."
CROSS = "sentence_transformers.base.modules.transformer.Transformer"
TASK = {
    "transformer_task": "sequence-classification",
    "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
    "module_output_name": "scores",
}  # classifier settings that sentence-transformers 6 requires
STARTED = "Reranker.start(folder) turns it into an untrained reranker"
MODULES = "modules"  # the kind of a modular reranker
SCORES = "scores"  # what sentence-transformers calls the output of the last module of a modular reranker


@dataclass(frozen=True)
class PairManifest:
    """The components of a reranker, before any weights are read."""

    encoder: Path
    late: ModulePart | None = None  # what follows the encoder in likewise's own rerankers and in late interaction
    pooling: str | None = None  # of a modular reranker
    heads: tuple[ModulePart, ...] = ()  # of a modular reranker (the last computes the scores) or late interaction
    activation: str | None = None  # applied to the scores; None: the default for the number of labels
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    max_seq_length: int | None = None
    lowercase: bool = False

    @property
    def kind(self) -> str | None:
        """What computes the scores: the type of likewise's own module, or "modules"; None: a classification head."""
        if self.late is not None:
            return self.late.kind
        return MODULES if self.heads else None


def read_pair_manifest(folder: Path) -> PairManifest:
    check_saved(folder)
    parts = modules_of(folder)
    if parts is None and not regular_file_exists(folder / "config.json"):
        raise BadModel(f"{folder} contains neither modules.json nor config.json, so it is not a model folder")
    parts = parts or []
    spoken = read_object(folder / "config_sentence_transformers.json")
    encoder = parts[0].folder if parts else folder
    if tokens := late_interaction(folder, parts, spoken):
        return PairManifest(encoder, **tokens, **input_limits(encoder))
    kinds = [part.kind for part in parts] or ["Transformer"]
    late = parts[1] if len(parts) == 2 and kinds[1].startswith(OWN_RERANKER) else None
    modular = late is None and len(parts) > 1 and spoken.get("model_type") == CROSS_ENCODER
    if kinds[0] != "Transformer" or (len(kinds) > 1 and late is None and not modular):
        expected = "a Transformer with a classification head, or a CrossEncoder's modules"
        raise BadModel(f"{folder} consists of {', '.join(kinds)}; expected {expected}. {STARTED}")
    return PairManifest(
        encoder=encoder,
        late=None if late is None else with_config(late),
        **(_scoring_modules(folder, parts) if modular else {}),
        activation=_activation(spoken, read_object(encoder / "config.json")),
        **prompts_of(spoken, folder),
        **input_limits(encoder),
    )


def _scoring_modules(folder: Path, parts: Sequence[ModulePart]) -> dict[str, Any]:
    """The pooling and the heads of a modular reranker, whose last head is a Dense that computes the scores."""
    found = pooling_and_heads(folder, parts)
    *heads, last = found["heads"] or (None,)
    output = None if last is None else last.config.get("module_output_name")
    if last is None or last.kind != "Dense" or output != SCORES:
        kinds = ", ".join(part.kind for part in parts)
        raise BadModel(
            f"{folder} consists of {kinds}; expected a final Dense module whose module_output_name is {SCORES}"
        )
    if not found["include_prompt"] or not isinstance(found["pooling"], str):
        raise BadModel(
            f"the pooling of {folder} excludes the prompt or is specific to likewise; rerankers support neither"
        )
    plain = {key: value for key, value in last.config.items() if key != "module_output_name"}
    return {"pooling": found["pooling"], "heads": (*heads, replace(last, config=plain))}


def write_pair_manifest(folder: Path, manifest: PairManifest, width: int) -> None:
    """Write the JSON files of a reranker folder; `width` is the encoder's hidden size."""
    if manifest.heads:
        _write_modules(folder, manifest, width)
    else:
        _write_one_module(folder, manifest)
    spoken = {"prompts": dict(manifest.prompts), "default_prompt_name": manifest.default_prompt}
    if manifest.late is None:
        spoken |= {"model_type": CROSS_ENCODER, "activation_fn": manifest.activation}
    write_json(folder / "config_sentence_transformers.json", spoken)


def _write_modules(folder: Path, manifest: PairManifest, width: int) -> None:
    *heads, last = manifest.heads
    scoring = replace(last, config={**last.config, "module_output_name": SCORES})
    modules = Manifest(
        encoder=manifest.encoder,
        pooling=manifest.pooling or "",
        heads=(*heads, scoring),
        max_seq_length=manifest.max_seq_length,
        lowercase=manifest.lowercase,
    )
    write_manifest(folder, modules, width)


def _write_one_module(folder: Path, manifest: PairManifest) -> None:
    rows: list[dict[str, Any]] = [{"idx": 0, "name": "0", "path": "", "type": CROSS}]
    if manifest.late is not None:
        place = f"1_{manifest.late.kind.rpartition('.')[2]}"
        rows.append({"idx": 1, "name": "1", "path": place, "type": manifest.late.kind})
        write_json(folder / place / "config.json", dict(manifest.late.config))
    write_json(folder / "modules.json", rows)
    settings = {"max_seq_length": manifest.max_seq_length, "do_lower_case": manifest.lowercase}
    write_json(folder / "sentence_bert_config.json", settings | ({} if manifest.late else TASK))


def _activation(spoken: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """The name of the activation, from wherever sentence-transformers 6, 4 or 3 stored it."""
    middle = config.get("sentence_transformers")
    if middle is not None and not isinstance(middle, dict):
        raise BadModel(f"config.json has sentence_transformers = {middle!r:.100}; expected an object")
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
