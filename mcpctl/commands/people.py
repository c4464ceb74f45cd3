"""What only a person may do: a program that a model runs could otherwise say yes for its user."""

import os

from mcpctl.errors import Refused

_AGENTS = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "CURSOR_AGENT", "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "OPENCODE", "AMP_THREAD_ID", "GOOSE_TERMINAL",
    "COPILOT_AGENT_SESSION_ID", "AI_AGENT",
)  # fmt: skip
"""Variables that programs set in which a model runs commands."""


def only_for_people(what: str) -> None:
    """Raises `Refused` where nobody sits at a terminal of their own, or a model may be what runs this.

    It stops accidents, not a program that wants to deceive: one that runs as the user can do what the user can.
    """
    agent = next((name for name in _AGENTS if os.environ.get(name)), None)
    if agent:
        hint = "run it yourself in a terminal that no agent has started"
        raise Refused(f"{what} is for people: {agent} says that an agent runs this", hint, "needs_a_person")
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise _needs_a_terminal(what) from None
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            raise _needs_a_terminal(what)
    except OSError:
        raise _needs_a_terminal(what) from None
    finally:
        os.close(terminal)


def _needs_a_terminal(what: str) -> Refused:
    return Refused(f"{what} is for people: there is no terminal", "run it yourself in a terminal", "needs_a_person")
