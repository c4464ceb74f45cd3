"""`mcpctl servers enable`"""

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure, stub
from tests.conftest import Mcpctl


@pytest.mark.usefixtures("person")
def test_disabling_and_enabling_leaves_the_file_as_it_was(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": stub("x"), "b": stub("y")})
    before = paths.config.read_bytes()
    mcpctl("servers", "disable", "a")
    assert paths.config.read_bytes() != before
    mcpctl("servers", "enable", "a")
    assert paths.config.read_bytes() == before


def test_enabling_what_is_enabled_changes_nothing(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": {**stub(), "enabled": True}})
    assert mcpctl("servers", "enable", "a").out == "a\n"
    assert mcpctl("servers", "show", "a", "--json").json["enabled"] is True
