"""The only path from texts to an encoder's input: check the texts, prepend the prompt, tokenize, split into windows."""

import warnings
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence, Set, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, repeat, takewhile
from typing import Any

import numpy as np

from ..array_types import Float, Int
from ..arrays.sequences import Sequences
from ..errors import BadInput
from ..native.tokenizing import EncodedTexts
from .tokenizer import Tokenizer
from .truncation import caller_stacklevel

CHUNK_TEXTS = 16_384  # texts per chunk: enough to find equal lengths, few enough to keep in memory
CHUNK_CHARACTERS = 1 << 24  # characters per chunk, so that long texts do not fill the memory


def text_chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in order, in lists of bounded size."""
    chunk: list[str] = []
    characters = 0
    if not is_list_of_rows(texts):
        raise BadInput(f"expected a list, a column or an iterator of texts, got {_not_rows(texts)}")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            text = checked_text(text, f"texts[{i}]")
        chunk.append(text)
        characters += len(text)
        if len(chunk) == CHUNK_TEXTS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def count_texts(texts: Iterable[str]) -> int | None:
    """The number of texts, if it is known without iterating over them."""
    try:
        return len(texts) if isinstance(texts, Sized) else None
    except TypeError:  # such as a 0-dimensional array, which `text_chunks` rejects
        return None


def is_list_of_rows(given: object, dimensions: int = 1) -> bool:
    """Whether something has rows in order: a list, a column or an iterator, but not a text, mapping, set or frame."""
    unordered = isinstance(given, Mapping | Set) and not isinstance(given, KeysView)
    if isinstance(given, str | bytes | bytearray | type) or unordered or not isinstance(given, Iterable):
        return False
    return 1 <= getattr(given, "ndim", 1) <= dimensions


def _not_rows(given: Any) -> str:
    """What was given instead of rows, and what to do about it."""
    kind = type(given).__name__
    if isinstance(given, str | bytes | bytearray):
        return f"a single {kind}; put it in a list: [text]"
    if isinstance(given, Mapping | Set):
        return f"a {kind}; pass a list, which has an order"
    dimensions = getattr(given, "ndim", 1)
    if isinstance(dimensions, int) and dimensions > 1:
        return f"a {kind} with {dimensions} dimensions; select one column"
    return describe_value(given)


def checked_texts(texts: Iterable[Any], what: str) -> list[str]:
    """Convert to a list of texts; an error gives the index of the first item that is not a str."""
    if not is_list_of_rows(texts):
        raise BadInput(f"{what} is {describe_value(texts)}; expected a list of texts")
    return [checked_text(text, f"{what}[{i}]") for i, text in enumerate(texts)]


def checked_text(text: Any, name: str) -> str:
    """The text as a str; `name` identifies it in the error."""
    text = text.as_py() if hasattr(text, "as_py") else text  # Arrow's scalars
    if not isinstance(text, str):
        raise BadInput(f"{name} is {describe_value(text)}; expected a str")
    return text


def describe_value(value: Any) -> str:
    """Describe a value for an error message by the beginning of its repr and its type."""
    shown = repr(value)
    return f"{shown if len(shown) <= 40 else shown[:37] + '…'} ({type(value).__name__})"


def resolve_prompt(text: str | None, name: str | None, prompts: Mapping[str, str], default: str | None) -> str:
    """The prompt to prepend: the given text, the model's prompt with this name, or its default prompt, if any."""
    known = ", ".join(map(repr, prompts)) or "(none)"
    if text is not None and name is not None:
        raise BadInput(f"prompt={text!r} and prompt_name={name!r} were both passed; expected one of them, or neither")
    if name is not None:
        if not isinstance(name, str) or name not in prompts:
            raise BadInput(
                f"the model has no prompt named {name!r}; its prompts are {known}. To prepend any other text, pass "
                "prompt=…"
            )
        return prompts[name]
    if text is None:
        return prompts.get(default or "", "")
    if not isinstance(text, str):
        raise BadInput(
            f"prompt is {text!r}; expected a text (for one of the model's prompts, {known}, pass prompt_name=…)"
        )
    same_name = next((own for own in prompts if own.lower() == text.lower()), None)
    if same_name is not None:
        warnings.warn(
            f"{text!r} itself is prepended to each text; for the model's own prompt of that name, pass "
            f"prompt_name={same_name!r}",
            stacklevel=caller_stacklevel(),
        )
    return text


