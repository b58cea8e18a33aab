"""What the documentation shows runs: a page's blocks of Python and of a shell, in their order, in an empty folder."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import likewise

from ..tiny import classifier_folder, model_folder
from .page_setups import NOT_RUN, OUTSIDE, OWN_SERVER, SETUPS, SMALL_MODEL, NotRun
from .pages import HISTORY, PAGES, Block, blocks, blocks_of

RUN = ("python", "sh")
WITH_CODE = [page for page in PAGES if page not in HISTORY and any(one.language in RUN for one in blocks_of(page))]
RERANKER = "cross-encoder/ms-marco-MiniLM-L6-v2"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Small models under the names that pages use: those of the hub, and where a page trains, the bundled one too."""
    folders = {small: tmp_path_factory.mktemp("models") for small in (True, False)}
    for small, folder in folders.items():
        classifier_folder(folder / RERANKER)
        for name in ("all-MiniLM-L6-v2", "avg-glove", *["likewise-mini"] * small):
            model_folder(folder / name, "bert")
    return folders


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty working folder, a home and a cache that are nobody's, `likewise` as a command; no data sets, no hub."""
    folders = {name: tmp_path / name for name in ("work", "home", "bin", "data")}
    for folder in folders.values():
        folder.mkdir()
    command = folders["bin"] / "likewise"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m likewise "$@"\n')
    command.chmod(0o755)
    monkeypatch.chdir(folders["work"])
    source = Path(likewise.__file__).parents[1]
    paths = {"PATH": f"{folders['bin']}:{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(source)}
    homes = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), folders["home"])
    homes["MPLCONFIGDIR"] = Path.home() / ".cache" / "matplotlib"  # its list of fonts takes seconds
    for name, value in {**paths, **homes, "LIKEWISE_DATA": folders["data"], "HF_HUB_OFFLINE": "1"}.items():
        monkeypatch.setenv(name, str(value))
    return folders["work"]


def listed(block: Block) -> NotRun | None:
    """The entry of a block in the list of those that are not run."""
    return next((one for one in NOT_RUN if one.page == block.page and one.phrase in block.text), None)


def not_run(block: Block) -> NotRun | None:
    """The entry of a block, unless the package that it needs is installed."""
    entry = listed(block)
    return None if entry is None or (entry.package and find_spec(entry.package)) else entry


def run_shell(block: Block) -> None:
    """Run a block of a shell up to the first command that fails."""
    script = re.sub(r"^\$ ", "", block.text, flags=re.MULTILINE)
    done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


def run_python(block: Block, names: dict) -> None:
    """Run a block of Python in a namespace; one that is listed as not run must fail as the list says."""
    entry = not_run(block)
    error = None
    try:
        exec(compile(block.text.replace("…", "..."), str(block), "exec"), names)
    except Exception as raised:
        error = raised
    if entry is None and error is not None:
        raise AssertionError(f"{block}\n{type(error).__name__}: {error}") from error
    if entry is not None:
        wanted = entry.error or f"(MissingExtra|ModuleNotFoundError)(?s:.*){entry.package.replace('_', '.')}"
        assert error and re.search(wanted, f"{type(error).__name__}: {error}"), f"{entry} is no reason: {error!r}"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", WITH_CODE)
def test_the_blocks_of_a_page_run_from_top_to_bottom(page, place, models, monkeypatch):
    monkeypatch.setenv("LIKEWISE_MODELS", str(models[page in SMALL_MODEL]))
    names: dict = {}
    before = dict(sys.modules)
    exec(SETUPS.get(page, ""), names)
    try:
        for block in [one for one in blocks_of(page) if one.language in RUN]:
            if block.language == "python":
                run_python(block, names)
            elif block.reason is None:
                run_shell(block)
    finally:
        for name in [name for name in sys.modules if name.startswith("sentence_transformers") and name not in before]:
            del sys.modules[name]  # what stand_in() does
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(place)


def test_every_entry_of_the_lists_is_about_a_block_that_there_is():
    assert {*SETUPS} <= {*WITH_CODE}
    assert not [entry for entry in NOT_RUN if entry not in [listed(block) for block in blocks("python")]]


@pytest.mark.parametrize("block", blocks("sh"), ids=str)
def test_a_shells_block_is_run_unless_it_needs_more_than_an_empty_folder(block):
    needs = re.search(rf"^(\$ )?({OUTSIDE})", block.text, re.MULTILINE)
    has_server = re.search(OWN_SERVER, block.text, re.MULTILINE)
    assert bool(needs and not has_server) == (block.reason is not None)
