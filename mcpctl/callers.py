"""Who asks: the client of a request, with the revision of the protocol that it speaks, and what it claims."""

from dataclasses import dataclass, field

LEGACY_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions an `initialize` handshake agrees on, oldest first."""
MODERN_REVISION = "2026-07-28"
"""The revision whose requests each carry their own envelope; there is no handshake."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client as records name it."""

    name: str | None = None
    version: str | None = None
    protocol_version: str | None = None
    capabilities: bytes = b"null"
    """JSON as the client sent it."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a request says of itself beside its envelope; unproven, secret in part, and never passed on."""

    token: str | None = field(default=None, repr=False)
    """None where it has none, so that the process's own counts."""
    project: str | None = field(default=None, repr=False)
    """The project to which it narrows what is seen; empty for none of them, None where it does not say."""
    of_person: bool = False
    """Whether a person at the command line asks, whom no project has to be named for."""


NO_CLAIMS = Claims()
UNREADABLE = "\0"
"""In place of a claim that cannot be read: no token, and no name of a project."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The revision, identity and capabilities of a client's request, JSON as it sent them, and its claims."""

    revision: str
    info: bytes = b""
    capabilities: bytes = b"{}"
    client: Client = field(default_factory=Client)
    claims: Claims = NO_CLAIMS

    @property
    def modern(self) -> bool:
        """Whether the request carries its own envelope."""
        return self.revision == MODERN_REVISION
