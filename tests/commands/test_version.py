"""`mcpctl version`"""

from tests.conftest import Mcpctl


def test_version_is_what_the_option_prints(mcpctl: Mcpctl) -> None:
    assert mcpctl("version") == mcpctl("--version")
