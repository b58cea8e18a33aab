"""A table of two systems that need no model: figures are read from a dictionary."""

from dataclasses import dataclass, field

from papers.paper_table import Effort, Experiment, ExperimentResult, Measured, PaperRow, PaperTable, System

EFFORT = Effort(("tiny",), ("tuned",), seeds=2)


@dataclass
class FakeMethod:
    """An experiment for every seed, or one without; `computed` counts them, `error` is raised instead."""

    figures: dict[str, Measured]
    seeds: bool = False
    data: tuple[str, ...] = ()
    error: BaseException | None = None
    computed: list[int | None] = field(default_factory=list)

    def experiments(self, system: str, table: PaperTable, effort: Effort) -> list[Experiment]:
        return [self.experiment(system, seed) for seed in (range(effort.seeds) if self.seeds else [None])]

    def experiment(self, system: str, seed: int | None) -> Experiment:
        def compute(folder):
            self.computed.append(seed)
            if self.error is not None:
                raise self.error
            shift = 2 * (seed or 0)
            return ExperimentResult({c: Measured(f.value + shift, f.low, f.high, f.n) for c, f in self.figures.items()})

        identity = lambda: {"of": system}  # noqa: E731
        return Experiment(system, "tiny", tuple(self.figures), "as it is", seed, False, identity, compute)


def fake_table(**more) -> PaperTable:
    """One system within the paper's noise, one better by two seeds, one that the paper does not have."""
    systems = (
        System("plain", FakeMethod({"a": Measured(50.0, 49.0, 51.0, 100), "b": Measured(10.0, 9.0, 11.0, 9)}), "Plain"),
        System("trained", FakeMethod({"a": Measured(60.0)}, seeds=True), "Trained"),
        System("own", FakeMethod({"b": Measured(1.0, 0.5, 1.5, 9)}), claim="it is above 0"),
    )
    known = {"columns": {"a": "A", "b": "B"}, "paper": (
        PaperRow("Plain", {"a": 50.5, "b": 20.0}), PaperRow("Trained", {"a": 30.0}, {"a": 0.5}),
    ), "systems": systems}  # fmt: skip
    return PaperTable("fake", "A fake table", "Nobody 2020", "Nothing is measured.", **{**known, **more})
