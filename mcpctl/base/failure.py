"""A call, or a request of ours, that did not happen or did not end: as data.

`mcpctl.policy.words` makes the sentences, for a model and for a person; nothing reads them back.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

OF_LOGIN = frozenset(("needs_login", "login_not_refreshed"))  # with a login, their connection is good


class Failure(Struct, frozen=True):
    """A stable code, whether the server may have begun, and the facts of its code. They are for a server's failure:
    `server`; `did` (the state of the server) and `reason` (why), clauses of ours alone; `said`, the server's words,
    with those that join them to ours; `logs_of`, the server whose log has more; `retry_s`; `http_status`.
    `mcpctl.policy.decide` gives those of a refusal."""

    code: str
    facts: Mapping[str, Any] = {}
    was_sent: bool = False

    def about(self, **facts: Any) -> "Failure":
        return replace(self, facts={**facts, **self.facts})

    @property
    def said(self) -> str:
        """The server's own words, for people and the record, never for a model."""
        return str(self.facts.get("said", ""))


class Failed(Exception):
    def __init__(self, failure: Failure, error: bytes = b"") -> None:
        super().__init__(f"{failure.facts.get('reason', failure.code)}{failure.said}")
        self.failure = failure
        self.error = error  # the JSON-RPC error object, where the server answered with one


def failed(code: str, reason: str, *, said: str = "", was_sent: bool = True, **facts: Any) -> Failed:
    """A request that was sent, unless `was_sent` is false, and brought no answer."""
    return Failed(Failure(code, {"reason": reason, "said": said, **facts}, was_sent))
