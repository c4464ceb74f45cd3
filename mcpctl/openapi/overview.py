"""A compiled document as people see it: what it is, what of it are no tools, and which of its schemes have a value."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mcpctl.base import files
from mcpctl.base.errors import NotFound, Unusable
from mcpctl.base.models import API_FIELDS, Row
from mcpctl.base.paths import Paths
from mcpctl.base.texts import escaped
from mcpctl.config import config
from mcpctl.config.api_environment import unset
from mcpctl.config.entry_secrets import masked_url
from mcpctl.config.server_environment import UNKNOWN, CannotLaunch, expand, known_to
from mcpctl.config.server_settings import ClientCredentials, Server
from mcpctl.openapi import snapshot
from mcpctl.openapi.snapshot import BEARER, CompiledDocument, HttpOperation

_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)
_SMALL = 1 << 20  # bytes of a document that is read for its names


def facts(document: CompiledDocument, server: Server, config_path: Path) -> Row:
    """A document for `servers show`."""
    from mcpctl.store import clock

    about = {
        "title": document.title, "version": document.version, "openapi": document.openapi, "sha256": document.sha256,
        "read_at": clock.iso(document.made_at),
    }  # fmt: skip
    valued = with_value(server, config_path)
    schemes = document.schemes or (BEARER,) if BEARER in server.auth else document.schemes
    return {
        "document": about,
        "base": _shown_base(document.base, server),
        "destinations": destinations(document, server),
        "skipped": {reason: len(operations) for reason, operations in document.skipped.items()},
        "schemes": {scheme: scheme in valued for scheme in schemes},
        "unset": without_variable(server, config_path),
    }


def destinations(document: CompiledDocument, server: Server) -> dict[str, list[str]]:
    """The origins that requests go to, and those where a client is changed for a token."""
    bases = dict.fromkeys(each.base for each in document.operations)
    requests = dict.fromkeys(_origin(_shown_base(base, server)) for base in bases)
    return {"requests": list(requests), "tokens": list(dict.fromkeys(_tokens(document, server).values()))}


def _tokens(document: CompiledDocument, server: Server) -> dict[str, str]:
    """The origin of each scheme's tokens. One that has a token in the entry needs no other."""
    return {
        name: _origin(scheme.token_url)
        for name, scheme in document.schemes.items()
        if scheme.token_url and not isinstance(server.auth.get(name), str)
    }


def moves(before: CompiledDocument | None, after: CompiledDocument, server: Server) -> list[str]:
    """The origins of a new document that the one before had not, in words, but for those that the entry names; all of
    them where that one is lost."""
    new = destinations(after, server)["requests"]
    if before is None:
        places = [] if server.url else list(new)
        places += [origin for name, origin in _tokens(after, server).items() if name in server.auth]
        lost = "and where they went before is not known any more"
        return [f"credentials now go to {', '.join(places)}, {lost}"] if places else []
    old, named = destinations(before, server)["requests"], {_origin(each) for each in server.origins}
    moved = [] if {*new} <= {*old, *named} else [f"requests now go to {', '.join(new)}, before to {', '.join(old)}"]
    was = _tokens(before, server)
    for name, origin in _tokens(after, server).items():
        if was.get(name) != origin and (name in was or name in server.auth):
            where = f"at {was[name]}" if name in was else "nowhere"
            moved.append(f"the client of {escaped(name)} is changed for tokens at {origin}, before {where}")
    return moved


def _origin(url: str) -> str:
    """The origin of an address; all of one that begins with a variable, whose case counts."""
    match = _ORIGIN.match(url)
    origin = match[0] if match else url
    origin = origin if "${" in origin else origin.lower()
    return origin.removesuffix(":443" if origin.startswith("https:") else ":80")


def _shown_base(base: str, server: Server) -> str:
    """A base as it is shown: one of the entry may have a secret, and one of the document has none."""
    return masked_url(base) if base == server.url.rstrip("/") else base


def with_value(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> Collection[str]:
    """The schemes that have a value. No command is run to find out: one is taken to print something."""
    try:
        known = known_to(server, config_path, env)
    except CannotLaunch:  # which is told where it is used
        return ()

    def has_value(given: str | ClientCredentials) -> bool:
        texts = (given,) if isinstance(given, str) else (given.client_id, given.client_secret)
        try:
            return all(expand(text, known, lambda *_: UNKNOWN).strip() for text in texts)
        except CannotLaunch:
            return False

    return [name for name, given in server.auth.items() if has_value(given)]


def without_value(document: CompiledDocument, server: Server, config_path: Path) -> list[str]:
    valued = with_value(server, config_path)
    return [scheme for scheme in document.schemes if scheme not in valued]


def without_variable(server: Server, config_path: Path, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The schemes in `auth` whose variable is not set, each with the words for that."""
    try:
        return unset(server, known_to(server, config_path, env))
    except CannotLaunch:  # which is told where it is used
        return {}


def without_scheme(document: CompiledDocument, server: Server) -> list[str]:
    """The names in `auth` that are no schemes of the document."""
    known = document.schemes or (BEARER,)
    return [name for name in server.auth if name not in known]


class _Components(Struct, frozen=True):
    securitySchemes: dict[str, dict[str, Any]] = {}


class _Document(Struct, frozen=True):
    components: _Components = _Components()


def schemes_of(paths: Paths, document: str | None, names: Sequence[str | None]) -> Sequence[tuple[str, str]]:
    """The names and types of security schemes: of a document, of which nothing else is looked at, else of that which
    the first of these servers has. Raises `McpctlError` and others where there is none, or it is large."""
    if document:
        content = files.read(Path(document).expanduser(), _SMALL)
        written = msgspec.json.decode(content, type=_Document).components.securitySchemes
        return [(name, str(scheme.get("type", ""))) for name, scheme in written.items()]
    servers = config.load(paths.config).servers
    name = next(name for name in names if name and name in servers)
    return [(scheme, each.kind) for scheme, each in snapshot.head(paths, name, servers[name]).schemes.items()]


def of_tool(paths: Paths, name: str, server: Server, tool: str) -> Row:
    """The request of one tool, and its alternatives of security schemes, each scheme with whether it has a value; null
    where the document is not there."""
    try:
        document, operation = snapshot.operation(paths, name, server, tool)
    except (Unusable, NotFound):
        return dict.fromkeys(API_FIELDS)
    request = {"method": operation.method, "path": operation.path, "base": _shown_base(operation.base, server)}
    return {
        "http": request,
        "security": _security(document, operation, server.auth, with_value(server, paths.config)),
        "unset": without_variable(server, paths.config),
    }


def _security(
    document: CompiledDocument, made: HttpOperation, named: Collection[str], valued: Collection[str]
) -> list[Mapping[str, bool]]:
    """The alternatives of an operation: by scheme, whether it has a value. One without schemes needs none."""
    if not document.schemes:
        return [{BEARER: BEARER in valued}] if BEARER in named else []
    return [{scheme: scheme in valued for scheme in alternative} for alternative in made.security]
