"""What `SentenceTransformer` and `CrossEncoder` share: prompts, lengths, devices, process pools, saving."""

import logging
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import atomic_file
from ...runtime.lazy_imports import has_torch
from ...text.tokenizer import max_input_length
from .loading import check_constructor, load_model, load_options, refuse
from .tokenizer_view import TokenizerView, encoded_batch

Method = TypeVar("Method", bound=Callable[..., Any])
LOGGER = logging.getLogger("sentence_transformers")
"""The logger whose level decides whether progress is shown, as in sentence-transformers."""


class DropInModel:
    """A model of this library with the methods and attributes of sentence-transformers models."""

    model_type: str
    loaded: Any
    """The underlying embedder or reranker of this library."""
    prompts: dict[str, str]
    default_prompt_name: str | None
    default_prompts: tuple[str, ...] = ()
    """Prompt names that every model defines, even if the prompts are empty."""
    _load_on: Callable[..., Any] | None = None
    """Loads the model onto a device; None if a loaded model was passed."""
    card: Callable[[str], str] | None = None
    """Writes the card of a trained model, given its name."""
    modalities = ("text",)
    backend = "torch"
    trust_remote_code = False
    training = False

    def _construct(self, load: Callable[..., Any], given: Mapping[str, Any], max_length: int | None = None) -> None:
        """Use the model passed to the constructor, or load the model that its arguments specify."""
        check_constructor(self.model_type, given)
        options = load_options(self.model_type, given["model_kwargs"], given["processor_kwargs"])
        options |= {} if max_length is None else {"max_seq_length": max_length}
        self.model_card_data = given["model_card_data"] or SimpleNamespace()  # filled in by applications
        model = given["model_name_or_path"]
        self.name = model if isinstance(model, str) else "model"
        if hasattr(model, "manifest"):
            self.loaded = model
        else:
            self._load_on = partial(load_model, self.model_type, load, given, options)
            self.loaded = self._load_on(given["device"])
        self._set_prompts(given["prompts"], given["default_prompt_name"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copy the settings; the weights are shared if no call can change or move them."""
        twin = object.__new__(type(self))
        vars(twin).update({name: deepcopy(value, memo) for name, value in vars(self).items() if name != "loaded"})
        twin.loaded = deepcopy(self.loaded, memo) if hasattr(self.loaded, "cuda") else copy(self.loaded)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """The settings to pickle; unpickling loads the model again from its name or folder."""
        if self._load_on is None:
            raise BadInput("a loaded model that was passed in cannot be pickled; pass its name or folder instead")
        return {**vars(self), "loaded": (str(self.loaded.device), self.loaded.manifest, self.max_seq_length)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._load_as(*state["loaded"])

    def _set_prompts(self, prompts: Mapping[str, str | None] | None, default: str | None) -> None:
        """Set the model's own prompts, overridden by those passed to the constructor."""
        own = self.loaded.manifest
        joined = {**dict.fromkeys(self.default_prompts), **own.prompts, **(prompts or {})}
        self.prompts = {name: text or "" for name, text in joined.items()}
        self.default_prompt_name = default if default is not None else own.default_prompt
        self._named_prompt(self.default_prompt_name, "Default prompt")

    def _prompt_text(self, prompt: str | None, prompt_name: str | None) -> str:
        """The prompt to put before each text; as in sentence-transformers, `prompt` overrides `prompt_name`."""
        if prompt is not None:
            if prompt_name is not None:
                LOGGER.warning(  # worded as in sentence-transformers, because applications match it
                    "Provide either a `prompt`, a `prompt_name`, or neither, but not both. "
                    "Ignoring the `prompt_name` in favor of `prompt`."
                )
            return prompt
        return self._named_prompt(self.default_prompt_name if prompt_name is None else prompt_name, "Prompt")

    def _named_prompt(self, name: str | None, kind: str) -> str:
        if name is not None and name not in self.prompts:
            keys = list(self.prompts)
            raise BadInput(f"{kind} name {name!r} not found in the configured prompts dictionary with keys {keys}.")
        return "" if name is None else self.prompts[name]

    @property
    def device(self) -> Any:
        """The device that the model runs on: a `torch.device` if torch is installed, otherwise its name."""
        return import_module("torch").device(str(self.loaded.device)) if has_torch() else str(self.loaded.device)

    _target_device = device  # the older name

    @property
    def dtype(self) -> Any:
        """The model's precision as a torch dtype or, without torch, its name."""
        name = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8": "int8"}[self.loaded.precision]
        return getattr(import_module("torch"), name) if has_torch() else name

    def to(self, device: Any = None) -> Any:
        """Move the model to another device; weights that torch cannot move are loaded again on that device."""
        present = str(self.loaded.device)
        if isinstance(device, list | tuple):
            raise refuse(type(self).__name__, "device", device)
        if device is None or present in (str(device), f"{device}:0"):
            return self
        if hasattr(self.loaded, "cuda"):
            self.loaded.to(str(device))
        elif self._load_on is not None:
            self._load_as(str(device), self.loaded.manifest, self.max_seq_length)
        else:
            raise BadInput(f"the model was passed in, loaded on {present}; load it with device={str(device)!r} instead")
        return self

    def cpu(self) -> Any:
        return self.to("cpu")

    def cuda(self, device: int | str | None = None) -> Any:
        return self.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def eval(self) -> Any:
        """Return the model itself, which is always in eval mode outside a trainer."""
        return self

    train = eval  # noqa: A003

    def use_torch(self) -> None:
        """Load the weights into torch in fp32, with gradients, for training; until then, any engine may be used."""
        model, options = self.loaded, {"engine": "torch", "precision": "fp32"}
        if hasattr(model, "cuda") and model.precision == "fp32":
            return
        if self._load_on is None:
            raise BadInput(f"the model was passed in, loaded in {model.precision}; to train it, load it with {options}")
        self._load_as(str(model.device), model.manifest, self.max_seq_length, **options)

    def _load_as(self, device: str, manifest: Any, max_seq_length: int, **options: str) -> None:
        """Load the model again, with these settings."""
        assert self._load_on is not None
        self.loaded = self._load_on(device, **options)
        self.loaded.manifest, self.max_seq_length = manifest, max_seq_length

    def _use(self, device: Any, pool: Any, chunk_size: int | None) -> None:
        """Move the model to a call's device; a pool or a list of CPUs stands for this process, which uses all cores."""
        if chunk_size is not None:
            whole_number("chunk_size", chunk_size)
        if pool is not None:
            self.stop_multi_process_pool(pool)
        if isinstance(device, list | tuple) and len({str(one) for one in device}) <= 1:
            device = device[0] if device else None
        if pool is None:
            self.to(device)

    def start_multi_process_pool(self, target_devices: list[str] | None = None) -> dict[str, Any]:
        """Return a pool without processes, because `encode` and `predict` already use every core in this process."""
        if target_devices is not None:
            self._use(list(target_devices), None, None)
        return {"input": None, "output": None, "processes": []}

    @staticmethod
    def stop_multi_process_pool(pool: dict[str, Any]) -> None:
        """Check that the argument is a pool; there are no processes to stop."""
        if not isinstance(pool, Mapping) or set(pool) != {"input", "output", "processes"}:
            raise BadInput(f"pool is {pool!r:.80}; expected the return value of start_multi_process_pool")

    @property
    def max_seq_length(self) -> int:
        """The maximum number of input tokens, including special tokens; longer texts are truncated. It can be set."""
        return int(self.loaded.tokenizer.max_seq_length)

    @max_seq_length.setter
    def max_seq_length(self, tokens: int) -> None:
        model = self.loaded
        limit = max_input_length(tokens, model.tokenizer.max_seq_length, model.encoder.longest)
        model.tokenizer = replace(model.tokenizer, max_seq_length=limit)

    def get_max_seq_length(self) -> int:
        return self.max_seq_length

    @property
    def tokenizer(self) -> TokenizerView:
        """The tokenizer, with the methods of transformers' tokenizers that applications use."""
        return TokenizerView(self.loaded.tokenizer)

    def preprocess(self, inputs: list[Any], prompt: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """The padded ids of texts or text pairs, and their mask, as tensors (without torch, as arrays)."""
        self._check_extra("preprocess", kwargs)
        return encoded_batch(self.loaded.tokenizer, inputs, prompt or "")

    def tokenize(self, texts: list[Any], **kwargs: Any) -> dict[str, Any]:
        return self.preprocess(texts, **kwargs)

    def supports(self, modality: Any) -> bool:
        """Whether inputs of this modality are supported, which is true only of text."""
        return modality in self.modalities

    def get_model_kwargs(self) -> list[str]:
        """The names of additional options for `encode`: always an empty list."""
        return []

    def get_backend(self) -> str:
        """Always `"torch"`, because applications check this; the model may actually run on another engine."""
        return self.backend

    def evaluate(self, evaluator: Any, output_path: str | None = None) -> Any:
        """Run a sentence-transformers evaluator on this model and return its result."""
        return evaluator(self) if output_path is None else evaluator(self, output_path)

    def save(
        self,
        path: str | Path | None,
        model_name: str | None = None,  # noqa: ARG002, not used by the card
        create_model_card: bool = True,
        train_datasets: list[str] | None = None,  # noqa: ARG002
        safe_serialization: bool = True,
    ) -> None:
        """Write a folder that this library and sentence-transformers can load, with the current prompts."""
        if not safe_serialization:
            raise refuse("save", "safe_serialization", safe_serialization)
        if path is not None:
            self.loaded.manifest = self._current_manifest()
            self.loaded.save(path)
            if self.card is not None and create_model_card:
                with atomic_file(Path(path) / "README.md") as partial:
                    partial.write_text(self.card(Path(path).resolve().name), "utf-8")

    def push_to_hub(self, *arguments: Any, **options: Any) -> None:  # noqa: ARG002
        """Raise BadInput, because this library does not upload to the hub; the message says what to do instead."""
        way = "call save_pretrained(folder), then run: hf upload NAME FOLDER"
        raise BadInput(f"{type(self).__name__} has no push_to_hub; {way}")

    def save_pretrained(self, path: str | Path, **options: Any) -> None:
        self.save(path, **options)

    def _current_manifest(self) -> Any:
        own = self.loaded.manifest
        named = {name: text for name, text in self.prompts.items() if text or name in own.prompts}
        return replace(own, prompts=named, default_prompt=self.default_prompt_name if named else None)

    def _check_extra(self, method: str, options: Mapping[str, Any]) -> None:
        """Reject unknown options of a call; `task`, an option for routers, is accepted but ignored."""
        if options.get("processing_kwargs"):
            raise refuse(method, "processing_kwargs", options["processing_kwargs"])
        if unknown := [name for name in options if name not in ("task", "processing_kwargs")]:
            kind = type(self).__name__
            raise BadInput(
                f"{kind}.{method}() has been called with additional keyword arguments that this model does not use: "
                f"{unknown}. As per {kind}.get_model_kwargs(), this model does not accept any additional keyword "
                "arguments."
            )


def shows_progress(asked: bool | None) -> bool:
    """Whether to show progress: yes if requested, or if the log level is INFO or DEBUG."""
    return LOGGER.getEffectiveLevel() in (logging.INFO, logging.DEBUG) if asked is None else bool(asked)


def accepts_older_names(unused: tuple[str, ...] = (), **renames: str) -> Callable[[Method], Method]:
    """Create a decorator that renames options given under older names.

    Options in `unused`, which no longer have an effect, are dropped; a current name takes precedence over an old one.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def renaming(self: Any, *arguments: Any, **options: Any) -> Any:
            older = {renames[name]: value for name, value in options.items() if name in renames}
            current = {name: value for name, value in options.items() if name not in (*renames, *unused)}
            return method(self, *arguments, **(older | current))

        return renaming  # type: ignore[return-value]

    return decorate
