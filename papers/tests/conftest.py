"""The fixtures of the library's tests, which the lab's tests use too."""

from tests.conftest import *  # noqa: F403
