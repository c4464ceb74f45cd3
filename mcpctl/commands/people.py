"""What only a person may do: a program that a model runs could otherwise say yes for its user."""

import os

from mcpctl import posix
from mcpctl.errors import Refused

AGENTS = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "CURSOR_AGENT", "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "OPENCODE", "AMP_THREAD_ID", "GOOSE_TERMINAL",
    "COPILOT_AGENT_SESSION_ID", "AI_AGENT",
)  # fmt: skip
"""Variables that programs set in which a model runs commands."""


def only_for_people(what: str) -> None:
    """Raises `Refused` where nobody sits at a terminal of their own, or a model may be what runs this.

    It stops accidents, not a program that wants to deceive: one that runs as the user can do what the user can.
    """
    agent = next((name for name in AGENTS if os.environ.get(name)), None)
    if agent or not posix.has_terminal():
        why = f"{agent} is set, so an agent runs this" if agent else "this does not run in front of a terminal"
        raise Refused(f"only a person can {what}: {why}", "run it in a terminal of your own", "needs_a_person")
