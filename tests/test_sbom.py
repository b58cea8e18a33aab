"""The bill of materials lists what is needed, directly or not, and says of what it does not know that it does not."""

import hashlib
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from release.sbom import Package, bill, component, dependency_edges, installed, main, requirements_of

LIKEWISE = """Metadata-Version: 2.4
Name: likewise
Version: 0.1.0
License-Expression: Apache-2.0
Requires-Dist: numpy>=1.26
Requires-Dist: uvloop; sys_platform == 'no such system'
Provides-Extra: serve
Requires-Dist: Star_Lette[full]>=0.46; extra == 'serve'
Requires-Dist: absent>=1; extra == 'serve'
"""
OTHERS = {
    "numpy": "Name: numpy\nVersion: 2.0+cpu\nClassifier: License :: OSI Approved :: BSD License\n",
    "starlette": "Name: star-lette\nVersion: 1\nLicense: BSD\n"
    "Requires-Dist: anyio\nRequires-Dist: jinja; extra == 'full'\n",
    "anyio": "Name: anyio\nVersion: 4\nRequires-Dist: star-lette\n",
    "jinja": "Name: jinja\nVersion: 3\nLicense: a text\n of many lines\n",
}
NAMES = [f"p{i}" for i in range(6)]


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "likewise-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("likewise-0.1.0.dist-info/METADATA", LIKEWISE)
        archive.writestr("likewise/bundled/small/model.safetensors", b"weights")
        archive.writestr("likewise/bundled/small/README.md", "---\nlicense: apache-2.0\n---\n")
    return path


@pytest.fixture
def site(tmp_path):
    for name, metadata in OTHERS.items():
        folder = tmp_path / "site" / f"{name}-1.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}\n")
    return tmp_path / "site"


def bills(wheel, site, into):
    main([str(wheel), "--site", str(site), "--into", str(into)])
    return {path.name: json.loads(path.read_text()) for path in into.iterdir()}


def test_the_core_and_each_extra_have_a_file_with_all_that_they_need(wheel, site, tmp_path):
    found = bills(wheel, site, tmp_path / "out")
    assert {name: [one["name"] for one in each["components"]] for name, each in found.items()} == {
        "likewise-0.1.0.cdx.json": ["numpy", "small"],
        "likewise-0.1.0-serve.cdx.json": ["absent", "anyio", "jinja", "numpy", "star-lette", "small"],
    }


def test_what_is_not_installed_has_no_version_and_a_mark(wheel, site, tmp_path):
    absent = bills(wheel, site, tmp_path / "out")["likewise-0.1.0-serve.cdx.json"]["components"][0]
    assert absent["properties"] == [{"name": "likewise:installed", "value": "false"}] and "version" not in absent


def test_a_model_has_the_digest_of_its_weights_and_its_cards_licence(wheel, site, tmp_path):
    model = bills(wheel, site, tmp_path / "out")["likewise-0.1.0.cdx.json"]["components"][-1]
    assert model["type"] == "machine-learning-model" and model["licenses"] == [{"license": {"name": "apache-2.0"}}]
    assert model["hashes"][0]["content"] == hashlib.sha256(b"weights").hexdigest()


def test_the_same_wheel_and_packages_give_the_same_bytes(wheel, site, tmp_path):
    for into in ("first", "second"):
        main([str(wheel), "--site", str(site), "--into", str(tmp_path / into)])
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()


def test_licences_are_expressions_or_names_and_texts_of_many_lines_are_left_out(site):
    known = installed([site])
    assert component(known["numpy"])["licenses"] == [{"license": {"name": "BSD License"}}]
    assert component(known["star-lette"])["licenses"] == [{"license": {"name": "BSD"}}]
    assert "licenses" not in component(known["jinja"])


def test_a_version_is_quoted_in_a_package_url(site):
    assert component(installed([site])["numpy"])["purl"] == "pkg:pypi/numpy@2.0%2Bcpu"


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "gone"]), max_size=3)))
def test_dependencies_are_those_that_repeated_growing_finds(graph):
    known = {name: Package(name, "1", requirements=tuple(needs)) for name, needs in graph.items()}
    reached = {"p0"}
    for _ in NAMES:
        reached |= {Requirement(text).name for name in reached & known.keys() for text in known[name].requirements}
    edges = dependency_edges("p0", "", known)
    assert set(edges) == reached
    assert all(edges[name] == {one.name for one in requirements_of(known.get(name), "")} - {name} for name in edges)


def test_every_reference_of_a_bill_is_one_of_its_components(site):
    likewise = Package("likewise", "0.1.0", requirements=("star-lette[full]", "absent"))
    made = bill(likewise, "", installed([site]) | {"likewise": likewise}, [])
    listed = {made["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in made["components"])}
    assert {edge["ref"] for edge in made["dependencies"]} == listed
    assert {ref for edge in made["dependencies"] for ref in edge["dependsOn"]} <= listed
