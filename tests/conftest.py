"""What all tests share: shapes checked at run time, one thread, and models small enough to read."""

from jaxtyping import config

from tests.checks import check_shapes

check_shapes()  # before anything imports likewise

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from likewise import Embedder
from tests.native_library import NATIVE
from tests.tiny import model_folder
from tests.without_torch import TORCH, WithoutTorch

if TORCH:
    import torch

    torch.set_num_threads(1)
settings.register_profile(
    "likewise",
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("same", settings.get_profile("likewise"), derandomize=True)
settings.load_profile("likewise" if os.environ.get("LIKEWISE_FUZZ") else "same")  # `make fuzz` draws other examples


def pytest_configure(config: pytest.Config) -> None:
    if not TORCH:
        config.pluginmanager.register(WithoutTorch())


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A family's name to a folder with a model of it; made once, to be read only."""
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = model_folder(tmp_path_factory.mktemp(family), family)
        return made[family]

    return folder


@pytest.fixture
def own(tmp_path: Path) -> Callable[..., Path]:
    """A fresh folder with a model, to be changed or broken by the test."""

    def folder(family: str = "bert", **how: object) -> Path:
        return model_folder(tmp_path / f"{family}-{len(list(tmp_path.iterdir()))}", family, **how)

    return folder


@pytest.fixture(scope="session")
def tiny(folders: Callable[[str], Path]) -> Embedder:
    """A BERT of three blocks and 32 numbers, mean pooling, unit length, by torch; not to be changed."""
    return Embedder.load(folders("bert"), engine="torch")


@pytest.fixture(scope="session")
def best_without_torch() -> str:
    """The class of embedders that is the default where torch is not installed."""
    return "NativeEmbedder" if NATIVE else "NumpyEmbedder"


@pytest.fixture(scope="session")
def embedders(folders: Callable[[str], Path]) -> Callable[[str], Embedder]:
    """A family's name to an embedder of it by torch; not to be changed."""
    made: dict[str, Embedder] = {}

    def embedder(family: str) -> Embedder:
        if family not in made:
            made[family] = Embedder.load(folders(family), engine="torch")
        return made[family]

    return embedder


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Types are not checked, as in use: the library's own errors are what a wrong argument meets."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
