"""The report of a choice: the verdict in words, and a table of all candidates with intervals and cost."""

from ...wording import counted
from ..choice import Choice, Entrant
from .text_table import TextTable, paragraph

WIDTH = 120
COLUMNS = ("items", "score [interval]", "behind by [interval]", "CPU s per million texts", "bytes per vector", "")


def format_choice(choice: Choice) -> str:
    """The report as text, up to 120 columns wide."""
    leader = "leads" if choice.verdict == "undecided" else "chosen"
    rows = tuple(_row(entrant, leader) for entrant in choice.entrants)
    table = TextTable(COLUMNS, rows, left_aligned=frozenset([""])).text()
    return "\n\n".join([paragraph(verdict(choice), WIDTH), table, paragraph(_method(choice), WIDTH), *choice.notes])


def verdict(choice: Choice) -> str:
    """What was shown, in one or two sentences."""
    points = 100 * choice.rule.margin
    name, margin = choice.best.name, f"{points:g} {'point' if points == 1 else 'points'}"
    items = f"{choice.items:,} of {counted(choice.total, 'item')}"
    if choice.verdict == "winner":
        return f"{name} is the best: after {items}, every other candidate has lost."
    if choice.verdict == "tie":
        left = sum(entrant.state == "within margin" for entrant in choice.entrants)
        return (
            f"{name} is good enough: after {items}, {counted(left, 'other candidate is', 'other candidates are')} "
            f"left, and none of them is better by {margin} or more."
        )
    more = "no number of items would settle it; a larger margin might"
    if choice.needed:
        more = f"about {choice.needed:,} items would settle it; a larger margin needs fewer"
    return (
        f"Undecided: {name} leads after {items}, but another candidate could still be better by {margin} or "
        f"more. If the difference stays as it is, {more}."
    )


def _row(entrant: Entrant, leader: str) -> tuple[str, ...]:
    behind = "" if entrant.behind is None else str(entrant.behind)
    cost = f"{entrant.cpu_seconds:,.0f}"
    size = f"{entrant.bytes_per_vector:,}"
    state = leader if entrant.state == "chosen" else entrant.state
    return (entrant.candidate.name, f"{entrant.items:,}", str(entrant.score), behind, cost, size, state)


def _method(choice: Choice) -> str:
    rule = choice.rule
    return (
        f"{choice.data}: {choice.metric}; × 100. Items are scored in random order (seed {rule.seed}); intervals hold "
        f"simultaneously at every number of items ({100 * (1 - rule.alpha):g} % each, by betting). The probability of "
        f"a wrong winner or tie is at most {rule.alpha:g}, corrected for {counted(len(choice.entrants), 'candidate')}. "
        "Texts longer than a model's maximum length are truncated. CPU seconds are measured on this machine; bytes are "
        "those of an fp32 vector."
    )
