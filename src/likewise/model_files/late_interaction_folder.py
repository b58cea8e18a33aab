"""The three folder formats of late-interaction models: Stanford ColBERT, PyLate and sentence-transformers."""

import string
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import BadModel
from ..runtime.untrusted_files import bad_setting, read_object
from ..runtime.weight_files import WeightReader
from .folder import UNLIMITED, ModulePart, with_config

LATE_INTERACTION = "likewise.reranker.LateInteraction"  # the kind of part whose settings are a `TokenVectors`
TOKENS = "token_embeddings"  # sentence-transformers' name for the input of a module between encoder and score


@dataclass(frozen=True)
class TokenVectors:
    """How texts become token vectors; the manifest's heads project each vector, which is then scaled to unit length."""

    query_prefix: str  # prepended to a query; if it starts with a marker in the vocabulary, the marker is not split
    document_prefix: str
    query_length: int | None = None  # maximum tokens of a query, including special ones; None: the model's limit
    document_length: int | None = None
    expanded_to: int = 0  # shorter queries are padded to this length with mask tokens, which are scored as well
    expansion_token: str | None = None  # None: the tokenizer's mask token
    attends_expansion: bool = False  # whether query tokens attend to the mask tokens
    has_markers: bool = True  # whether a prefix begins with a marker; if not, it is ordinary text
    unscored: tuple[str, ...] = ()  # document tokens that are excluded from scoring


Described = tuple[TokenVectors, tuple[ModulePart, ...]]


