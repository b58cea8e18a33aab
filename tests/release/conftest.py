"""Each way of installing likewise, made once for all promises."""

import pytest

from .installations import WAYS, install


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The installation of a way, by its name; installed when it is first asked for."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = install(WAYS[name], tmp_path_factory.mktemp("installation"))
        return made[name]

    return of
