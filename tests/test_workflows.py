"""The workflows for a public forge name targets, extras and versions that exist, and say that nobody has run them."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.name)
def workflow(request):
    return request.param.read_text("utf-8")


def test_there_are_three():
    assert [path.name for path in WORKFLOWS] == ["check.yml", "test.yml", "wheels.yml"]


def test_each_says_that_it_has_not_run(workflow):
    assert workflow.startswith("# Not run yet: ")


def test_every_action_is_pinned_by_a_version(workflow):
    actions = re.findall(r"uses: (\S+)", workflow)
    assert actions and all(re.fullmatch(r"[\w./-]+@v\d+(\.\d+)*", action) for action in actions)


def test_each_may_only_read_unless_a_job_says_otherwise(workflow):
    assert "\npermissions:\n  contents: read\n" in workflow


def test_what_they_make_is_in_the_makefile(workflow):
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"run: make (\w+)", workflow)) <= set(targets)


def test_extras_and_groups_that_they_install_exist(workflow):
    installed = re.findall(r'-e "\.\[([\w,-]+)\]" --group (\w+)', workflow)
    assert {extra for extras, _ in installed for extra in extras.split(",")} <= {
        *PROJECT["project"]["optional-dependencies"]
    }
    assert {group for _, group in installed} <= {*PROJECT["dependency-groups"]}


def test_versions_of_python_are_supported(workflow):
    versions = re.findall(r'"(3\.\d+)"', workflow)
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert versions and all(int(one.split(".")[1]) >= int(least.split(".")[1]) for one in versions)
