"""Which calls, searches and sessions are meant: one value, and what it asks of each table."""

from dataclasses import dataclass

from mcpctl.store import query


@dataclass(frozen=True)
class CallFilter:
    """Which calls are meant. Of each member one of the values has to fit; an empty one asks nothing."""

    sessions: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    grep: str | None = None
    min_duration_ms: int | None = None


EVERYTHING = CallFilter()


def calls(wanted: CallFilter) -> query.Conditions:
    """What it asks of a row of `calls`; more conditions can follow."""
    asked = query.Conditions().any_of("session_id", wanted.sessions).any_of("server", wanted.servers)
    asked.any_of("tool", wanted.tools).any_of("status", wanted.statuses)
    return asked.any_of("project", wanted.projects).any_of("client_name", wanted.clients)


def searches(wanted: CallFilter) -> query.Conditions:
    """What it asks of a row of `discoveries`."""
    return query.Conditions().any_of("session_id", wanted.sessions).any_of("project", wanted.projects)


def sessions(wanted: CallFilter) -> query.Conditions:
    """What it asks of a row of `sessions`."""
    asked = query.Conditions().any_of("id", wanted.sessions).any_of("project", wanted.projects)
    return asked.any_of("client_name", wanted.clients)