TextOrIds = str | Sequence[int]  # a text or its token ids
TextName = Callable[[int], str]  # maps a text's index to its name in messages
TEXTS: TextName = "texts[{}]".format


@dataclass(frozen=True, eq=False)
class Windows:
    """Encoder inputs: whole texts, their beginnings, or several windows per text, stored consecutively."""

    tokens: Sequences
    """The token ids of each window, including special tokens."""
    places: Int[np.ndarray, " P"]
    """The index of each window within its text, from 0, so that windows of many texts can be joined."""
    content_lengths: Int[np.ndarray, " P"]
    """The number of tokens in each window, excluding special tokens."""
    hidden: Int[np.ndarray, " P"]
    """How many leading tokens the pooling ignores: the prompt and the special tokens before it; usually 0."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def skips(self) -> Int[np.ndarray, " P"] | None:
        """`hidden`, or None if no window hides tokens."""
        return self.hidden if self.hidden.any() else None

    def __getitem__(self, i: int) -> "Windows":
        tokens, at = Sequences(self.tokens[i], self.tokens.lengths[i : i + 1]), slice(i, i + 1)
        return Windows(tokens, self.places[at], self.content_lengths[at], self.hidden[at])

    def __iter__(self) -> "Iterator[Windows]":
        return map(self.__getitem__, range(len(self)))

    @classmethod
    def joined(cls, parts: "Sequence[Windows]") -> "Windows":
        if len(parts) == 1:
            return parts[0]
        tokens = [part.tokens for part in parts]
        return cls(
            Sequences(np.concatenate([one.ids for one in tokens]), np.concatenate([one.lengths for one in tokens])),
            *(np.concatenate([getattr(part, name) for part in parts]) for name in PER_WINDOW),
        )

    @classmethod
    def chosen(cls, places: "Sequence[tuple[Windows, int]]") -> "Windows":
        """The windows at `places`, in order, without a copy if these are exactly the windows of one part."""
        whole = places[0][0]
        if [*places] == [*zip(repeat(whole), range(len(whole)))]:
            return whole
        return cls.joined([of[i] for of, i in places])


PER_WINDOW = ("places", "content_lengths", "hidden")


@dataclass(frozen=True)
class TokenizedTexts:
    """Texts as token ids, each preceded by the prompt's ids, without special tokens or truncation."""

    tokenizer: Tokenizer
    prompt: str
    contents: EncodedTexts

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, inputs: Sequence[TextOrIds], prompt: str, name: TextName = TEXTS
    ) -> "TokenizedTexts":
        """Tokenize each text with the prompt before it; if a text is given as ids, prepend the prompt's ids."""
        given = [(i, one) for i, one in enumerate(inputs) if not isinstance(one, str)]
        texts: Sequence[Any] = inputs
        if prompt or given:
            texts = [prompt + one if isinstance(one, str) else "" for one in inputs]
        tokenized = cls(tokenizer, prompt, tokenizer.encode(texts))
        if not given:
            return tokenized
        rows = tokenized.contents.lists()
        for i, ids in given:
            rows[i] = tokenized.prompt_ids + _given_content(tokenizer, ids, name(i))
        return replace(tokenized, contents=replace(EncodedTexts.of(rows), long_words=tokenized.contents.long_words))

    @cached_property
    def prompt_ids(self) -> list[int]:
        return self.tokenizer.token_ids([self.prompt])[0] if self.prompt else []

    @property
    def used(self) -> Int[np.ndarray, " N"]:
        """The number of tokens in each text's first window, not counting those that stand for over-long words."""
        limit, words, lengths = self.tokenizer.max_content_length, self.contents.long_words, self.contents.lengths
        unread = np.bincount(words[words[:, 1] < limit, 0], minlength=len(lengths))
        return np.asarray(np.minimum(lengths, limit) - unread)

    def windows(self, *, hides_prompt: bool = False, overlapping: bool = False) -> Windows:
        """The beginning of each text, up to the model's limit; if `overlapping`, windows that cover the whole text.

        Raises:
            BadInput: the prompt alone reaches the limit, so that all texts would get the same vector.
        """
        limit = self.tokenizer.max_content_length
        if self.prompt and (self.contents.lengths >= limit).any():
            self.tokenizer.room_after(self.prompt_ids)
        hidden = len(self.tokenizer.prefix) + len(self.prompt_ids) if hides_prompt and self.prompt else 0
        if overlapping and (self.contents.lengths > limit).any():
            return self._overlapping(hidden)
        read, count = self.contents.first(limit), len(self.contents.lengths)
        return Windows(self.tokenizer.framed(read), np.zeros(count, np.int64), read.lengths, np.full(count, hidden))

    def _overlapping(self, hidden: int) -> Windows:
        """The windows of every text; long texts have several, evenly spread, each beginning with the prompt.

        A tokenizer may merge the end of a prompt with the text that follows; later windows then begin with the tokens
        that the prompt alone and the prompt with the text have in common.
        """
        windows, places, hides = list[list[int]](), list[int](), list[int]()
        for content in self.contents.lists():
            same = (a == b for a, b in zip(self.prompt_ids, content, strict=False))
            shared = self.prompt_ids[: len(list(takewhile(bool, same)))]
            of_text = self.tokenizer.windows(content, shared)
            windows += of_text
            places += range(len(of_text))
            hides += [hidden] + [hidden and len(self.tokenizer.prefix) + len(shared)] * (len(of_text) - 1)
        read = Sequences.of(windows)
        return Windows(self.tokenizer.framed(read), np.asarray(places), read.lengths, np.asarray(hides))


