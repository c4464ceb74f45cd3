"""What only a person may do, at a terminal, and no program that a model drives."""

import os

from mcpctl import posix
from mcpctl.errors import Refused

AGENTS = ("CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "OPENCODE")
"""Variables that agents set for the programs that they run."""


def only_for_people(what: str) -> None:
    """Raise `Refused` unless a person at a terminal asks. It stops accidents, and no program that wants to get by."""
    agent = next((name for name in AGENTS if os.environ.get(name)), None)
    if agent or not posix.has_terminal():
        why = f"{agent} is set, so an agent runs this" if agent else "this does not run in front of a terminal"
        raise Refused(f"only a person can {what}: {why}", "run it in a terminal of your own", "needs_a_person")
