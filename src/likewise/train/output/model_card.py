"""The model card (README.md) of a saved folder, written only from the record of its run."""

import json
import re
from collections.abc import Mapping
from typing import Any

from ...wording import counted
from ..setting_fields import settings_of
from ..settings import REPORTING_ONLY, TrainSettings

_HUB_METADATA: Mapping[str, Mapping[str, Any]] = {
    "Embedder": {
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": ["sentence-transformers", "sentence-similarity", "feature-extraction", "likewise"],
    },
    "CrossEncoder": {
        "library_name": "sentence-transformers",
        "pipeline_tag": "text-ranking",
        "tags": ["sentence-transformers", "cross-encoder", "reranker", "likewise"],
    },
    "PolyEncoder": {"pipeline_tag": "text-ranking", "tags": ["poly-encoder", "reranker", "likewise"]},
}
_RERANKERS = {
    "CrossEncoder": "Reads two texts together",
    "PolyEncoder": "Reads two texts separately and combines them late",
}
_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")


def model_card(record: Mapping[str, Any], name: str) -> str:
    """Markdown with the YAML header that the Hugging Face hub reads."""
    parts = [_head(record), f"# {name}", _opening(record), _use(record, name)]
    return "\n\n".join([*parts, *(part(record) for part in (_data, _training, _scores, _limits))]) + "\n"


def _head(record: Mapping[str, Any]) -> str:
    """YAML, with scalars written as in JSON; unknown values are left out."""
    metadata = dict(_HUB_METADATA[record["model"]["kind"]])
    if _only_here(record):
        metadata["library_name"] = "likewise"
        metadata["tags"] = [tag for tag in metadata["tags"] if tag != "sentence-transformers"]
    base = record["backbone"].get("hub") or record["backbone"]["name"]
    if _HUB.fullmatch(base) and not record["backbone"].get("local"):
        metadata["base_model"] = base
    sets = list(dict.fromkeys(one["hub"] for one in record["data"] if one.get("hub")))
    if sets:
        metadata["datasets"] = sets
    metadata |= {name: value for name, value in record.get("card", {}).items() if name != "model_name"}
    lines = []
    for key, value in metadata.items():
        several = isinstance(value, list)
        lines += [f"{key}:", *(f"- {_scalar(v)}" for v in value)] if several else [f"{key}: {_scalar(value)}"]
    return "\n".join(["---", *lines, "---"])


def _scalar(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z][\w./-]*", value) else json.dumps(value)


def _opening(record: Mapping[str, Any]) -> str:
    model, backbone = record["model"], record["backbone"]
    objectives = ", ".join(dict.fromkeys(one["objective"]["objective"] for one in record["data"]))
    recipe = f", with the recipe `{record['recipe']}`" if record.get("recipe") else ""
    trained = (
        f"Trained from `{backbone['name']}` with {objectives}{recipe}, using "
        f"likewise {record['machine']['versions']['likewise']}. "
    )
    if record["model"]["kind"] != "Embedder":
        output = "a score" if len(model["labels"]) == 1 else f"the probabilities of {', '.join(model['labels'])}"
        what = f"{_RERANKERS[record['model']['kind']]}, and returns {output}"
        return f"A reranker. {what}. {trained}It reads up to {model['max_length']} tokens."
    return (
        f"A sentence encoder: it maps texts to {model['width']}-dimensional vectors, and similar texts to similar "
        f"vectors. {trained}It reads up to {model['max_length']} tokens "
        f"and pools them with `{model['pooling']}`."
    )


def _only_here(record: Mapping[str, Any]) -> list[str]:
    """Why sentence-transformers cannot read the model; empty if it can."""
    if record["model"]["kind"] == "PolyEncoder":
        return ["its late combination of the texts"]
    return list(record["model"]["only_likewise"] if record["model"]["kind"] == "Embedder" else ())


def _use(record: Mapping[str, Any], name: str) -> str:
    if record["model"]["kind"] == "Embedder":
        code = f"""from likewise import Embedder, similarity

embedder = Embedder.load("{name}")  # the folder with this file
vectors = embedder.encode(["A cat sleeps.", "A kitten naps.", "Shares fell."])
print(similarity.cosine(vectors, vectors))"""
    else:
        labels = record["model"]["labels"]
        chosen = f", label={json.dumps(labels[0])}" if len(labels) > 1 else ""
        code = f"""from likewise import Reranker

reranker = Reranker.load("{name}")  # the folder with this file
print(reranker.rank("A cat sleeps.", ["A kitten naps.", "Shares fell."]{chosen}))"""
    return f"## Use\n\n```python\n{code}\n```"


