"""`mcpctl servers disable`"""

import pytest

from mcpctl.base.paths import Paths
from tests.configured import configure, demo_tools, stub
from tests.conftest import Mcpctl


def test_a_disabled_server_stays_in_the_file_and_lists_no_tools(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    assert mcpctl("servers", "disable", "notes").out == "notes\n"
    assert mcpctl("servers", "show", "notes", "--json").json["enabled"] is False
    assert mcpctl("tools", "ls", "--count").out == "3\n"


def test_comments_and_order_are_kept(mcpctl: Mcpctl, paths: Paths) -> None:
    text = '# one\n[servers.b]\ncommand = "b"  # two\n\n# three\n[servers.a]\ncommand = "a"\n'
    paths.config.parent.mkdir()
    paths.config.write_text(text, encoding="utf-8")
    mcpctl("servers", "disable", "b")
    assert paths.config.read_text(encoding="utf-8") == text.replace("# two\n", "# two\nenabled = false\n")


def test_an_entry_that_cannot_be_used_can_be_disabled(mcpctl: Mcpctl, paths: Paths) -> None:
    configure(paths, {"a": {"command": "x", "colour": 1}})
    assert mcpctl("servers", "disable", "a").code == 0


@pytest.mark.parametrize("verb", ["disable", "enable"])
def test_an_entry_that_is_no_table_is_reported(mcpctl: Mcpctl, paths: Paths, verb: str) -> None:
    configure(paths, {"a": 5, "b": stub()})
    ran = mcpctl("servers", verb, "a")
    assert ran.code == 5
    assert "servers.a: must be a table" in ran.err