def _given_content(tokenizer: Tokenizer, ids: Sequence[int], name: str) -> list[int]:
    """Check ids given instead of a text, and remove the special ones around them, if any."""
    unknown = next((i for i in ids if not 0 <= i < tokenizer.vocabulary), None)
    if unknown is not None:
        raise BadInput(
            f"{name} contains the token id {unknown}; this model's ids are 0 to {tokenizer.vocabulary - 1:,}"
        )
    start, stop = len(tokenizer.prefix), len(ids) - len(tokenizer.suffix)
    framed = start <= stop and tuple(ids[:start]) == tokenizer.prefix and tuple(ids[stop:]) == tokenizer.suffix
    return list(ids[start:stop] if framed else ids)


def check_readable(inputs: Sequences, tokenizer: Tokenizer, vocabulary: int, name: TextName) -> None:
    """Check that an encoder with this vocabulary size can read its inputs, special tokens included."""
    if not inputs.lengths.all():
        empty = name(int(np.argmin(inputs.lengths)))
        raise BadInput(f"{empty} has no tokens, and this model adds no special tokens")
    if tokenizer.vocabulary <= vocabulary:  # in most models, every id has a vector
        return
    unknown = tokenizer.first_out_of_vocabulary(inputs, vocabulary)
    if unknown is not None:
        raise BadInput(f"{name(unknown[0])} holds the token {unknown[1]!r}, for which the encoder has no vector")


def mean_of_windows(pooled: Float[np.ndarray, "P W"], windows: Windows) -> Float[np.ndarray, "N W"]:
    """The pooled vector of each text; for a text with several windows, their mean weighted by tokens.

    A text with a single window keeps its exact vector, so it does not depend on the other texts.
    """
    starts = np.flatnonzero(windows.places == 0)
    means = pooled[starts]
    for text, (start, stop) in enumerate(pairwise([*starts.tolist(), len(windows)])):
        if stop - start > 1:
            weights = windows.content_lengths[start:stop].astype(np.float32)
            means[text] = (pooled[start:stop] * weights[:, None]).sum(0) / weights.sum()
    return means
