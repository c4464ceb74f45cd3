"""A library that was listed."""

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure
from tests.conftest import Mcpctl
from tests.servers import command


@pytest.fixture
def library(mcpctl: Mcpctl, paths: Paths) -> None:
    """A server with prompts and resources, listed once."""
    argv = command("library")
    configure(paths, {"library": {"command": argv[0], "args": argv[1:]}})
    assert mcpctl("tools", "refresh").code == 0
