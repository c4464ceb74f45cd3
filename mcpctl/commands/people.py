"""What only a person may do: a program that a model runs could otherwise say yes for its user."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpctl.base import posix
from mcpctl.base.errors import Refused, warn

if TYPE_CHECKING:
    from mcpctl.base.paths import Paths
    from mcpctl.toolsets.toolset_files import ToolsetFile

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
    if why := _why_nobody():
        raise Refused(f"only a person can {what}: {why}", "run it in a terminal of your own", "needs_a_person")


def may_be_a_person() -> bool:
    """Whether somebody sits at a terminal of their own."""
    return not _why_nobody()


def _agent() -> str | None:
    return next((name for name in AGENTS if os.environ.get(name)), None)


def _why_nobody() -> str:
    """Why it is no person who runs this; empty where it may be one."""
    if agent := _agent():
        return f"{agent} is set, so an agent runs this"
    return "" if posix.has_terminal() else "this does not run in front of a terminal"


@dataclass(frozen=True)
class Gate:
    """The check of a change before it is written: one that lets more be called without a yes is a person's.

    Each raises `Refused` where nobody sits at a terminal of their own; `from_script` stands in for somebody, but not
    where an agent runs this. What passes is put on record. One that is `dry` only warns of what it would refuse.
    """

    paths: "Paths"
    from_script: bool = False
    dry: bool = False

    def config(self, before: str, after: str) -> None:
        """For another text of config.toml."""
        from mcpctl.catalog import loosening

        self._permit(loosening.by_config(self.paths, before, after), self.paths.config.name, before, after)

    def toolset(self, place: "ToolsetFile", before: str, after: str) -> None:
        """For another text of a toolset's file."""
        from mcpctl.catalog import loosening

        self._permit(loosening.by_toolset(self.paths, place, before, after), place.reference, before, after)

    def equip(self, reference: str | None) -> None:
        """For another toolset in force."""
        from mcpctl.catalog import loosening

        found = loosening.by_equipping(self.paths, reference)
        self._permit(found, "the equipped toolset", "", str(reference))

    def of_client(self, reference: str | None) -> None:
        """For the entry of a client that names a toolset, in place of the equipped one."""
        from mcpctl.catalog import loosening

        found = loosening.by_equipping(self.paths, reference) if reference else []
        self._permit(found, "the toolset of a client", "", str(reference))

    def _permit(self, found: Sequence[str], what: str, before: str, after: str) -> None:
        if not found:
            return
        from mcpctl.catalog import loosening

        why = _why_nobody()
        if why and (_agent() or not self.from_script):
            message = f"only a person can have this called without a question: {loosening.told(found)}: {why}"
            no_agent = "" if _agent() else "; in a Dockerfile or in CI, add --from-script"
            if not self.dry:
                raise Refused(message, f"run it in a terminal of your own{no_agent}", "needs_a_person")
            warn(f"this would be refused here: {message}")
        elif not self.dry:
            loosening.record(self.paths, found, what, after, "script" if why else "terminal", before)
