"""Whether a tool may be found, shown, called, resumed, annotated or completed: the one place that decides.

Pure: nothing is read, asked or waited for here. Who needs to know more first is told so, gets it, and asks again.
"""

import hashlib
from typing import Any, NamedTuple

from mcpctl import hints
from mcpctl.failure import Failure
from mcpctl.models import Tool
from mcpctl.policy.view import View
from mcpctl.tool_keys import folded, join
from mcpctl.toolsets.toolset import ref_id

FIND, SHOW, CALL, RESUME, ANNOTATE, COMPLETE = "find", "show", "call", "resume", "annotate", "complete"
KEPT, CURRENT, ANEW, UNAVAILABLE = "kept", "current", "anew", "unavailable"
"""Where a server's list comes from: what it listed at some time; what its connection of now has listed; that it was
asked for its list on account of this subject; or that it was asked and the list cannot be had."""
ALLOW, REFUSE, LIST = "allow", "refuse", "list"
_CALLS = (CALL, RESUME)


class Subject(NamedTuple):
    """What is asked for, by whom, and what is known of it."""

    verb: str
    server: str
    name: str
    tool: Tool | None
    """None where the server has not listed it."""
    view: View
    execute_class: str | None = None
    """What alone the meta-tool in use calls, one of `hints.PERMISSIONS`; None for one that calls any tool."""
    arguments: bytes = b""
    listing: str = KEPT

    @property
    def key(self) -> str:
        """The tool's key, as it was asked for."""
        return join(self.server, self.name)

    @property
    def definition_hash(self) -> str | None:
        """What changes whenever the tool's contract does."""
        return ref_id(self.tool) if self.tool else None

    @property
    def arguments_digest(self) -> str:
        """What tells one call's arguments from another's."""
        return hashlib.sha256(self.arguments).hexdigest()


class Verdict(NamedTuple):
    """`allow`; `refuse`, with why; or `list`: the server's own list decides, so it is to be waited for."""

    outcome: str
    failure: Failure | None = None


_ALLOWED = Verdict(ALLOW)
_LIST_FIRST = Verdict(LIST)


def decide(subject: Subject) -> Verdict:
    """The verdict on one subject.

    A refusal's code is one of `unknown_tool`, `not_in_project`, `server_unusable`, `server_disabled`, `not_permitted`,
    `not_in_toolset`, `not_listed`, `wrong_execute`.
    """
    failure = _of_server(subject)
    if failure is None and subject.verb != SHOW and not _is_permitted(subject):
        failure = _failure(subject, "not_permitted")
    if failure:
        return Verdict(REFUSE, failure)
    if subject.verb in _CALLS:
        return _of_call(subject)
    if subject.tool is None and not _is_named(subject):
        return Verdict(REFUSE, _failure(subject, "unknown_tool"))
    if subject.verb != SHOW and _is_left_out(subject):
        return Verdict(REFUSE, _failure(subject, "not_in_toolset"))
    return _ALLOWED


def _of_server(subject: Subject) -> Failure | None:
    """Why nothing of this server can be had."""
    config, server = subject.view.config, subject.server
    if server in config.enabled:
        return None
    if server in config.elsewhere:
        return _failure(subject, "not_in_project")
    if server in config.problems:
        return _failure(subject, "server_unusable", reason=config.problems[server])
    return _failure(subject, "server_disabled" if server in config.servers else "unknown_tool")


def _is_permitted(subject: Subject) -> bool:
    """A refusal compares names as servers may read them; what is written of exactly this name goes before it."""
    tools = subject.view.config.servers[subject.server].tools
    if not tools or subject.name in tools:
        return tools.get(subject.name, True)
    name = folded(subject.name)
    return all(allowed or folded(written) != name for written, allowed in tools.items())


def _is_named(subject: Subject) -> bool:
    """Whether notes may be added to a tool that is not listed: the toolset in force has it by name, and none of its
    server is refused."""
    toolset = subject.view.toolset
    is_named = toolset is not None and toolset.holds(_unlisted(subject))
    return subject.verb == ANNOTATE and is_named and not subject.view.config.servers[subject.server].tools


def _unlisted(subject: Subject) -> Tool:
    """A tool of which no more than its name is known."""
    return Tool(subject.server, subject.name, {}, "{}")


def _of_call(subject: Subject) -> Verdict:
    toolset, server = subject.view.toolset, subject.view.config.servers[subject.server]
    if toolset and not toolset.may_hold(subject.server, subject.name):
        return Verdict(REFUSE, _failure(subject, "not_in_toolset"))
    # Where hints decide, they are those of the connection that the call goes to.
    if subject.listing == KEPT and subject.execute_class:
        return _LIST_FIRST
    if subject.tool is None and subject.listing in (KEPT, CURRENT):
        return _LIST_FIRST  # it may be new
    if subject.tool is None and subject.listing == ANEW:
        return Verdict(REFUSE, _failure(subject, "unknown_tool"))
    if subject.listing == UNAVAILABLE and (subject.execute_class or (subject.tool is None and server.tools)):
        # Its server runs but does not say what it has: what cannot be told from a refused tool is refused.
        return Verdict(REFUSE, _failure(subject, "not_listed"))
    if _is_left_out(subject):
        return Verdict(REFUSE, _failure(subject, "not_in_toolset"))
    return _of_class(subject)


def _is_left_out(subject: Subject) -> bool:
    """Whether the toolset in force lacks the tool."""
    toolset = subject.view.toolset
    if toolset is None:
        return False
    return not toolset.holds(subject.tool or _unlisted(subject))


def _of_class(subject: Subject) -> Verdict:
    """Whether the meta-tool in use is the one for tools with these hints."""
    if subject.execute_class and subject.tool:
        needed = hints.permission(subject.tool)
        if needed != subject.execute_class:
            return Verdict(REFUSE, _failure(subject, "wrong_execute", needed=needed, used=subject.execute_class))
    return _ALLOWED


def _failure(subject: Subject, code: str, **facts: Any) -> Failure:
    """A refusal with what its words need: the key, the server, the view, and whether the tool is known."""
    about = {"key": subject.key, "server": subject.server, "view": subject.view, "is_listed": subject.tool is not None}
    return Failure(code, {**about, **facts})
