"""What is in dist/: all of the package, nothing else, with its licences, and no larger than it may be."""

import json
import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import PurePosixPath

import pytest
from packaging.requirements import Requirement

from likewise.source_commit import BUILD_FILE
from release.limits import CORE_PACKAGES, IMPORTS, NEVER_IMPORTED, SIZES

from .installations import DIST, ROOT, built

NOT_SOURCES = ("__pycache__", ".so", ".dylib", ".dll")
COMMANDS = {
    "import likewise": "import likewise",
    "likewise --version": "from likewise.cli import main; main(['--version'])",
    "likewise --help": "from likewise.cli import main; main(['--help'])",
    "first vector": "from likewise import Embedder; Embedder.load().encode(['A cat.'], show_progress_bar=False)",
}
COUNT = """
import atexit, json, sys
before = set(sys.modules)
atexit.register(lambda: print(json.dumps(sorted(set(sys.modules) - before))))
{}
"""


@pytest.fixture(scope="module")
def wheel():
    with zipfile.ZipFile(built("likewise-*.whl")) as archive:
        yield archive


@pytest.fixture(scope="module")
def sdist():
    with tarfile.open(built("likewise-*.tar.gz")) as archive:
        yield {name.partition("/")[2] for name in archive.getnames()}


def sources() -> set[str]:
    """Every file of the package in the checkout."""
    files = (path.relative_to(ROOT / "src") for path in (ROOT / "src" / "likewise").rglob("*") if path.is_file())
    return {path.as_posix() for path in files if not any(part in path.as_posix() for part in NOT_SOURCES)}


def test_the_wheel_has_the_whole_package_its_commit_and_its_compiled_library_and_no_more(wheel):
    files = {name for name in wheel.namelist() if name.startswith("likewise/")}
    extra = {name for name in files - sources() if "likewise_native" not in name}
    assert sources() - files == set() and extra == {f"likewise/{BUILD_FILE}"}
    assert len([name for name in files if PurePosixPath(name).stem == "likewise_native"]) == 1
    others = {PurePosixPath(name).parts[0] for name in wheel.namelist()} - {"likewise"}
    assert all(name.endswith(".dist-info") for name in others)


def test_the_source_distribution_has_what_builds_and_explains_it(sdist):
    assert {f"src/{name}" for name in sources()} | {f"src/likewise/{BUILD_FILE}"} <= sdist
    native = {path.relative_to(ROOT).as_posix() for path in (ROOT / "native").rglob("*.[ch]*")}
    assert native | {"native/compile.py", "hatch_build.py", "NOTICE", "LICENSE", "SECURITY.md", "CITATION.cff"} <= sdist
    assert not [name for name in sdist if name.startswith(("tests", "benchmarks", "docs", ".venv", "build", "dist"))]
    assert not [name for name in sdist if name.endswith((".so", ".pyc"))]


def test_the_wheel_carries_licence_notes_and_the_mark_of_types(wheel):
    names = {PurePosixPath(name).name for name in wheel.namelist() if ".dist-info/licenses/" in name}
    assert names == {"LICENSE", "NOTICE"} and "likewise/py.typed" in wheel.namelist()


def test_without_extras_the_wheel_requires_the_core_packages_alone(wheel):
    file = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    needed = [Requirement(text) for text in HeaderParser().parsestr(wheel.read(file).decode()).get_all("Requires-Dist")]
    assert {one.name for one in needed if one.marker is None} == set(CORE_PACKAGES)


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        *(("likewise-*.whl", "wheel"), ("likewise-*.tar.gz", "sdist")),
        *(("likewise_small-*.whl", "likewise-small"), ("likewise_multi-*.whl", "likewise-multi")),
    ],
)
def test_a_file_is_no_larger_than_it_may_be(pattern, what):
    assert built(pattern).stat().st_size <= SIZES[what]


def test_what_is_installed_is_no_larger_than_it_may_be(installed):
    files = [path for path in installed("wheel").package.rglob("*") if "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files if path.is_file()) <= SIZES["installed"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_no_more_than_it_may(command, installed):
    loaded = set(installed("wheel").evaluate(COUNT.format(COMMANDS[command])))
    assert "likewise" in loaded and loaded.isdisjoint(NEVER_IMPORTED[command])
    assert len(loaded) <= IMPORTS[command], sorted(loaded)


def test_the_bill_of_materials_has_the_core_packages_with_their_versions():
    bill = json.loads((DIST / "likewise.cdx.json").read_text("utf-8"))
    assert bill["metadata"]["component"]["name"] == "likewise"
    assert set(CORE_PACKAGES) <= {one["name"] for one in bill["components"] if one["version"]}
