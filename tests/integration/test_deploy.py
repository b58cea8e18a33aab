"""The files of examples/deploy: each passes the linter of its format."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"
LINTERS = {
    "Dockerfile": ["hadolint"],
    "compose.yaml": ["compose-lint", "--fail-on", "high"],
    "kubernetes.yaml": ["kubernetes-validate", "--strict"],
    "likewise.service": ["systemd-analyze", "verify"],
}
"""What checks each file; the others are run by tests of their own."""
RUN = {"nginx.conf": "test_serve_nginx.py", "ray_deployment.py": "test_serve_ray.py"}


def test_every_file_is_checked():
    assert {path.name for path in DEPLOY.iterdir() if path.is_file()} == {*LINTERS, *RUN}
    assert all((Path(__file__).parent / name).exists() for name in RUN.values())


def linted(path, content):
    """What the linter of a file's format finds in this content."""
    program, *options = LINTERS[path.name]
    command = shutil.which(program, path=f"{Path(sys.executable).parent}:/usr/bin:/bin")
    if command is None:
        pytest.skip(f"{program} is not installed")
    path.write_text(content)
    return subprocess.run([command, *options, path], capture_output=True, text=True)


@pytest.mark.parametrize("name", LINTERS)
def test_passes_its_linter(name, tmp_path):
    # systemd-analyze wants the programs that a service starts
    found = linted(tmp_path / name, (DEPLOY / name).read_text().replace("/opt/likewise/bin/likewise", sys.executable))
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("name", LINTERS)
def test_linter_sees_a_mistake(name, tmp_path):
    broken = {
        "Dockerfile": "FROM debian:latest\nRUN cd / && sudo ls\n",
        "compose.yaml": "services:\n  server:\n    image: likewise\n    privileged: true\n",
        "kubernetes.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replica: 2}\n",
        "likewise.service": "[Service]\nExecStart=/no/such/program\n",
    }[name]
    assert linted(tmp_path / name, broken).returncode != 0
