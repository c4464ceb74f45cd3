"""A terminal for the commands, and none of what agents set."""

import pytest

from mcpctl.commands.people import AGENTS


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the commands run in front of a terminal."""
    for name in AGENTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("mcpctl.posix.has_terminal", lambda: True)
