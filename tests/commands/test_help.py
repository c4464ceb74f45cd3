"""`mcpctl help`"""

import pytest

from tests.conftest import Mcpctl


@pytest.mark.parametrize("words", [[], ["calls"], ["calls", "ls"], ["serve"], ["help"]])
def test_help_of_a_command_is_what_its_option_prints(mcpctl: Mcpctl, words: list[str]) -> None:
    asked = mcpctl("help", *words)
    assert asked == mcpctl(*words, "--help")
    assert asked.out.startswith(f"Usage: {' '.join(('mcpctl', *words))} ")


@pytest.mark.parametrize("words", [["bogus"], ["calls", "list"]])
def test_help_of_what_is_no_command_is_wrong_usage(mcpctl: Mcpctl, words: list[str]) -> None:
    ran = mcpctl("help", *words)
    assert (ran.code, ran.out) == (2, "")
    assert f"there is no command '{' '.join(words)}'" in ran.err
