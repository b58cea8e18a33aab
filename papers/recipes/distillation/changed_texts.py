"""Generates texts by slightly changing others, so that a student learns how its teacher rates small differences.

Similarity is often needed between nearly identical texts, which are rare in corpora. A teacher can rate two texts that
differ in one word, have the same words in another order, or ask for something else in the same words. These texts need
no labels and need not be good English.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

import numpy as np
import torch
from jaxtyping import Float

from likewise.errors import BadInput

from .unlabelled import is_question, letters, tested

LONGEST = 40
"""Maximum number of words in a text to change; in longer texts, one word makes no difference."""
MADE_UP, ASKED = 0.3, 0.2
"""Shares of questions made from a pattern and of changed questions; the rest are changed texts of any kind."""
NEAR = 8
"""Number of nearest words from which a word's replacement is drawn."""
AT_ONCE = 2000
IN_VAIN = 1000
"""Give up after this many consecutive texts that were already known."""
FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an the of in on at to for and or is are was were be been it its this that these those with by from as has
        have had do does did not no can could will would should may might must i you he she they we his her their my
        your our what which who how why when where there than then so but if""",
    )
)
AUXILIARIES = FUNCTION_WORDS & {
    *("is", "are", "was", "were", "can", "could", "do", "does", "did"),
    *("should", "will", "would", "has", "have", "had", "may", "might", "must"),
}
ARTICLES = frozenset(("a", "an", "the", "some"))
PATTERNS = tuple(
    """what is X|what is the best X|how does X work|how do i learn X|what are the best X|how can i get X
    why is X so important|what is the difference between X and Y|is X better than Y|what is the meaning of X
    how do i use X|where can i find X|what are some examples of X|how can i improve my X|why do people like X
    what is it like to have X|which is better X or Y|who invented X|how much does X cost|can i use X for Y
    what happens if you X|should i learn X or Y|what are the benefits of X|what are the side effects of X
    how long does X take|is X bad for you|how do you make X|what causes X|how is X related to Y
    what do you think about X|does X cause Y|how to stop X|how to become a X|why is X not a Y
    what is a good X for Y|is it possible to X without Y|what is your favorite X|how do i get rid of X
    do i need X to Y|what should i know about X""".replace("\n    ", "|").split("|")
)
"""Questions about X, and possibly Y, which are words or phrases."""
CHANGED = "changed"
"""The name, among those of data sets, of the texts made by changing others."""
EDGES = re.compile(r"^\W+|\W+$")
Words = list[str]


def changed_texts(texts: Sequence[str], near: Mapping[str, Words], count: int) -> list[str]:
    """Make `count` distinct new texts, the same ones at each call: changed texts, and questions made from patterns.

    Texts that have the letters and digits of one of `texts` or of a test text are left out.

    Args:
        texts: the texts to change.
        near: for each word, the words that may replace it (`near_words`).
        count: the number of texts to make.
    """
    seen = tested() | {letters(text) for text in texts}
    result: list[str] = []
    in_vain = 0
    for text in Changer(texts, near, Random(0)).texts():
        in_vain = 0 if (form := letters(text)) not in seen else in_vain + 1
        if not in_vain:
            seen.add(form)
            result.append(text)
        if len(result) == count:
            return result
        if in_vain == IN_VAIN:
            break
    raise BadInput(f"only {len(result):,} of {count:,} texts could be made by changing {len(texts):,} texts")


def near_words(vocabulary: Sequence[str], vectors: Float[np.ndarray, "V D"]) -> dict[str, Words]:
    """For each word, the NEAR other words with the largest cosine between unit vectors, nearest first."""
    table = torch.from_numpy(vectors)
    result: dict[str, Words] = {}
    for begin in range(0, len(vocabulary), AT_ONCE):
        cosines = table[begin : begin + AT_ONCE] @ table.T
        nearest = cosines.topk(min(NEAR + 1, len(vocabulary))).indices.tolist()
        for i, row in enumerate(nearest, begin):
            result[vocabulary[i]] = [vocabulary[j] for j in row if j != i][:NEAR]
    return result


class Changer:
    """Makes an endless stream of texts.

    Each function in CHANGES turns the words of a text into those of another, or returns None if it does not apply.
    """

    def __init__(self, texts: Sequence[str], near: Mapping[str, Words], chance: Random) -> None:
        self.plain = [text for text in texts if 1 < text.count(" ") < LONGEST] or list(texts)
        self.questions = [text for text in self.plain if is_question(text)] or self.plain
        self.near, self.chance = near, chance
        self.vocabulary = sorted(near)

    def texts(self) -> Iterator[str]:
        """Yield changed texts; a text that was made up first is yielded as well, before its changed form."""
        while True:
            kind = self.chance.random()
            made_up = kind < MADE_UP
            if made_up:
                text = self.question()
                yield text
            else:
                text = self.chance.choice(self.questions if kind < MADE_UP + ASKED else self.plain)
            changes = QUESTION_CHANGES if is_question(text) else CHANGES
            if (changed := self.chance.choice(changes)(self, text.split())) is not None:
                yield " ".join(changed)

    def question(self) -> str:
        """A question made from one of the patterns; Y is often near X."""
        x, y = self.phrase(), self.phrase()
        if x in self.near and self.chance.random() < 0.7:
            y = self.chance.choice(self.near[x])
        pattern = self.chance.choice(PATTERNS)
        return " ".join({"X": x, "Y": y}.get(word, word) for word in pattern.split()) + "?"

    def phrase(self) -> str:
        """A word of the vocabulary, or one to three consecutive words of a text."""
        words = self.chance.choice(self.plain).split()
        content = content_words(words)
        if not content or self.chance.random() < 0.45:
            return self.chance.choice(self.vocabulary)
        at = self.chance.choice(content)
        return " ".join(bare(word) for word in words[at : at + self.chance.choice((1, 2, 2, 3))]).strip()

    def replace_words(self, words: Words) -> Words | None:
        """Replace one or two words with words near them."""
        known = [i for i in content_words(words) if bare(words[i]) in self.near]
        if not known:
            return None
        chosen = {*self.chance.sample(known, min(len(known), self.chance.choice((1, 1, 2))))}
        return [self._near(word) if i in chosen else word for i, word in enumerate(words)]

    def _near(self, word: str) -> str:
        return word.lower().replace(bare(word), self.chance.choice(self.near[bare(word)] or [bare(word)]))

    def drop_words(self, words: Words) -> Words | None:
        """Drop one or two words."""
        if len(words) < 4:
            return None
        less = {*self.chance.sample(range(len(words)), self.chance.choice((1, 1, 2)))}
        return [word for i, word in enumerate(words) if i not in less]

    def swap_words(self, words: Words) -> Words | None:
        """Swap two words."""
        content = content_words(words)
        if len(content) < 2:
            return None
        a, b = self.chance.sample(content, 2)
        result = words[:]
        result[a], result[b] = words[b], words[a]
        return result

    def negate(self, words: Words) -> Words | None:
        """Insert `not` after an auxiliary, replace an article with `no`, or remove a `not`."""
        for i, word in enumerate(words):
            if bare(word) == "not":
                return words[:i] + words[i + 1 :]
            if bare(word) in AUXILIARIES and self.chance.random() < 0.8:
                return [*words[: i + 1], "not", *words[i + 1 :]]
            if bare(word) in ARTICLES and self.chance.random() < 0.3:
                return [*words[:i], "no", *words[i + 1 :]]
        return None

    def graft(self, words: Words) -> Words | None:
        """Replace the second half with that of another text."""
        other = self.chance.choice(self.plain).split()
        return None if min(len(words), len(other)) < 4 else words[: len(words) // 2] + other[len(other) // 2 :]

    def shorten(self, words: Words) -> Words | None:
        """Keep only the beginning or the end."""
        if len(words) < 6:
            return None
        at = self.chance.randint(2, len(words) - 2)
        return words[:at] if self.chance.random() < 0.6 else words[-at:]

    def ask_otherwise(self, words: Words) -> Words | None:
        """Replace everything before the first content word with the beginning of another question."""
        other = self.chance.choice(self.questions).split()
        here, there = content_words(words), content_words(other)
        return other[: there[0]] + words[here[0] :] if here and there else None


Change = Callable[[Changer, Words], Words | None]
CHANGES: tuple[Change, ...] = (
    *(Changer.replace_words, Changer.replace_words, Changer.drop_words, Changer.swap_words),
    *(Changer.negate, Changer.graft, Changer.shorten),
)
QUESTION_CHANGES: tuple[Change, ...] = (*CHANGES, Changer.ask_otherwise, Changer.ask_otherwise)


def content_words(words: Sequence[str]) -> list[int]:
    """Positions of words of three or more letters that are not function words."""
    return [i for i, word in enumerate(words) if len(bare(word)) > 2 and bare(word) not in FUNCTION_WORDS]


def bare(word: str) -> str:
    """The word in lower case, without surrounding punctuation."""
    return EDGES.sub("", word).lower()
