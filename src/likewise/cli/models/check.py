"""Checks a model or reranker before you build on it: its architecture, which engines can run it, whether its results
match the reference library's, its speed in each precision, and its input length, prompts and licence.
"""

import argparse
import io
import time
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import LikewiseError
from ..model_options import MODEL, add_threads
from ..output import print_json
from ..parser import options
from ..texts.text_file import check_column

EPILOG = """examples:
  likewise model check all-MiniLM-L6-v2
  likewise model check ./my-model --texts tickets.csv --column body
  likewise model check ./my-reranker --json

The reference library is sentence-transformers, or model2vec for models in its format. If it is installed, it encodes
some sentences in fp32 on the CPU for comparison. Each speed is measured only briefly, so expect it to vary. Tokens are
counted in your own texts with --texts, and otherwise in sentences from Python's documentation."""

SAMPLE = 64  # sentences: enough for a first figure, few enough for a large model
SECONDS = 1.0  # of measuring in each precision
SAME = 1e-5  # the largest difference, relative to the reference's largest value, that counts as equal
LABEL = 12  # columns
CARD_BYTES = 1 << 20
QUERY = "How do I open a file?"


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", MODEL)
    add("--texts FILE", "file of your own texts, to count their tokens", type=Path)
    add("--column NAME", "column that contains the texts, if there are several")
    add("--json", "print the report as JSON")
    add_threads(add)


def run(args: argparse.Namespace) -> int:
    check_column(args)
    from .dissect import read_sample, sample

    texts = read_sample(args.texts, args.column) if args.texts else sample()
    report = {"model": args.model, **check_model(args.model, texts)}
    if args.json:
        print_json(report)
        return 0
    print(args.model)
    for name, value in report.items():
        if name == "model":  # in the heading
            continue
        lines = [f"{key}: {one}" for key, one in value.items()] if isinstance(value, dict) else [str(value)]
        for i, line in enumerate(lines or ["none"]):
            print(f"  {'' if i else name.replace('_', ' '):{LABEL}} {line}")
    return 0


def check_model(name: str, texts: Sequence[str]) -> dict[str, Any]:
    """The report as plain values. If no engine can load the model, raises the error of the most capable engine."""
    from ... import Embedder, Reranker
    from ...model_files import locate

    folder = locate(name)
    kind = "reranker" if _is_reranker(folder) else "embedder"
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Reranker.load(folder) if kind == "reranker" else Embedder.load(folder)
    chosen = list(texts[:SAMPLE])
    first = _computed(model, kind, chosen[:1])
    seconds, heard = time.perf_counter() - began, [str(one.message) for one in caught]
    return {
        "kind": kind,
        "folder": str(folder),
        "built_of": _built_of(model, kind),
        "engines": _engines(folder, kind),
        "first": f"{_shown(first)} after {seconds:.2f} s, loading included",
        "reference": _reference(folder, kind, model, chosen),
        "speed": _speeds(folder, kind, chosen),
        "length": _lengths(model, texts),
        "prompts": {name: repr(prompt) for name, prompt in model.manifest.prompts.items()},
        "licence": licence(folder),
        "notes": "; ".join(dict.fromkeys(heard)) or "none",
    }


def _is_reranker(folder: Path) -> bool:
    """Whether the folder contains a reranker; False if it contains no model, as loading an embedder reports that."""
    from ...model_files import read_pair_manifest
    from ...runtime.untrusted_files import read_object

    names = read_object(folder / "config.json").get("architectures")
    classifier = isinstance(names, list) and any("SequenceClassification" in str(name) for name in names)
    try:
        manifest = read_pair_manifest(folder)
    except LikewiseError:
        return False
    spoken = read_object(folder / "config_sentence_transformers.json")
    return manifest.late is not None or spoken.get("model_type") == "CrossEncoder" or classifier


def _loaded(kind: str, folder: Path, **options: Any) -> Any:
    """The model with other options; its loading warnings were already shown."""
    from ... import Embedder, Reranker

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reranker.load(folder, **options) if kind == "reranker" else Embedder.load(folder, **options)


def _computed(model: Any, kind: str, texts: Sequence[str]) -> Any:
    """The values to compare and time: vectors, or scores for one query (logits if there are several labels)."""
    how: dict[str, Any] = {"overflow": "truncate", "show_progress_bar": False}
    if kind == "embedder":
        return model.encode(texts, **how)
    pairs = [(QUERY, text) for text in texts]
    return model.logits(pairs, **how) if len(model.labels) > 1 else model.score(pairs, **how)


def _shown(first: Any) -> str:
    numbers = ", ".join(f"{number:.4f}" for number in first.ravel()[:4])
    what = f"{first.shape[1]} dimensions" if first.ndim > 1 else "a score"
    return f"{numbers}{' …' if first.size > 4 else ''} ({what})"


def _built_of(model: Any, kind: str) -> str:
    from ...encoders.config import read_config
    from ...encoders.families import model_type
    from .show import encoder_in_words, stored_weights

    folder = model.manifest.encoder
    if kind == "reranker":
        described: dict[str, Any] = {"encoder": model_type(read_config(folder), folder), "labels": len(model.labels)}
        described |= {"pooling": model.manifest.pooling, "heads": [part.kind for part in model.manifest.heads]}
        parts = [model.kind]
    else:
        described, parts = model.describe(), []
    parts += [encoder_in_words(described.pop("encoder")), stored_weights(folder)]
    parts += [f"{key} {f'{value:,}' if isinstance(value, int) else value}" for key, value in described.items() if value]
    return "; ".join(part.replace("['", "").replace("']", "").replace("', '", ", ") for part in parts)


