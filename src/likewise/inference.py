"""Texts to vectors in the order given, whatever computes them: what torch's embedder and NumPy's have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .errors import BadInput
from .model_files import Manifest
from .runtime.memory import batch_token_budget, check_finite
from .runtime.progress import Advance, Progress, show_progress
from .text.inputs import count_texts, text_chunks
from .text.prompts import resolve_prompt
from .text.tokenizer import Tokenizer
from .text.truncation import Overflow, TruncationCounter, TruncationReport, longest_words
from .text.windows import TextWindow, first_windows, overlapping_windows


class EncodesTexts(ABC):
    """What encodes texts: a tokenizer, a manifest, and a way from pieces of texts to their vectors."""

    tokenizer: Tokenizer
    manifest: Manifest

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers in a vector: E."""

    @property
    @abstractmethod
    def precision(self) -> str:
        """What it computes in."""

    @property
    @abstractmethod
    def _place(self) -> str:
        """The kind of device that it computes on."""

    @property
    @abstractmethod
    def _known(self) -> int:
        """Ids that it has vectors for lie below."""

    @abstractmethod
    def made_of(self) -> dict[str, Any]:
        """Its encoder's kind, layers, width and numbers of weights, its pooling and its heads, as plain values."""

    @abstractmethod
    def _vectors(
        self, pieces: Sequence[TextWindow], hides_prompt: bool, most: int, done: Callable[[int], None]
    ) -> Float[np.ndarray, "n E"]:
        """The vectors of the texts that these are pieces of, in batches of `most` tokens, each batch told to `done`."""

    def encode(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: Overflow = "warn",
        progress: Progress = None,
        batch_tokens: int | None = None,
    ) -> Float[np.ndarray, "N E"]:
        """One vector a text, float32, in the order given.

        Args:
            texts: a list, a NumPy, Arrow or pandas column, or an iterator (which is taken in windows). One bare
                str is refused, so that the result always has two dimensions.
            prompt: a text put before every text, as it is.
            prompt_name: in its place, the name of one of the model's own prompts; where neither is given, the model's
                default prompt is used, if it has one.
            overflow: what to do with a text of more tokens than the model reads: `"error"`; `"warn"` cuts it and
                says so; `"truncate"` cuts it and is silent; `"mean"` reads it in overlapping windows and takes the
                mean of their pooled vectors, weighted by tokens.
            progress: None shows it on a terminal when work takes long; True always, False never; a callable is given
                a `Meter`.
            batch_tokens: tokens of one batch; halved by itself when memory runs out.

        Raises:
            BadInput: a text is no str (its index is named), or an option or the name of a prompt is unknown.
            TooLong: under `overflow="error"`.
            OutOfMemory: one single text does not fit into memory.
        """
        total = count_texts(texts)
        stream = self.encode_stream(
            texts,
            prompt=prompt,
            prompt_name=prompt_name,
            overflow=overflow,
            progress=progress,
            batch_tokens=batch_tokens,
        )
        if total is None:
            return np.concatenate([np.empty((0, self.width), np.float32), *stream])
        vectors, done = np.empty((total, self.width), np.float32), 0
        for block in stream:
            if done + len(block) > total:
                raise BadInput(f"texts say that there are {total:,} of them, and gave {done + len(block):,} or more")
            vectors[done : done + len(block)] = block
            done += len(block)
        return vectors[:done]

    def encode_stream(
        self,
        texts: Iterable[str],
        *,
        prompt: str | None = None,
        prompt_name: str | None = None,
        overflow: Overflow = "warn",
        progress: Progress = None,
        batch_tokens: int | None = None,
    ) -> Iterator[Float[np.ndarray, "n E"]]:
        """As `encode`, a block of rows at a time, so that neither texts nor vectors need fit into memory."""
        most = batch_token_budget(batch_tokens, self._place)
        lead = self._prompt(prompt, prompt_name)
        tally = self._tally(overflow)

        def blocks() -> Iterator[Float[np.ndarray, "n E"]]:
            try:
                with show_progress(progress, count_texts(texts)) as advance:
                    for window in text_chunks(texts):
                        yield self._encode_window(window, lead, most, tally, advance)
            finally:
                tally.warn()  # also of what was cut before someone stopped

        return blocks()

    def encode_report(
        self, texts: Iterable[str], *, prompt: str | None = None, prompt_name: str | None = None
    ) -> TruncationReport:
        """How many tokens each text has, and how many of them the model reads; nothing is encoded."""
        lead, room = self._prompt(prompt, prompt_name), self.tokenizer.room
        lengths: list[int] = []
        wasted: list[int] = []  # of the tokens that fit, those that stand for words too long to be read
        unread: dict[int, int] = {}
        for window in text_chunks(texts):
            given = [lead + text for text in window]
            contents = self.tokenizer.contents(given)
            words = self.tokenizer.unread(given, contents)
            wasted += [sum(place < room for place, _ in words.get(i, ())) for i in range(len(given))]
            unread |= {len(lengths) + i: sum(length for _, length in found) for i, found in words.items()}
            lengths += [len(content) for content in contents]
        tokens = np.asarray(lengths, dtype=np.int64)
        used = np.minimum(tokens, room) - np.asarray(wasted, dtype=np.int64)
        return TruncationReport(tokens=tokens, used=used, unread=unread)

    def pieces(
        self, texts: Sequence[str], *, prompt: str | None = None, prompt_name: str | None = None
    ) -> list[list[str]]:
        """The word pieces that the model reads of each text, in the order of `encode_tokens`."""
        lead = self._prompt(prompt, prompt_name)
        contents = [
            c for window in text_chunks(texts) for c in self.tokenizer.contents([lead + text for text in window])
        ]
        return [self.tokenizer.tokens(content[: self.tokenizer.room]) for content in contents]

    def lead(self) -> str:
        """The prompt that goes before a text where none is told."""
        return self._prompt(None, None)

    def _prompt(self, prompt: str | None, prompt_name: str | None) -> str:
        return resolve_prompt(prompt, prompt_name, self.manifest.prompts, self.manifest.default_prompt)

    def _tally(self, overflow: Overflow) -> TruncationCounter:
        tokenizer = self.tokenizer
        skips = tokenizer.unknown is not None
        return TruncationCounter(tokenizer.room, overflow, skips=skips, word_limit=tokenizer.longest_word)

    def _encode_window(
        self, window: list[str], lead: str, most: int, tally: TruncationCounter, advance: Advance
    ) -> Float[np.ndarray, "n E"]:
        """Distinct texts to vectors, then a row for every text."""
        distinct = {text: i for i, text in enumerate(dict.fromkeys(window))}
        rows = np.fromiter((distinct[text] for text in window), np.int64, len(window))
        given = [lead + text for text in distinct]
        contents = self.tokenizer.contents(given)
        lengths = np.asarray([len(content) for content in contents], np.int64)[rows]
        tally.add(lengths, longest_words(self.tokenizer.unread(given, contents), rows))
        if not self.tokenizer.framed([]) and not lengths.all():
            index = tally.texts - len(window) + int(np.flatnonzero(lengths == 0)[0])
            raise BadInput(f"texts[{index}] has no tokens, and this model puts no special ones around a text")
        lead_ids = self.tokenizer.contents([lead])[0] if lead else []
        cut = overlapping_windows if tally.overflow == "mean" else first_windows
        pieces = cut(self.tokenizer, contents, lead_ids)
        self._check_known(pieces, rows, tally.texts - len(window))
        share = len(window) / sum(len(piece.ids) for piece in pieces)  # texts that a token stands for: even progress
        hides_prompt = bool(lead) and not self.manifest.include_prompt
        vectors = self._vectors(pieces, hides_prompt, most, lambda tokens: advance(share * tokens, tokens))
        if len(distinct) < len(window):
            vectors = vectors[rows]
        check_finite(vectors, "texts", tally.texts - len(window), self.precision)
        return vectors

    def _check_known(self, pieces: Sequence[TextWindow], rows: Int[np.ndarray, " n"], start: int) -> None:
        """Ids that the encoder has no vector for."""
        strange = self.tokenizer.strange([piece.ids for piece in pieces], self._known)
        if strange is not None:
            index = start + int(np.flatnonzero(rows == pieces[strange[0]].owner)[0])
            raise BadInput(f"texts[{index}] holds the token {strange[1]!r}, for which the encoder has no vector")