def _data(record: Mapping[str, Any]) -> str:
    rows = []
    for one in record["data"]:
        options = [(key, value) for key, value in one["objective"].items() if key != "objective" and value is not None]
        settings = ", ".join(f"{key} {_plain(value)}" for key, value in options)
        objective = one["objective"]["objective"] + (f" ({settings})" if settings else "")
        digest = f"`{one['sha256'][:16]}…`" if one.get("sha256") else "—"
        count = "a stream" if one.get("rows") is None else f"{one['rows']:,}"
        rows.append([one["name"], count, objective, one.get("licence") or "unknown", digest])
        parts = one.get("of", ())
        rows += [[of["name"], f"in {one['name']}", objective, of.get("licence") or "unknown", "—"] for of in parts]
    table = _table(["data", "rows", "objective", "licence", "sha256"], rows)
    return "\n\n".join(["## Data", table, *(text for one in record["data"] if (text := _columns_read(one)))])


def _columns_read(one: Mapping[str, Any]) -> str:
    """Which columns of the data were read under other names, how labels were numbered and which rows were used."""
    read = [f"{name} = `{column}`" for name, column in one.get("read_from", {}).items() if name != column]
    labels = [f"{label} = {i}" for i, label in enumerate(one.get("labels", ()))]
    parts = {
        "columns": ", ".join(read),
        "labels": ", ".join(labels),
        "rows": f"`{one['where']}`" if one.get("where") else "",
    }
    described = "; ".join(f"{what} {text}" for what, text in parts.items() if text)
    return f"How {one['name']} was read: {described}." if described else ""


def _training(record: Mapping[str, Any]) -> str:
    result, machine = record["result"], record["machine"]
    rows = []
    for setting in settings_of(TrainSettings).values():
        value = record["run"][setting.name]
        if value is not None and value not in ((), []) and setting.name not in REPORTING_ONLY:
            changed = json.loads(json.dumps(setting.default)) != value
            rows.append([setting.name, f"**{_plain(value)}**" if changed else _plain(value)])
    trained = f"{result['trained_parameters']:,} of {result['parameters']:,} weights"
    best = f"; the weights are from step {result['best_step']:,}, which scored best" if result["best_step"] else ""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    words = (
        f"Training took {counted(result['steps'], 'step')} and {_duration(result['seconds'])} on {machine['device']}, "
        f"and updated {trained}{best}. "
        f"This model's fingerprint is `{record['model']['fingerprint']}`, the backbone's "
        f"`{record['backbone']['fingerprint']}`. {versions}. Finished {record['finished']}."
    )
    return f"## Training\n\n{words}\n\n{_table(['setting', 'value (bold: not the default)'], rows)}"


def _scores(record: Mapping[str, Any]) -> str:
    if not record["scores"]:
        return "## Scores\n\nThe model was not evaluated."
    before, rows = record["result"]["initial_scores"], []
    for name, score in record["scores"].items():
        between = f"{100 * score['low']:.2f} … {100 * score['high']:.2f}" if "low" in score else "—"
        start = f"{100 * before[name]:.2f}" if name in before else "—"
        items = f"{score['n']:,}" if "n" in score else "—"
        rows.append([name, f"{100 * score['value']:.2f}", between, items, start])
    first = next(iter(record["scores"]))
    chosen = f"The best step was chosen by {first}, so that score is slightly optimistic.\n\n"
    return (
        "## Scores\n\n"
        + (chosen if record["result"]["best_step"] else "")
        + _table(["score", "× 100", "95 % interval", "items", "before training"], rows)
    )


def _limits(record: Mapping[str, Any]) -> str:
    data = [part for one in record["data"] for part in one.get("of", [one])]
    unknown = [str(one["name"]) for one in data if not one.get("licence")]
    what = "Cosines" if record["model"]["kind"] == "Embedder" else "Scores"
    lines = [
        f"- Texts longer than {record['model']['max_length']} tokens are truncated.",
        "- It covers the languages and kinds of text of its backbone and the data above, and shares their biases.",
        f"- {what} are good for ranking; use your own data to find the threshold above which texts count as similar.",
        "- The licences of the backbone and the data also apply to this model.",
    ]
    if _only_here(record):
        lines.append(
            f"- sentence-transformers cannot read it, because of {' and '.join(_only_here(record))}; likewise can."
        )
    lines += [f"- {leak}" for leak in record.get("leaks", ())]
    if unknown:
        lines.append(f"- The licence is unknown for: {', '.join(unknown)}. Check before distributing the model.")
    return "## Limits\n\n" + "\n".join(lines)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    cells = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
