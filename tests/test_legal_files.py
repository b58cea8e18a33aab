"""Version, licence and sources are stated alike in every file that states them."""

import re
import tomllib
from pathlib import Path

import pytest

import likewise
from likewise.data.catalogue import DATASETS
from likewise.model_files.names import PACKAGED_MODELS, RECOMMENDED_MODEL

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
BUNDLED = ROOT / "src" / "likewise" / "bundled"
BUNDLED_MODELS = [name for name, model in PACKAGED_MODELS.items() if model.package == "likewise"]
ROW = re.compile(r"^\| (\w+)/[\w-]+ \| [^|]+ \| [^|]+ \| ([^|]+) \|", re.MULTILINE)


def of_citation(field: str) -> str:
    return re.search(rf"^{field}: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)[1]


def test_the_version_is_the_same_everywhere():
    assert likewise.__version__ == PROJECT["version"] == of_citation("version")


def test_the_licence_is_the_same_everywhere():
    assert PROJECT["license"] == of_citation("license") == "Apache-2.0"
    assert all((ROOT / name).read_text("utf-8").strip() for name in PROJECT["license-files"])


@pytest.mark.parametrize("model", BUNDLED_MODELS)
def test_the_notice_names_all_data_that_a_bundled_model_learned_from_with_their_licences(model):
    notice = (ROOT / "NOTICE").read_text("utf-8")
    sources = {*ROW.findall((BUNDLED / model / "README.md").read_text("utf-8"))}
    assert model in notice and len(sources) == 4
    for name, licence in sources:
        assert re.search(rf"^  {name} +{re.escape(licence)} ", notice, re.MULTILINE), name
        assert DATASETS[name].licence == licence


def test_every_bundled_model_is_in_the_notice():
    assert sorted(BUNDLED_MODELS) == sorted(path.name for path in BUNDLED.iterdir() if path.is_dir())


@pytest.mark.parametrize("model", BUNDLED_MODELS)
def test_every_bundled_model_is_offered_under_the_same_terms(model):
    card = (BUNDLED / model / "README.md").read_text("utf-8")
    source = (ROOT / "papers" / "recipes" / "distillation" / "bundle.py").read_text("utf-8")  # importing it needs torch
    licence = re.search(r'^LICENCE = """(.*?)"""', source, re.DOTALL | re.MULTILINE)[1]
    before, after = map(re.escape, licence.split("{teachers}"))
    teachers = re.search(f"{before}as its teacher (.*?){after}", card, re.DOTALL)
    assert teachers and RECOMMENDED_MODEL in teachers[1] and "\nlicense: apache-2.0\n" in card
    assert "([NOTICE](NOTICE))" in (ROOT / "README.md").read_text("utf-8")
