"""Packages whose names arrive with their first use."""

from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

from likewise.errors import MissingExtra
from likewise.runtime import lazy_imports
from likewise.runtime.lazy_imports import lazy_names, require_torch, torch_hint


@pytest.mark.parametrize("package", ["likewise", "likewise.evaluate", "likewise.train"])
def test_what_is_listed_is_what_arrives(package):
    module = import_module(package)
    assert sorted({*module.__all__, *dir(module)} - {"__version__"}) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match=f"{package} has no 'nothing'; available names: "):
        _ = module.nothing


def test_a_package_that_lacks_torch_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "__init__.py").touch()
    (tmp_path / "house" / "room.py").write_text("raise ModuleNotFoundError('no torch', name='torch')")
    (tmp_path / "house" / "other.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path)
    attribute, listed = lazy_names("house", {"room": ["Chair"], "other": ["Table"]}, ["more"])
    assert listed() == ["Chair", "Table", "more"]
    with pytest.raises(MissingExtra, match="house.Chair needs the package torch"):
        attribute("Chair")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        attribute("Table")


@pytest.mark.parametrize("torch", [True, False])
def test_names_that_need_torch_are_listed_where_it_is(torch, tmp_path, monkeypatch):
    (tmp_path / "villa").mkdir()
    (tmp_path / "villa" / "__init__.py").touch()
    (tmp_path / "villa" / "room.py").write_text("Chair = 1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(lazy_imports, "has_torch", lambda: torch)
    attribute, listed = lazy_names("villa", {"room": []}, needs_torch=["room"])
    assert listed() == ["room"] * torch and attribute("room").Chair == 1
    assert torch_hint().startswith(
        'engine="torch", which is installed' if torch else "For more models, precisions and devices"
    )
    with nullcontext() if torch else pytest.raises(MissingExtra, match="a villa needs the package torch"):
        require_torch("a villa")


@pytest.mark.parametrize("package", ["likewise.evaluate", "likewise.train"])
def test_no_name_is_hidden_by_a_module_of_the_same_name(package):
    module = import_module(package)
    assert not {name for name in module.__all__ if find_spec(f"{package}.{name}")}
    assert not [name for name in module.__all__ if isinstance(getattr(module, name), ModuleType)]
