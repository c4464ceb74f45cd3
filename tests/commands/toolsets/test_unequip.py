"""`mcpctl toolsets unequip`"""

import pytest

from mcpctl.base.paths import Paths
from tests.configured import demo_tools, toolset
from tests.conftest import Mcpctl


@pytest.mark.usefixtures("person")
def test_all_tools_are_there_again(mcpctl: Mcpctl, paths: Paths) -> None:
    demo_tools(paths)
    toolset(paths, "triage", "notes:add_note")
    mcpctl("toolsets", "equip", "triage")
    assert mcpctl("tools", "ls", "--count").out == "1\n"
    for _ in range(2):
        assert mcpctl("toolsets", "unequip").code == 0
        assert mcpctl("tools", "ls", "--count").out == "7\n"