def _engines(folder: Path, kind: str) -> dict[str, str]:
    """Whether each engine can run the model, and if not, why."""
    from ...engine_registry import ENGINES, LoadOptions
    from ...model_files import read_manifest, read_pair_manifest

    manifest: Any = read_pair_manifest(folder) if kind == "reranker" else read_manifest(folder)
    if _is_late_interaction(manifest):
        from ...engines.late_interaction import token_model

        kind, manifest = "embedder", token_model(manifest)  # an embedder's engine encodes its tokens
    found = {}
    for name, row in ENGINES.items():
        try:
            model_class = row.model_class(kind)  # type: ignore[arg-type]  # a kind is a literal
            model_class.check_options(LoadOptions(device="cpu"))
            model_class.check_model(manifest, LoadOptions(device="cpu"))
        except LikewiseError as error:
            found[name] = f"no: {error}"
        else:
            found[name] = "can run it"
    return found


def _is_late_interaction(manifest: Any) -> bool:
    from ...model_files.late_interaction_folder import LATE_INTERACTION

    return getattr(manifest, "kind", None) == LATE_INTERACTION  # an embedder's manifest has no kind


def _reference(folder: Path, kind: str, model: Any, texts: Sequence[str]) -> str:
    """How much likewise's vectors or scores differ from those of the library that the model was published for."""
    from ...runtime.static_tables import MODEL2VEC
    from ...runtime.untrusted_files import read_object

    own = kind == "embedder" and read_object(model.manifest.encoder / "config.json").get("model_type")
    library = MODEL2VEC if own == MODEL2VEC else "sentence_transformers"
    if reasons := _only_here(model, kind):
        return f"not compared: {library} cannot read it, because of {' and '.join(reasons)}"
    if find_spec(library) is None:
        return f"not compared: {library} is not installed"
    try:
        theirs = _theirs(library, folder, kind, model, texts)
    except Exception as error:  # whatever another library raises
        return f"not compared: {library} cannot run it: {type(error).__name__}: {str(error)[:200]}"
    if model.precision != "fp32" or str(model.device) != "cpu":  # there is a GPU
        model = _loaded(kind, folder, precision="fp32", device="cpu")
    ours = _computed(model, kind, texts)
    if ours.shape != theirs.shape:
        return f"DIFFERENT from {library}: shape {ours.shape}, not {theirs.shape}"
    difference = float(abs(ours - theirs).max())
    same = difference <= SAME * max(1.0, float(abs(theirs).max()))
    return f"{'equal to' if same else 'DIFFERENT from'} {library}: the largest difference is {difference:.1e}"


def _only_here(model: Any, kind: str) -> list[str]:
    """The parts that the reference library cannot read, about which `save` warns."""
    from ...encoders.config import is_in_eight_bits

    weights = "int8" if is_in_eight_bits(model.manifest.encoder) else None
    if kind == "embedder":
        return list(model.only_here(weights=weights))
    late = ["its late combination"] if model.kind == "poly-encoder" else []
    return [*late, *([f"weights in {weights}"] if weights else [])]


def _theirs(library: str, folder: Path, kind: str, model: Any, texts: Sequence[str]) -> Any:
    module = import_module(library)
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):  # progress bars during loading are written there
        warnings.simplefilter("ignore")
        if library != "sentence_transformers":
            return module.StaticModel.from_pretrained(folder).encode(list(texts))
        how: dict[str, Any] = {"device": "cpu", "local_files_only": True, "trust_remote_code": False}
        how["model_kwargs"] = {"dtype": "float32"}  # otherwise, weights stored in 16 bits would be computed in 16 bits
        if _is_late_interaction(model.manifest):
            theirs = module.MultiVectorEncoder(str(folder), **how)
            scores = theirs.similarity(theirs.encode_query([QUERY]), theirs.encode_document(list(texts)))
            return scores.numpy()[0]
        if kind == "reranker":
            return module.CrossEncoder(str(folder), **how).predict([(QUERY, text) for text in texts])
        return module.SentenceTransformer(str(folder), **how).encode(list(texts))


def _speeds(folder: Path, kind: str, texts: Sequence[str]) -> dict[str, str]:
    """Texts per second of each engine and precision that loads the model; NumPy is not meant to be fast."""
    found = {}
    for engine, precision in (("native", "fp32"), ("native", "bf16"), ("native", "int8"), ("torch", "fp32")):
        try:
            model = _loaded(kind, folder, engine=engine, precision=precision, device="cpu")
        except LikewiseError:  # `engines` says why
            continue
        _computed(model, kind, texts[:2])
        began, done = time.perf_counter(), 0
        while not done or time.perf_counter() - began < SECONDS:
            _computed(model, kind, texts)
            done += len(texts)
        rate = done / (time.perf_counter() - began)
        found[f"{engine} {precision}"] = f"{rate:,.0f} {'pairs' if kind == 'reranker' else 'texts'}/s"
    return found


def _lengths(model: Any, texts: Sequence[str]) -> str:
    limit = model.tokenizer.max_content_length
    blocks = (texts[start : start + 1024] for start in range(0, len(texts), 1024))
    sizes = [len(ids) for block in blocks for ids in model.tokenizer.token_ids(block)]
    long = sum(size > limit for size in sizes)
    return (
        f"reads {model.tokenizer.max_seq_length:,} tokens, including special tokens; {long:,} of {len(sizes):,} texts "
        f"are longer (the longest has {max(sizes, default=0):,} tokens)"
    )


def licence(folder: Path) -> str:
    """The licence that the model's card names."""
    from ...files.front_matter import front_matter
    from ...runtime.untrusted_files import read_text

    path = folder / "README.md"
    small = path.is_file() and path.stat().st_size <= CARD_BYTES
    named = front_matter(read_text(path, CARD_BYTES) or "")[0].get("license") if small else None
    return str(named or "not named: there is no model card (README.md) with a license in its front matter")