def late_interaction(folder: Path, parts: Sequence[ModulePart], spoken: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields `late` and `heads` of a late-interaction model's manifest; None for any other reranker."""
    config = read_object(folder / "config.json")
    architectures = config.get("architectures")
    form = spoken.get("model_type")
    if not isinstance(form, str) or form not in FORMS:
        form = "HF_ColBERT" if isinstance(architectures, list) and "HF_ColBERT" in architectures else None
    if form is None:
        return None
    settings, heads = FORMS[form](folder, parts, spoken)
    return {"late": ModulePart(LATE_INTERACTION, asdict(settings), folder), "heads": heads}


def _stanford(folder: Path, parts: Sequence[ModulePart], spoken: Mapping[str, Any]) -> Described:  # noqa: ARG001
    """Stanford's format: a plain encoder whose weights include the projection, and settings in artifact.metadata."""
    given = read_object(folder / "artifact.metadata")
    with ExitStack() as stack:
        weights = WeightReader(folder, stack, "numpy")
        shape = weights.kinds[weights.find("linear.weight")].shape
    if len(shape) != 2:
        raise BadModel(f"linear.weight in {folder} has the shape {shape}; expected a matrix")
    identity = "torch.nn.modules.linear.Identity"
    dense = {"in_features": shape[1], "out_features": shape[0], "bias": False, "activation_function": identity}
    length = given.get("query_maxlen", 32)
    settings = _checked(
        query_prefix=given.get("query_token_id") or "[unused0]",
        document_prefix=given.get("doc_token_id") or "[unused1]",
        query_length=length,
        document_length=given.get("doc_maxlen"),
        expanded_to=length,
        attends_expansion=given.get("attend_to_mask_tokens", False),
        unscored=list(string.punctuation) if given.get("mask_punctuation", True) else [],
    )
    return settings, (ModulePart("Dense", dense, folder),)


def _pylate(folder: Path, parts: Sequence[ModulePart], spoken: Mapping[str, Any]) -> Described:
    """The PyLate format: Transformer and Dense modules; query and document options are in the model's settings."""
    expands, length = spoken.get("do_query_expansion", True), spoken.get("query_length", 32)
    words = spoken.get("skiplist_words")
    settings = _checked(
        query_prefix=spoken.get("query_prefix", "[Q] "),
        document_prefix=spoken.get("document_prefix", "[D] "),
        query_length=length,
        document_length=spoken.get("document_length"),
        expanded_to=length if expands else 0,
        attends_expansion=spoken.get("attend_to_expansion_tokens", False),
        unscored=list(string.punctuation) if words is None else words,
    )
    return settings, _projections(folder, parts, ("Dense",))


def _multi_vector(folder: Path, parts: Sequence[ModulePart], spoken: Mapping[str, Any]) -> Described:
    """The sentence-transformers format: Transformer, Dense, token mask and Normalize; the encoder sets the lengths."""
    prompts = spoken.get("prompts") or {}
    encoder = read_object(parts[0].folder / "sentence_bert_config.json") if parts else {}
    expansion = encoder.get("query_expansion") or {"length": 0}
    masks = [with_config(part) for part in parts if part.kind == "MultiVectorMask"]
    mask = masks[0].config if masks else {}
    if mask.get("keep_only_token_ids") or mask.get("skiplist_tasks", ["document"]) != ["document"]:
        raise BadModel(f"{masks[0].folder} does more than skip listed document tokens, which is not supported")
    if not isinstance(expansion, dict) or not isinstance(prompts, dict):
        raise BadModel(
            f"{folder} has query_expansion = {expansion!r:.100} and prompts = {prompts!r:.100}; expected two objects"
        )
    fixed = expansion.get("strategy") == "fixed"
    settings = _checked(
        query_prefix=prompts.get("query", ""),
        document_prefix=prompts.get("document", ""),
        query_length=expansion.get("length") if fixed else encoder.get("query_length"),
        document_length=encoder.get("document_length"),
        expanded_to=expansion.get("length", 0),
        expansion_token=expansion.get("token"),
        attends_expansion=expansion.get("attend", False),
        has_markers=False,
        unscored=mask.get("skiplist_words") or [],
    )
    return settings, _projections(folder, parts, ("Dense", "MultiVectorMask", "Normalize"))


def _checked(unscored: Any, **given: Any) -> TokenVectors:
    """The settings of a folder, after their types have been checked."""
    prefixes = (given["query_prefix"], given["document_prefix"], given.get("expansion_token") or "")
    lengths = (given["query_length"] or 0, given["document_length"] or 0, given["expanded_to"])
    if not all(type(length) is int and 0 <= length < UNLIMITED for length in lengths):
        raise BadModel(f"the late-interaction model's maximum lengths are {lengths}; expected whole numbers of tokens")
    if not isinstance(unscored, list) or not all(isinstance(text, str) for text in (*prefixes, *unscored)):
        raise BadModel(
            f"the late-interaction model has the prefixes and expansion token {prefixes} and the skip list "
            f"{unscored!r:.100}; expected texts and a list of texts"
        )
    if not isinstance(given["attends_expansion"], bool):
        raise BadModel(
            "whether the late-interaction model attends to its mask tokens is given as "
            f"{given['attends_expansion']!r:.100}; expected true or false"
        )
    return TokenVectors(**given, unscored=tuple(unscored))


def _projections(folder: Path, parts: Sequence[ModulePart], known: Sequence[str]) -> tuple[ModulePart, ...]:
    """The Dense modules after the encoder, which project each token's vector."""
    kinds = [part.kind for part in parts]
    if kinds[:1] != ["Transformer"] or set(kinds[1:]) - set(known) or "Dense" not in kinds:
        raise BadModel(f"{folder} consists of {', '.join(kinds)}; expected Transformer, then {', '.join(known)}")
    heads = []
    for part in map(with_config, [part for part in parts if part.kind == "Dense"]):
        for key in ("module_input_name", "module_output_name"):
            if part.config.get(key) not in (None, TOKENS):
                raise bad_setting(part.folder / "config.json", key, part.config[key], TOKENS)
        plain = {key: value for key, value in part.config.items() if not key.startswith("module_")}
        heads.append(replace(part, config=plain))
    return tuple(heads)


FORMS: dict[str, Callable[[Path, Sequence[ModulePart], Mapping[str, Any]], Described]] = {
    "HF_ColBERT": _stanford,
    "ColBERT": _pylate,
    "MultiVectorEncoder": _multi_vector,
}
"""The readers, keyed by `model_type` in config_sentence_transformers.json or by the architecture in config.json."""
