"""Who asks: the client of a request, with the revision of the protocol that it speaks, what it can do and claims."""

import hashlib
from functools import cached_property, lru_cache
from typing import Any

import msgspec
from msgspec import Raw, Struct

LEGACY_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # those of the handshake, oldest first
MODERN_REVISION = "2026-07-28"  # each of its requests carries its own envelope; there is no handshake
ASKED = ("elicitation", "roots", "sampling")  # servers make use of these; they are translated between the eras
_EXTENSIONS, _PAGES = "extensions", "io.modelcontextprotocol/ui"  # where a client says that it shows pages (MCP Apps)
_LONGEST_SET = 200


class Client(Struct, frozen=True):
    name: str | None = None
    version: str | None = None
    protocol_version: str | None = None
    capabilities: bytes = b"null"  # JSON as the client sent it


class Claims(Struct, frozen=True):
    """The claims of a request beside its envelope; unproven, secret in part, and never passed on."""

    token: str | None = None
    project: str | None = None  # the only one that is seen; empty for none, None if unnamed
    of_person: bool = False  # a person at the command line asks, whom no project has to be named for
    is_checked: bool = (
        False  # its token was one to get in with over HTTP: it counts without a policy, and no other does
    )
    is_default: bool = False  # but for one that the request itself names

    def __repr__(self) -> str:
        return f"Claims(of_person={self.of_person})"


NO_CLAIMS = Claims()
UNREADABLE = "\0"  # in place of an unreadable claim: not a token, and not the name of a project


class Caller(Struct, frozen=True, dict=True):
    revision: str
    info: bytes = b""
    capabilities: bytes = b"{}"
    client: Client = Client()
    claims: Claims = NO_CLAIMS
    holder: str = ""  # whose processes of servers it uses, as `upstreams/held.py` has it

    @cached_property
    def modern(self) -> bool:
        return self.revision == MODERN_REVISION


ANYBODY = Caller(LEGACY_REVISIONS[-1])  # one that has not said anything yet


SHARED = "*"  # the holder of what all clients share
BY_TOKEN = "@"  # begins the holder of what belongs to a token, or to requests without one


def speaker(token: str | None, holder: str = "", *, is_checked: bool = False, is_default: bool = False) -> Caller:
    """The caller of requests that do not say who sends them. The holder `BY_TOKEN` stands for that of their token.
    Where that `is_checked`, what a request says of another counts for nothing, but where it `is_default`."""
    claims = Claims(token, is_checked=is_checked, is_default=is_default) if token else NO_CLAIMS
    return Caller(ANYBODY.revision, claims=claims, holder=held_by(holder, claims)) if token or holder else ANYBODY


def held_by(holder: str, claims: Claims) -> str:
    if not holder.startswith(BY_TOKEN) or claims.token is None:
        return holder
    return BY_TOKEN + hashlib.sha256(claims.token.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=256)
def translated(declared: bytes) -> bytes:
    """Those of a client's capabilities that a server of the other era is told, each as it came: what the server may
    ask, and that the client shows pages. Other extensions change what servers answer, which is not translated."""
    members = _members(declared, Raw)
    found = {name: value for name, value in members.items() if name in ASKED}
    pages = _members(bytes(members.get(_EXTENSIONS, b"")), Raw).get(_PAGES)
    return msgspec.json.encode(found if pages is None else {**found, _EXTENSIONS: {_PAGES: pages}})


@lru_cache(maxsize=256)
def capability_set(declared: bytes) -> str:
    """The capabilities that a client declares, on which a server's lists may depend: `elicitation.form,roots`."""
    members = sorted(_members(declared).items(), key=lambda member: member[0])
    text = ",".join(part for name, value in members for part in _with_parts(name, value))
    # Longer sets are only compared; one that begins with @ would be a list of something else than tools.
    is_plain = len(text) <= _LONGEST_SET and not text.startswith("@")
    return text if is_plain else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _with_parts(name: str, value: Any) -> list[str]:
    # That a client says when its roots change is nothing that tools depend on.
    parts = sorted(part for part in value if part != "listChanged") if isinstance(value, dict) else []
    return [f"{name}.{part}" for part in parts] or [name]


def _members(declared: bytes, kind: Any = Any) -> dict[str, Any]:
    try:
        return msgspec.json.decode(declared or b"{}", type=dict[str, kind])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return {}
