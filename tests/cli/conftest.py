"""What tests of the command line share."""

import json

import pytest

from likewise.cli import main


@pytest.fixture
def json_output(capsys):
    """Runs a command that succeeds and prints JSON; returns the value."""

    def run(words):
        assert main(words) == 0
        return json.loads(capsys.readouterr().out)

    return run
